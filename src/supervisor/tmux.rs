//! A pane of tmux that somebody else has started, watched from outside.
//!
//! Its agent has ended when the pane is dead or gone, tmux has not answered for three seconds, or when for a second a shell has been there that was not there at
//! the start: into that one nothing is typed. What is typed reaches tmux as one word behind `--`, and no format holds a
//! word of the agent's: tmux runs what stands in `#(…)`.

mod client;

use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use super::Event;
use super::output::{Cutter, LINES_MAX};
use super::record::{End, Shared};
use super::terminal::BEFORE_RETURN;
use crate::exit::{Refusal, usage};
use crate::text::shown;
use client::Client;

const SHELLS: [&str; 12] = ["sh", "bash", "zsh", "fish", "dash", "ash", "ksh", "mksh", "tcsh", "csh", "nu", "xonsh"];

/// How many lines of the pane's history are looked at besides the screen.
const HISTORY_LINES: usize = 200;

/// Of a capture: the last row of the screen.
const TO_THE_END: &str = "-";

/// What starts an agent may be a shell for a moment.
const SHELL_STAYS: Duration = Duration::from_secs(1);

/// How long the exit code of a dead pane is waited for.
const STATUS_TAKES: Duration = Duration::from_secs(2);

/// How long tmux may fail to answer: one call that fails says nothing of the agent.
const SILENCE_LASTS: Duration = Duration::from_secs(3);

/// How often, and how far apart, a new pane is looked at until the same is seen twice.
const SETTLING_LOOKS: u32 = 10;
const SETTLING_PAUSE: Duration = Duration::from_millis(200);

/// A pane, and what ran in it at the start.
#[derive(Clone, Debug)]
pub struct Pane {
    client: Client,
    /// `%3`: a name may mean another pane tomorrow.
    id: String,
    began_with: String,
}

/// One look at a pane.
#[derive(Default)]
struct Look {
    is_dead: bool,
    exit_code: Option<i32>,
    signal: Option<i32>,
    /// Somebody reads its history: keys would be commands of tmux's own.
    is_in_mode: bool,
    /// Other panes of its window would get its keys as well.
    is_synchronized: bool,
    /// tmux would drop its keys.
    is_input_off: bool,
    history: String,
    cursor_row: usize,
    command: String,
}

/// What tmux says of a pane.
enum Answer {
    Pane(Look),
    Gone,
    /// tmux cannot be run, or has no server.
    Nothing,
}

impl Answer {
    fn look(self) -> Option<Look> {
        match self {
            Answer::Pane(look) => Some(look),
            Answer::Gone | Answer::Nothing => None,
        }
    }
}

/// What the last look at a pane saw.
#[derive(Default)]
struct Seen {
    /// Its history's length and its lines.
    screen: Option<(String, Vec<String>)>,
    silent_since: Option<Instant>,
    shell_since: Option<Instant>,
    dead_since: Option<Instant>,
}

impl Pane {
    /// The pane that the operator means; no call of tmux has the withheld variables.
    pub fn find(name: &str, withheld: Vec<String>) -> Result<Pane, Refusal> {
        let refuse = |why: &str| usage(format!("--tmux: “{}”: {}", shown(name), shown(why)));
        let client = Client { withheld };
        let asked = client.call(&["display-message", "-p", "-t", name, "#{pane_id}"]);
        let asked = asked.map_err(|error| refuse(&format!("tmux cannot be run: {error}")))?;
        let id = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
        if !asked.status.success() || !id.starts_with('%') {
            let why = String::from_utf8_lossy(&asked.stderr).into_owned();
            return Err(refuse(if why.trim().is_empty() { "there is no such pane" } else { &why }));
        }
        let mut pane = Pane { client, id, began_with: String::new() };
        let look = pane.look_twice().ok_or_else(|| refuse("there is no such pane"))?;
        if look.is_dead {
            return Err(refuse("its process has ended already"));
        }
        pane.began_with = look.command;
        Ok(pane)
    }

    /// What runs in it, as people may see it.
    pub fn title(&self) -> String {
        format!("tmux {}: {}", self.id, shown(&self.began_with))
    }

    /// Looks at it at each interval from now on.
    pub fn watch(self, interval: Duration, record: Shared, events: Sender<Event>) -> WatchedPane {
        let watched = WatchedPane { pane: self, interval, record, events };
        watched.look_on();
        watched
    }

    fn is_left_to_a_shell(&self, look: &Look) -> bool {
        is_shell(&look.command) && look.command != self.began_with
    }

    /// A pane that is new runs tmux itself for a moment, then a shell.
    fn look_twice(&self) -> Option<Look> {
        let mut look = self.ask().look()?;
        for _ in 0..SETTLING_LOOKS {
            thread::sleep(SETTLING_PAUSE);
            let before = std::mem::replace(&mut look, self.ask().look()?);
            if look.command == before.command && !look.command.starts_with("tmux") {
                break;
            }
        }
        Some(look)
    }

    fn ask(&self) -> Answer {
        // The command comes last: it is the agent's own word.
        const FORMAT: &str = "#{pane_id} #{pane_dead} #{pane_dead_status} #{pane_dead_signal} #{pane_in_mode} \
            #{pane_synchronized} #{pane_input_off} #{history_size} #{cursor_y} #{pane_current_command}";
        let answer = self.client.ask(&["display-message", "-p", "-t", &self.id, FORMAT]);
        let Some(answer) = answer else { return Answer::Nothing };
        let mut parts = answer.trim_end_matches('\n').splitn(10, ' ');
        let mut next = || parts.next().unwrap_or_default();
        // For a pane that is gone tmux has empty answers.
        if next() != self.id {
            return Answer::Gone;
        }
        Answer::Pane(Look {
            is_dead: next() == "1",
            exit_code: next().parse().ok(),
            signal: next().parse().ok(),
            is_in_mode: !matches!(next(), "" | "0"),
            is_synchronized: next() == "1",
            is_input_off: next() == "1",
            history: next().to_owned(),
            cursor_row: next().parse().unwrap_or_default(),
            command: next().to_owned(),
        })
    }

    /// The last lines of its history, then those of the screen up to a row.
    fn capture(&self, last: &str) -> Option<Vec<String>> {
        // Joined as they were before they were wrapped: no credential is cut in two before it is hidden.
        let first = format!("-{HISTORY_LINES}");
        let text = self.client.ask(&["capture-pane", "-p", "-J", "-t", &self.id, "-S", &first, "-E", last])?;
        Some(Cutter::default().cut(text.as_bytes()))
    }

    /// The last lines above the cursor.
    fn complete_lines(&self, look: &Look) -> Option<Vec<String>> {
        // The row above the first is the history's last, if there is one.
        if look.cursor_row == 0 && look.history == "0" {
            return Some(Vec::new());
        }
        let mut lines = self.capture(&(look.cursor_row as i64 - 1).to_string())?;
        Some(lines.split_off(lines.len().saturating_sub(LINES_MAX)))
    }
}

/// A pane that is looked at.
#[derive(Clone)]
pub struct WatchedPane {
    pane: Pane,
    interval: Duration,
    record: Shared,
    events: Sender<Event>,
}

impl WatchedPane {
    /// Until its agent has ended.
    fn look_on(&self) {
        let watched = self.clone();
        thread::spawn(move || {
            let mut seen = Seen::default();
            loop {
                if let Some(end) = watched.observe(&mut seen) {
                    // Of a pane that is gone stays what was seen of it last.
                    let lines = watched.pane.capture(TO_THE_END).or(seen.screen.map(|(_, lines)| lines));
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
        let screen = self.pane.capture(TO_THE_END)?;
        let lines = self.pane.complete_lines(&look)?;
        let now = Some((look.history, screen));
        let has_changed = seen.screen.is_some() && seen.screen != now;
        self.record.lock().take_in_screen(lines, has_changed, at);
        seen.screen = now;
        None
    }

    /// Types a message, unless nobody is there who should read it. Did it work?
    pub fn type_message(&self, message: &str) -> bool {
        self.takes_keys() && {
            self.record.lock().typed(message, Instant::now());
            // A semicolon at the end would end the command.
            let keys = message.strip_suffix(';').map_or(message.to_owned(), |message| format!("{message}\\;"));
            let is_typed = self.send(&["-l", "--", &keys]);
            thread::sleep(BEFORE_RETURN);
            self.record.lock().typed(message, Instant::now());
            is_typed && self.takes_keys() && self.send(&["Enter"])
        }
    }

    fn takes_keys(&self) -> bool {
        let loses = |look: &Look| look.is_dead || look.is_in_mode || look.is_synchronized || look.is_input_off;
        let takes = |look: Look| !loses(&look) && !self.pane.is_left_to_a_shell(&look);
        self.pane.ask().look().is_some_and(takes)
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

    /// Shows words of sweep's own in the status line.
    pub fn show(&self, words: &'static str) {
        let _ = self.pane.client.ask(&["display-message", "-t", &self.pane.id, words]);
    }
}

fn is_shell(command: &str) -> bool {
    // A login shell has a hyphen before its name.
    SHELLS.contains(&command.rsplit('/').next().unwrap_or_default().trim_start_matches('-'))
}
