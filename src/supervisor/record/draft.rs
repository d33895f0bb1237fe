//! May something be typed into a session, and has it arrived where it should?

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::Record;
use crate::rules::session::Activity;
use crate::rules::session::phrase;
use crate::screen::{Agents, seen};
use crate::supervisor::probe::is_shell;

/// A person who has typed a key within this time is at work.
const TYPING_LASTS: Duration = Duration::from_secs(3);

/// What is drawn on within this time may not be what it seems to be.
const DRAWING_LASTS: Duration = Duration::from_millis(500);

/// Into which programs something may be typed, when they are idle at their prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nudges {
    Off,
    /// Those whose screens are known.
    #[default]
    Known,
    /// All that stand at a prompt such as `>`: the operator says that it is one.
    Idle,
}

/// What stands in a composer into which a message was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draft {
    /// The message, and nothing else.
    Message,
    /// Nothing.
    Empty,
    /// Something else: a part of it, or what the program made of it.
    Other,
    /// It is not the composer that keys would reach.
    NoComposer,
}

impl Record {
    /// Why nothing may be typed, in words that follow “it”.
    pub fn refusal(&self, now: Instant) -> Option<String> {
        let state = self.states.now().map(|known| known.statement.activity);
        let is_idle = state == Some(Activity::Idle)
            && self.states.on_screen().is_some_and(|seen| seen.activity == Activity::Idle);
        match self.probe.mode() {
            _ if self.nudges == Nudges::Off => Some("takes no nudges (--nudge off)".to_owned()),
            _ if self.end.is_some() => Some("has ended".to_owned()),
            None => Some("has a terminal that cannot be looked at".to_owned()),
            Some(mode) if mode.hides() => Some("asks for something that nobody may see".to_owned()),
            Some(_) if self.agent.is_none() => Some("is no agent whose screens are known (--nudge idle)".to_owned()),
            Some(_) if is_shell(&self.probe.foreground()) => Some("is a shell".to_owned()),
            Some(_) if is_idle && self.keyed_at.is_some_and(|at| now.duration_since(at) < TYPING_LASTS) => {
                Some("is being typed into by a person".to_owned())
            }
            Some(_) if is_idle && !self.composer_is_empty => Some("has a draft in its composer".to_owned()),
            Some(_) if is_idle => None,
            Some(_) => Some(match self.states.now() {
                Some(known) if known.statement.activity != Activity::Idle => {
                    phrase(known.statement.activity, known.statement.kind.as_deref()).to_owned()
                }
                Some(_) | None => "is not known to be idle at its prompt".to_owned(),
            }),
        }
    }

    /// Looks at the screen anew, and says why nothing may be typed now.
    pub fn refuses_typing(&mut self, now: Instant) -> Option<String> {
        self.assess(now);
        self.refusal(now)
    }

    /// May what is known of its screen be no longer true?
    pub fn is_drawing(&self, now: Instant) -> bool {
        self.is_passing || self.drawn_at.is_some_and(|at| now.saturating_duration_since(at) < DRAWING_LASTS)
    }

    /// Is only a part of its screen painted yet?
    pub fn is_painting(&self, now: Instant) -> bool {
        self.emulator.is_painting(now)
    }

    /// A nudge is being typed, or has just been.
    pub fn typed(&mut self, message: &str, now: Instant) {
        let before: HashSet<String> = match self.nudge.take() {
            Some((known, typed_at, before)) if known == message && now.duration_since(typed_at) < TYPING_LASTS => {
                before
            }
            _ => self.lines.iter().cloned().collect(),
        };
        self.nudge = Some((message.to_owned(), now, before));
    }

    /// What stands in the composer now that a message was typed.
    pub fn draft(&mut self, message: &str, now: Instant) -> Draft {
        self.assess(now);
        let asks = self.states.on_screen().is_some_and(|seen| seen.activity.needs_person());
        let look = self.emulator.look(self.probe.mode(), now);
        match Agents::get().composed(self.agent, &look).filter(|_| !asks && !self.is_passing) {
            None => Draft::NoComposer,
            Some((before, behind)) if before == seen(message) && behind.is_empty() => Draft::Message,
            Some((before, behind)) if before.is_empty() && behind.is_empty() => Draft::Empty,
            Some(_) => Draft::Other,
        }
    }

    /// The keys that take back what stands in the composer.
    pub fn clearing_keys(&self) -> &'static str {
        self.agent.and_then(|agent| agent.clear.as_deref()).unwrap_or(KILL_LINE)
    }
}

/// Ctrl-U, which terminals and editors of lines alike take for that.
const KILL_LINE: &str = "\x15";
