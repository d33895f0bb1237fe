//! How well loops are distinguished from work: windows of real logs, and loops that follow real lines.
//!
//! A *false alarm* is a window, ending in any line of a log of healthy work, in which a loop is found. A loop is
//! *found* if it is at its last necessary repetition. It is *called too early* one repetition before, and *called too
//! late* when the session has gone on to something else: by one line, or by two where a single one might be one more
//! odd line.

#[path = "circles.rs"]
mod circles;

use std::fs;
use std::path::Path;

pub use circles::CIRCLES;
use sweep::rules::{Loop, detect_loop};

/// As much as a host might hand over.
const HANDED_OVER: usize = 100;

/// Loops are put behind every so many lines of a log.
const EVERY: usize = 23;

/// What a session says that goes on to something else.
const NEXT: [&str; 2] = ["● Read(docs/next.md)", "# What comes next"];

pub struct Log {
    pub name: String,
    lines: Vec<String>,
}

pub fn read_log(path: &Path) -> Log {
    let bytes = fs::read(path).expect("a log");
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    Log { name, lines: String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect() }
}

/// The logs in a directory, by name.
pub fn read_all(directory: &Path) -> Vec<Log> {
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<_> = entries.filter(|path| path.extension().is_some_and(|ending| ending == "log")).collect();
    paths.sort();
    paths.iter().map(|path| read_log(path)).collect()
}

impl Log {
    pub fn windows(&self) -> usize {
        self.lines.len()
    }

    /// The number of the line in which each false alarm ends.
    pub fn false_alarms(&self) -> Vec<(usize, Loop)> {
        let ends = 1..=self.lines.len();
        ends.filter_map(|end| detect_loop(self.before(end)).map(|found| (end, found))).collect()
    }

    fn before(&self, end: usize) -> &[String] {
        &self.lines[end.saturating_sub(HANDED_OVER)..end]
    }
}

/// The lines before each place where loops are put. After a false alarm it would not be the loop that is called.
pub fn places(logs: &[Log]) -> Vec<&[String]> {
    let ends = |log: &Log| (EVERY..log.lines.len()).step_by(EVERY);
    let all = logs.iter().flat_map(|log| ends(log).map(|end| log.before(end)));
    all.filter(|before| detect_loop(before).is_none()).collect()
}

/// A way of going round in circles.
pub struct Circle {
    pub name: &'static str,
    /// How often the circle must be seen.
    pub times: usize,
    /// Are there odd lines among its lines?
    pub has_odd_lines: bool,
    /// What it prints the first time, the second time …
    pub lines: fn(usize) -> Vec<String>,
}

/// What became of the loops of one kind, behind all places of all logs.
#[derive(Default)]
pub struct Outcome {
    pub put_in: usize,
    pub found: usize,
    pub called_too_early: usize,
    pub called_too_late: usize,
}

impl Circle {
    pub fn put_into(&self, places: &[&[String]]) -> Outcome {
        let mut outcome = Outcome::default();
        for before in places {
            outcome.put_in += 1;
            outcome.found += usize::from(detect_loop(&self.behind(before, self.times)).is_some());
            outcome.called_too_early += usize::from(detect_loop(&self.behind(before, self.times - 1)).is_some());
            let mut gone_on = self.behind(before, self.times);
            gone_on.extend(NEXT.iter().take(1 + usize::from(self.has_odd_lines)).map(|&line| line.to_owned()));
            outcome.called_too_late += usize::from(detect_loop(&gone_on).is_some());
        }
        outcome
    }

    fn behind(&self, before: &[String], times: usize) -> Vec<String> {
        before.iter().cloned().chain((0..times).flat_map(self.lines)).collect()
    }
}
