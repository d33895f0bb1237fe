//! A detector's ledger: what was sent in the present episode of its session, and what is due next.
//!
//! There is no rule here. What is due at a moment is what `rules::decide` says of the facts at that moment, one event
//! at a time and in this order: the recovery from a reported stall, the stall, a nudge, the escalation.
//!
//! Moments count from the start of the detector, which stands at the Unix epoch.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::{StallConfig, StallEvent};
use crate::rules::session::{Session, SessionFacts};
use crate::rules::{Assignee, Decision, Facts, Finding, History, Id, OpenRecovery, decide, detect_loop};

pub type Moment = DateTime<Utc>;

pub const START: Moment = DateTime::UNIX_EPOCH;

/// The session at one moment.
pub struct SessionView<'a> {
    pub session_id: &'a Id,
    pub config: &'a StallConfig,
    /// The latest sign of life.
    pub active_at: Moment,
    /// The latest progress, not after the latest sign of life.
    pub progressed_at: Moment,
    /// The last lines of output, oldest first; empty if only signs of life are reported.
    pub recent_output: Vec<String>,
    pub now: Moment,
}

/// What is due for a session.
pub enum Due {
    /// This event is to be sent, and then recorded.
    Event(StallEvent),
    /// Nothing before this moment, unless the session shows a sign of life.
    NotBefore(Moment),
    /// Nothing until the session shows a sign of life.
    Nothing,
}

#[derive(Default)]
pub struct Episode {
    /// Nudges in this episode.
    attempts: u32,
    escalated: bool,
    /// Set while something was done that has had no effect yet: the last sign of life before it, or in a loop the last
    /// progress. A later one is a recovery, even in the same tick of the clock.
    open_since: Option<Moment>,
    /// The last nudge was asked for, and not confirmed by `nudge_sent` yet.
    is_unconfirmed: bool,
    attempts_at: LastDay,
    escalations_at: LastDay,
    reported: Reported,
}

/// What was sent to the reader of the events.
#[derive(Default, PartialEq)]
pub enum Reported {
    #[default]
    Healthy,
    Stalled,
    /// The stall was sent. The recovery, after this time and so many nudges, was not.
    RecoveryUnsent(Duration, u32),
}

impl Episode {
    pub fn due(&mut self, view: &SessionView) -> Due {
        self.settle(view);
        let session_id = view.session_id.clone();
        if let Reported::RecoveryUnsent(silent_for, attempts) = self.reported {
            return Due::Event(StallEvent::SelfRecovered { session_id, silent_for, attempts });
        }
        let facts = self.facts(view, view.now);
        let silent_for = duration(facts.history().idle_for());
        let verdict = decide(&facts, &view.config.policy());
        if let Some(finding) = verdict.finding
            && self.reported == Reported::Healthy
        {
            let repeats = detect_loop(&view.recent_output).filter(|_| finding == Finding::Looping);
            return Due::Event(StallEvent::Stalled { session_id, finding, repeats, silent_for });
        }
        match verdict.decision {
            Decision::Continue { attempt, remedy: _ } => Due::Event(StallEvent::AutoNudge {
                session_id,
                attempt,
                attempts_max: verdict.attempts_max,
                message: Arc::clone(&view.config.nudge_message),
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
            | Decision::Abandon(_) => self.next_change(view, facts.history().idle_since),
        }
    }

    /// Records an event that was sent, or could not be, since the channel is closed.
    pub fn record(&mut self, event: &StallEvent, view: &SessionView) {
        match event {
            StallEvent::Stalled { .. } => self.reported = Reported::Stalled,
            StallEvent::AutoNudge { .. } => {
                self.attempt(view);
                self.is_unconfirmed = true;
            }
            StallEvent::Escalated { .. } => {
                self.escalated = true;
                self.escalations_at.add(view.now, view.config.attempts_per_day_max);
            }
            StallEvent::SelfRecovered { .. } => {
                self.reported = Reported::Healthy;
                return;
            }
        }
        self.open_since = Some(self.idle_since(view));
    }

    /// Records that a nudge was typed: the one that was asked for, or a further one.
    pub fn nudge_sent(&mut self, view: &SessionView) {
        self.settle(view);
        if std::mem::take(&mut self.is_unconfirmed) {
            self.attempts_at.0.last_mut().into_iter().for_each(|last| *last = view.now);
        } else {
            self.attempt(view);
        }
        self.open_since = Some(self.idle_since(view));
    }

    /// Shifts all moments by the length of a pause.
    pub fn postpone(&mut self, by: TimeDelta) {
        let moments = self.attempts_at.0.iter_mut().chain(&mut self.escalations_at.0).chain(&mut self.open_since);
        moments.for_each(|moment| *moment += by);
    }

    pub fn is_stalled(&self, view: &SessionView) -> bool {
        self.facts(view, view.now).diagnose(&view.config.policy()).is_ok()
    }

    /// Whether the next sign of life has to be reported.
    pub fn awaits_sign(&self) -> bool {
        self.reported == Reported::Stalled
    }

    /// Ends the episode if the session has recovered. The latest progress is judged at its own time, so that it counts
    /// however late it is seen; signs of life after it lie in the future then, and count as well.
    fn settle(&mut self, view: &SessionView) {
        let Some(since) = self.open_since else { return };
        let facts = self.facts(view, view.progressed_at);
        let Decision::Recovered(_) = decide(&facts, &view.config.policy()).decision else { return };
        if self.reported == Reported::Stalled {
            let silent_for = duration(facts.history().idle_since - since);
            self.reported = Reported::RecoveryUnsent(silent_for, self.attempts);
        }
        (self.attempts, self.escalated, self.is_unconfirmed, self.open_since) = (0, false, false, None);
    }

    fn idle_since(&self, view: &SessionView) -> Moment {
        self.facts(view, view.now).history().idle_since
    }

    fn attempt(&mut self, view: &SessionView) {
        self.attempts = self.attempts.saturating_add(1);
        self.attempts_at.add(view.now, view.config.attempts_per_day_max);
    }

    /// The earliest moment at which the rules may decide otherwise, when they are asked again.
    fn next_change(&self, view: &SessionView, idle_since: Moment) -> Due {
        // A stall lasts longer than the threshold; the timer rounds up to the next millisecond.
        let threshold = view.config.policy().session_silent_after + TimeDelta::nanoseconds(1);
        let day_over =
            self.attempts_at.0.iter().chain(&self.escalations_at.0).map(|moment| *moment + TimeDelta::days(1));
        let changes = day_over.chain([view.active_at + threshold, idle_since + threshold]);
        changes.filter(|change| view.now < *change).min().map_or(Due::Nothing, Due::NotBefore)
    }

    fn facts(&self, view: &SessionView, now: Moment) -> SessionFacts {
        let history = History {
            episode_began_at: START,
            attempts: self.attempts,
            attempts_last_day: self.attempts_at.count(now),
            last_attempt_at: self.attempts_at.0.last().copied(),
            escalated: self.escalated,
            escalations_last_day: self.escalations_at.count(now),
            open: self.open_since.map(|since| OpenRecovery { id: view.session_id.clone(), since }),
            ..History::never_tried(view.active_at, now)
        };
        let session = Session {
            id: view.session_id.clone(),
            status: "active".to_owned(),
            started_at: START,
            active_at: view.active_at,
            progressed_at: view.progressed_at,
            recent_output: view.recent_output.clone(),
            takes_commands: true,
            takes_nudges: true,
            ..Session::default()
        };
        SessionFacts::new(session, String::new(), Assignee::Nobody, None, history)
    }
}

/// The latest attempts, oldest first: as many as a day may have, and at least the last one.
#[derive(Default)]
struct LastDay(Vec<Moment>);

impl LastDay {
    fn add(&mut self, now: Moment, count_max: u32) {
        // The last one is kept even if it is older: a nudge's delay may be longer than a day.
        self.0.retain(|moment| is_in_last_day(*moment, now));
        self.0.push(now);
        let surplus = self.0.len().saturating_sub(count_max.max(1) as usize);
        self.0.drain(..surplus);
    }

    fn count(&self, now: Moment) -> u32 {
        self.0.iter().filter(|moment| is_in_last_day(**moment, now)).count() as u32
    }
}

fn is_in_last_day(moment: Moment, now: Moment) -> bool {
    now - TimeDelta::days(1) < moment
}

/// The length of a silence: zero if the sign of life lies in the future.
fn duration(delta: TimeDelta) -> Duration {
    delta.to_std().unwrap_or_default()
}
