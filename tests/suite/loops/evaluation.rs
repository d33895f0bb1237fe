//! How well loops are told from work: windows of real logs, and loops that follow real lines.
//!
//! A *false alarm* is a window, ending in any line of a log of healthy work, in which a loop is found. A loop is *found*
//! if it is at its last necessary repetition. It is *called too early* one repetition before, and *called too late* when
//! the session has gone on to something else.

use std::fs;
use std::path::Path;

use sweep::rules::{Loop, detect_loop};

/// As much as a host might hand over.
const HANDED_OVER: usize = 100;

/// Loops are put behind every so many lines of a log.
const EVERY: usize = 23;

pub struct Log {
    pub name: String,
    lines: Vec<String>,
}

pub fn read(path: &Path) -> Log {
    let bytes = fs::read(path).expect("a log");
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    Log { name, lines: String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect() }
}

/// The logs in a directory, by name.
pub fn read_all(directory: &Path) -> Vec<Log> {
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<_> = entries.filter(|path| path.extension().is_some_and(|ending| ending == "log")).collect();
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
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

/// A way of going round in circles.
pub struct Circle {
    pub name: &'static str,
    /// So many times it must be seen.
    pub times: usize,
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
    pub fn put_into(&self, logs: &[Log]) -> Outcome {
        let mut outcome = Outcome::default();
        for log in logs {
            for end in (EVERY..log.lines.len()).step_by(EVERY) {
                let before = log.before(end);
                // In a log with a false alarm right here, it would not be this loop that is called.
                if detect_loop(before).is_some() {
                    continue;
                }
                outcome.put_in += 1;
                outcome.found += usize::from(detect_loop(&self.behind(before, self.times)).is_some());
                outcome.called_too_early += usize::from(detect_loop(&self.behind(before, self.times - 1)).is_some());
                let mut gone_on = self.behind(before, self.times);
                gone_on.push("● Read(docs/next.md)".to_owned());
                outcome.called_too_late += usize::from(detect_loop(&gone_on).is_some());
            }
        }
        outcome
    }

    fn behind(&self, before: &[String], times: usize) -> Vec<String> {
        before.iter().cloned().chain((0..times).flat_map(self.lines)).collect()
    }
}

/// Times, attempts, colours and spinners change from one time to the next, as they would.
pub const CIRCLES: [Circle; 9] = [
    Circle {
        name: "a retry, at other times",
        times: 6,
        lines: |at| vec![format!("[12:0{}:{:02}] Error: connection refused, retrying", at % 10, at * 7 % 60)],
    },
    Circle {
        name: "a retry that counts itself and waits longer",
        times: 6,
        lines: |at| {
            vec![format!(
                "API Error (Connection error.) · Retrying in {} seconds… (attempt {}/10)",
                1 << (at % 8),
                at + 1
            )]
        },
    },
    Circle {
        name: "an overloaded service, in JSON",
        times: 6,
        lines: |at| {
            let at = at + 3;
            vec![format!(
                r#"{{"time":"2026-11-22T09:0{at}:1{at}.0{at}1Z","error":"overloaded","request_id":"req_0{at}Zq{at}"}}"#
            )]
        },
    },
    Circle {
        name: "a prompt behind spinners",
        times: 6,
        lines: |at| {
            let glyphs: Vec<char> = "⠋⠙⠹⠸⠼⠴⠦⠧".chars().collect();
            let spin = |turn: usize| format!("\x1b[36m{}\x1b[0m Thinking… ({turn}s)", glyphs[turn % glyphs.len()]);
            let mut lines: Vec<String> = (0..at % 4).map(spin).collect();
            lines.push("\x1b[2K\x1b[1GDo you want to proceed? (y/n)".to_owned());
            lines
        },
    },
    Circle {
        name: "an edit and the same failing test",
        times: 4,
        lines: |at| {
            let result =
                format!("\x1b[31mtest result: FAILED\x1b[0m. 12 passed; 3 failed; finished in 0.{:02}s", at * 37 % 100);
            vec!["● Update(src/parse.rs)".to_owned(), result]
        },
    },
    Circle {
        name: "a download that breaks off, anywhere",
        times: 4,
        lines: |at| {
            let reached = [71, 40, 12, 33, 28][at % 5];
            let drawn =
                (0..=reached).step_by(9).map(|percent| format!("Receiving objects: {percent:3}% ({percent}0/1000)"));
            drawn.chain(["fatal: early EOF".to_owned()]).collect()
        },
    },
    Circle {
        name: "two tools in turn",
        times: 4,
        lines: |at| {
            vec![format!("09:1{at}:02 read src/a.rs ({at}2ms)"), format!("09:1{at}:07 grep 'fn main' ({}ms)", at + 3)]
        },
    },
    Circle {
        name: "read, edit, test",
        times: 4,
        lines: |at| {
            vec![
                "read src/parse.rs".to_owned(),
                "edit src/parse.rs".to_owned(),
                format!("12 passed, 3 failed in 0.{:02}s", at * 37 % 100),
            ]
        },
    },
    Circle {
        name: "three steps between empty lines and dots",
        times: 4,
        lines: |at| {
            let waiting = (0..at % 3).map(|dots| format!("Waiting{}", ".".repeat(dots + 1)));
            ["start the server", "", "curl: (7) Failed to connect", "stop the server"]
                .map(str::to_owned)
                .into_iter()
                .chain(waiting)
                .collect()
        },
    },
];
