//! Types the operator's keys and the messages of nudges into a terminal, and tells the keys of a person from what a
//! terminal reports by itself: its focus, its mouse, what it was asked.
//!
//! Keys and messages are typed one after the other, by a thread of their own: a process that does not read blocks
//! nothing else.

use std::io::{ErrorKind, Read, Write, stdin};
use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use vte::{Params, Parser, Perform};

use super::output_pump::{BEFORE_RETRY, lock};
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
        // It ends a report that is a text.
        self.has_key |= byte != b'\\';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
