//! What is known of a watched process: its signs of life, its last lines, how it ended.
//!
//! Any output is a sign of life, with one exception: for three seconds after a nudge was typed, output counts only by
//! complete lines that have nothing of the message in them and were not among the last lines already. Otherwise the
//! echo of every nudge would count as its success. A complete line is progress, unless the last lines are a loop.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::output::{Cutter, Window, is_echo};
use crate::rules::detect_loop;

/// How long a terminal may take to show what was typed.
const ECHO_LASTS: Duration = Duration::from_secs(3);

/// Bytes of memory for output that waits to be written into the log.
const UNLOGGED_MAX: usize = 1 << 20;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
    pub at: Instant,
    /// None: by a signal, or nobody saw it.
    pub exit_code: Option<i32>,
    /// None: by itself, or nobody saw it.
    pub signal: Option<i32>,
}

/// What the keeper of the session's row needs to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Glimpse {
    pub active_at: Option<Instant>,
    pub progressed_at: Option<Instant>,
    pub recent_output: Vec<String>,
    pub end: Option<End>,
    /// The operator has stopped the watcher.
    pub is_stopped: bool,
}

#[derive(Default)]
pub struct Record {
    cutter: Cutter,
    window: Window,
    active_at: Option<Instant>,
    /// The last complete line that counts.
    line_at: Option<Instant>,
    progressed_at: Option<Instant>,
    /// The latest nudge, and when it was typed.
    nudge: Option<(String, Instant)>,
    /// Lines of a pane that came with a nudge: they stay on its screen.
    echoes: HashSet<String>,
    /// Lines for the log, and how much memory they take.
    unlogged: (VecDeque<String>, usize),
    end: Option<End>,
    is_stopped: bool,
}

/// A record that several threads know.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Record>>);

impl Shared {
    /// A thread that panicked with it leaves it as good as it was.
    pub fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    /// Output of a process in a terminal.
    pub fn take_in(&mut self, bytes: &[u8], now: Instant) {
        if self.awaited_echo(now).is_none() {
            self.active_at = Some(now);
        }
        for line in self.cutter.cut(bytes) {
            self.log(line.clone());
            self.add(line, now);
        }
    }

    /// The last lines of a pane, and whether anything on it has changed.
    pub fn take_in_screen(&mut self, lines: Vec<String>, has_changed: bool, now: Instant) {
        if has_changed && self.awaited_echo(now).is_none() {
            self.active_at = Some(now);
        }
        if self.awaited_echo(now).is_some() {
            let is_echo = |line: &&String| self.is_nudge(line) && !self.window.contains(line);
            let echoes: Vec<String> = lines.iter().filter(is_echo).cloned().collect();
            self.echoes.extend(echoes);
        }
        let seen: Window = lines.into_iter().filter(|line| !self.echoes.contains(line)).collect();
        let has_new_line = seen.lines().any(|line| !self.window.contains(line));
        if has_new_line || seen.lines().ne(self.window.lines()) && self.awaited_echo(now).is_none() {
            self.line_at = Some(now);
            self.active_at = Some(now);
        }
        self.window = seen;
    }

    fn add(&mut self, line: String, now: Instant) {
        let is_awaited = self.awaited_echo(now).is_some();
        if is_awaited && self.is_nudge(&line) {
            return;
        }
        if !(is_awaited && self.window.contains(&line)) {
            self.line_at = Some(now);
            self.active_at = Some(now);
        }
        self.window.push(line);
    }

    fn is_nudge(&self, line: &str) -> bool {
        self.nudge.as_ref().is_some_and(|(message, _)| is_echo(line, message))
    }

    /// The message whose echo may still come.
    fn awaited_echo(&self, now: Instant) -> Option<&str> {
        let (message, typed_at) = self.nudge.as_ref()?;
        (now.duration_since(*typed_at) < ECHO_LASTS).then_some(message.as_str())
    }

    /// A nudge is being typed, or has just been.
    pub fn typed(&mut self, message: &str, now: Instant) {
        self.nudge = Some((message.to_owned(), now));
    }

    pub fn ended(&mut self, end: End) {
        self.end = Some(end);
    }

    pub fn stopped(&mut self) {
        self.is_stopped = true;
    }

    /// The process was started again: what the one before printed is no part of its output.
    pub fn began_again(&mut self) {
        let unlogged = std::mem::take(&mut self.unlogged);
        *self = Record { unlogged, is_stopped: self.is_stopped, ..Record::default() };
        self.log(BEGAN_AGAIN.to_owned());
        self.window.push(BEGAN_AGAIN.to_owned());
    }

    pub fn log_all(&mut self, lines: Vec<String>) {
        lines.into_iter().for_each(|line| self.log(line));
    }

    fn log(&mut self, line: String) {
        let size = |line: &String| line.len() + size_of::<String>();
        let (lines, bytes) = &mut self.unlogged;
        *bytes += size(&line);
        lines.push_back(line);
        while UNLOGGED_MAX < *bytes {
            *bytes -= lines.pop_front().map_or(*bytes, |line| size(&line));
        }
    }

    /// Hands over what is to be written into the log.
    pub fn take_unlogged(&mut self) -> VecDeque<String> {
        std::mem::take(&mut self.unlogged).0
    }

    /// Was the last line a step forward? That is judged here, once for all lines since the last glimpse.
    pub fn glimpse(&mut self) -> Glimpse {
        let recent_output = self.window.shown();
        if detect_loop(&recent_output).is_none() {
            self.progressed_at = self.line_at;
        }
        Glimpse {
            active_at: self.active_at,
            progressed_at: self.progressed_at,
            recent_output,
            end: self.end,
            is_stopped: self.is_stopped,
        }
    }
}

/// The first line of a process that was started again.
const BEGAN_AGAIN: &str = "(started again)";

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Glimpse, Record};

    const MESSAGE: &str = "You seem to be stuck. Go on with your task.";

    struct Story {
        record: Record,
        began: Instant,
    }

    impl Story {
        /// One line, then silence until a nudge is typed at the tenth second.
        fn of_a_nudge() -> Story {
            let mut story = Story { record: Record::default(), began: Instant::now() };
            story.prints("working\r\n", 0.0);
            let at = story.at(10.0);
            story.record.typed(MESSAGE, at);
            story
        }

        fn at(&self, seconds: f64) -> Instant {
            self.began + Duration::from_secs_f64(seconds)
        }

        fn prints(&mut self, text: &str, seconds: f64) {
            let at = self.at(seconds);
            self.record.take_in(text.as_bytes(), at);
        }

        #[track_caller]
        fn was_last_active(&mut self, seconds: f64) {
            let expected = Some(self.at(seconds));
            assert_eq!(self.record.glimpse().active_at, expected);
        }
    }

    #[test]
    fn the_echo_of_a_nudge_is_no_sign_of_life() {
        let mut story = Story::of_a_nudge();
        story.prints(&format!("{MESSAGE}\r\n"), 10.1);
        story.prints("\x1b[2K\x1b[1G> \x1b[1mYou seem to be stuck.\x1b[0m\r\n", 10.2);
        story.was_last_active(0.0);
        assert_eq!(story.record.glimpse().recent_output, ["working"]);
    }

    #[test]
    fn what_was_there_before_and_is_drawn_again_is_no_sign_of_life() {
        let mut story = Story::of_a_nudge();
        story.prints("working\r\n", 10.1);
        story.prints("half a li", 10.2);
        story.was_last_active(0.0);
    }

    #[test]
    fn an_answer_to_a_nudge_is_a_sign_of_life_at_once() {
        let mut story = Story::of_a_nudge();
        story.prints(&format!("{MESSAGE}\r\nSorry, I go on.\r\n"), 10.1);
        story.was_last_active(10.1);
    }

    #[test]
    fn in_a_pane_only_lines_that_came_with_the_nudge_are_its_echo() {
        let mut story = Story { record: Record::default(), began: Instant::now() };
        let mut shows = |lines: &[&str], seconds| {
            let at = story.at(seconds);
            story.record.take_in_screen(lines.iter().map(|line| (*line).to_owned()).collect(), true, at);
            if seconds == 0.0 {
                story.record.typed(MESSAGE, story.at(10.0));
            }
            let Glimpse { active_at, recent_output, .. } = story.record.glimpse();
            (active_at == Some(at), recent_output)
        };
        let (before, answer) = ("nothing to do with your task", "done with your task.");
        assert_eq!(shows(&[before], 0.0), (true, vec![before.to_owned()]));
        assert_eq!(shows(&[before, MESSAGE], 10.1), (false, vec![before.to_owned()]));
        let all = vec![before.to_owned(), answer.to_owned()];
        assert_eq!(shows(&[before, MESSAGE, answer], 14.0), (true, all));
    }

    #[test]
    fn any_output_counts_again_after_three_seconds() {
        let mut story = Story::of_a_nudge();
        story.prints("half a li", 13.5);
        story.was_last_active(13.5);
    }

    #[test]
    fn the_same_line_again_and_again_is_activity_and_no_progress() {
        let mut story = Story { record: Record::default(), began: Instant::now() };
        story.prints("one\n", 0.0);
        assert_eq!(story.record.glimpse().progressed_at, Some(story.at(0.0)));
        story.prints(&"no\n".repeat(20), 1.0);
        story.prints("no\n", 2.0);
        let glimpse = story.record.glimpse();
        assert_eq!((glimpse.active_at, glimpse.progressed_at), (Some(story.at(2.0)), Some(story.at(0.0))));
    }

    #[test]
    fn the_log_is_not_held_in_more_than_a_megabyte() {
        let mut story = Story { record: Record::default(), began: Instant::now() };
        (0..3000).for_each(|n| story.prints(&format!("{n} {}\n", "x".repeat(1000)), 0.0));
        let lines = story.record.take_unlogged();
        assert!((1_000..1_100).contains(&lines.len()), "{}", lines.len());
        assert!(lines.back().is_some_and(|line| line.starts_with("2999 ")));
    }
}
