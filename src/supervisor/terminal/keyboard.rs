//! Keys on their way into a terminal: the operator's, and the messages of nudges.
//!
//! They are typed one after the other: a process that does not read keeps its typist waiting, and nobody else.

use std::io::{ErrorKind, Read, Write, stdin};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use super::outlet::BEFORE_RETRY;
use crate::rules::Id;
use crate::supervisor::Event;
use crate::supervisor::fence::{Hands, deliver};
use crate::supervisor::probe::Probe;
use crate::supervisor::record::Shared;

/// Ctrl-C and Ctrl-\, with which an operator ends what runs in a terminal.
const INTERRUPTING: [u8; 2] = [0x03, 0x1c];

enum Keys {
    Bytes(Vec<u8>),
    /// With the id of the command that it came from.
    Message(String, Id),
}

pub type Writer = Box<dyn Write + Send>;

#[derive(Clone)]
pub struct Keyboard {
    state: Arc<Mutex<State>>,
    record: Shared,
    events: Sender<Event>,
}

struct State {
    /// To the typist of the terminal that is there now.
    keys: SyncSender<Keys>,
    /// When the operator last typed one of the interrupting keys.
    interrupted_at: Option<Instant>,
}

impl Keyboard {
    /// Types what is on stdin from now on.
    pub fn new(writer: Writer, probe: Probe, record: Shared, events: Sender<Event>) -> Keyboard {
        let keys = typist(writer, probe, &record, &events);
        let state = Arc::new(Mutex::new(State { keys, interrupted_at: None }));
        let keyboard = Keyboard { state, record, events };
        let of_operator = keyboard.clone();
        thread::spawn(move || of_operator.pass_keys());
        keyboard
    }

    /// Types into another terminal from now on. Keys that nobody has read yet were meant for the one before.
    pub fn move_to(&self, writer: Writer, probe: Probe) {
        self.state().keys = typist(writer, probe, &self.record, &self.events);
    }

    /// Has a message typed. Is there room for it?
    pub fn type_message(&self, message: String, command_id: Id) -> bool {
        match self.state().keys.try_send(Keys::Message(message, command_id)) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
        }
    }

    pub fn interrupted_at(&self) -> Option<Instant> {
        self.state().interrupted_at
    }

    fn pass_keys(&self) {
        let mut buffer = [0; 4096];
        loop {
            match stdin().lock().read(&mut buffer) {
                Ok(n @ 1..) => self.pass(&buffer[..n]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(BEFORE_RETRY),
                Ok(_) | Err(_) => return,
            }
        }
    }

    fn pass(&self, bytes: &[u8]) {
        self.record.lock().keyed(Instant::now());
        let keys = {
            let mut state = self.state();
            if bytes.iter().any(|byte| INTERRUPTING.contains(byte)) {
                state.interrupted_at = Some(Instant::now());
            }
            state.keys.clone()
        };
        let _ = keys.send(Keys::Bytes(bytes.to_vec()));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts one, which stays as long as somebody can send it keys.
fn typist(writer: Writer, probe: Probe, record: &Shared, events: &Sender<Event>) -> SyncSender<Keys> {
    let (keys, typed) = sync_channel(64);
    let mut typist = Typist { writer, probe, record: record.clone(), events: events.clone() };
    thread::spawn(move || typist.run(&typed));
    keys
}

struct Typist {
    writer: Writer,
    probe: Probe,
    record: Shared,
    events: Sender<Event>,
}

impl Typist {
    fn run(&mut self, keys: &Receiver<Keys>) {
        for keys in keys {
            match keys {
                Keys::Bytes(bytes) => drop(self.write(&bytes)),
                Keys::Message(message, command_id) => {
                    let record = self.record.clone();
                    if let Err(why) = deliver(self, &record, &message) {
                        let _ = self.events.send(Event::Undelivered(command_id, why));
                    }
                }
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.writer.write_all(bytes).and_then(|()| self.writer.flush())
    }
}

impl Hands for Typist {
    fn press(&mut self, keys: &str) -> bool {
        self.write(keys.as_bytes()).is_ok()
    }

    /// The terminal's output is taken in as it comes.
    fn look(&mut self) -> bool {
        true
    }

    fn discard(&mut self) {
        self.probe.discard_typed();
    }
}
