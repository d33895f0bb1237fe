//! What is known of a watched process: its screen, its signs of life, what it is doing, how it ended.
//!
//! Any output is a sign of life, and so are children that use the processor; progress is what `screen::Motion` says. With one
//! exception: what stands there within three seconds after a nudge was typed, and was not there before, is neither, if it
//! has anything of the nudge in it.

mod draft;

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::output::{Cutter, LINES_MAX, is_echo, shown_lines};
use super::probe::Probe;
use crate::rules::detect_loop;
use crate::rules::session::Activity;
use crate::screen::{Agent, Agents, Emulator, Known, Look, Motion, States, event};
pub use draft::{Draft, Nudges};

/// How long a terminal may take to show what was typed.
const ECHO_LASTS: Duration = Duration::from_secs(3);

/// For so long after a resize everything is drawn anew, and nothing is news.
const REDRAWING_LASTS: Duration = Duration::from_secs(1);

/// How often a silent process's children are looked at, and how much of the time they must have worked.
const CHILDREN_EVERY: Duration = Duration::from_secs(10);
const CHILDREN_WORK: f64 = 0.1;

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
    /// Lines for the log, and how much memory they take.
    unlogged: (VecDeque<String>, usize),
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
            unlogged: (VecDeque::new(), 0),
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
            self.log(line);
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

    /// Looks at the screen: what stands there, and is it news?
    fn assess(&mut self, now: Instant) {
        if self.end.is_none() {
            let prompt = Agents::get().prompt().filter(|_| self.nudges == Nudges::Idle);
            self.agent = Agents::get().of_command(&self.probe.foreground()).or(prompt);
        }
        let look = self.emulator.look(self.probe.mode(), now);
        let had_question = self.question_since();
        self.hear(&look, now);
        let is_news = self.question_since() != had_question;
        let lines = self.output(&look, now);
        let is_redrawn = self.resized_at.is_some_and(|at| now.duration_since(at) < REDRAWING_LASTS);
        let is_new = self.motion.takes_in(lines.iter().map(String::as_str), now) && !is_redrawn;
        self.lines = lines;
        let composed = Agents::get().composed(self.agent, &look);
        self.composer_is_empty = composed.is_some_and(|(before, _)| !before.contains(char::is_alphanumeric));
        if is_news || is_new && detect_loop(&self.lines).is_none() {
            self.progressed_at = self.drawn_at.or(Some(now));
            self.active_at = self.active_at.max(self.progressed_at);
        }
    }

    /// What the agent says of itself, and what its screen says of it.
    fn hear(&mut self, look: &Look, now: Instant) {
        let (agents, agent) = (Agents::get(), self.agent);
        for signal in self.emulator.take_signals() {
            agents.read_signal(agent, &signal).into_iter().for_each(|statement| self.states.heard(statement, now));
        }
        agents.read_title(agent, &look.title).into_iter().for_each(|statement| self.states.heard(statement, now));
        let is_over = |question: &str| self.refilled.as_deref() == Some(question);
        self.states.seen(agents.read(agent, look, |statement| !is_over(&statement.question)), now);
    }

    /// The lines that are the agent's own output, oldest first.
    fn output(&mut self, look: &Look, now: Instant) -> Vec<String> {
        let mut lines = Agents::get().output(self.agent, look);
        if self.is_echo_awaited(now)
            && let Some((message, _, before)) = &self.nudge
        {
            let is_echo = |line: &&String| is_echo(line, message) && !before.contains(*line);
            self.echoes.extend(lines.iter().filter(is_echo).cloned());
        }
        lines.retain(|line| !self.echoes.contains(line));
        if self.keyed_at.is_some_and(|at| now.duration_since(at) < ECHO_LASTS) {
            let typed = format!("{}{}", look.before_cursor, look.behind_cursor);
            lines.retain(|line| line.trim() != typed.trim());
        }
        lines.split_off(lines.len().saturating_sub(LINES_MAX))
    }

    fn is_echo_awaited(&self, now: Instant) -> bool {
        self.nudge.as_ref().is_some_and(|(_, typed_at, _)| now.duration_since(*typed_at) < ECHO_LASTS)
    }

    /// A silent process whose children use the processor is at work.
    fn look_at_children(&mut self, now: Instant) {
        if self.children.is_some_and(|(at, _)| now.duration_since(at) < CHILDREN_EVERY) {
            return;
        }
        let worked = self.probe.children_worked_for();
        if let Some((at, before)) = self.children.replace((now, worked)) {
            let share = worked.saturating_sub(before).as_secs_f64() / now.duration_since(at).as_secs_f64();
            if CHILDREN_WORK <= share {
                self.active_at = Some(now);
            }
        }
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
        self.log(BEGAN_AGAIN.to_owned());
        self.emulator.take_in(BEGAN_AGAIN.as_bytes(), Instant::now());
        self.emulator.take_in(b"\r\n", Instant::now());
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
