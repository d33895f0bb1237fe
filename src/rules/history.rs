//! What happened to a subject so far, whatever its kind.

use chrono::{DateTime, TimeDelta, Utc};

use super::Id;
use super::display::{HumanDuration, format_utc};

/// A time that is further ahead of the database's clock was written by a clock that was wrong.
pub const AHEAD_MAX: TimeDelta = TimeDelta::minutes(1);

/// What happened to the subject so far, by the database's clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    pub observed_at: DateTime<Utc>,
    /// The subject's latest sign of life.
    pub idle_since: DateTime<Utc>,
    /// When the subject last showed progress by itself.
    pub episode_began_at: DateTime<Utc>,
    /// Continuations in this episode, as far as they began.
    pub attempts: u32,
    /// Continuations in this episode that never began: their wake was dropped. They are no attempts, but have a number
    /// in the ledger.
    pub attempts_unserved: u32,
    pub attempts_last_day: u32,
    pub last_attempt_at: Option<DateTime<Utc>>,
    /// When the work that an attempt began last ended.
    pub last_attempt_ended_at: Option<DateTime<Utc>>,
    /// Escalated in this episode, and nobody has answered.
    pub escalated: bool,
    /// People were notified that it is abandoned, and nothing has come of it yet.
    pub abandoned: bool,
    pub escalations_last_day: u32,
    pub open: Option<OpenRecovery>,
    pub exemption: Option<Exemption>,
}

/// To what an exemption belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Whose {
    Subject,
    /// To an agent: it holds for all that the agent has.
    Agent,
    /// To a tenant: it holds for all that is the tenant's.
    Tenant,
}

impl Whose {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// An operator's word that a subject is in progress on purpose.
#[derive(Clone, Debug, PartialEq)]
pub struct Exemption {
    pub whose: Whose,
    pub reason: String,
    /// It holds before this; null: until it is removed.
    pub until: Option<DateTime<Utc>>,
}

impl Exemption {
    pub fn holds(&self, now: DateTime<Utc>) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// The ledger's row of which nothing has come yet; a subject has one at most.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenRecovery {
    pub id: Id,
    pub since: DateTime<Utc>,
}

impl History {
    /// True if another episode has begun since this recovery.
    pub(super) fn is_newer_than(&self, open: &OpenRecovery) -> bool {
        open.since < self.episode_began_at
    }

    /// The history of a subject about which nothing was done yet: it showed progress when it was last alive, and not
    /// since.
    pub fn never_tried(idle_since: DateTime<Utc>, observed_at: DateTime<Utc>) -> History {
        History { observed_at, idle_since, episode_began_at: idle_since, ..History::default() }
    }

    /// Records that the subject showed progress by itself at this time: what was tried before belongs to an earlier
    /// episode.
    pub(super) fn progressed(&mut self, at: DateTime<Utc>) {
        if self.episode_began_at < at {
            self.episode_began_at = at;
            if self.open.as_ref().is_none_or(|open| open.since < at) {
                (self.attempts, self.escalated) = (0, false);
            }
        }
    }

    /// The end of a delay that began at this time; None if it is over. A time in the future, which a clock that was
    /// ahead has written, delays nothing.
    pub(super) fn within(&self, delay: TimeDelta, at: Option<DateTime<Utc>>) -> Option<DateTime<Utc>> {
        let at = at.filter(|at| self.observed_at - *at < delay && *at - self.observed_at <= AHEAD_MAX)?;
        Some(at.checked_add_signed(delay).unwrap_or(at))
    }

    pub fn idle_for(&self) -> TimeDelta {
        self.observed_at - self.idle_since
    }

    /// True if the last sign of life is older than this grace. A start or a sign that lies in the future is life as
    /// well.
    pub(super) fn is_quiet_for_longer_than(&self, grace: TimeDelta) -> bool {
        self.episode_began_at <= self.observed_at && grace < self.idle_for()
    }

    /// How far a sign of life, or the start of the episode, lies in the future.
    pub fn ahead(&self) -> Option<TimeDelta> {
        let ahead = self.idle_since.max(self.episode_began_at) - self.observed_at;
        (TimeDelta::zero() < ahead).then_some(ahead)
    }

    /// The ledger's number of the last attempt in this episode; attempts that never began have one, too.
    pub fn attempts_recorded(&self) -> u32 {
        self.attempts.saturating_add(self.attempts_unserved)
    }

    /// For how long there was no sign of life, in words.
    pub fn describe_idleness(&self) -> String {
        let latest = self.idle_since.max(self.episode_began_at);
        match latest <= self.observed_at {
            true => format!("{}, since {}", HumanDuration(self.idle_for()), format_utc(self.idle_since)),
            false => format!("its time lies in the future: {}", format_utc(latest)),
        }
    }
}
