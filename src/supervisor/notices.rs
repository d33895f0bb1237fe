//! What is said to the operator while an agent has their terminal.
//!
//! Nothing is drawn into the screen of a full-screen program: it may be the second line of a question. There the terminal's
//! title, its bell and a notification (OSC 9) say it, and its words follow when the agent has ended.

use std::collections::VecDeque;
use std::io::{Write, stderr};

use super::place::Place;
use super::record::Shared;
use crate::text::shown;

/// Words that wait for the end.
const HELD_MAX: usize = 20;

pub struct Notices {
    record: Shared,
    /// In raw mode a newline does not go back to the beginning of the line.
    is_raw: bool,
    held: VecDeque<String>,
    is_marked: bool,
}

impl Notices {
    pub fn new(record: Shared, is_raw: bool) -> Notices {
        Notices { record, is_raw, held: VecDeque::new(), is_marked: false }
    }

    /// A sentence about the watch.
    pub fn say(&mut self, place: &Place, words: &str) {
        self.print(place, &format!("sweep: {}", shown(words)));
    }

    /// The session needs a person: what for.
    pub fn needs_person(&mut self, place: &Place, what: &str) {
        let what = shown(what);
        place.mark(Some(&what));
        self.is_marked = true;
        self.print(place, &format!("⚠ session needs a person: {what}"));
    }

    /// It goes on.
    pub fn goes_on(&mut self, place: &Place) {
        self.unmark(place);
        self.say(place, "the session goes on");
    }

    /// What the terminal itself says of it is over.
    pub fn unmark(&mut self, place: &Place) {
        if std::mem::take(&mut self.is_marked) {
            place.mark(None);
        }
    }

    fn print(&mut self, place: &Place, line: &str) {
        if matches!(place, Place::Terminal(_)) && self.record.lock().is_full_screen() {
            if self.held.len() == HELD_MAX {
                self.held.pop_front();
            }
            return self.held.push_back(line.to_owned());
        }
        let (before, after) = if self.is_raw { ("\r\n", "\r\n") } else { ("", "\n") };
        let _ = stderr().write_all(format!("{before}{line}{after}").as_bytes());
    }

    /// What could not be said while the agent had the terminal.
    pub fn held(self) -> Vec<String> {
        self.held.into()
    }
}
