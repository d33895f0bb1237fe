//! How the status shows ages, states and the head of a section.

use std::fmt::Display;

use chrono::TimeDelta;
use owo_colors::{OwoColorize, Style};

use crate::rules::board::BoardState;
use crate::rules::display::{HumanDuration, counted};
use crate::text::redact;

pub fn duration(seconds: i64) -> String {
    HumanDuration(TimeDelta::seconds(seconds)).to_string()
}

/// An age, or that the row holds no time that can be read.
pub fn age(seconds: Option<i64>) -> String {
    seconds.map_or("unknown".to_owned(), duration)
}

/// A state or a plan's status in the colour of its urgency.
pub fn coloured(name: &str) -> String {
    paint(redact(name), name)
}

pub fn paint(text: impl Display, state: &str) -> String {
    let is = |states: &[BoardState]| states.iter().any(|known| known.name() == state);
    let style = match state {
        _ if is(&[BoardState::Orphaned, BoardState::Stalled]) => Style::new().red(),
        _ if is(&[BoardState::Escalated, BoardState::Abandoned, BoardState::Skipped]) => Style::new().yellow(),
        "active" | "executing" | "completed" => Style::new().green(),
        _ => Style::new(),
    };
    text.style(style).to_string()
}

/// None when there is nothing to print.
pub fn headline(n: i64, one: &str, many: &str) -> Option<String> {
    (0 < n).then(|| counted(n, one, many).bold().to_string())
}

pub fn section(text: &str, table: String, total: i64, listed: usize) -> String {
    let more = match total - listed as i64 {
        more if 0 < more => format!("  … and {more} more\n"),
        _ => String::new(),
    };
    format!("{text}\n\n{table}{more}")
}
