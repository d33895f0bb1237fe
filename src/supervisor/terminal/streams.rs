//! What passes between the operator and an agent: keys one way, output the other.
//!
//! The operator's keys and the messages of nudges are typed one after the other, by a thread of their own: a process
//! that does not read blocks nothing else. The keys of a person are told from what a terminal reports by itself: its
//! focus, its mouse, what it was asked.
//!
//! Output is passed on to stdout, whose reader may be slow, pause, or be gone. The watcher's own sequences are inserted
//! where they break no character and no escape sequence.

use std::io::{ErrorKind, Read, Write, stdin, stdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::{Errno, write};
use vte::{Params, Parser, Perform};

use crate::rules::Id;
use crate::supervisor::{SharedRecord, TypingTarget, WatchEvent, deliver};

/// Ctrl-C and Ctrl-\, which end what runs in a terminal.
const INTERRUPTING: [u8; 2] = [0x03, 0x1c];

/// What is typed next.
enum Keys {
    Bytes(Vec<u8>),
    /// A nudge's message, and the id of its command.
    Message(String, Id),
}

pub type Writer = Box<dyn Write + Send>;

/// What types into the present terminal of a command.
#[derive(Clone)]
pub struct Keyboard {
    state: Arc<Mutex<KeyboardState>>,
    record: SharedRecord,
    events: Sender<WatchEvent>,
}

struct KeyboardState {
    /// The queue of the present terminal's typist.
    keys: SyncSender<Keys>,
    interrupted_at: Option<Instant>,
}

impl Keyboard {
    /// Starts typing what is on stdin.
    pub fn new(writer: Writer, record: SharedRecord, events: Sender<WatchEvent>) -> Keyboard {
        let keys = start_typist(writer, &record, &events);
        let state = Arc::new(Mutex::new(KeyboardState { keys, interrupted_at: None }));
        let keyboard = Keyboard { state, record, events };
        let of_operator = keyboard.clone();
        thread::spawn(move || of_operator.pass_keys());
        keyboard
    }

    /// Types into another terminal from now on. Keys that were not read yet are dropped, as meant for the old one.
    pub fn move_to(&self, writer: Writer) {
        lock(&self.state).keys = start_typist(writer, &self.record, &self.events);
    }

    /// Queues a message; false if the queue is full.
    pub fn type_message(&self, message: String, command_id: Id) -> bool {
        lock(&self.state).keys.try_send(Keys::Message(message, command_id)).is_ok()
    }

    /// When the operator last typed Ctrl-C or Ctrl-\.
    pub fn interrupted_at(&self) -> Option<Instant> {
        lock(&self.state).interrupted_at
    }

    fn pass_keys(&self) {
        let (mut buffer, mut keys) = ([0; 4096], KeyFinder::default());
        loop {
            match stdin().lock().read(&mut buffer) {
                Ok(n @ 1..) => self.pass(&buffer[..n], keys.has_key(&buffer[..n])),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(BEFORE_RETRY),
                Ok(_) | Err(_) => return,
            }
        }
    }

    fn pass(&self, bytes: &[u8], has_key: bool) {
        if has_key {
            self.record.lock().keyed(bytes, Instant::now());
        }
        let keys = {
            let mut state = lock(&self.state);
            if bytes.iter().any(|byte| INTERRUPTING.contains(byte)) {
                state.interrupted_at = Some(Instant::now());
            }
            state.keys.clone()
        };
        let _ = keys.send(Keys::Bytes(bytes.to_vec()));
    }
}

/// Starts a typist, which ends when its queue is closed.
fn start_typist(writer: Writer, record: &SharedRecord, events: &Sender<WatchEvent>) -> SyncSender<Keys> {
    let (keys, typed) = sync_channel(64);
    let mut typist = Typist { writer, record: record.clone(), events: events.clone() };
    thread::spawn(move || typist.run(&typed));
    keys
}

/// Types into one terminal.
struct Typist {
    writer: Writer,
    record: SharedRecord,
    events: Sender<WatchEvent>,
}

impl Typist {
    fn run(&mut self, keys: &Receiver<Keys>) {
        for keys in keys {
            match keys {
                Keys::Bytes(bytes) => drop(self.write(&bytes)),
                Keys::Message(message, command_id) => {
                    let record = self.record.clone();
                    if let Err(why) = deliver(self, &record, &message) {
                        let _ = self.events.send(WatchEvent::Undelivered(command_id, why));
                    }
                }
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.writer.write_all(bytes).and_then(|()| self.writer.flush())
    }
}

impl TypingTarget for Typist {
    fn press(&mut self, keys: &str) -> bool {
        self.write(keys.as_bytes()).is_ok()
    }

    fn paste(&mut self, text: &str) -> bool {
        let takes_pastes = self.record.lock().emulator.takes_pastes();
        let pasted = if takes_pastes { format!("\x1b[200~{text}\x1b[201~") } else { text.to_owned() };
        self.press(&pasted)
    }

    /// What a person types stays in the queue until a message was typed.
    fn types_alone(&self) -> bool {
        true
    }

    /// The record is always up to date: the output is passed to it as it comes.
    fn refresh(&mut self) -> bool {
        true
    }
}

/// Finds the keys of a person among what a terminal sends.
#[derive(Default)]
struct KeyFinder {
    parser: Parser,
    found: ForeignKeys,
}

impl KeyFinder {
    /// Whether a person has typed a key among these bytes. A report may be split between two calls, but not behind its
    /// first byte, which is the escape key otherwise.
    fn has_key(&mut self, bytes: &[u8]) -> bool {
        self.found.has_key = false;
        self.parser.advance(&mut self.found, bytes);
        // The escape key, or one with Alt: no report ends there.
        if let [.., 0x1b] | [.., 0x1b, b'P' | b'X' | b']' | b'^' | b'_'] = bytes {
            *self =
                KeyFinder { found: ForeignKeys { has_key: true, ..ForeignKeys::default() }, ..KeyFinder::default() };
        }
        self.found.has_key
    }
}

#[derive(Default)]
struct ForeignKeys {
    has_key: bool,
    /// How many characters follow of the oldest form of a report of the mouse.
    of_mouse: u8,
}

impl Perform for ForeignKeys {
    fn print(&mut self, _: char) {
        self.has_key |= self.of_mouse == 0;
        self.of_mouse = self.of_mouse.saturating_sub(1);
    }

    fn execute(&mut self, _: u8) {
        self.has_key = true;
    }

    /// With a mark before its numbers a sequence is a report.
    fn csi_dispatch(&mut self, _: &Params, marks: &[u8], _: bool, c: char) {
        match c {
            'M' if marks.is_empty() => self.of_mouse = 3,
            'I' | 'O' | 'R' | 'c' | 'n' | 't' => {}
            _ => self.has_key |= marks.is_empty(),
        }
    }

    fn esc_dispatch(&mut self, _: &[u8], _: bool, byte: u8) {
        // A backslash ends a report that is a text.
        self.has_key |= byte != b'\\';
    }
}

/// The pause before stdout or stdin is tried again, if it was opened as non-blocking.
const BEFORE_RETRY: Duration = Duration::from_millis(5);

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
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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

    #[test]
    fn what_a_terminal_reports_is_no_key() {
        let reports = [
            "\x1b[I", "\x1b[O", "\x1b[<35;10;5M", "\x1b[<0;10;5m", "\x1b[M !!", "\x1b[?62;22c", "\x1b[>41;3c",
            "\x1b[5;1R", "\x1b[?2026;2$y", "\x1b[0n", "\x1b[?1u", "\x1b[48;24;80;0;0t", "\x1b]11;rgb:0/0/0\x07",
            "\x1b]11;rgb:0/0/0\x1b\\", "\x1bP1+r544e\x1b\\",
        ];
        let mut keys = KeyFinder::default();
        for report in reports {
            assert!(!keys.has_key(report.as_bytes()), "{report:?}");
            let (one, other) = report.as_bytes().split_at(report.len() - 1);
            assert!(one.ends_with(b"\x1b") || !keys.has_key(one) && !keys.has_key(other), "{report:?} in two");
        }
        for key in [
            "y", "\r", "\x03", "\x1b", "\x1b[A", "\x1bOA", "\x1bx", "\x1b[97;5u", "\x1b[200~y\x1b[201~", "é",
            "\x1b[I\x1b[<0;1;1My", "\x1b_", "\x1b]", "\x1bP", "x", "\x1b", "P", "x",
        ] {
            assert!(keys.has_key(key.as_bytes()), "{key:?}");
        }
    }
}
