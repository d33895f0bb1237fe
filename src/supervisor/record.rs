//! What is known of a watched process: its screen, its signs of life, its activity, its end; and whether to nudge it.
//!
//! Any output is a sign of life, and so are children that compute: they use the processor. Progress is what
//! `screen::Motion` says, and for a bounded time that git's files show new work, or, unless the output is a loop, that
//! children compute. One exception: output within three seconds after a nudge was typed, which was not on the screen
//! before and shares a part with the nudge, is its echo, and neither.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{ECHO_LASTS, Echoes, LINES_MAX, LineSplitter, LogBuffer, ProcessEnd, TerminalProbe, redacted};
use crate::rules::detect_loop;
use crate::rules::session::{Activity, phrase};
use crate::screen::{
    ActivityTracker, Agent, Agents, Emulator, HookEvent, KnownActivity, Look, Motion, Statement, condensed,
};

/// After a resize everything is drawn anew for so long at least: that is no progress, and no end of a question.
const REDRAWING_LASTS: Duration = Duration::from_secs(5);

/// How often the processor time of the children is measured, and which share of the time makes it a sign of life.
const CHILDREN_EVERY: Duration = Duration::from_secs(10);
const CHILDREN_WORK: f64 = 0.1;

/// A person who typed a key within this time is typing.
const TYPING_LASTS: Duration = Duration::from_secs(3);

/// A screen that was drawn within this time may not be complete.
pub const DRAWING_LASTS: Duration = Duration::from_millis(500);

/// Ctrl-U, by which terminals and line editors clear a line.
pub const KILL_LINE: &str = "\x15";

/// Return, and Ctrl-C, which leave nothing of a line. Others clear a part of it, or all, as the program likes.
const ENDING_A_LINE: [u8; 3] = [b'\r', b'\n', 0x03];

/// Escape, or Alt, and Ctrl-V: what follows belongs to the line.
const QUOTING: [u8; 2] = [0x1b, 0x16];

/// The first line of a relaunched process.
const RELAUNCHED: &str = "(started again)";

/// What the keeper of the session's row needs to know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    pub active_at: Option<Instant>,
    pub progressed_at: Option<Instant>,
    pub recent_output: Vec<String>,
    pub activity: Option<KnownActivity>,
    pub takes_nudges: bool,
    /// The tool that the agent has reported last.
    pub last_tool: Option<String>,
    pub end: Option<ProcessEnd>,
    /// The operator has stopped the watcher.
    pub is_stopped: bool,
}

/// What stands in the composer that a message was typed into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draft {
    /// The message, and nothing else.
    Message,
    /// Nothing.
    Empty,
    /// A part of the message, or what the program made of it.
    Other,
    /// There is no composer that keys would reach.
    NoComposer,
    /// Nobody knows: what the agent has drawn since is not read yet.
    Unread,
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

/// What is known of one process.
#[derive(Default)]
pub struct Record {
    pub probe: TerminalProbe,
    pub emulator: Emulator,
    activities: ActivityTracker,
    motion: Motion,
    nudges: Nudges,
    agent: Option<&'static Agent>,
    composer_is_empty: bool,
    /// A message is being typed: the draft is ours, and no reason to call a person.
    pub is_typed_into: bool,
    /// Splits the output for the log.
    splitter: LineSplitter,
    pub log: LogBuffer,
    /// Output is being passed on to stdout, and further output is not read meanwhile.
    pub is_passing: bool,
    drawn_at: Option<Instant>,
    active_at: Option<Instant>,
    progressed_at: Option<Instant>,
    /// When the operator last typed a key.
    keyed_at: Option<Instant>,
    /// The operator has typed keys since the latest that ends a line.
    has_begun_line: bool,
    last_key: u8,
    resized_at: Option<Instant>,
    /// What was drawn since the window became smaller: what was cut off may have been a question. None: the agent has
    /// drawn its composer anew since.
    redrawn: Option<Emulator>,
    /// The window's size when a question was last read on the screen.
    question_size: (u16, u16),
    /// When it was first looked at.
    began_at: Option<Instant>,
    last_tool: Option<String>,
    /// When its children last computed, or git's files last showed new work.
    computed_at: Option<Instant>,
    /// When the children's processor time was last measured, and how much it was.
    children: Option<(Instant, Duration)>,
    echoes: Echoes,
    /// The text by which the agent reported a used-up quota that is available again.
    refilled_quota: Option<String>,
    lines: Vec<String>,
    pub end: Option<ProcessEnd>,
    /// The operator has stopped the watcher.
    pub is_stopped: bool,
}

impl Record {
    /// Records that the process runs in a terminal of this size, in rows and columns.
    pub fn runs(&mut self, probe: TerminalProbe, size: (u16, u16)) {
        self.probe = probe;
        self.emulator.resize(size);
    }

    /// Records the size that the terminal has now, which may be another than before.
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

    /// Records bytes that the process has written to its terminal.
    pub fn output(&mut self, bytes: &[u8], now: Instant) {
        self.emulator.process(bytes, now);
        if let Some(redrawn) = &mut self.redrawn {
            redrawn.process(bytes, now);
        }
        self.drawn(now);
        self.log.add(self.splitter.split(bytes));
    }

    /// Replaces the screen by that of a pane, which has changed or not, in its text or in something else.
    pub fn replace_screen(&mut self, mut screen: Emulator, has_changed: bool, has_other_text: bool, now: Instant) {
        if has_changed {
            self.drawn(now);
        }
        if has_other_text {
            self.redrawn = None;
        }
        screen.drawn_at = self.drawn_at;
        self.emulator = screen;
    }

    fn drawn(&mut self, now: Instant) {
        self.drawn_at = Some(now);
        if !self.echoes.is_awaited(now) {
            self.active_at = Some(now);
        }
    }

    /// Records that the process is blocked, since nobody reads its output. It counts as at work: it can show no sign of
    /// life.
    pub fn blocked(&mut self, now: Instant) {
        self.active_at = Some(now);
        self.progressed_at = Some(now);
    }

    /// Records keys that the operator has typed.
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

    /// Records an event that a hook of the agent has reported, as JSON.
    pub fn hook_event(&mut self, json: &str, now: Instant) {
        let Some(HookEvent { statement, is_progress, tool }) = HookEvent::parse(json) else { return };
        self.last_tool = tool.or(self.last_tool.take());
        let had_question = self.question_since();
        self.activities.add(statement, now);
        self.active_at = Some(now);
        if is_progress || self.question_since() != had_question {
            self.progressed_at = Some(now);
        }
    }

    /// Records that git's files show new work since then: progress of a process that was active meanwhile. Of one that
    /// was not, somebody else has done that work.
    pub fn has_worked(&mut self, since: Instant, now: Instant) {
        if self.active_at.is_some_and(|at| since <= at) {
            self.computed_at = Some(now);
        }
    }

    /// Records that a used-up quota is available again: what the screen still says of it is out of date.
    pub fn quota_refilled(&mut self) {
        self.refilled_quota = self.activities.current().map(|known| known.statement.question.clone());
    }

    pub(super) fn question_since(&self) -> Option<Instant> {
        self.activities.current().filter(|known| known.statement.activity.needs_person()).map(|known| known.since)
    }

    /// Records that a nudge is being typed, or has just been.
    pub fn typed(&mut self, message: &str, now: Instant) {
        self.echoes.typed(message, &self.lines, now);
    }

    /// Records that the process was relaunched: nothing that was known of the one before holds for it.
    pub fn relaunched(&mut self) {
        let log = std::mem::take(&mut self.log);
        *self = Record { log, nudges: self.nudges, is_stopped: self.is_stopped, ..Record::default() };
        self.log.add([RELAUNCHED.to_owned()]);
        self.emulator.process(RELAUNCHED.as_bytes(), Instant::now());
        self.emulator.process(b"\r\n", Instant::now());
    }

    /// Whether the program draws where it likes: then the watcher must not print a line between its own.
    pub fn is_full_screen(&self) -> bool {
        self.end.is_none()
            && (self.emulator.is_alternate() || self.probe.mode().is_none_or(|mode| !mode.canonical || !mode.echo))
    }

    /// `is_alone`: nobody else reads the keys. Children that compute are progress until so long after the latest other
    /// progress.
    pub fn snapshot(&mut self, is_alone: bool, computing_max: Duration, now: Instant) -> Snapshot {
        let began_at = *self.began_at.get_or_insert(now);
        self.assess(is_alone, now);
        if self.end.is_none() {
            self.measure_children(now);
        }
        Snapshot {
            active_at: self.active_at,
            progressed_at: self.progressed_at.max(self.computed_at.map(|computed| {
                let until = self.progressed_at.unwrap_or(began_at).checked_add(computing_max);
                until.map_or(computed, |until| computed.min(until))
            })),
            recent_output: redacted(&self.lines),
            activity: self.activities.current().filter(|_| self.end.is_none()).cloned(),
            last_tool: self.last_tool.clone(),
            takes_nudges: self.is_typed_into && self.end.is_none() || self.refusal(now).is_none(),
            end: self.end,
            is_stopped: self.is_stopped,
        }
    }

    /// Finds out which agent has the screen; it may be a program that the operator vouches for.
    fn find_agent(&mut self) {
        if self.end.is_none() {
            let is_vouched_for = || self.nudges == Nudges::Idle && self.probe.shows_what_was_started();
            let prompt = || Agents::get().prompt().filter(|_| is_vouched_for());
            self.agent = Agents::get().find_by_command(&self.probe.foreground()).or_else(prompt);
        }
    }

    /// Whether the screen shows an idle composer, whoever reads the keys.
    fn shows_composer(&mut self, now: Instant) -> bool {
        self.find_agent();
        let look = self.emulator.current_look(self.probe.mode(), now);
        self.read_screen(&look).is_some_and(|seen| seen.activity == Activity::Idle)
    }

    fn read_screen(&self, look: &Look) -> Option<Statement> {
        let is_current = |it: &Statement| self.refilled_quota.as_deref() != Some(it.question.as_str());
        Agents::get().read_screen(self.agent, look, is_current)
    }

    /// Reads the screen: what the agent is doing, and whether it has made progress.
    fn assess(&mut self, is_alone: bool, now: Instant) {
        self.find_agent();
        // A screen that is painted in part says nothing that is true.
        if self.emulator.is_painting(now) && self.end.is_none() {
            return;
        }
        let look = self.emulator.current_look(self.probe.mode(), now);
        let had_question = self.question_since();
        self.read_activities(&look, is_alone, now);
        let has_new_question = self.question_since() != had_question;
        let lines = self.output_lines(&look, now);
        let is_new = self.motion.is_progress(lines.iter().map(String::as_str), now) && !self.is_redrawn(now);
        self.lines = lines;
        let composed = Agents::get().composed(self.agent, &look);
        self.composer_is_empty = composed.is_some_and(|(before, behind)| before.is_empty() && behind.is_empty());
        if has_new_question || is_new && detect_loop(&self.lines).is_none() {
            self.progressed_at = self.drawn_at.or(Some(now));
            self.active_at = self.active_at.max(self.progressed_at);
        }
    }

    /// Takes in what the agent reports of itself, and what its screen shows.
    fn read_activities(&mut self, look: &Look, is_alone: bool, now: Instant) {
        let (agents, agent) = (Agents::get(), self.agent);
        let signals = self.emulator.take_signals();
        let of_signals = signals.iter().filter_map(|signal| agents.read_signal(agent, signal));
        of_signals.for_each(|statement| self.activities.add(statement, now));
        self.activities.set_title(agents.read_title(agent, &look.title), now);
        if self.is_redrawn(now) && self.activities.repaints_question() {
            return;
        }
        let on_screen = self.read_screen(look);
        let shown = on_screen.as_ref().map(|seen| seen.activity);
        let is_doubted = shown == Some(Activity::Idle) && self.doubts_composer(look, is_alone, now);
        let size = self.emulator.size();
        let is_smaller = size.0 < self.question_size.0 || size.1 < self.question_size.1;
        if shown.is_some_and(Activity::needs_person) {
            self.question_size = size;
        }
        // What is left of a menu may say “Esc to stop”, as an agent at work does.
        let is_unknown = is_doubted || agent.is_some() && matches!(shown, None | Some(Activity::Working));
        let is_cut_off = is_unknown && is_smaller && self.activities.cut_off_question(now);
        match is_doubted {
            _ if is_cut_off => {}
            true => self.activities.doubt_screen(),
            false => self.activities.set_screen(on_screen, now),
        }
    }

    /// Whether the composer on the screen may be one of before the window became smaller, or be read by somebody else.
    fn doubts_composer(&mut self, look: &Look, is_alone: bool, now: Instant) -> bool {
        let (agents, agent) = (Agents::get(), self.agent);
        let anew = self
            .redrawn
            .as_mut()
            .map(|redrawn| agents.read_screen(agent, &redrawn.current_look(look.mode, now), |_| true));
        let is_anew = anew.is_none_or(|seen| seen.is_some_and(|seen| seen.activity == Activity::Idle));
        let is_believed = is_anew && is_alone;
        self.redrawn.take_if(|_| is_believed);
        !is_believed
    }

    fn is_redrawn(&self, now: Instant) -> bool {
        let is_undrawn = |at| self.drawn_at <= Some(at);
        self.resized_at.is_some_and(|at| is_undrawn(at) || now.saturating_duration_since(at) < REDRAWING_LASTS)
    }

    /// The lines that are the agent's own output, oldest first.
    fn output_lines(&mut self, look: &Look, now: Instant) -> Vec<String> {
        let mut lines = Agents::get().output(self.agent, look);
        self.echoes.remove_from(&mut lines, now);
        if self.keyed_at.is_some_and(|at| now.duration_since(at) < ECHO_LASTS) {
            let typed = format!("{}{}", look.before_cursor, look.behind_cursor);
            lines.retain(|line| line.trim() != typed.trim());
        }
        lines.split_off(lines.len().saturating_sub(LINES_MAX))
    }

    /// A process that prints nothing new, and whose children compute, is at work.
    fn measure_children(&mut self, now: Instant) {
        if self.children.is_some_and(|(at, _)| now.duration_since(at) < CHILDREN_EVERY) {
            return;
        }
        let worked = self.probe.children_worked_for();
        if let Some((at, before)) = self.children.replace((now, worked)) {
            let share = worked.saturating_sub(before).as_secs_f64() / now.duration_since(at).as_secs_f64();
            if CHILDREN_WORK <= share {
                self.active_at = Some(now);
                self.computed_at = Some(now).filter(|_| detect_loop(&self.lines).is_none()).or(self.computed_at);
            }
        }
    }

    /// Why nothing may be typed, as a phrase that follows “it”; None if a message may be typed.
    fn refusal(&self, now: Instant) -> Option<String> {
        let known = self.activities.current().map(|known| &known.statement);
        let on_screen = self.activities.on_screen();
        let is_idle = [known, on_screen].iter().all(|it| it.is_some_and(|it| it.activity == Activity::Idle));
        // The prompt may hide a line that a person has begun, since it was drawn anew. An agent that is known shows all
        // of its composer.
        let has_draft = !self.composer_is_empty || self.has_begun_line && self.agent.is_some_and(Agent::is_vouched_for);
        let refusal = match self.probe.mode() {
            _ if self.nudges == Nudges::Off => "takes no nudges (--nudge off)",
            _ if self.end.is_some() => "has ended",
            None => "has a terminal that cannot be looked at",
            Some(mode) if mode.hides() => "asks for something that nobody may see",
            Some(_) if self.agent.is_none() => "is no agent whose screens are known (--nudge idle)",
            Some(_) if self.probe.is_shell() => "is a shell",
            Some(_) if is_idle && self.keyed_at.is_some_and(|at| now.duration_since(at) < TYPING_LASTS) => {
                "is being typed into by a person"
            }
            Some(_) if is_idle && self.probe.has_unread() => "has not read what was typed into it",
            Some(_) if is_idle && has_draft => "has a draft in its composer",
            Some(_) if is_idle => return None,
            Some(_) => match known {
                Some(known) if known.activity != Activity::Idle => phrase(known.activity, known.kind.as_deref()),
                Some(_) | None => "is not known to be idle at its prompt",
            },
        };
        Some(refusal.to_owned())
    }

    /// Whether the screen is being drawn, so that what is known of it may be out of date.
    pub fn is_drawing(&self, now: Instant) -> bool {
        self.is_unread() || self.drawn_at.is_some_and(|at| now.saturating_duration_since(at) < DRAWING_LASTS)
    }

    /// Whether what the agent draws is not all on the screen that is known.
    fn is_unread(&self) -> bool {
        self.is_passing || !self.emulator.is_whole()
    }

    /// Reads the screen anew, and returns what stands in the composer that this message was typed into.
    pub fn draft(&mut self, message: &str, is_alone: bool, now: Instant) -> Draft {
        self.assess(is_alone, now);
        let asks = self.question_since().is_some();
        let look = self.emulator.current_look(self.probe.mode(), now);
        let takes_it = is_alone && !asks && Agents::get().takes_message(self.agent, &look, message);
        match Agents::get().composed(self.agent, &look).filter(|_| takes_it) {
            _ if self.is_unread() => Draft::Unread,
            None => Draft::NoComposer,
            Some((before, behind)) if before == condensed(message) && behind.is_empty() => Draft::Message,
            Some((before, behind)) if before.is_empty() && behind.is_empty() => Draft::Empty,
            Some(_) => Draft::Other,
        }
    }

    /// Whether the terminal itself holds what is typed until a return key, for a program that the operator vouches for:
    /// an agent that is known reads its keys one by one.
    pub fn edits_lines(&self) -> bool {
        self.agent.is_some_and(Agent::is_vouched_for) && self.probe.mode().is_some_and(|mode| mode.canonical)
    }

    /// The keys that clear the composer.
    pub fn clearing_keys(&self) -> &'static str {
        self.agent.and_then(|agent| agent.clear.as_deref()).unwrap_or(KILL_LINE)
    }
}

/// A record that several threads share. It is not locked while all processes are looked at: a person's keys would wait.
#[derive(Clone)]
pub struct SharedRecord(Arc<Mutex<Record>>);

impl SharedRecord {
    pub fn new(nudges: Nudges) -> SharedRecord {
        SharedRecord(Arc::new(Mutex::new(Record { nudges, ..Record::default() })))
    }

    /// Locks the record; a thread that panicked while it held the lock left the record valid.
    pub fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Children that compute are progress until so long after the latest other progress.
    pub fn snapshot(&self, computing_max: Duration) -> Snapshot {
        let is_alone = self.shows_its_composer();
        self.lock().snapshot(is_alone, computing_max, Instant::now())
    }

    /// Why nothing may be typed now, and whether the screen is being drawn.
    pub fn assess_refusal(&self) -> (Option<String>, bool) {
        let is_alone = self.shows_its_composer();
        let (now, mut record) = (Instant::now(), self.lock());
        record.assess(is_alone, now);
        (record.refusal(now), record.is_drawing(now))
    }

    /// Whether the screen shows an idle composer, and keys would reach the agent itself.
    fn shows_its_composer(&self) -> bool {
        self.lock().shows_composer(Instant::now()) && self.reads_alone()
    }

    /// Whether keys reach the agent itself, as far as each look finds out: no child that it lets read is behind what
    /// looks like its composer. Where the operator vouches for the program, that is found out once, before anything is
    /// typed.
    pub fn reads_alone(&self) -> bool {
        let is_vouched_for = self.lock().agent.is_some_and(Agent::is_vouched_for);
        is_vouched_for || self.has_no_other_reader()
    }

    /// Whether only the program itself could read what is typed: a look at all processes.
    pub fn has_no_other_reader(&self) -> bool {
        let probe = self.lock().probe.clone();
        probe.reads_alone()
    }
}

#[cfg(test)]
mod tests;
