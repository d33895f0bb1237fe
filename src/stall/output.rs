//! The last lines of a session's output, and when they were last progress.
//!
//! There is no rule here: `rules::detect_loop` decides whether lines are a loop.

use std::collections::VecDeque;

use chrono::TimeDelta;

use super::episode::Moment;
use crate::rules::{detect_loop, without_middle};

/// How many lines are kept: as many as a session's row holds, so that detectors and sweeps find the same loops.
const LINES_MAX: usize = 20;

/// How many bytes of a long line are kept, at its beginning and at its end.
const LINE_END_MAX: usize = 900;

pub struct RecentOutput {
    lines: VecDeque<String>,
    progressed_at: Moment,
    is_looping: bool,
}

/// What new lines mean.
#[derive(Debug, PartialEq)]
pub enum OutputChange {
    /// They are progress.
    Progress,
    /// They complete a loop.
    LoopBegan,
    /// They continue a loop.
    LoopContinues,
}

impl RecentOutput {
    pub fn new(progressed_at: Moment) -> RecentOutput {
        RecentOutput { lines: VecDeque::new(), progressed_at, is_looping: false }
    }

    /// Adds one or more complete lines. They are judged together, so that many lines at once cost little.
    pub fn add(&mut self, text: &str, now: Moment) -> OutputChange {
        let has_text = |line: &&str| !line.trim().is_empty();
        let last: Vec<&str> = text.lines().rev().filter(has_text).take(LINES_MAX).collect();
        for line in last.into_iter().rev() {
            if self.lines.len() == LINES_MAX {
                self.lines.pop_front();
            }
            self.lines.push_back(without_middle(line, LINE_END_MAX).into_owned());
        }
        let was_looping = std::mem::replace(&mut self.is_looping, detect_loop(self.lines.make_contiguous()).is_some());
        match (was_looping, self.is_looping) {
            (_, false) => {
                self.progressed_at = self.progressed_at.max(now);
                OutputChange::Progress
            }
            (false, true) => OutputChange::LoopBegan,
            (true, true) => OutputChange::LoopContinues,
        }
    }

    /// The last lines, oldest first.
    pub fn lines(&self) -> Vec<String> {
        self.lines.iter().cloned().collect()
    }

    /// When lines were last added that were no loop.
    pub fn progressed_at(&self) -> Moment {
        self.progressed_at
    }

    /// Shifts the latest progress by the length of a pause.
    pub fn postpone(&mut self, by: TimeDelta, now: Moment) {
        self.progressed_at = (self.progressed_at + by).min(now);
    }
}
