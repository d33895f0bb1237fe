//! A line on stderr that moves while a sweep goes on: how far it is, how fast, and for how long yet.

use std::fmt::Write;
use std::io::{IsTerminal, stderr, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::sweep::Cancel;

/// Shown when stderr is a terminal, and the sweep takes longer than a moment.
pub struct ProgressLine {
    pub bar: ProgressBar,
    /// None: nobody wants it.
    cancel: Option<Cancel>,
    is_begun: AtomicBool,
}

/// A sweep that is over sooner is seen by its report.
const MOMENT: Duration = Duration::from_secs(1);

/// Until it is known how many there are.
const COUNTING: &str = "{spinner} {msg}: {human_pos} examined{left}";
const KNOWN: &str = "{spinner} {msg}: {human_pos} of {human_len}, {rate}/s{left}";

impl ProgressLine {
    pub fn hidden() -> ProgressLine {
        ProgressLine { bar: ProgressBar::hidden(), cancel: None, is_begun: AtomicBool::new(false) }
    }

    /// Beside a report on stdout: one that is no table is printed row by row, and at a terminal moves by itself.
    pub fn beside(is_table: bool, cancel: &Cancel) -> ProgressLine {
        let is_wanted = stderr().is_terminal() && (is_table || !stdout().is_terminal());
        ProgressLine { cancel: is_wanted.then(|| cancel.clone()), ..ProgressLine::hidden() }
    }

    pub fn is_wanted(&self) -> bool {
        self.cancel.is_some()
    }

    pub fn begin(&self, what: &'static str) {
        if !self.is_wanted() {
            return;
        }
        self.bar.reset();
        self.bar.set_style(self.style(COUNTING));
        self.bar.set_message(what);
        self.bar.enable_steady_tick(Duration::from_millis(100));
        if !self.is_begun.swap(true, Ordering::Relaxed) {
            let bar = self.bar.clone();
            thread::spawn(move || {
                thread::sleep(MOMENT);
                bar.set_draw_target(ProgressDrawTarget::stderr());
            });
        }
    }

    pub fn expect(&self, subjects: u64) {
        self.bar.set_length(subjects);
        self.bar.reset_eta();
        self.bar.set_style(self.style(KNOWN));
    }

    fn style(&self, template: &str) -> ProgressStyle {
        let cancel = self.cancel.clone().unwrap_or_default();
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
        let rate = |state: &ProgressState, out: &mut dyn Write| {
            let _ = write!(out, "{:.0}", state.per_sec());
        };
        style.with_key("rate", rate).with_key("left", move |state: &ProgressState, out: &mut dyn Write| {
            let eta = state.eta();
            let _ = match (cancel.is_set(), Duration::from_secs(1) <= eta) {
                (true, _) => write!(out, ", interrupted: what is in hand is finished"),
                (false, true) => write!(out, ", {:#} left", HumanDuration(eta)),
                (false, false) => Ok(()),
            };
        })
    }
}
