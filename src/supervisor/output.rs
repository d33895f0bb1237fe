//! What an agent's process prints, as plain lines: without escape sequences, redraws and invisible characters; and
//! which lines are no more than the echo of a nudge.
//!
//! A line ends in a newline. Of a line that was redrawn after carriage returns, the last drawing counts. What was drawn
//! elsewhere on the screen is a line where it comes in the output.
//!
//! The log keeps the last mebibyte of these lines, without what looks like a credential, in a file that stays when the
//! process crashes. A log that cannot be written is given up.

use std::collections::{HashSet, VecDeque};
use std::fs::{File, OpenOptions, Permissions, remove_file};
use std::io::{Error, Read, Result, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anstream::adapter::StripBytes;
use rustix::fs::OFlags;

use crate::files::make_private_directory;
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

/// The lines as a session's row may hold them: shortened, and without what looks like a credential.
pub fn redacted(lines: &[String]) -> Vec<String> {
    // The first line of a key may have scrolled away.
    let begins = lines.iter().position(|line| line.contains("-----BEGIN "));
    let ends = lines.iter().position(|line| line.contains("-----END "));
    let mut in_private_key = ends.is_some_and(|ends| begins.is_none_or(|begins| ends < begins));
    let plain = lines.iter().map(|line| without_private_key(line.clone(), &mut in_private_key));
    // A line from the middle of a private key has nothing but Base64.
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let is_hidden = |line: &str| 60 <= line.len() && line.bytes().all(is_sign);
    let hidden = plain.map(|line| if is_hidden(line.trim()) { HIDDEN.to_owned() } else { line });
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

/// How many bytes of the output are kept.
const KEPT: u64 = 1 << 20;

pub struct Log {
    pub path: PathBuf,
    file: File,
    length: u64,
}

impl Log {
    /// Creates the file, and the directories above it, readable by this user only.
    pub fn create(path: &Path) -> Result<Log> {
        if let Some(directory) = path.parent() {
            make_private_directory(directory)?;
        }
        let mut options = OpenOptions::new();
        // A link is not followed, and opening a pipe does not wait for its reader.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.read(true).write(true).create(true).mode(0o600).custom_flags(flags.bits() as i32);
        let file = options.open(path)?;
        if !file.metadata()?.is_file() {
            return Err(Error::other("no regular file"));
        }
        // An existing file may have been readable by everybody.
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.set_len(0)?;
        Ok(Log { path: path.to_owned(), file, length: 0 })
    }

    pub fn write(&mut self, lines: &VecDeque<String>) -> Result<()> {
        let text: String = lines.iter().map(|line| redact(line) + "\n").collect();
        self.file.write_all(text.as_bytes())?;
        self.length += text.len() as u64;
        // The file is shortened seldom, so that each byte is written about twice.
        if 2 * KEPT < self.length { self.shorten() } else { Ok(()) }
    }

    /// Cuts the file to the last whole lines that fit into what is kept.
    pub fn shorten(&mut self) -> Result<()> {
        if self.length <= KEPT {
            return Ok(());
        }
        let mut kept = Vec::new();
        self.file.seek(SeekFrom::End(-(KEPT as i64)))?;
        self.file.read_to_end(&mut kept)?;
        let begin = kept.iter().position(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&kept[begin..])?;
        self.length = (kept.len() - begin) as u64;
        Ok(())
    }

    /// Removes the file, after an end that was no crash.
    pub fn remove(self) {
        let _ = remove_file(&self.path);
    }
}

/// How many bytes wait to be written.
const BUFFER_MAX: usize = 1 << 20;

/// Lines that wait to be written into the log: the last mebibyte of them.
#[derive(Default)]
pub struct LogBuffer {
    lines: VecDeque<String>,
    bytes: usize,
}

impl LogBuffer {
    /// Adds lines; the oldest are dropped when the buffer is full.
    pub fn add(&mut self, lines: impl IntoIterator<Item = String>) {
        let size = |line: &String| line.len() + size_of::<String>();
        for line in lines {
            self.bytes += size(&line);
            self.lines.push_back(line);
            while BUFFER_MAX < self.bytes {
                self.bytes -= self.lines.pop_front().as_ref().map_or(self.bytes, size);
            }
        }
    }

    /// Takes the lines that wait.
    pub fn take(&mut self) -> VecDeque<String> {
        std::mem::take(self).lines
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

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

    #[test]
    fn a_file_that_was_there_becomes_its_owners_only() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("agent.log");
        std::fs::write(&path, "earlier").expect("a file");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).expect("a file of one's own");
        Log::create(&path).expect("a log");
        let metadata = path.metadata().expect("a file");
        assert_eq!((metadata.permissions().mode() & 0o777, metadata.len()), (0o600, 0));
    }

    #[test]
    fn what_is_no_file_is_not_written() {
        let directory = tempfile::tempdir().expect("a directory");
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        std::fs::write(&file, "kept").expect("a file");
        symlink(&file, &link).expect("a link");
        assert!(Log::create(&link).is_err() && Log::create(directory.path()).is_err());
        assert_eq!(std::fs::read_to_string(&file).expect("a file"), "kept");
    }

    #[test]
    fn the_last_mebibyte_is_kept_in_whole_lines_for_its_owner_only() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("logs/agent.log");
        let mut log = Log::create(&path).expect("a log");
        for n in 0..40 {
            log.write(&(0..1000).map(|m| format!("{n} {m} {}", "x".repeat(90))).collect()).expect("room");
        }
        log.shorten().expect("room");
        let text = std::fs::read_to_string(&path).expect("a log");
        assert!((KEPT - 200..=KEPT).contains(&(text.len() as u64)), "{}", text.len());
        assert!(text.ends_with(&format!("39 999 {}\n", "x".repeat(90))));
        assert!(text.lines().all(|line| line.len() < 100 && line.ends_with('x')));
        assert_eq!(path.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
        log.remove();
        assert!(!path.exists());
    }
}
