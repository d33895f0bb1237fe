//! A look at a process: what stands on its screen, is it news, and are its children at work?

use std::time::{Duration, Instant};

use super::Nudges;
use super::Record;
use crate::rules::detect_loop;
use crate::screen::{Agents, Look};
use crate::supervisor::output::{LINES_MAX, is_echo};

/// How long a terminal may take to show what was typed.
const ECHO_LASTS: Duration = Duration::from_secs(3);

/// For so long after a resize everything is drawn anew, and nothing is news.
const REDRAWING_LASTS: Duration = Duration::from_secs(1);

/// How often a silent process's children are looked at, and how much of the time they must have worked.
const CHILDREN_EVERY: Duration = Duration::from_secs(10);
const CHILDREN_WORK: f64 = 0.1;

impl Record {
    /// Looks at the screen: what stands there, and is it news?
    pub(super) fn assess(&mut self, now: Instant) {
        if self.end.is_none() {
            let prompt = Agents::get().prompt().filter(|_| self.nudges == Nudges::Idle);
            self.agent = Agents::get().of_command(&self.probe.foreground()).or(prompt);
        }
        // Half a picture says nothing that is true.
        if self.is_painting(now) && self.end.is_none() {
            return;
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
        self.composer_is_empty = composed.is_some_and(|(before, behind)| before.is_empty() && behind.is_empty());
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

    pub(super) fn is_echo_awaited(&self, now: Instant) -> bool {
        self.nudge.as_ref().is_some_and(|(_, typed_at, _)| now.duration_since(*typed_at) < ECHO_LASTS)
    }

    /// A silent process whose children use the processor is at work.
    pub(super) fn look_at_children(&mut self, now: Instant) {
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
}
