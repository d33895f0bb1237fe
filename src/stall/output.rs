//! The last lines of one session's output, and when they were last a step forward.
//!
//! It holds no rule: whether lines are a loop is what `rules::detect_loop` says of them.

use std::collections::VecDeque;

use chrono::TimeDelta;

use super::episode::Moment;
use crate::rules::detect_loop;

/// How many of the last lines are kept: as many as the row of a session in a database, so that detectors and sweeps find
/// the same loops.
const LINES_MAX: usize = 20;

/// How many bytes of a long line are kept, of its beginning and of its end.
const LINE_END_MAX: usize = 900;

pub struct Output {
    lines: VecDeque<String>,
    progressed_at: Moment,
    is_looping: bool,
}

/// What new lines have changed.
#[derive(Debug, PartialEq)]
pub enum Change {
    /// They are a step forward.
    Progress,
    /// With them the last lines have become a loop.
    LoopBegan,
    /// The loop goes on.
    LoopGoesOn,
}

impl Output {
    pub fn new(progressed_at: Moment) -> Output {
        Output { lines: VecDeque::new(), progressed_at, is_looping: false }
    }

    /// Takes in one or more complete lines. They are judged together, so that many lines at once cost little.
    pub fn add(&mut self, text: &str, now: Moment) -> Change {
        let has_text = |line: &&str| !line.trim().is_empty();
        let last: Vec<&str> = text.lines().rev().filter(has_text).take(LINES_MAX).collect();
        for line in last.into_iter().rev() {
            if self.lines.len() == LINES_MAX {
                self.lines.pop_front();
            }
            self.lines.push_back(shortened(line));
        }
        let was_looping = std::mem::replace(&mut self.is_looping, detect_loop(self.lines.make_contiguous()).is_some());
        match (was_looping, self.is_looping) {
            (_, false) => {
                self.progressed_at = self.progressed_at.max(now);
                Change::Progress
            }
            (false, true) => Change::LoopBegan,
            (true, true) => Change::LoopGoesOn,
        }
    }

    /// The last lines, oldest first.
    pub fn lines(&self) -> Vec<String> {
        self.lines.iter().cloned().collect()
    }

    /// The time of the latest lines after which the last lines were no loop.
    pub fn progressed_at(&self) -> Moment {
        self.progressed_at
    }

    /// The session's clock stood still for so long.
    pub fn postpone(&mut self, by: TimeDelta, now: Moment) {
        self.progressed_at = (self.progressed_at + by).min(now);
    }
}

/// The two ends of a long line, and its length: what differs in the middle mostly differs in length, too.
fn shortened(line: &str) -> String {
    if line.len() <= 2 * LINE_END_MAX {
        return line.to_owned();
    }
    let head = (0..=LINE_END_MAX).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(0);
    let tail = (line.len() - LINE_END_MAX..=line.len()).find(|&at| line.is_char_boundary(at)).unwrap_or(line.len());
    format!("{} … {} … {}", &line[..head], line.len(), &line[tail..])
}
