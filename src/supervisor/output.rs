//! What an agent's process prints, as plain lines: without escape sequences, redraws and invisible characters; and
//! which lines are no more than the echo of a nudge.
//!
//! A line ends in a newline. Of a line that was redrawn after carriage returns, the last drawing counts. What was drawn
//! elsewhere on the screen is a line where it comes in the output.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anstream::adapter::StripBytes;

use crate::rules::display::is_invisible;
use crate::text::redact;

/// How many lines of recent output a session's row holds.
pub const LINES_MAX: usize = 40;

/// The length of a line in a session's row, in characters.
const LINE_CHARACTERS_MAX: usize = 400;

/// How many bytes of a line are read: more than the row holds, so that no credential is cut in two before it is hidden.
const LINE_BYTES_MAX: usize = 4096;

/// Splits a stream of bytes into lines.
#[derive(Default)]
pub struct LineSplitter {
    strip: StripBytes,
    line: Vec<u8>,
    /// The last byte was a carriage return: what follows overwrites the line, unless it is the newline.
    returned: bool,
    in_private_key: bool,
}

impl LineSplitter {
    /// Returns the lines that end in these bytes and are not empty.
    pub fn split(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        let LineSplitter { strip, line, returned, in_private_key } = self;
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

/// A line as text; None if nothing in it is visible.
fn plain(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line).replace('\t', " ");
    let text: String = text.chars().filter(|c| !is_invisible(*c)).collect();
    let text = text.trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Hides the lines of a private key, which `text::redact` cannot recognise one by one.
fn without_private_key(line: String, in_private_key: &mut bool) -> String {
    let begins = line.contains("-----BEGIN ") && line.contains("PRIVATE KEY");
    let ends = line.contains("-----END ");
    let hides = *in_private_key && !ends;
    *in_private_key = (*in_private_key || begins) && !ends;
    if hides { HIDDEN.to_owned() } else { line }
}

const HIDDEN: &str = "***";

/// Whether a line looks like one from the middle of a private key.
fn is_base64(line: &str) -> bool {
    let line = line.trim();
    60 <= line.len() && line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
}

/// The lines as a session's row may hold them: shortened, and without what looks like a credential.
pub fn redacted(lines: &[String]) -> Vec<String> {
    // The first line of a key may have scrolled away.
    let begins = lines.iter().position(|line| line.contains("-----BEGIN "));
    let ends = lines.iter().position(|line| line.contains("-----END "));
    let mut in_private_key = ends.is_some_and(|ends| begins.is_none_or(|begins| ends < begins));
    let plain = lines.iter().map(|line| without_private_key(line.clone(), &mut in_private_key));
    let hidden = plain.map(|line| if is_base64(&line) { HIDDEN.to_owned() } else { line });
    hidden.map(|line| redact(&line).chars().take(LINE_CHARACTERS_MAX).collect()).collect()
}

/// How long a terminal may take to show what was typed.
pub const ECHO_LASTS: Duration = Duration::from_secs(3);

/// The latest nudge, and the lines that came with any nudge: they stay on the screen.
#[derive(Default)]
pub struct Echoes {
    nudge: Option<TypedNudge>,
    lines: HashSet<String>,
}

struct TypedNudge {
    message: String,
    typed_at: Instant,
    /// The lines that were on the screen before.
    before: HashSet<String>,
}

impl Echoes {
    /// A nudge is being typed, or has just been: these are the lines on the screen.
    pub fn typed(&mut self, message: &str, lines: &[String], now: Instant) {
        let same = self.nudge.take().filter(|nudge| nudge.message == message && nudge.is_recent(now));
        let before = same.map_or_else(|| lines.iter().cloned().collect(), |nudge| nudge.before);
        self.nudge = Some(TypedNudge { message: message.to_owned(), typed_at: now, before });
    }

    /// Whether new output may be the echo of a nudge.
    pub fn is_awaited(&self, now: Instant) -> bool {
        self.nudge.as_ref().is_some_and(|nudge| nudge.is_recent(now))
    }

    /// Removes the echoes from the lines on the screen.
    pub fn remove_from(&mut self, lines: &mut Vec<String>, now: Instant) {
        if let Some(TypedNudge { message, before, .. }) = self.nudge.as_ref().filter(|nudge| nudge.is_recent(now)) {
            let is_echo = |line: &&String| is_echo(line, message) && !before.contains(*line);
            self.lines.extend(lines.iter().filter(is_echo).cloned());
        }
        lines.retain(|line| !self.lines.contains(line));
    }
}

impl TypedNudge {
    fn is_recent(&self, now: Instant) -> bool {
        now.duration_since(self.typed_at) < ECHO_LASTS
    }
}

/// Whether a line may be no more than what a terminal shows of a message: it has no letter or digit, is a part of the
/// message, or shares eight letters and digits in a row with it. Prompts and frames stand around a message, terminals
/// wrap it, and other output runs into it.
fn is_echo(line: &str, message: &str) -> bool {
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

    use super::{LineSplitter, is_echo, redacted};

    fn split(chunks: &[&[u8]]) -> Vec<String> {
        let mut splitter = LineSplitter::default();
        chunks.iter().flat_map(|bytes| splitter.split(bytes)).collect()
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
        assert_eq!(split(&[bytes]), lines);
        let one_by_one: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(split(&one_by_one), lines, "byte by byte");
    }

    #[test]
    fn a_private_key_is_hidden_over_many_lines() {
        let key = b"-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nhunter2\n-----END RSA PRIVATE KEY-----\nafter\n";
        assert_eq!(redacted(&split(&[key])), ["***", "***", "***", "-----END RSA PRIVATE KEY-----", "after"]);
    }

    #[test]
    fn a_private_key_whose_beginning_has_scrolled_away_is_hidden() {
        let lines = ["MIIEow", "hunter2", "-----END RSA PRIVATE KEY-----", "after"].map(str::to_owned);
        assert_eq!(redacted(&lines), ["***", "***", "-----END RSA PRIVATE KEY-----", "after"]);
        let middle = ["MIIEowIBAAKCAQEA7vPp6Wb9Zk0TqkS5bYwQq4G6W1n3nX4y5y0u8c3K2b1a0Z9x".to_owned()];
        assert_eq!(redacted(&middle), ["***"]);
    }

    #[test]
    fn of_a_line_a_row_holds_four_hundred_characters_without_credentials() {
        let lines = ["é ".repeat(5000), "export TOKEN=hunter2hunter2".to_owned()];
        let lines = redacted(&lines);
        assert_eq!((lines[0].chars().count(), lines[1].as_str()), (400, "export TOKEN=***"));
    }

    proptest! {
        #[test]
        fn any_bytes_become_lines_without_control_characters(bytes in any::<Vec<u8>>()) {
            let lines = redacted(&split(&[&bytes, b"\n"]));
            prop_assert!(lines.iter().all(|line| !line.chars().any(char::is_control)));
        }
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
}
