//! Notices to the operator while an agent has their terminal.
//!
//! Nothing is drawn into the screen of a full-screen program: it could be read as a part of a question. The terminal's
//! title, its bell and a desktop notification (OSC 9) take its place, and the notice is printed at the end.

use std::collections::VecDeque;
use std::io::{Write, stderr};

use super::backend::Backend;
use super::record::SharedRecord;
use crate::text::redact;

/// Notices that are kept for the end; older ones are dropped.
const DEFERRED_MAX: usize = 20;

pub struct Notices {
    record: SharedRecord,
    /// In raw mode a newline does not return to the first column.
    is_raw: bool,
    deferred: VecDeque<String>,
    is_marked: bool,
}

impl Notices {
    pub fn new(record: SharedRecord, is_raw: bool) -> Notices {
        Notices { record, is_raw, deferred: VecDeque::new(), is_marked: false }
    }

    /// Prints a sentence about the watch.
    pub fn print(&mut self, backend: &Backend, notice: &str) {
        self.print_line(backend, &format!("sweep: {}", redact(notice)));
    }

    /// Prints and marks that the session needs a person, for this reason.
    pub fn needs_person(&mut self, backend: &Backend, reason: &str) {
        let reason = redact(reason);
        backend.mark(Some(&reason));
        self.is_marked = true;
        self.print_line(backend, &format!("⚠ session needs a person: {reason}"));
    }

    /// Prints that the session no longer needs a person, and removes the mark.
    pub fn recovered(&mut self, backend: &Backend) {
        self.unmark(backend);
        self.print(backend, "the session goes on");
    }

    pub fn unmark(&mut self, backend: &Backend) {
        if std::mem::take(&mut self.is_marked) {
            backend.mark(None);
        }
    }

    fn print_line(&mut self, backend: &Backend, line: &str) {
        if matches!(backend, Backend::Terminal(_)) && self.record.lock().is_full_screen() {
            if self.deferred.len() == DEFERRED_MAX {
                self.deferred.pop_front();
            }
            return self.deferred.push_back(line.to_owned());
        }
        let (before, after) = if self.is_raw { ("\r\n", "\r\n") } else { ("", "\n") };
        let _ = stderr().write_all(format!("{before}{line}{after}").as_bytes());
    }

    /// The lines that could not be printed while the agent had the terminal.
    pub fn into_deferred(self) -> Vec<String> {
        self.deferred.into()
    }
}
