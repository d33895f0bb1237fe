//! A pane, what tmux reports of it, and the mark at its window.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::screen::Capture;
use crate::supervisor::output::LineSplitter;
use crate::supervisor::probe::TerminalProbe;
use crate::supervisor::processes::is_shell_name;
use crate::text::redact;

/// How many lines of the pane's history go into the log besides the screen.
const HISTORY_LINES: usize = 200;

/// The last row of the screen, as an option of a capture.
const TO_THE_END: &str = "-";

/// How often, and in which intervals, a new pane is queried until it runs the same command twice.
const SETTLING_LOOKS: u32 = 10;
const SETTLING_PAUSE: Duration = Duration::from_millis(200);

/// Whether tmux would take keys itself, since somebody reads the pane's history, drop them, or give them to other panes
/// as well.
pub const LOSES_KEYS: &str = "#{||:#{pane_in_mode},#{||:#{pane_synchronized},#{pane_input_off}}}";

const NO_PANE: &str = "there is no such pane";

/// A pane, and the command that ran in it at the start.
#[derive(Clone, Debug)]
pub struct Pane {
    pub(super) tmux: Tmux,
    /// `%3`: a name may mean another pane later.
    pub(super) id: String,
    first_command: String,
}

/// A pane as tmux reports it at one moment.
#[derive(Default)]
pub struct PaneState {
    pub is_dead: bool,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    loses_keys: bool,
    command: String,
    pub probe: TerminalProbe,
    pub capture: Capture,
}

/// What tmux answers about a pane.
pub enum PaneAnswer {
    Pane(PaneState),
    Gone,
    /// tmux cannot be run, or has no server.
    Nothing,
}

impl PaneAnswer {
    /// The pane, if it is there.
    pub fn pane(self) -> Option<PaneState> {
        match self {
            PaneAnswer::Pane(pane) => Some(pane),
            PaneAnswer::Gone | PaneAnswer::Nothing => None,
        }
    }
}

impl Pane {
    /// Finds the pane of this name. No call of tmux inherits the withheld variables.
    ///
    /// # Errors
    /// Why it cannot be watched.
    pub fn find(name: &str, withheld: Vec<String>) -> Result<Pane, String> {
        let tmux = Tmux { withheld };
        let asked = tmux.call(&["display-message", "-p", "-t", name, "#{pane_id}"]);
        let asked = asked.map_err(|error| format!("tmux cannot be run: {error}"))?;
        let id = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
        if !asked.status.success() || !id.starts_with('%') {
            let why = String::from_utf8_lossy(&asked.stderr).into_owned();
            return Err(if why.trim().is_empty() { NO_PANE.to_owned() } else { why });
        }
        let mut pane = Pane { tmux, id, first_command: String::new() };
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
        let asked = self.tmux.ask(&["display-message", "-p", "-t", &self.id, "#{pane_current_path}"]);
        PathBuf::from(asked.unwrap_or_default().trim_end_matches('\n'))
    }

    /// The command line of the program that has the screen.
    pub fn foreground(&self) -> Vec<OsString> {
        self.query().pane().map(|state| state.probe.foreground()).unwrap_or_default()
    }

    /// Whether a shell runs there that did not at the start.
    pub fn is_left_to_a_shell(&self, state: &PaneState) -> bool {
        is_shell_name(&state.command) && state.command != self.first_command
    }

    /// Whether keys would reach the agent.
    pub fn takes_keys(&self, state: &PaneState) -> bool {
        !state.is_dead && !state.loses_keys && !self.is_left_to_a_shell(state)
    }

    /// The pane's state when its command is known: a new pane runs tmux itself for a moment, then a shell.
    fn settled(&self) -> Option<PaneState> {
        let mut state = self.query().pane()?;
        for _ in 0..SETTLING_LOOKS {
            thread::sleep(SETTLING_PAUSE);
            let before = std::mem::replace(&mut state, self.query().pane()?);
            if state.command == before.command && !state.command.starts_with("tmux") {
                break;
            }
        }
        Some(state)
    }

    /// Asks tmux in one call, so that the screen and what is said of it are of one moment.
    pub fn query(&self) -> PaneAnswer {
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
        let asked = self.tmux.call(&[&display(&fields)[..], &display("#{pane_title}"), &capture].concat());
        let answer = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let Some((first, rest)) = answer.split_once('\n') else { return PaneAnswer::Nothing };
        let mut parts = first.splitn(FIELDS.len(), ' ');
        let mut next = || parts.next().unwrap_or_default();
        // About a pane that is gone, tmux answers with empty values.
        if next() != self.id {
            return PaneAnswer::Gone;
        }
        let (title, text) = rest.split_once('\n').unwrap_or((rest, ""));
        PaneAnswer::Pane(PaneState {
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
    pub fn last_lines(&self) -> Option<Vec<String>> {
        let first = format!("-{HISTORY_LINES}");
        let text = self.tmux.ask(&["capture-pane", "-p", "-J", "-t", &self.id, "-S", &first, "-E", TO_THE_END])?;
        Some(LineSplitter::default().split(text.as_bytes()))
    }
}

/// Calls the program `tmux`.
#[derive(Clone, Debug)]
pub struct Tmux {
    /// The variables that no call inherits: the agent, which is the same user, could read them from the running call.
    withheld: Vec<String>,
}

impl Tmux {
    /// What tmux prints; None if it fails.
    pub fn ask(&self, arguments: &[&str]) -> Option<String> {
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

/// A word as an argument: tmux takes a semicolon at its end for the end of the command.
fn escaped(word: &str) -> String {
    word.strip_suffix(';').map_or(word.to_owned(), |word| format!("{word}\\;"))
}

/// A word as a part of a command that is an argument itself.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The options of a window that say how its name is shown.
const FORMATS: [&str; 2] = ["window-status-format", "window-status-current-format"];

const MARK: &str = "⚠ ";

/// A mark in tmux's status line, at the window of a session that needs a person.
///
/// It stands before the operator's own format of the window's name, and no word of the agent's is part of it: tmux runs
/// what stands in `#(…)`.
pub struct WindowMark {
    tmux: Tmux,
    pane: String,
    /// The window's formats before the mark was set; None for a format that it had from the global options.
    before: Mutex<Option<[Option<String>; 2]>>,
}

impl WindowMark {
    pub fn new(tmux: Tmux, pane: String) -> WindowMark {
        WindowMark { tmux, pane, before: Mutex::new(None) }
    }

    pub fn set(&self, is_on: bool) {
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        match (is_on, before.take()) {
            // Another watcher has marked the same window.
            (true, None) if self.of_window(FORMATS[0]).is_some_and(|format| format.starts_with(MARK)) => {}
            (true, None) => {
                *before = Some(FORMATS.map(|format| self.of_window(format)));
                for format in FORMATS {
                    let Some(shown) = self.ask(&["show-options", "-A", "-w", "-v"], format) else { continue };
                    self.set_option(format, &format!("{MARK}{shown}"));
                }
            }
            (false, Some(formats)) => {
                for (format, before) in FORMATS.iter().zip(formats) {
                    match before {
                        Some(before) => self.set_option(format, &before),
                        None => self.tmux.ask(&["set-option", "-w", "-u", "-t", &self.pane, format]),
                    };
                }
            }
            (_, unchanged) => *before = unchanged,
        }
    }

    fn set_option(&self, format: &str, value: &str) -> Option<String> {
        self.tmux.ask(&["set-option", "-w", "-t", &self.pane, format, &escaped(value)])
    }

    fn of_window(&self, format: &str) -> Option<String> {
        self.ask(&["show-options", "-w", "-v"], format).filter(|value| !value.is_empty())
    }

    fn ask(&self, command: &[&str], format: &str) -> Option<String> {
        let answer = self.tmux.ask(&[command, &["-t", &self.pane, format]].concat())?;
        Some(answer.trim_end_matches('\n').to_owned())
    }
}

impl Drop for WindowMark {
    fn drop(&mut self) {
        self.set(false);
    }
}
