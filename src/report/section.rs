//! How overviews show ages, states, what a row is about, and a section: a sentence with a table below it.

use std::collections::BTreeMap;
use std::fmt::Display;

use chrono::TimeDelta;
use owo_colors::{OwoColorize, Style};

use super::grid::{GridRow, with_header, without_header};
use crate::rules::Kind;
use crate::rules::board::BoardState;
use crate::rules::display::HumanDuration;
use crate::store::read::overview::{Counts, SubjectRef};
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

/// A text in the colour of a state.
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

/// The cells of a subject: its kind, what people call it, its agent and its title, as they may be shown.
pub fn cells(subject: &SubjectRef) -> [String; 4] {
    let kind = subject.kind.map(Kind::name).unwrap_or_default().to_owned();
    let [name, agent, title] = [subject.name(), subject.agent.as_deref(), subject.title.as_deref()]
        .map(|text| text.map(redact).unwrap_or_default());
    [kind, name, agent, title]
}

/// A sentence, the rows below it, and how many of the `total` are not among them; empty when there are none.
pub fn section<const N: usize, R: Into<GridRow<N>>>(
    total: i64,
    sentence: impl Display,
    names: [&str; N],
    numbers: &[usize],
    rows: impl ExactSizeIterator<Item = R>,
) -> String {
    let more = match total - rows.len() as i64 {
        _ if total == 0 => return String::new(),
        more if 0 < more => format!("  … and {more} more\n"),
        _ => String::new(),
    };
    format!("{sentence}\n\n{}{more}", with_header(names, rows, numbers))
}

/// The sections that are not empty, each with an empty line before it.
pub fn joined(sections: &[String]) -> String {
    sections.iter().filter(|section| !section.is_empty()).map(|text| format!("\n{text}")).collect()
}

/// All work by its state; a state in which nothing is, is left out. `further`: a line below.
pub fn kinds(kinds: &BTreeMap<&'static str, Counts>, further: Option<[String; 2]>) -> String {
    let lines = kinds.iter().map(|(kind, counts)| {
        let present = counts.states.iter().filter(|(_, n)| 0 < **n);
        let text: Vec<String> = present.map(|(state, n)| format!("{n} {}", coloured(state.name()))).collect();
        let text = match (counts.provided, text.is_empty()) {
            (false, _) => "not provided by this database".to_owned(),
            (true, true) => "none".to_owned(),
            (true, false) => text.join(", "),
        };
        [(*kind).to_owned(), text]
    });
    format!("{}\n\n{}", "All work in progress".bold(), without_header(lines.chain(further)))
}
