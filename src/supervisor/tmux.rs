//! A tmux pane that the operator has started, watched from outside.
//!
//! Its agent has ended when the pane is dead or gone, when tmux has not answered for three seconds, or when a shell
//! that was not there at the start has been there for a second: nothing is typed into that one. A message reaches tmux
//! as one word behind `--`, and no format contains a word of the agent's: tmux runs what stands in `#(…)`.

mod pane;

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::backend::{Backend, ProcessEnd, WatchEvent};
use super::fence::{TypingTarget, deliver};
use super::output::LineSplitter;
use super::record::{DRAWING_LASTS, SharedRecord};
use crate::rules::Id;
use crate::screen::{Capture, Emulator};
pub use pane::Pane;
use pane::{LOSES_KEYS, PaneAnswer, PaneState, WindowMark, quoted};

/// How long a shell must run until the agent counts as ended: a shell may run for a moment when an agent starts.
const SHELL_LASTS: Duration = Duration::from_secs(1);

/// How long to wait for the exit code of a dead pane.
const STATUS_TAKES: Duration = Duration::from_secs(2);

/// How long tmux may fail to answer until the agent counts as ended: a single failed call proves nothing.
const SILENCE_LASTS: Duration = Duration::from_secs(3);

/// What the last queries of a pane have shown.
#[derive(Default)]
struct PaneHistory {
    screen: Option<Capture>,
    silent_since: Option<Instant>,
    shell_since: Option<Instant>,
    dead_since: Option<Instant>,
}

#[derive(Clone)]
pub struct WatchedPane {
    pane: Pane,
    interval: Duration,
    record: SharedRecord,
    events: Sender<WatchEvent>,
    mark: Arc<WindowMark>,
    /// The screen of the look before, while a message is typed.
    looked: Option<Capture>,
    /// One message is typed after the other.
    typing: Arc<Mutex<()>>,
}

impl WatchedPane {
    /// Starts watching: the pane is queried at each interval.
    pub fn start(pane: Pane, interval: Duration, record: SharedRecord, events: Sender<WatchEvent>) -> WatchedPane {
        let mark = Arc::new(WindowMark::new(pane.tmux.clone(), pane.id.clone()));
        let watched = WatchedPane { pane, interval, record, events, mark, looked: None, typing: Arc::default() };
        watched.spawn();
        watched
    }

    /// Starts a thread that watches the pane until its agent has ended.
    fn spawn(&self) {
        let watched = self.clone();
        thread::spawn(move || {
            let mut seen = PaneHistory::default();
            loop {
                if let Some(end) = watched.observe(&mut seen) {
                    // A pane that is gone has no lines any more but those that were seen last.
                    let seen = seen.screen.map(|capture| LineSplitter::default().split(capture.text.as_bytes()));
                    let lines = watched.pane.last_lines().or(seen);
                    watched.record.lock().log.add(lines.unwrap_or_default());
                    let _ = watched.events.send(WatchEvent::Ended(end));
                    return;
                }
                thread::sleep(watched.interval);
            }
        });
    }

    /// Queries the pane and updates the record; returns the end, if the agent has ended.
    fn observe(&self, seen: &mut PaneHistory) -> Option<ProcessEnd> {
        let at = Instant::now();
        let unseen = ProcessEnd { at, exit_code: None, signal: None };
        let state = match self.pane.query() {
            PaneAnswer::Pane(state) => state,
            PaneAnswer::Gone => return Some(unseen),
            PaneAnswer::Nothing => {
                let since = *seen.silent_since.get_or_insert(at);
                return (SILENCE_LASTS <= at - since).then_some(ProcessEnd { at: since, ..unseen });
            }
        };
        seen.silent_since = None;
        if state.is_dead {
            // tmux sees the end of the terminal before it knows how the process ended.
            let since = *seen.dead_since.get_or_insert(at);
            let PaneState { exit_code, signal, .. } = state;
            let is_complete = exit_code.is_some() || signal.is_some() || STATUS_TAKES <= at - since;
            return is_complete.then_some(ProcessEnd { at: since, exit_code, signal });
        }
        if self.pane.is_left_to_a_shell(&state) {
            let since = *seen.shell_since.get_or_insert(at);
            return (SHELL_LASTS <= at - since).then_some(ProcessEnd { at: since, ..unseen });
        }
        seen.shell_since = None;
        let before = seen.screen.as_ref();
        let has_changed = before.is_some_and(|before| *before != state.capture);
        // In a pane that becomes smaller, tmux cuts off what stands below the cursor.
        let has_other_text =
            before.is_some_and(|before| before.size == state.capture.size && before.text != state.capture.text);
        self.update_record(&state, has_changed, has_other_text, at);
        seen.screen = Some(state.capture);
        None
    }

    fn update_record(&self, state: &PaneState, has_changed: bool, has_other_text: bool, now: Instant) {
        let mut record = self.record.lock();
        record.resized(state.capture.size, now);
        record.runs(state.probe.clone(), state.capture.size);
        record.replace_screen(Emulator::from_capture(&state.capture), has_changed, has_other_text, now);
    }

    /// Has tmux send keys, unless it would take or drop them itself by now: it looks and sends at one moment.
    fn send(&self, command: &str) -> bool {
        let look = ["if-shell", "-F", "-t", &self.pane.id, LOSES_KEYS, "display-message -p kept", command];
        self.pane.tmux.ask(&look).is_some_and(|kept| kept.is_empty())
    }
}

impl Backend for WatchedPane {
    fn outlives_watcher(&self) -> bool {
        true
    }

    /// A thread types the message, if that is safe.
    fn type_message(&self, message: String, command_id: Id) -> bool {
        let mut pane = self.clone();
        thread::spawn(move || {
            let (record, typing) = (pane.record.clone(), pane.typing.clone());
            let _typing = typing.lock();
            // Whether anything is being drawn shows in two looks.
            pane.refresh();
            thread::sleep(DRAWING_LASTS);
            if let Err(why) = deliver(&mut pane, &record, &message) {
                let _ = pane.events.send(WatchEvent::Undelivered(command_id, why));
            }
        });
        true
    }

    /// A pane that is not dead is left alone: a shell that runs there now is the operator's.
    fn relaunch(&mut self) -> bool {
        let is_started = self.pane.tmux.ask(&["respawn-pane", "-t", &self.pane.id]).is_some();
        if is_started {
            self.record.lock().relaunched();
            self.spawn();
        }
        is_started
    }

    fn mark(&self, reason: Option<&str>) {
        self.mark.set(reason.is_some());
    }
}

impl TypingTarget for WatchedPane {
    fn press(&mut self, keys: &str) -> bool {
        let keys = match keys {
            "\r" => "Enter".to_owned(),
            // Control keys are sent byte by byte.
            keys if keys.chars().any(char::is_control) => {
                let codes: Vec<String> = keys.bytes().map(|byte| format!("{byte:x}")).collect();
                format!("-H {}", codes.join(" "))
            }
            keys => format!("-l -- {}", quoted(keys)),
        };
        self.send(&format!("send-keys -t {} {keys}", self.pane.id))
    }

    /// tmux knows whether the program distinguishes what is pasted.
    fn paste(&mut self, text: &str) -> bool {
        let (id, text) = (&self.pane.id, quoted(text));
        self.send(&format!("set-buffer -b sweep -- {text} ; paste-buffer -p -d -b sweep -t {id}"))
    }

    /// tmux passes the keys of a person on at once.
    fn types_alone(&self) -> bool {
        false
    }

    fn refresh(&mut self) -> bool {
        let Some(state) = self.pane.query().pane() else { return false };
        let has_changed = self.looked.as_ref().is_some_and(|before| *before != state.capture);
        self.update_record(&state, has_changed, false, Instant::now());
        let takes_keys = self.pane.takes_keys(&state);
        self.looked = Some(state.capture);
        takes_keys
    }
}
