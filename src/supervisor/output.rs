//! What an agent's process prints, as plain lines: without escape sequences, redraws, invisible characters and keys.
//!
//! A line ends in a newline, and of what was drawn over itself, with carriage returns, the last drawing stays. What was
//! drawn anywhere else on the screen is a line as it comes.

use anstream::adapter::StripBytes;

use crate::rules::words::is_invisible;
use crate::text::shown;

/// How many of the last lines a session's row keeps.
pub const LINES_MAX: usize = 40;

/// Characters of a line in a session's row.
const LINE_CHARACTERS_MAX: usize = 400;

/// Bytes of a line that are looked at: more than is kept of it, so that no credential is cut in two before it is hidden.
const LINE_BYTES_MAX: usize = 4096;

/// Cuts a stream of bytes into lines.
#[derive(Default)]
pub struct Cutter {
    strip: StripBytes,
    line: Vec<u8>,
    /// A carriage return came last: what follows is drawn over the line, unless it is the newline.
    returned: bool,
    in_private_key: bool,
}

impl Cutter {
    /// The lines that end in these bytes and are not empty.
    pub fn cut(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        let Cutter { strip, line, returned, in_private_key } = self;
        for &byte in strip.strip_next(bytes).flatten() {
            match byte {
                b'\n' => {
                    lines.extend(plain(line).map(|line| without_private_key(line, in_private_key)));
                    line.clear();
                    *returned = false;
                }
                b'\r' => *returned = true,
                _ => {
                    if std::mem::take(returned) {
                        line.clear();
                    }
                    if line.len() < LINE_BYTES_MAX {
                        line.push(byte);
                    }
                }
            }
        }
        lines
    }
}

/// A line as text; None if there is nothing to see in it.
pub fn plain(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line).replace('\t', " ");
    let text: String = text.chars().filter(|c| !is_invisible(*c)).collect();
    let text = text.trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

/// `text::shown` sees one line at a time, and a private key is many.
fn without_private_key(line: String, in_private_key: &mut bool) -> String {
    let begins = line.contains("-----BEGIN ") && line.contains("PRIVATE KEY");
    let ends = line.contains("-----END ");
    let hides = *in_private_key && !ends;
    *in_private_key = (*in_private_key || begins) && !ends;
    if hides { HIDDEN.to_owned() } else { line }
}

const HIDDEN: &str = "***";

/// A line as keys have many, in the middle of one.
fn is_base64(line: &str) -> bool {
    let line = line.trim();
    60 <= line.len() && line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
}

/// Lines as a session's row may hold them.
pub fn shown_lines(lines: &[String]) -> Vec<String> {
    // The beginning of a key may have scrolled away.
    let begins = lines.iter().position(|line| line.contains("-----BEGIN "));
    let ends = lines.iter().position(|line| line.contains("-----END "));
    let mut in_private_key = ends.is_some_and(|ends| begins.is_none_or(|begins| ends < begins));
    let plain = lines.iter().map(|line| without_private_key(line.clone(), &mut in_private_key));
    let hidden = plain.map(|line| if is_base64(&line) { HIDDEN.to_owned() } else { line });
    hidden.map(|line| shown(&line).chars().take(LINE_CHARACTERS_MAX).collect()).collect()
}

/// Is a line no more than what a terminal shows of a message that is typed into it? It is if it has nothing to read in it,
/// is a part of the message, or shares eight letters and digits in a row with it: prompts and frames stand around it,
/// terminals wrap it, and other output runs into it.
pub fn is_echo(line: &str, message: &str) -> bool {
    const RUN: usize = 8;
    let readable = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<Vec<char>>();
    let (line, message) = (readable(line), readable(message));
    let is_in_message = |part: &[char]| message.windows(part.len()).any(|run| run == part);
    line.is_empty() || is_in_message(&line) || line.windows(RUN).any(is_in_message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::{Cutter, is_echo, shown_lines};

    fn cut(chunks: &[&[u8]]) -> Vec<String> {
        let mut cutter = Cutter::default();
        chunks.iter().flat_map(|bytes| cutter.cut(bytes)).collect()
    }

    #[rstest]
    #[case::plain(b"one\ntwo\r\nthr", &["one", "two"])]
    #[case::empty_lines(b"\n \r\n\t\none\n", &["one"])]
    #[case::redraws(b"10%\r50%\r100%\r\n", &["100%"])]
    #[case::colours(b"\x1b[1;31mred\x1b[0m\n", &["red"])]
    #[case::a_title(b"\x1b]0;\xe2\x9c\xb3 title\x07after\n", &["after"])]
    #[case::the_clipboard(b"\x1b]52;c;aGVsbG8=\x1b\\after\n", &["after"])]
    #[case::another_screen(b"\x1b[?1049h\x1b[2Jon it\n\x1b[?1049l", &["on it"])]
    #[case::no_utf8(b"a\xffb\xc3\n", &["ab\u{FFFD}"])]
    #[case::keys(b"a\x00b\x07\x08c\x7f\n", &["abc"])]
    #[case::a_wide_control(b"a\xc2\x9b31mb\n", &["a31mb"])]
    fn of_a_line_stays_what_can_be_read(#[case] bytes: &[u8], #[case] lines: &[&str]) {
        assert_eq!(cut(&[bytes]), lines);
        let one_by_one: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(cut(&one_by_one), lines, "byte by byte");
    }

    #[test]
    fn a_private_key_is_hidden_over_many_lines() {
        let key = b"-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nhunter2\n-----END RSA PRIVATE KEY-----\nafter\n";
        assert_eq!(shown_lines(&cut(&[key])), ["***", "***", "***", "-----END RSA PRIVATE KEY-----", "after"]);
    }

    #[test]
    fn a_private_key_whose_beginning_has_scrolled_away_is_hidden() {
        let lines = ["MIIEow", "hunter2", "-----END RSA PRIVATE KEY-----", "after"].map(str::to_owned);
        assert_eq!(shown_lines(&lines), ["***", "***", "-----END RSA PRIVATE KEY-----", "after"]);
        let middle = ["MIIEowIBAAKCAQEA7vPp6Wb9Zk0TqkS5bYwQq4G6W1n3nX4y5y0u8c3K2b1a0Z9x".to_owned()];
        assert_eq!(shown_lines(&middle), ["***"]);
    }

    #[test]
    fn of_a_line_a_row_holds_four_hundred_characters_without_credentials() {
        let lines = ["é ".repeat(5000), "export TOKEN=hunter2hunter2".to_owned()];
        let shown = shown_lines(&lines);
        assert_eq!((shown[0].chars().count(), shown[1].as_str()), (400, "export TOKEN=***"));
    }

    const MESSAGE: &str = "You seem to be stuck. Go on with your task.";

    #[rstest]
    #[case::the_message("You seem to be stuck. Go on with your task.", true)]
    #[case::behind_a_prompt("agent> You seem to be stuck. Go on with your task.", true)]
    #[case::framed("│ > You seem to be stuck. Go on      │", true)]
    #[case::a_frame("╭──────────╮", true)]
    #[case::its_end("task.", true)]
    #[case::a_loop_in_it("You seem to Error: connection refused", true)]
    #[case::an_answer("Sorry, I was waiting for the tests.", false)]
    #[case::a_short_answer("ok", false)]
    fn an_echo_is_known_by_the_message(#[case] line: &str, #[case] is_one: bool) {
        assert_eq!(is_echo(line, MESSAGE), is_one);
    }

    proptest! {
        #[test]
        fn any_bytes_become_lines_without_control_characters(bytes in any::<Vec<u8>>()) {
            let lines = shown_lines(&cut(&[&bytes, b"\n"]));
            prop_assert!(lines.iter().all(|line| !line.chars().any(char::is_control)));
        }
    }
}
