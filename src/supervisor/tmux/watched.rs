//! A pane that is looked at again and again, and typed into.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use super::alert::Alert;
use super::{Answer, Look, Pane};
use crate::rules::Id;
use crate::screen::{Capture, Emulator};
use crate::supervisor::Event;
use crate::supervisor::fence::{Hands, deliver};
use crate::supervisor::output::Cutter;
use crate::supervisor::record::{End, Shared};

/// What starts an agent may be a shell for a moment.
const SHELL_STAYS: Duration = Duration::from_secs(1);

/// How long the exit code of a dead pane is waited for.
const STATUS_TAKES: Duration = Duration::from_secs(2);

/// How long tmux may fail to answer: one call that fails says nothing of the agent.
const SILENCE_LASTS: Duration = Duration::from_secs(3);

/// What the last look at a pane saw.
#[derive(Default)]
struct Seen {
    screen: Option<Capture>,
    silent_since: Option<Instant>,
    shell_since: Option<Instant>,
    dead_since: Option<Instant>,
}

/// A pane that is looked at.
#[derive(Clone)]
pub struct WatchedPane {
    pub(super) pane: Pane,
    pub(super) interval: Duration,
    pub(super) record: Shared,
    pub(super) events: Sender<Event>,
    pub(super) alert: Arc<Alert>,
}

impl WatchedPane {
    /// Until its agent has ended.
    pub(super) fn look_on(&self) {
        let watched = self.clone();
        thread::spawn(move || {
            let mut seen = Seen::default();
            loop {
                if let Some(end) = watched.observe(&mut seen) {
                    // Of a pane that is gone stays what was seen of it last.
                    let seen = seen.screen.map(|capture| Cutter::default().cut(capture.text.as_bytes()));
                    let lines = watched.pane.last_lines().or(seen);
                    watched.record.lock().log_all(lines.unwrap_or_default());
                    let _ = watched.events.send(Event::Ended(end));
                    return;
                }
                thread::sleep(watched.interval);
            }
        });
    }

    /// Takes in what is new; returns the end, if it has come.
    fn observe(&self, seen: &mut Seen) -> Option<End> {
        let at = Instant::now();
        let unseen = End { at, exit_code: None, signal: None };
        let look = match self.pane.ask() {
            Answer::Pane(look) => look,
            Answer::Gone => return Some(unseen),
            Answer::Nothing => {
                let since = *seen.silent_since.get_or_insert(at);
                return (SILENCE_LASTS <= at - since).then_some(End { at: since, ..unseen });
            }
        };
        seen.silent_since = None;
        if look.is_dead {
            // tmux sees that its terminal is closed before it hears how the process ended.
            let since = *seen.dead_since.get_or_insert(at);
            let is_told = look.exit_code.is_some() || look.signal.is_some();
            return (is_told || STATUS_TAKES <= at - since).then_some(End {
                at: since,
                exit_code: look.exit_code,
                signal: look.signal,
            });
        }
        if self.pane.is_left_to_a_shell(&look) {
            let since = *seen.shell_since.get_or_insert(at);
            return (SHELL_STAYS <= at - since).then_some(End { at: since, ..unseen });
        }
        seen.shell_since = None;
        let has_changed = seen.screen.as_ref().is_some_and(|seen| *seen != look.capture);
        self.show_record(&look, has_changed, at);
        seen.screen = Some(look.capture);
        None
    }

    fn show_record(&self, look: &Look, has_changed: bool, now: Instant) {
        let mut record = self.record.lock();
        record.runs(look.probe.clone(), look.capture.size);
        record.take_in_screen(Emulator::of(&look.capture), has_changed, now);
    }

    /// Types a message, if it is known to be right; nobody waits for it.
    pub fn type_message(&self, message: String, command_id: Id) -> bool {
        let mut hands = self.clone();
        thread::spawn(move || {
            let record = hands.record.clone();
            if let Err(why) = deliver(&mut hands, &record, &message) {
                let _ = hands.events.send(Event::Undelivered(command_id, why));
            }
        });
        true
    }

    fn send(&self, keys: &[&str]) -> bool {
        self.pane.client.ask(&[&["send-keys", "-t", &self.pane.id], keys].concat()).is_some()
    }

    /// Starts the pane's command again. Not where a shell has taken over: it is somebody's.
    pub fn start_again(&self) -> bool {
        let is_started = self.pane.client.ask(&["respawn-pane", "-t", &self.pane.id]).is_some();
        if is_started {
            self.record.lock().began_again();
            self.look_on();
        }
        is_started
    }

    /// Marks its window in the status line, or takes the mark away.
    pub fn mark(&self, is_stuck: bool) {
        self.alert.set(is_stuck);
    }
}

impl Hands for WatchedPane {
    fn press(&mut self, keys: &str) -> bool {
        match keys {
            "\r" => self.send(&["Enter"]),
            // What is no text is sent byte by byte.
            keys if keys.chars().any(char::is_control) => {
                let codes: Vec<String> = keys.bytes().map(|byte| format!("{byte:x}")).collect();
                self.send(&[&["-H"], codes.iter().map(String::as_str).collect::<Vec<_>>().as_slice()].concat())
            }
            keys => {
                // A semicolon at the end would end the command.
                let keys = keys.strip_suffix(';').map_or(keys.to_owned(), |keys| format!("{keys}\\;"));
                self.send(&["-l", "--", &keys])
            }
        }
    }

    fn look(&mut self) -> bool {
        let loses = |look: &Look| look.is_dead || look.is_in_mode || look.is_synchronized || look.is_input_off;
        let Some(look) = self.pane.ask().look() else { return false };
        let takes_keys = !loses(&look) && !self.pane.is_left_to_a_shell(&look);
        self.show_record(&look, false, Instant::now());
        takes_keys
    }

    fn discard(&mut self) {
        if let Some(look) = self.pane.ask().look() {
            look.probe.discard_typed();
        }
    }
}
