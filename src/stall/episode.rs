//! One session's episode as its detector remembers it, and what is due of it: the detector's ledger.
//!
//! It holds no rule. What is due at a moment is what `rules::decide` says of the facts at that moment, one thing at a
//! time and in this order: that a reported stall is over, that there is a stall, a nudge, the escalation.
//!
//! Its moments count from the start of the detector, which is the Unix epoch to it.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::{StallConfig, StallEvent};
use crate::rules::session::{Session, SessionFacts};
use crate::rules::{Assignee, Decision, Facts, Finding, History, Id, OpenRecovery, decide, detect_loop};

pub type Moment = DateTime<Utc>;

pub const START: Moment = DateTime::UNIX_EPOCH;

/// The session, as it stands while it is looked at.
pub struct Sight<'a> {
    pub session_id: &'a Id,
    pub config: &'a StallConfig,
    /// Its latest sign of life.
    pub active_at: Moment,
    /// Its latest step forward, no later than that.
    pub progressed_at: Moment,
    /// The last lines of its output, oldest first; none when it reports signs of life only.
    pub recent_output: Vec<String>,
    pub now: Moment,
}

/// What a look at a session finds.
pub enum Due {
    /// To be sent, and then recorded.
    Event(StallEvent),
    /// Nothing before this moment, unless it shows a sign of life.
    NotBefore(Moment),
    /// Nothing until it shows a sign of life.
    Nothing,
}

#[derive(Default)]
pub struct Episode {
    /// In this episode.
    attempts: u32,
    escalated: bool,
    /// The last sign of life, or of a loop the last progress, before something was done of which nothing has come yet. A
    /// later one is a recovery, even in the same tick of the clock.
    open_since: Option<Moment>,
    /// The last nudge was asked for, and nobody has said that it was typed.
    is_unconfirmed: bool,
    attempts_at: LastDay,
    escalations_at: LastDay,
    reported: Reported,
}

/// What the reader of the events knows.
#[derive(Default, PartialEq)]
pub enum Reported {
    #[default]
    Healthy,
    Stalled,
    /// That it stalled, and not yet that it recovered: after so long, and so many nudges.
    NotYetRecovered {
        silent_for: Duration,
        attempts: u32,
    },
}

impl Episode {
    pub fn due(&mut self, sight: &Sight) -> Due {
        self.settle(sight);
        let session_id = sight.session_id.clone();
        if let Reported::NotYetRecovered { silent_for, attempts } = self.reported {
            return Due::Event(StallEvent::SelfRecovered { session_id, silent_for, attempts });
        }
        let facts = self.facts(sight, sight.now);
        let silent_for = duration(facts.history().idle_for());
        let verdict = decide(&facts, &sight.config.policy());
        if let Some(finding) = verdict.finding
            && self.reported == Reported::Healthy
        {
            let repeats = detect_loop(&sight.recent_output).filter(|_| finding == Finding::Looping);
            return Due::Event(StallEvent::Stalled { session_id, finding, repeats, silent_for });
        }
        match verdict.decision {
            Decision::Continue { attempt, remedy: _ } => Due::Event(StallEvent::AutoNudge {
                session_id,
                attempt,
                attempts_max: verdict.attempts_max,
                message: Arc::clone(&sight.config.nudge_message),
                silent_for,
            }),
            Decision::Escalate(cause) => {
                Due::Event(StallEvent::Escalated { session_id, cause, attempts: self.attempts, silent_for })
            }
            Decision::Wait { until } => Due::NotBefore(until),
            Decision::Leave(_)
            | Decision::Recovered(_)
            | Decision::HandedOver(_)
            | Decision::Skip(_)
            | Decision::Abandon(_) => self.next_change(sight, facts.history().idle_since),
        }
    }

    /// The event was sent, or there is nobody left to send it to.
    pub fn record(&mut self, event: &StallEvent, sight: &Sight) {
        match event {
            StallEvent::Stalled { .. } => self.reported = Reported::Stalled,
            StallEvent::AutoNudge { .. } => {
                self.attempt(sight);
                self.is_unconfirmed = true;
            }
            StallEvent::Escalated { .. } => {
                self.escalated = true;
                self.escalations_at.add(sight.now, sight.config.attempts_per_day_max);
            }
            StallEvent::SelfRecovered { .. } => {
                self.reported = Reported::Healthy;
                return;
            }
        }
        self.open_since = Some(self.idle_since(sight));
    }

    /// A nudge was typed: the one that was asked for, or else one more.
    pub fn nudge_sent(&mut self, sight: &Sight) {
        self.settle(sight);
        match self.is_unconfirmed {
            true => self.attempts_at.move_last(sight.now),
            false => self.attempt(sight),
        }
        self.is_unconfirmed = false;
        self.open_since = Some(self.idle_since(sight));
    }

    /// The clock stood still for so long: what happened before is later by as much.
    pub fn postpone(&mut self, by: TimeDelta) {
        let moments = self.attempts_at.0.iter_mut().chain(&mut self.escalations_at.0).chain(&mut self.open_since);
        moments.for_each(|moment| *moment += by);
    }

    pub fn is_stalled(&self, sight: &Sight) -> bool {
        self.facts(sight, sight.now).diagnose(&sight.config.policy()).is_ok()
    }

    /// Does a sign of life have to be reported?
    pub fn awaits_sign(&self) -> bool {
        self.reported == Reported::Stalled
    }

    /// Looks at the latest progress at its own time, so that it counts however late it is seen. Signs of life that came
    /// afterwards are life in the future then, which is life as well.
    fn settle(&mut self, sight: &Sight) {
        let Some(since) = self.open_since else { return };
        let facts = self.facts(sight, sight.progressed_at);
        let Decision::Recovered(_) = decide(&facts, &sight.config.policy()).decision else { return };
        if self.reported == Reported::Stalled {
            let silent_for = duration(facts.history().idle_since - since);
            self.reported = Reported::NotYetRecovered { silent_for, attempts: self.attempts };
        }
        (self.attempts, self.escalated, self.is_unconfirmed, self.open_since) = (0, false, false, None);
    }

    fn idle_since(&self, sight: &Sight) -> Moment {
        self.facts(sight, sight.now).history().idle_since
    }

    fn attempt(&mut self, sight: &Sight) {
        self.attempts = self.attempts.saturating_add(1);
        self.attempts_at.add(sight.now, sight.config.attempts_per_day_max);
    }

    /// The earliest moment at which the rules may say something else; it is only when to ask them again.
    fn next_change(&self, sight: &Sight, idle_since: Moment) -> Due {
        // Longer than the threshold, not as long; the timer rounds up to its next millisecond.
        let threshold = sight.config.policy().session_silent_after + TimeDelta::nanoseconds(1);
        let day_over =
            self.attempts_at.0.iter().chain(&self.escalations_at.0).map(|moment| *moment + TimeDelta::days(1));
        let changes = day_over.chain([sight.active_at + threshold, idle_since + threshold]);
        changes.filter(|change| sight.now < *change).min().map_or(Due::Nothing, Due::NotBefore)
    }

    fn facts(&self, sight: &Sight, now: Moment) -> SessionFacts {
        let history = History {
            observed_at: now,
            idle_since: sight.active_at,
            episode_began_at: START,
            attempts: self.attempts,
            attempts_unserved: 0,
            attempts_last_day: self.attempts_at.count(now),
            last_attempt_at: self.attempts_at.0.last().copied(),
            last_attempt_ended_at: None,
            escalated: self.escalated,
            abandoned: false,
            escalations_last_day: self.escalations_at.count(now),
            open: self.open_since.map(|since| OpenRecovery { id: sight.session_id.clone(), since }),
            exemption: None,
        };
        let session = Session {
            id: sight.session_id.clone(),
            identifier: None,
            title: String::new(),
            status: "active".to_owned(),
            declared_wait: None,
            started_at: START,
            active_at: sight.active_at,
            progressed_at: sight.progressed_at,
            reports_progress: false,
            ended: None,
            silent_after: None,
            recent_output: sight.recent_output.clone(),
            takes_commands: true,
            takes_nudges: true,
            agent: None,
            pending_command_since: None,
        };
        SessionFacts::new(session, String::new(), Assignee::Nobody, None, history)
    }
}

/// The latest moments of one kind, oldest first: as many as a day may have, and at least the last one.
#[derive(Default)]
struct LastDay(Vec<Moment>);

impl LastDay {
    fn add(&mut self, now: Moment, count_max: u32) {
        // The last one is kept however old it is: a nudge's delay may be longer than a day.
        self.0.retain(|moment| is_in_last_day(*moment, now));
        self.0.push(now);
        let surplus = self.0.len().saturating_sub(count_max.max(1) as usize);
        self.0.drain(..surplus);
    }

    fn move_last(&mut self, now: Moment) {
        self.0.last_mut().into_iter().for_each(|last| *last = now);
    }

    fn count(&self, now: Moment) -> u32 {
        self.0.iter().filter(|moment| is_in_last_day(**moment, now)).count() as u32
    }
}

fn is_in_last_day(moment: Moment, now: Moment) -> bool {
    now - TimeDelta::days(1) < moment
}

/// A sign of life that lies in the future is no silence.
fn duration(delta: TimeDelta) -> Duration {
    delta.to_std().unwrap_or_default()
}
