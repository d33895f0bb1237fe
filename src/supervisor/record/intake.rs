//! The record of a watched process, and what changes it: its output and end, the operator's keys, its hooks' events.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::echo::Echoes;
use crate::screen::{ActivityTracker, Agent, Emulator, HookEvent, Motion};
use crate::supervisor::output::LineSplitter;
use crate::supervisor::probe::Probe;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
    pub at: Instant,
    /// None: it was ended by a signal, or its end was not seen.
    pub exit_code: Option<i32>,
    /// None: it ended by itself, or its end was not seen.
    pub signal: Option<i32>,
}

impl End {
    /// The exit code; after a signal that plus 128, as in a shell. None: nobody saw the end.
    pub fn code(&self) -> Option<i32> {
        self.exit_code.or(self.signal.map(|signal| 128 + signal))
    }
}

/// Which programs may be typed into, when they are idle at their prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nudges {
    /// None.
    Off,
    /// Those whose screens are known.
    #[default]
    Known,
    /// Any program at a prompt such as `>`: the operator vouches for it.
    Idle,
}

#[derive(Default)]
pub struct Record {
    pub(super) probe: Probe,
    pub(super) emulator: Emulator,
    pub(super) activities: ActivityTracker,
    pub(super) motion: Motion,
    pub(super) nudges: Nudges,
    pub(super) agent: Option<&'static Agent>,
    pub(super) composer_is_empty: bool,
    /// A message is being typed: the draft is ours, and no reason to call a person.
    pub is_typed_into: bool,
    /// Splits the output for the log.
    splitter: LineSplitter,
    log: LogBuffer,
    /// Output is being passed on to stdout, and further output is not read meanwhile.
    pub(super) is_passing: bool,
    pub(super) drawn_at: Option<Instant>,
    pub(super) active_at: Option<Instant>,
    pub(super) progressed_at: Option<Instant>,
    /// When the operator last typed a key.
    pub(super) keyed_at: Option<Instant>,
    /// The operator has typed keys since the latest that ends a line.
    pub(super) has_begun_line: bool,
    last_key: u8,
    pub(super) resized_at: Option<Instant>,
    /// What was drawn since the window became smaller: what was cut off may have been a question. None: the agent has
    /// drawn its composer anew since.
    pub(super) redrawn: Option<Emulator>,
    /// The window's size when a question was last read on the screen.
    pub(super) question_size: (u16, u16),
    /// When it was first looked at.
    pub(super) began_at: Option<Instant>,
    /// When its children last computed.
    pub(super) computed_at: Option<Instant>,
    /// When the children's processor time was last measured, and how much it was.
    pub(super) children: Option<(Instant, Duration)>,
    pub(super) echoes: Echoes,
    /// The text by which the agent reported a used-up quota that is available again.
    pub(super) refilled_quota: Option<String>,
    pub(super) lines: Vec<String>,
    pub(super) end: Option<End>,
    pub(super) is_stopped: bool,
}

impl Record {
    pub fn new(nudges: Nudges) -> Record {
        Record { nudges, ..Record::default() }
    }

    /// The process runs in a terminal of this size, in rows and columns.
    pub fn runs(&mut self, probe: Probe, size: (u16, u16)) {
        self.probe = probe;
        self.emulator.resize(size);
    }

    /// Its terminal has this size now, which may be another than before.
    pub fn resized(&mut self, size: (u16, u16), now: Instant) {
        // What has drawn nothing so far draws nothing anew; what a pane showed before it was watched is drawn anew.
        let is_drawn = self.drawn_at.is_some() || self.activities.on_screen().is_some();
        let before = self.emulator.resize(size);
        if before != size && is_drawn {
            self.resized_at = Some(now);
            if size.0 < before.0 || size.1 < before.1 {
                self.redrawn = Some(self.emulator.emptied());
            }
        }
    }

    /// The process has written these bytes to its terminal.
    pub fn output(&mut self, bytes: &[u8], now: Instant) {
        self.emulator.process(bytes, now);
        if let Some(redrawn) = &mut self.redrawn {
            redrawn.process(bytes, now);
        }
        self.drawn(now);
        let lines = self.splitter.split(bytes);
        self.log_all(lines);
    }

    /// Replaces the screen by that of a pane, which has changed or not, in its text or in something else.
    pub fn replace_screen(&mut self, mut screen: Emulator, has_changed: bool, has_other_text: bool, now: Instant) {
        if has_changed {
            self.drawn(now);
        }
        if has_other_text {
            self.redrawn = None;
        }
        screen.set_drawn_at(self.drawn_at);
        self.emulator = screen;
    }

    fn drawn(&mut self, now: Instant) {
        self.drawn_at = Some(now);
        if !self.echoes.is_awaited(now) {
            self.active_at = Some(now);
        }
    }

    pub fn set_passing(&mut self, is_passing: bool) {
        self.is_passing = is_passing;
    }

    /// The process is blocked, since nobody reads its output. It counts as at work: it can show no sign of life.
    pub fn blocked(&mut self, now: Instant) {
        self.active_at = Some(now);
        self.progressed_at = Some(now);
    }

    /// The operator has typed these keys.
    pub fn keyed(&mut self, keys: &[u8], now: Instant) {
        self.keyed_at = Some(now);
        for key in keys {
            self.has_begun_line = !ENDING_A_LINE.contains(key) || QUOTING.contains(&self.last_key);
            self.last_key = *key;
        }
        self.activities.keyed();
    }

    /// Whether the operator has typed a key since then; it waits until a message has been typed.
    pub fn was_keyed_since(&self, then: Instant) -> bool {
        self.keyed_at.is_some_and(|at| then <= at)
    }

    /// A hook of the agent has reported an event, as JSON.
    pub fn hook_event(&mut self, json: &str, now: Instant) {
        let Some(HookEvent { statement, is_progress }) = HookEvent::parse(json) else { return };
        let had_question = self.question_since();
        self.activities.add(statement, now);
        self.active_at = Some(now);
        if is_progress || self.question_since() != had_question {
            self.progressed_at = Some(now);
        }
    }

    /// A used-up quota is available again: what the screen still says of it is out of date.
    pub fn quota_refilled(&mut self) {
        self.refilled_quota = self.activities.current().map(|known| known.statement.question.clone());
    }

    pub(super) fn question_since(&self) -> Option<Instant> {
        self.activities.current().filter(|known| known.statement.activity.needs_person()).map(|known| known.since)
    }

    /// A nudge is being typed, or has just been.
    pub fn typed(&mut self, message: &str, now: Instant) {
        self.echoes.typed(message, &self.lines, now);
    }

    pub fn ended(&mut self, end: End) {
        self.end = Some(end);
    }

    /// The operator has stopped the watcher.
    pub fn stopped(&mut self) {
        self.is_stopped = true;
    }

    /// The process was relaunched: nothing that was known of the one before holds for it.
    pub fn relaunched(&mut self) {
        let log = std::mem::take(&mut self.log);
        *self = Record { log, nudges: self.nudges, is_stopped: self.is_stopped, ..Record::default() };
        self.log.push(RELAUNCHED.to_owned());
        self.emulator.process(RELAUNCHED.as_bytes(), Instant::now());
        self.emulator.process(b"\r\n", Instant::now());
    }

    pub fn log_all(&mut self, lines: Vec<String>) {
        lines.into_iter().for_each(|line| self.log.push(line));
    }

    /// Takes the lines that wait to be written into the log.
    pub fn take_log(&mut self) -> VecDeque<String> {
        self.log.take()
    }

    /// Whether the program draws where it likes: then the watcher must not print a line between its own.
    pub fn is_full_screen(&self) -> bool {
        self.end.is_none()
            && (self.emulator.is_alternate() || self.probe.mode().is_none_or(|mode| !mode.canonical || !mode.echo))
    }

    /// Whether the program distinguishes what is pasted from keys.
    pub fn takes_pastes(&mut self) -> bool {
        self.emulator.look(None, Instant::now()).takes_pastes
    }

    pub fn title(&self) -> &str {
        self.emulator.title()
    }
}

/// Return, and Ctrl-C, which leave nothing of a line. Others clear a part of it, or all, as the program likes.
const ENDING_A_LINE: [u8; 3] = [b'\r', b'\n', 0x03];

/// Escape, or Alt, and Ctrl-V: what follows belongs to the line.
const QUOTING: [u8; 2] = [0x1b, 0x16];

/// The first line of a relaunched process.
const RELAUNCHED: &str = "(started again)";

/// The size of the buffer in bytes.
const BUFFER_MAX: usize = 1 << 20;

/// Lines that wait to be written into the log: the last mebibyte of them.
#[derive(Default)]
struct LogBuffer {
    lines: VecDeque<String>,
    bytes: usize,
}

impl LogBuffer {
    /// Adds a line; the oldest lines are dropped when the buffer is full.
    pub fn push(&mut self, line: String) {
        self.bytes += size(&line);
        self.lines.push_back(line);
        while BUFFER_MAX < self.bytes {
            self.bytes -= self.lines.pop_front().map_or(self.bytes, |line| size(&line));
        }
    }

    pub fn take(&mut self) -> VecDeque<String> {
        std::mem::take(self).lines
    }
}

fn size(line: &str) -> usize {
    line.len() + size_of::<String>()
}
