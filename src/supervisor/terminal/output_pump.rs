//! Passes the output of a process on to stdout, whose reader may be slow, pause, or be gone.
//! The watcher's own sequences are inserted where they break no character and no escape sequence.

use std::io::{Read, stdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::{Errno, write};

use crate::supervisor::SharedRecord;

/// The pause before stdout or stdin is tried again, if it was opened as non-blocking.
pub const BEFORE_RETRY: Duration = Duration::from_millis(5);

/// A process that has ended may leave others, which keep its terminal open. After this silence they are done.
const SILENCE: Duration = Duration::from_millis(500);

/// How long the others may go on printing, without the time that the reader of stdout takes.
const REST_LASTS: Duration = Duration::from_secs(3);

/// More bytes than a terminal buffers: what comes after them was printed by others.
const REST_MAX: usize = 1 << 20;

/// A write that takes longer is blocked by the reader of stdout. One that has just begun proves nothing: it may pass on
/// no more than the echo of a nudge.
const BLOCKED_AFTER: Duration = Duration::from_millis(500);

const TICK: Duration = Duration::from_millis(20);

/// Passes the output of one process on.
pub struct OutputPump {
    record: SharedRecord,
    flow: Mutex<Flow>,
    /// Where the output that was passed on ended; locked while output is passed on.
    passed: Mutex<Boundary>,
    /// The watcher's own sequences, to be inserted where they break nothing.
    inserts: Mutex<Vec<u8>>,
}

#[derive(Clone, Copy, Default)]
struct Flow {
    /// When something was last read from the terminal, or written to stdout.
    moved_at: Option<Instant>,
    bytes_read: usize,
    is_writing: bool,
    is_abandoned: bool,
}

impl Flow {
    fn is_blocked(&self, now: Instant) -> bool {
        let began = self.moved_at.filter(|_| self.is_writing);
        began.is_some_and(|began| BLOCKED_AFTER <= now.saturating_duration_since(began))
    }
}

impl OutputPump {
    pub fn new(record: SharedRecord) -> OutputPump {
        OutputPump { record, flow: Mutex::default(), passed: Mutex::default(), inserts: Mutex::default() }
    }

    /// Passes the output on until the terminal is closed. When nobody reads stdout any more, the output is dropped.
    pub fn run(&self, mut reader: Box<dyn Read + Send>) {
        let mut buffer = [0; 65536];
        let mut is_read = true;
        while let Ok(n @ 1..) = reader.read(&mut buffer) {
            let now = Instant::now();
            self.moved(now, n, is_read);
            self.record.lock().output(&buffer[..n], now);
            if is_read {
                // What the process prints meanwhile is not read yet.
                self.record.lock().is_passing = true;
                is_read = self.print(&buffer[..n]).is_ok();
                self.record.lock().is_passing = false;
                self.moved(Instant::now(), 0, false);
            }
        }
    }

    fn print(&self, bytes: &[u8]) -> Result<(), Errno> {
        let mut passed = lock(&self.passed);
        print(bytes)?;
        *passed = passed.after(bytes);
        self.print_inserts(*passed)
    }

    /// Inserts a sequence of the watcher's own into the output, as soon as it breaks nothing there.
    pub fn insert(&self, sequence: &[u8]) {
        lock(&self.inserts).extend_from_slice(sequence);
        self.flush_inserts();
    }

    /// Prints the sequences that are to be inserted, unless output is being passed on.
    pub fn flush_inserts(&self) {
        if let Ok(passed) = self.passed.try_lock() {
            let _ = self.print_inserts(*passed);
        }
    }

    fn print_inserts(&self, passed: Boundary) -> Result<(), Errno> {
        if passed.is_ground() { print(&std::mem::take(&mut *lock(&self.inserts))) } else { Ok(()) }
    }

    /// Whether the agent is blocked by the reader of stdout.
    pub fn is_blocked(&self) -> bool {
        lock(&self.flow).is_blocked(Instant::now())
    }

    /// Stops waiting for output that is still on its way.
    pub fn abandon(&self) {
        lock(&self.flow).is_abandoned = true;
    }

    /// Waits for the last output of a process that has just ended, and completes its last line.
    pub fn wait_for_rest(&self, is_over: &Receiver<()>) {
        let (end, before) = (Instant::now(), lock(&self.flow).bytes_read);
        let mut waited = Duration::ZERO;
        while is_over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            let flow = *lock(&self.flow);
            if flow.is_abandoned || before + REST_MAX < flow.bytes_read {
                break;
            }
            if flow.is_writing {
                continue;
            }
            waited += TICK;
            let moved_at = flow.moved_at.map_or(end, |at| at.max(end));
            if SILENCE <= moved_at.elapsed() || REST_LASTS <= waited {
                break;
            }
        }
        let moved_at = lock(&self.flow).moved_at;
        moved_at.into_iter().for_each(|at| self.record.lock().output(b"\n", at));
    }

    fn moved(&self, now: Instant, bytes_read: usize, is_writing: bool) {
        let mut flow = lock(&self.flow);
        *flow = Flow { moved_at: Some(now), bytes_read: flow.bytes_read + bytes_read, is_writing, ..*flow };
    }
}

/// Locks a mutex even if a thread has panicked with it: no change is ever incomplete.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes to stdout without the standard library's buffer, which loses its position when a write would block.
fn print(mut bytes: &[u8]) -> Result<(), Errno> {
    let stdout = stdout().lock();
    while !bytes.is_empty() {
        match write(&stdout, bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => thread::sleep(BEFORE_RETRY),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Where bytes of a terminal's output end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Boundary {
    /// Between characters and sequences.
    #[default]
    Ground,
    /// Inside a character, of which so many bytes are missing.
    Character(u8),
    /// Behind an `ESC`.
    Escape,
    /// Inside `ESC [`, up to a letter.
    Control,
    /// Inside `ESC ]` and its like, up to BEL or `ESC \`.
    String,
    /// Behind an `ESC` inside such a string.
    StringEscape,
}

impl Boundary {
    fn is_ground(self) -> bool {
        self == Boundary::Ground
    }

    fn after(self, bytes: &[u8]) -> Boundary {
        bytes.iter().fold(self, |boundary, byte| boundary.next(*byte))
    }

    fn next(self, byte: u8) -> Boundary {
        match (self, byte) {
            // CAN and SUB end every sequence.
            (_, 0x18 | 0x1a) => Boundary::Ground,
            (Boundary::String, 0x1b) => Boundary::StringEscape,
            (_, 0x1b) => Boundary::Escape,
            (Boundary::String, 0x07) => Boundary::Ground,
            (Boundary::String, _) => Boundary::String,
            (Boundary::Escape, b'[') => Boundary::Control,
            (Boundary::Escape | Boundary::StringEscape, b']' | b'P' | b'_' | b'^' | b'X') => Boundary::String,
            (Boundary::Escape, 0x20..=0x2f) => Boundary::Escape,
            (Boundary::Escape | Boundary::StringEscape, _) => Boundary::Ground,
            (Boundary::Control, 0x40..=0x7e) => Boundary::Ground,
            (Boundary::Control, _) => Boundary::Control,
            (Boundary::Character(left @ 2..), 0x80..=0xbf) => Boundary::Character(left - 1),
            (_, 0xc2..=0xdf) => Boundary::Character(1),
            (_, 0xe0..=0xef) => Boundary::Character(2),
            (_, 0xf0..=0xf4) => Boundary::Character(3),
            _ => Boundary::Ground,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn a_write_that_has_just_begun_blocks_nobody() {
        let began = Instant::now();
        let blocked_after = |is_writing, millis| {
            Flow { moved_at: Some(began), is_writing, ..Flow::default() }
                .is_blocked(began + Duration::from_millis(millis))
        };
        assert!(!blocked_after(true, 0));
        assert!(!blocked_after(true, 100));
        assert!(blocked_after(true, 1000));
        assert!(!blocked_after(false, 1000), "it is done");
    }

    #[rstest]
    #[case::plain(b"abc", true)]
    #[case::a_whole_colour(b"\x1b[1;31m", true)]
    #[case::half_a_colour(b"\x1b[1;3", false)]
    #[case::an_escape(b"\x1b", false)]
    #[case::a_charset(b"\x1b(", false)]
    #[case::a_whole_charset(b"\x1b(B", true)]
    #[case::a_title(b"\x1b]0;title", false)]
    #[case::a_whole_title(b"\x1b]0;title\x07", true)]
    #[case::a_title_with_another_end(b"\x1b]0;title\x1b\\", true)]
    #[case::almost(b"\x1b]0;title\x1b", false)]
    #[case::a_long_string(b"\x1bPq#0;2;0;0;0", false)]
    #[case::half_a_character("é".as_bytes().split_at(1).0, false)]
    #[case::two_thirds_of_one("❯".as_bytes().split_at(2).0, false)]
    #[case::a_whole_one("❯".as_bytes(), true)]
    #[case::no_character(b"\xff\x80", true)]
    #[case::it_was_given_up(b"\x1b]0;ti\x18", true)]
    fn nothing_is_torn_apart(#[case] bytes: &[u8], #[case] is_ground: bool) {
        assert_eq!(Boundary::default().after(bytes).is_ground(), is_ground);
        let one_by_one = bytes.chunks(1).fold(Boundary::default(), Boundary::after);
        assert_eq!(one_by_one.is_ground(), is_ground, "byte by byte");
    }
}
