//! Subjects: their kinds and ids, what happened to them so far, the agents to which they are assigned, and what such an
//! agent is doing.

use std::fmt::{Display, Formatter, Result};
use std::ops::RangeInclusive;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::display::{HumanDuration, format_utc, humanize, one_line};
use super::{After, Policy};

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
    /// The agent of which people were told then that it is gone or terminated.
    pub lost_agent: Option<Id>,
    pub escalations_last_day: u32,
    pub open: Option<OpenRecovery>,
    pub exemption: Option<Exemption>,
}

/// To what an exemption belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Whose {
    #[default]
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

/// A row's id as its database prints it: a hyphenated uuid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema), schemars(inline))]
pub struct Id(pub String);

/// The kinds of subject, in the order in which they are swept.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema), schemars(inline))]
pub enum Kind {
    Session,
    Issue,
    Step,
}

/// Prints an id on one line: on SQLite, and in a process of others, it may be any text.
impl Display for Id {
    fn fmt(&self, f: &mut Formatter) -> Result {
        f.write_str(&one_line(&self.0))
    }
}

impl Kind {
    pub const ALL: &[Kind] = <Kind as strum::VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        Kind::ALL.iter().map(|kind| kind.name())
    }

    /// The kind that a row of sweep's own, or of a host, names.
    pub fn parse(name: &str) -> Option<Kind> {
        name.parse().ok()
    }

    pub fn plural(self) -> &'static str {
        match self {
            Kind::Session => "sessions",
            Kind::Issue => "issues",
            Kind::Step => "steps",
        }
    }

    pub fn with_article(self) -> &'static str {
        match self {
            Kind::Session => "a session",
            Kind::Issue => "an issue",
            Kind::Step => "a step",
        }
    }
}

/// The agent that would be woken for a subject.
#[derive(Clone, Debug, PartialEq)]
pub enum Assignee {
    /// No agent: a plan whose client pulls.
    Nobody,
    Agent {
        id: Id,
        /// Null when there is no such agent.
        name: Option<String>,
        /// As stored; null when there is no such agent.
        status: Option<String>,
        /// Why the host says that a wake would do harm although the agent could be woken.
        obstacle: Option<String>,
    },
}

/// Why an assignee cannot be woken.
#[derive(Clone, Debug, PartialEq)]
pub enum Unavailable {
    NoSuchAgent,
    Status { name: String, status: String },
    Obstacle(String),
}

/// The statuses in which an agent can be woken.
pub(super) const WAKEABLE: [&str; 4] = ["active", "idle", "running", "error"];

/// The statuses in which nobody is to wake an agent for now: that its work and its wakes wait is meant.
pub const RESTING: [&str; 2] = ["paused", "pending_approval"];

/// The status of an agent that is gone for ever: nobody takes up its work or its wakes.
pub const TERMINATED: &str = "terminated";

impl Unavailable {
    /// How long the work of an agent that is unavailable in this way may be idle before people hear of it.
    pub(super) fn patience(&self, policy: &Policy) -> After {
        if self.is_a_loss() { policy.abandoned_after } else { policy.paused_after }
    }

    /// True if the agent will never go on: it is gone, or terminated.
    pub fn is_a_loss(&self) -> bool {
        match self {
            Unavailable::NoSuchAgent => true,
            Unavailable::Status { status, .. } => status == TERMINATED,
            Unavailable::Obstacle(_) => false,
        }
    }
}

impl Assignee {
    pub(super) fn unavailable(&self) -> Option<Unavailable> {
        let Assignee::Agent { name, status, obstacle, .. } = self else {
            return None;
        };
        let Some(status) = status else {
            return Some(Unavailable::NoSuchAgent);
        };
        match status.as_str() {
            status if WAKEABLE.contains(&status) => obstacle.clone().map(Unavailable::Obstacle),
            // Paused, terminated, pending approval, or a status that is not known.
            _ => Some(Unavailable::Status { name: name.clone().unwrap_or_default(), status: status.clone() }),
        }
    }

    pub fn id(&self) -> Option<&Id> {
        match self {
            Assignee::Nobody => None,
            Assignee::Agent { id, .. } => Some(id),
        }
    }

    /// The agent's id, if there is such an agent.
    pub fn existing_id(&self) -> Option<&Id> {
        match self {
            Assignee::Agent { id, status: Some(_), .. } => Some(id),
            Assignee::Agent { .. } | Assignee::Nobody => None,
        }
    }

    /// The agent's name and status, in words.
    pub fn describe(&self) -> String {
        match self {
            Assignee::Nobody => "nobody".to_owned(),
            Assignee::Agent { name, status, id, .. } => {
                let name = name.as_deref().unwrap_or(&id.0);
                format!("{name} ({})", status.as_deref().map_or("no such agent".to_owned(), humanize))
            }
        }
    }
}

impl Display for Unavailable {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Unavailable::NoSuchAgent => f.write_str("its agent does not exist"),
            Unavailable::Status { name, status } => write!(f, "{name} is {}", humanize(status)),
            Unavailable::Obstacle(why) => f.write_str(why),
        }
    }
}

/// What a session's agent is doing, as its supervisor sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentState {
    #[serde(rename = "state")]
    pub activity: Activity,
    /// What it waits for, or has run out of: `permission`, `quota`, …
    pub kind: Option<String>,
    /// The words with which it asks.
    pub question: String,
    pub since: DateTime<Utc>,
    /// How that is known: by which rule, on which lines.
    pub evidence: String,
}

/// What an agent does, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Activity {
    Working,
    /// The agent is at its prompt, which is empty.
    Idle,
    /// It waits for a person.
    Waiting,
    /// It has no context or no quota left.
    Exhausted,
}

impl Activity {
    pub const ALL: &[Activity] = <Activity as strum::VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn parse(name: &str) -> Option<Activity> {
        name.parse().ok()
    }

    /// True if the agent cannot go on without a person.
    pub fn needs_person(self) -> bool {
        matches!(self, Activity::Waiting | Activity::Exhausted)
    }
}

/// What an agent does, as the rest of a sentence that begins with its name.
pub fn phrase(activity: Activity, kind: Option<&str>) -> &'static str {
    match (activity, kind) {
        (Activity::Working, _) => "is at work",
        (Activity::Idle, _) => "is idle at its prompt",
        (Activity::Waiting, Some("permission")) => "asks for permission",
        (Activity::Waiting, Some("trust")) => "asks whether to trust the folder",
        (Activity::Waiting, Some("login")) => "asks for a login",
        (Activity::Waiting, Some("password")) => "asks for a password",
        (Activity::Waiting, Some("confirmation")) => "asks for a yes or no",
        (Activity::Waiting, Some("choice")) => "asks for a choice",
        (Activity::Waiting, Some("enter")) => "waits for a key",
        (Activity::Waiting, Some("question")) => "asks a question",
        (Activity::Waiting, _) => "waits for a person",
        (Activity::Exhausted, Some("context")) => "says that its context is full",
        (Activity::Exhausted, Some("quota")) => "says that its quota is used up",
        (Activity::Exhausted, _) => "says that it cannot go on",
    }
}

impl AgentState {
    pub fn phrase(&self) -> &'static str {
        phrase(self.activity, self.kind.as_deref())
    }

    /// The phrase, and the question behind it.
    pub fn describe(&self) -> String {
        match self.question.as_str() {
            "" => self.phrase().to_owned(),
            question => format!("{}: “{question}”", self.phrase()),
        }
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    pub at: DateTime<Utc>,
    /// 128 and more: `sweep watch`, like a shell, adds 128 to a signal. Null: by a signal, or nobody saw it.
    pub exit_code: Option<i32>,
}

impl Ended {
    pub(super) const UNSEEN: &str = "by a signal, or unseen";

    /// The exit codes after signals 1 to 64.
    const OF_SIGNALS: RangeInclusive<i32> = 129..=192;

    pub(super) fn with_exit_code(code: impl Display) -> String {
        format!("with exit code {code}")
    }

    /// How the process ended, in words. The view `session_details` says this, too.
    pub(super) fn describe(&self) -> String {
        match self.exit_code {
            None => Ended::UNSEEN.to_owned(),
            Some(code) if Ended::OF_SIGNALS.contains(&code) => {
                Ended::with_exit_code(format!("{code} (signal {})", code - 128))
            }
            Some(code) => Ended::with_exit_code(code),
        }
    }
}
