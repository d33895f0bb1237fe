//! A line on stderr that moves while a sweep goes on: how far it is, how fast, and for how long yet.

use std::io::{IsTerminal, stdout};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::rules::Kind;

/// Shown when stderr is a terminal.
pub struct ProgressLine {
    bar: ProgressBar,
}

/// Until it is known how many there are.
const COUNTING: &str = "{spinner} {msg}: {human_pos} examined";
const KNOWN: &str = "{spinner} {msg}: {human_pos} of {human_len}, {rate}/s, {eta} left";

impl ProgressLine {
    pub fn hidden() -> ProgressLine {
        ProgressLine { bar: ProgressBar::hidden() }
    }

    /// Beside a report on stdout: one that is no table is printed row by row, and at a terminal moves by itself.
    pub fn beside(is_table: bool) -> ProgressLine {
        let moves_by_itself = !is_table && stdout().is_terminal();
        let bar = if moves_by_itself { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        ProgressLine { bar }
    }

    pub fn is_shown(&self) -> bool {
        !self.bar.is_hidden()
    }

    pub fn begin(&self, kind: Kind) {
        if self.is_shown() {
            self.bar.reset();
            self.bar.set_style(style(COUNTING));
            self.bar.set_message(kind.plural());
            self.bar.enable_steady_tick(Duration::from_millis(100));
        }
    }

    pub fn expect(&self, subjects: u64) {
        self.bar.set_length(subjects);
        self.bar.reset_eta();
        self.bar.set_style(style(KNOWN));
    }

    pub fn step(&self) {
        self.bar.inc(1);
    }

    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    style.with_key("rate", |state: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
        let _ = write!(out, "{:.0}", state.per_sec());
    })
}
