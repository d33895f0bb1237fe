//! What is known of a watched process: its screen, its signs of life, what it is doing, how it ended.
//!
//! Any output is a sign of life, and so are children that use the processor; progress is what `screen::Motion` says. With one
//! exception: what stands there within three seconds after a nudge was typed, and was not there before, is neither, if it
//! has anything of the nudge in it.

mod assess;
mod draft;
mod unlogged;

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::output::{Cutter, shown_lines};
use super::probe::Probe;
use crate::screen::{Agent, Emulator, Known, Motion, States, event};
pub use draft::{Draft, Nudges};
use unlogged::Unlogged;

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
    pub state: Option<Known>,
    pub takes_nudges: bool,
    pub end: Option<End>,
    /// The operator has stopped the watcher.
    pub is_stopped: bool,
}

pub struct Record {
    probe: Probe,
    emulator: Emulator,
    states: States,
    motion: Motion,
    nudges: Nudges,
    agent: Option<&'static Agent>,
    composer_is_empty: bool,
    /// For the log.
    cutter: Cutter,
    /// Of output that is being passed on: what follows it is not known.
    is_passing: bool,
    drawn_at: Option<Instant>,
    active_at: Option<Instant>,
    progressed_at: Option<Instant>,
    /// The operator's last key.
    keyed_at: Option<Instant>,
    resized_at: Option<Instant>,
    /// When the children were last looked at, and how long they had worked until then.
    children: Option<(Instant, Duration)>,
    /// The latest nudge, when it was typed, and the lines that stood there before.
    nudge: Option<(String, Instant, HashSet<String>)>,
    /// Lines that came with a nudge: they stay on the screen.
    echoes: HashSet<String>,
    /// The words of a used-up quota that is filled again.
    refilled: Option<String>,
    lines: Vec<String>,
    unlogged: Unlogged,
    end: Option<End>,
    is_stopped: bool,
}

/// A record that several threads know.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<Record>>);

impl Shared {
    pub fn new(nudges: Nudges) -> Shared {
        Shared(Arc::new(Mutex::new(Record::new(nudges))))
    }

    /// A thread that panicked with it leaves it as good as it was.
    pub fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    pub fn new(nudges: Nudges) -> Record {
        Record {
            probe: Probe::default(),
            emulator: Emulator::new((24, 80)),
            states: States::default(),
            motion: Motion::default(),
            nudges,
            agent: None,
            composer_is_empty: false,
            cutter: Cutter::default(),
            is_passing: false,
            drawn_at: None,
            active_at: None,
            progressed_at: None,
            keyed_at: None,
            resized_at: None,
            children: None,
            nudge: None,
            echoes: HashSet::new(),
            refilled: None,
            lines: Vec::new(),
            unlogged: Unlogged::default(),
            end: None,
            is_stopped: false,
        }
    }

    /// A process runs in a terminal of so many rows and columns.
    pub fn runs(&mut self, probe: Probe, size: (u16, u16)) {
        self.probe = probe;
        self.emulator.resize(size);
    }

    pub fn resized(&mut self, size: (u16, u16), now: Instant) {
        self.emulator.resize(size);
        self.resized_at = Some(now);
    }

    /// Output of a process in a terminal.
    pub fn take_in(&mut self, bytes: &[u8], now: Instant) {
        self.emulator.take_in(bytes, now);
        self.drawn(now);
        for line in self.cutter.cut(bytes) {
            self.unlogged.push(line);
        }
    }

    /// A pane as it stands, and whether anything in it has changed.
    pub fn take_in_screen(&mut self, mut screen: Emulator, has_changed: bool, now: Instant) {
        if has_changed {
            self.drawn(now);
        }
        screen.drawn_at(self.drawn_at);
        self.emulator = screen;
    }

    fn drawn(&mut self, now: Instant) {
        self.drawn_at = Some(now);
        if !self.is_echo_awaited(now) {
            self.active_at = Some(now);
        }
    }

    /// Output is being passed on, and until that is done no more of it is taken in.
    pub fn passes(&mut self, is_passing: bool) {
        self.is_passing = is_passing;
    }

    /// Who waits to be read is at work, and can print no sign of life.
    pub fn is_held_up(&mut self, now: Instant) {
        self.active_at = Some(now);
        self.progressed_at = Some(now);
    }

    /// The operator types.
    pub fn keyed(&mut self, now: Instant) {
        self.keyed_at = Some(now);
    }

    /// Has the operator typed since then? Their keys wait for ours.
    pub fn was_keyed_since(&self, then: Instant) -> bool {
        self.keyed_at.is_some_and(|at| then <= at)
    }

    /// The agent says something of itself by a hook.
    pub fn told(&mut self, json: &str, now: Instant) {
        let Some(event::Told { statement, is_progress }) = event::read(json) else { return };
        let had_question = self.question_since();
        self.states.heard(statement, now);
        self.active_at = Some(now);
        if is_progress || self.question_since() != had_question {
            self.progressed_at = Some(now);
        }
    }

    /// Its quota is filled again: what is left on the screen of that is history.
    pub fn refilled(&mut self) {
        self.refilled = self.states.now().map(|known| known.statement.question.clone());
    }

    fn question_since(&self) -> Option<Instant> {
        self.states.now().filter(|known| known.statement.activity.needs_person()).map(|known| known.since)
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
        *self = Record { unlogged, is_stopped: self.is_stopped, ..Record::new(self.nudges) };
        self.unlogged.push(BEGAN_AGAIN.to_owned());
        self.emulator.take_in(BEGAN_AGAIN.as_bytes(), Instant::now());
        self.emulator.take_in(b"\r\n", Instant::now());
    }

    pub fn log_all(&mut self, lines: Vec<String>) {
        lines.into_iter().for_each(|line| self.unlogged.push(line));
    }

    /// Hands over what is to be written into the log.
    pub fn take_unlogged(&mut self) -> VecDeque<String> {
        self.unlogged.take()
    }

    /// Is it a program that draws where it likes? Then no line of ours may stand between its own.
    pub fn is_full_screen(&self) -> bool {
        self.end.is_none()
            && (self.emulator.is_alternate() || self.probe.mode().is_none_or(|mode| !mode.canonical || !mode.echo))
    }

    pub fn title(&self) -> &str {
        self.emulator.title()
    }

    pub fn glimpse(&mut self, now: Instant) -> Glimpse {
        self.assess(now);
        if self.end.is_none() {
            self.look_at_children(now);
        }
        Glimpse {
            active_at: self.active_at,
            progressed_at: self.progressed_at,
            recent_output: shown_lines(&self.lines),
            state: self.states.now().filter(|_| self.end.is_none()).cloned(),
            takes_nudges: self.refusal(now).is_none(),
            end: self.end,
            is_stopped: self.is_stopped,
        }
    }
}

/// The first line of a process that was started again.
const BEGAN_AGAIN: &str = "(started again)";

#[cfg(test)]
mod tests;
