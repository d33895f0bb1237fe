//! What a line of output says, for those who compare lines.

use super::line::Line;
use super::scan::COUNTER;

/// A line without what changes by itself: times, durations, rates, attempts, spinners, bars, dots at its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Essence {
    pub words: String,
    /// How far its counters are, in the order in which they stand.
    pub counters: Vec<f64>,
}

impl Essence {
    /// None of a line that says nothing and counts nothing.
    pub fn of(line: &str) -> Option<Essence> {
        let Line { words, counters, .. } = Line::read(line)?;
        Some(Essence { words, counters })
    }

    /// The only number in its words, and the words around it.
    pub fn only_number(&self) -> Option<(String, f64)> {
        let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
        let first = self.words.find(|c: char| c.is_ascii_digit())?;
        let (before, rest) = self.words.split_at(first);
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (number, behind) = rest.split_at(length);
        if behind.contains(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let number = number.trim_end_matches(['.', ',']).replace(',', "").parse().ok()?;
        Some((format!("{before}{COUNTER}{behind}"), number))
    }
}
