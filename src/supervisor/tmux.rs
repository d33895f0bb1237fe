//! A tmux pane that the operator has started, watched from outside.
//!
//! Its agent has ended when the pane is dead or gone, when tmux has not answered for three seconds, or when a shell
//! that was not there at the start has been there for a second: nothing is typed into that one. A message reaches tmux
//! as one word behind `--`, and no format contains a word of the agent's: tmux runs what stands in `#(…)`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::{
    Backend, DRAWING_LASTS, LineSplitter, ProcessEnd, SharedRecord, TerminalProbe, TypingTarget, WatchEvent, deliver,
    is_shell_name,
};
use crate::rules::Id;
use crate::screen::{Capture, Emulator};
use crate::text::redact;

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
        let mark = Arc::new(WindowMark::new(pane.clone()));
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
            Ok(state) => state,
            Err(NoPane::Gone) => return Some(unseen),
            Err(NoPane::Silent) => {
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
        self.pane.ask(&look).is_some_and(|kept| kept.is_empty())
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
    fn relaunch(&mut self) -> Result<()> {
        self.pane.ask(&["respawn-pane", "-t", &self.pane.id]).context("tmux starts nothing")?;
        self.record.lock().relaunched();
        self.spawn();
        Ok(())
    }

    fn mark_in_brief(&self, words: &str) {
        self.mark.show(words);
    }

    fn unmark(&self) {
        self.mark.hide();
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
        let Ok(state) = self.pane.query() else { return false };
        let has_changed = self.looked.as_ref().is_some_and(|before| *before != state.capture);
        self.update_record(&state, has_changed, false, Instant::now());
        let takes_keys = self.pane.takes_keys(&state);
        self.looked = Some(state.capture);
        takes_keys
    }
}

/// How many lines of the pane's history go into the log besides the screen.
const HISTORY_LINES: usize = 200;

/// The last row of the screen, as an option of a capture.
const TO_THE_END: &str = "-";

/// How often, and in which intervals, a new pane is queried until it runs the same command twice.
const SETTLING_LOOKS: u32 = 10;
const SETTLING_PAUSE: Duration = Duration::from_millis(200);

/// Whether tmux would take keys itself, since somebody reads the pane's history, drop them, or give them to other panes
/// as well.
const LOSES_KEYS: &str = "#{||:#{pane_in_mode},#{||:#{pane_synchronized},#{pane_input_off}}}";

const NO_PANE: &str = "there is no such pane";

/// A pane, and the command that ran in it at the start.
#[derive(Clone, Debug)]
pub struct Pane {
    /// The variables that no call of tmux inherits: the agent, which is the same user, could read them from the running
    /// call.
    withheld: Vec<String>,
    /// `%3`: a name may mean another pane later.
    id: String,
    first_command: String,
}

/// A pane as tmux reports it at one moment.
#[derive(Default)]
struct PaneState {
    is_dead: bool,
    exit_code: Option<i32>,
    signal: Option<i32>,
    loses_keys: bool,
    command: String,
    probe: TerminalProbe,
    capture: Capture,
}

/// Why tmux does not show a pane.
enum NoPane {
    Gone,
    /// tmux cannot be run, or has no server.
    Silent,
}

impl Pane {
    /// Finds the pane of this name. No call of tmux inherits the withheld variables.
    ///
    /// # Errors
    /// Why it cannot be watched.
    pub fn find(name: &str, withheld: Vec<String>) -> Result<Pane, String> {
        let mut pane = Pane { withheld, id: String::new(), first_command: String::new() };
        let asked = pane.call(&["display-message", "-p", "-t", name, "#{pane_id}"]);
        let asked = asked.map_err(|error| format!("tmux cannot be run: {error}"))?;
        pane.id = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
        if !asked.status.success() || !pane.id.starts_with('%') {
            let why = String::from_utf8_lossy(&asked.stderr).into_owned();
            return Err(if why.trim().is_empty() { NO_PANE.to_owned() } else { why });
        }
        let state = pane.settled().ok_or(NO_PANE)?;
        if state.is_dead {
            return Err("its process has ended already".to_owned());
        }
        pane.first_command = state.command;
        Ok(pane)
    }

    /// The pane and its command, as people may read them.
    pub fn title(&self) -> String {
        format!("tmux {}: {}", self.id, redact(&self.first_command))
    }

    /// Where the program in it works.
    pub fn directory(&self) -> PathBuf {
        let asked = self.ask(&["display-message", "-p", "-t", &self.id, "#{pane_current_path}"]);
        PathBuf::from(asked.unwrap_or_default().trim_end_matches('\n'))
    }

    /// The command line of the program that has the screen.
    pub fn foreground(&self) -> Vec<OsString> {
        self.query().map(|state| state.probe.foreground()).unwrap_or_default()
    }

    /// Whether a shell runs there that did not at the start.
    fn is_left_to_a_shell(&self, state: &PaneState) -> bool {
        is_shell_name(&state.command) && state.command != self.first_command
    }

    /// Whether keys would reach the agent.
    fn takes_keys(&self, state: &PaneState) -> bool {
        !state.is_dead && !state.loses_keys && !self.is_left_to_a_shell(state)
    }

    /// The pane's state when its command is known: a new pane runs tmux itself for a moment, then a shell.
    fn settled(&self) -> Option<PaneState> {
        let mut state = self.query().ok()?;
        for _ in 0..SETTLING_LOOKS {
            thread::sleep(SETTLING_PAUSE);
            let before = std::mem::replace(&mut state, self.query().ok()?);
            if state.command == before.command && !state.command.starts_with("tmux") {
                break;
            }
        }
        Some(state)
    }

    /// Asks tmux in one call, so that the screen and what is said of it are of one moment.
    fn query(&self) -> Result<PaneState, NoPane> {
        // The command comes last, since the agent chooses it, as it does the title on the next line.
        const FIELDS: [&str; 14] = [
            "#{pane_id}", "#{pane_dead}", "#{pane_dead_status}", "#{pane_dead_signal}", LOSES_KEYS, "#{pane_tty}",
            "#{pane_pid}", "#{pane_height}", "#{pane_width}", "#{cursor_y}", "#{cursor_x}", "#{cursor_flag}",
            "#{alternate_on}", "#{pane_current_command}",
        ];
        let fields = FIELDS.join(" ");
        let (id, lines) = (self.id.as_str(), format!("-{}", Capture::LINES_ABOVE));
        let capture = ["capture-pane", "-p", "-e", "-J", "-t", id, "-S", &lines, "-E", TO_THE_END];
        let display = |format| ["display-message", "-p", "-t", id, format, ";"];
        let asked = self.call(&[&display(&fields)[..], &display("#{pane_title}"), &capture].concat());
        let answer = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let Some((first, rest)) = answer.split_once('\n') else { return Err(NoPane::Silent) };
        let mut parts = first.splitn(FIELDS.len(), ' ');
        let mut next = || parts.next().unwrap_or_default();
        // About a pane that is gone, tmux answers with empty values.
        if next() != self.id {
            return Err(NoPane::Gone);
        }
        let (title, text) = rest.split_once('\n').unwrap_or((rest, ""));
        Ok(PaneState {
            is_dead: next() == "1",
            exit_code: next().parse().ok(),
            signal: next().parse().ok(),
            loses_keys: next() == "1",
            probe: TerminalProbe { terminal: Some(next().into()), process: next().parse().ok(), command: Vec::new() },
            capture: Capture {
                size: (next().parse().unwrap_or(24), next().parse().unwrap_or(80)),
                cursor: (next().parse().unwrap_or_default(), next().parse().unwrap_or_default()),
                has_cursor: next() == "1",
                is_alternate: next() == "1",
                title: title.to_owned(),
                text: text.to_owned(),
            },
            command: next().to_owned(),
        })
    }

    /// Its last lines, for the log. They are joined as before they were wrapped, so that no credential is cut in two.
    fn last_lines(&self) -> Option<Vec<String>> {
        let first = format!("-{HISTORY_LINES}");
        let text = self.ask(&["capture-pane", "-p", "-J", "-t", &self.id, "-S", &first, "-E", TO_THE_END])?;
        Some(LineSplitter::default().split(text.as_bytes()))
    }

    /// What tmux prints; None if it fails.
    fn ask(&self, arguments: &[&str]) -> Option<String> {
        let output = self.call(arguments).ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn call(&self, arguments: &[&str]) -> std::io::Result<Output> {
        let mut command = Command::new("tmux");
        for name in &self.withheld {
            command.env_remove(name);
        }
        // The agent writes UTF-8, whatever the locale is here.
        command.arg("-u").args(arguments).stdin(Stdio::null()).output()
    }
}

/// A word as a part of a command that is an argument itself.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The options of a window that say how its name is shown.
const FORMATS: [&str; 2] = ["window-status-format", "window-status-current-format"];

/// What stands before such a format while a pane of the window is marked: the marks of all its panes. A mark is an
/// option of its pane, so that several watchers do not meet, and none outlives its pane.
const MARKS: &str = "#{P:#{?@sweep_mark,#{@sweep_mark} ,}}";

/// What follows then, and is shown as nothing: whether the window had this format itself, or the global one of this
/// length was copied. So a watcher that comes later knows what a killed one has changed.
const ORIGIN: [&str; 2] = ["#{?,", ",}"];
const OWN: &str = "own";
const COPIED: &str = "copied ";

/// The columns of a mark in tmux's status line, which has room for all windows.
const MARK_COLUMNS_MAX: usize = 20;

/// How often a mark is set that has not changed, and when tmux removes one that was not: its watcher was killed.
const MARKED_EVERY: Duration = Duration::from_secs(10);
const MARK_LASTS: Duration = Duration::from_secs(30);

/// A mark in tmux's status line, before the name of the window of a session that needs a person.
///
/// No word of the agent's is part of it: tmux runs what stands in `#(…)`.
struct WindowMark {
    pane: Pane,
    shown: Mutex<Option<ShownMark>>,
}

/// A mark as it was set last.
struct ShownMark {
    words: String,
    at: Instant,
    /// The window to which the pane belonged then: `@3`.
    window: String,
}

impl WindowMark {
    /// A mark that is not shown. What a watcher that was killed has left at this pane is removed.
    fn new(pane: Pane) -> WindowMark {
        let mark = WindowMark { pane, shown: Mutex::default() };
        mark.remove();
        mark.window().iter().for_each(|window| mark.restore(window));
        mark
    }

    fn show(&self, words: &str) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.as_ref().is_some_and(|before| before.words == words && before.at.elapsed() < MARKED_EVERY) {
            return;
        }
        let (id, at) = (self.pane.id.as_str(), Instant::now());
        let Some(window) = self.window() else { return };
        let mark: String = format!("⚠ {words}").chars().take(MARK_COLUMNS_MAX).collect();
        let token = Id::generate().0;
        let set = |option, value| ["set-option", "-p", "-t", id, option, value];
        self.pane.ask(&[&set("@sweep_mark", &mark)[..], &[";"], &set("@sweep_marked", &token)].concat());
        FORMATS.iter().for_each(|format| self.add_marks_to(&window, format));
        // From tmux 3.2 on. The shell says nothing of a pane that is gone by then.
        let is_left = quoted(&format!("##{{==:##{{@sweep_marked}},{token}}}"));
        let removal = quoted(&format!("set-option -p -u -t {id} @sweep_mark"));
        let command = format!("tmux if-shell -F -t {id} {is_left} {removal} >/dev/null 2>&1 || :");
        self.pane.ask(&["run-shell", "-b", "-d", &MARK_LASTS.as_secs().to_string(), &command]);
        // The pane may have been moved to another window.
        if let Some(left) = shown.replace(ShownMark { words: words.to_owned(), at, window }) {
            self.restore(&left.window);
        }
    }

    fn hide(&self) {
        if let Some(shown) = self.shown.lock().unwrap_or_else(PoisonError::into_inner).take() {
            self.remove();
            self.restore(&shown.window);
        }
    }

    /// The window that the pane belongs to.
    fn window(&self) -> Option<String> {
        let window = self.pane.ask(&["display-message", "-p", "-t", &self.pane.id, "#{window_id}"])?;
        Some(window.trim().to_owned()).filter(|window| window.starts_with('@'))
    }

    /// Removes the mark of the pane.
    fn remove(&self) {
        let unset = |option| ["set-option", "-p", "-u", "-t", self.pane.id.as_str(), option];
        self.pane.ask(&[&unset("@sweep_mark")[..], &[";"], &unset("@sweep_marked")].concat());
    }

    /// Restores the formats of a window, unless one of its panes is marked.
    fn restore(&self, window: &str) {
        let marks = self.pane.ask(&["list-panes", "-t", window, "-F", "#{@sweep_mark}"]);
        if marks.is_some_and(|marks| marks.trim().is_empty()) {
            FORMATS.iter().for_each(|format| self.take_marks_from(window, format));
        }
    }

    fn add_marks_to(&self, window: &str, format: &str) {
        let Some(own) = self.read(&["show-options", "-w", "-v", "-t", window, format]) else { return };
        let is_there = own.as_ref().is_some_and(|own| own.starts_with(MARKS));
        let shown = || self.read(&["show-options", "-A", "-w", "-v", "-t", window, format]);
        let Some(Some(shown)) = (!is_there).then(shown).flatten() else { return };
        let origin = ORIGIN.join(&own.map_or_else(|| format!("{COPIED}{}", shown.len()), |_| OWN.to_owned()));
        self.set(window, format, &format!("{MARKS}{origin}{shown}"));
    }

    /// Restores what was there before; what somebody has changed meanwhile stays as it is.
    fn take_marks_from(&self, window: &str, format: &str) {
        let own = self.read(&["show-options", "-w", "-v", "-t", window, format]).flatten();
        let Some(before) = own.as_deref().and_then(|own| own.strip_prefix(MARKS)) else { return };
        let (origin, before) =
            before.strip_prefix(ORIGIN[0]).and_then(|rest| rest.split_once(ORIGIN[1])).unwrap_or((OWN, before));
        if origin.strip_prefix(COPIED).is_some_and(|length| length == before.len().to_string()) {
            self.pane.ask(&["set-option", "-w", "-u", "-t", window, format]);
        } else {
            self.set(window, format, before);
        }
    }

    fn set(&self, window: &str, format: &str, value: &str) {
        // In an argument, tmux takes a semicolon at its end for the end of the command.
        let escaped = value.strip_suffix(';').map_or(value.to_owned(), |value| format!("{value}\\;"));
        self.pane.ask(&["set-option", "-w", "-t", window, format, &escaped]);
    }

    /// The value of an option as tmux prints it, which is None if the option is not set. None: the value is unknown, or
    /// no text that could be restored.
    fn read(&self, command: &[&str]) -> Option<Option<String>> {
        let answer = self.pane.call(command).ok().filter(|answer| answer.status.success())?;
        Some(String::from_utf8(answer.stdout).ok()?.strip_suffix('\n').map(str::to_owned))
    }
}

impl Drop for WindowMark {
    fn drop(&mut self) {
        self.hide();
    }
}
