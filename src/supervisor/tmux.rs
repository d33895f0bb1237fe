//! A pane of tmux that somebody else has started, watched from outside.
//!
//! Its agent has ended when the pane is dead or gone, tmux has not answered for three seconds, or when for a second a shell has been there that was not there at
//! the start: into that one nothing is typed. What is typed reaches tmux as one word behind `--`, and no format holds a
//! word of the agent's: tmux runs what stands in `#(…)`.

mod alert;
mod client;
mod watched;

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use super::Event;
use super::output::Cutter;
use super::probe::{Probe, is_shell_name};
use super::record::Shared;
use crate::exit::{Refusal, usage};
use crate::screen::Capture;
use crate::text::shown;
use alert::Alert;
use client::Client;
pub use watched::WatchedPane;

/// How many lines of the pane's history are looked at besides the screen.
const HISTORY_LINES: usize = 200;

/// Of a capture: the last row of the screen.
const TO_THE_END: &str = "-";

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
    command: String,
    probe: Probe,
    capture: Capture,
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
        let alert = Arc::new(Alert::new(self.client.clone(), self.id.clone()));
        let watched = WatchedPane { pane: self, interval, record, events, alert };
        watched.look_on();
        watched
    }

    fn is_left_to_a_shell(&self, look: &Look) -> bool {
        is_shell_name(&look.command) && look.command != self.began_with
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

    /// All in one call: what stands there and what tmux says of it are of one moment.
    fn ask(&self) -> Answer {
        // The command comes last: it is the agent's own word, as the title on the next line is.
        const FORMAT: &str = "#{pane_id} #{pane_dead} #{pane_dead_status} #{pane_dead_signal} #{pane_in_mode} \
            #{pane_synchronized} #{pane_input_off} #{pane_tty} #{pane_pid} #{pane_height} #{pane_width} #{cursor_y} #{cursor_x} \
            #{cursor_flag} #{alternate_on} #{pane_current_command}";
        let (id, lines) = (self.id.as_str(), format!("-{}", Capture::LINES_ABOVE));
        let capture = ["capture-pane", "-p", "-e", "-J", "-t", id, "-S", &lines, "-E", TO_THE_END];
        let says = |format| ["display-message", "-p", "-t", id, format, ";"];
        let asked = self.client.call(&[&says(FORMAT)[..], &says("#{pane_title}"), &capture].concat());
        let answer = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let Some((first, rest)) = answer.split_once('\n') else { return Answer::Nothing };
        let mut parts = first.splitn(16, ' ');
        let mut next = || parts.next().unwrap_or_default();
        // For a pane that is gone tmux has empty answers.
        if next() != self.id {
            return Answer::Gone;
        }
        let (title, text) = rest.split_once('\n').unwrap_or((rest, ""));
        Answer::Pane(Look {
            is_dead: next() == "1",
            exit_code: next().parse().ok(),
            signal: next().parse().ok(),
            is_in_mode: !matches!(next(), "" | "0"),
            is_synchronized: next() == "1",
            is_input_off: next() == "1",
            probe: Probe { terminal: Some(next().into()), process: next().parse().ok(), command: Vec::new() },
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

    /// For the log: its last lines, joined as they were before they were wrapped, so that no credential is cut in two.
    fn last_lines(&self) -> Option<Vec<String>> {
        let first = format!("-{HISTORY_LINES}");
        let text = self.client.ask(&["capture-pane", "-p", "-J", "-t", &self.id, "-S", &first, "-E", TO_THE_END])?;
        Some(Cutter::default().cut(text.as_bytes()))
    }
}
