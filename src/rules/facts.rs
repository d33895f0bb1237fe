//! What is known of a subject, whatever its kind: what may be wrong with it, and the clauses of that definition; what
//! happened to it so far; and the agent to which it is assigned.

use std::fmt::{Display, Formatter, Result as FormatResult};

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::display::{HumanDuration, format_utc, humanize, one_line, queued_for};
use super::session::AgentState;
use super::{After, Cause, ContinueBy, Policy, Reason};

/// What every kind of subject knows about itself.
pub trait Facts {
    /// What may be wrong, and the clauses that must all hold for it.
    fn definition(&self, policy: &Policy) -> (Finding, Vec<Clause>);
    /// What is wrong, or why nothing is.
    fn diagnose(&self, policy: &Policy) -> Result<Finding, Reason> {
        diagnosis(&self.definition(policy))
    }
    /// Why what is open in the ledger must stay open although the subject itself has healed.
    fn withholds_recovery(&self, _policy: &Policy) -> Option<Reason> {
        None
    }
    /// How often, and how, it is continued.
    fn allowance(&self, policy: &Policy) -> RetryBudget {
        RetryBudget { remedy: ContinueBy::Wake, attempts_max: policy.attempts_max, delay: policy.retry_delay }
    }
    /// True if the last attempt may still help for a while after it was made, and after what it began has ended: the
    /// host may take up what it left behind.
    fn last_attempt_may_help(&self, _policy: &Policy) -> bool {
        true
    }
    /// Why no continuation could reach it.
    fn unreachable(&self, _policy: &Policy) -> Option<Cause> {
        (*self.assignee() == Assignee::Nobody).then_some(Cause::NoAgent)
    }
    /// How often people may be notified of it in a day, however often somebody sets it back to work.
    fn escalations_per_day_max(&self, policy: &Policy) -> u32 {
        policy.attempts_per_day_max.max(1)
    }
    /// What its agent is doing, as far as somebody sees it.
    fn agent_state(&self) -> Option<&AgentState> {
        None
    }
    fn assignee(&self) -> &Assignee;
    fn history(&self) -> &History;
}

/// How a subject is continued, how often in an episode, and how far apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryBudget {
    pub remedy: ContinueBy,
    pub attempts_max: u32,
    pub delay: TimeDelta,
}

/// Returns what is wrong, or why nothing is: the first clause that does not hold.
pub(super) fn diagnosis((finding, clauses): &(Finding, Vec<Clause>)) -> Result<Finding, Reason> {
    clauses.iter().find_map(|clause| clause.failure.clone()).map_or(Ok(*finding), Err)
}

/// What is wrong with a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Finding {
    /// An issue in progress that nobody is working on.
    Orphaned,
    /// A plan step in progress for too long.
    Stalled,
    /// A session that shows no sign of life.
    Silent,
    /// A session that repeats itself.
    Looping,
    /// A session whose process ended before its work.
    Crashed,
    /// A session whose agent asks a person something, or cannot go on without one.
    Waiting,
    /// A session that moves, and does nothing new.
    NoProgress,
}

impl Finding {
    /// The finding's name for programs.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The words with which the finding's definition begins, before the clauses.
    pub fn definition(self) -> &'static str {
        match self {
            Finding::Orphaned => "An issue is orphaned if and only if:",
            Finding::Stalled => "A plan step is stalled, and nothing is on its way, if and only if:",
            Finding::Silent => "A session is silent, and nothing is on its way, if and only if:",
            Finding::Looping => "A session is looping, and nothing is on its way, if and only if:",
            Finding::Crashed => "A session is crashed, and nothing is on its way, if and only if:",
            Finding::Waiting => "A session waits for a person, and nothing is on its way, if and only if:",
            Finding::NoProgress => "A session is without progress, and nothing is on its way, if and only if:",
        }
    }
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter) -> FormatResult {
        f.write_str(match self {
            Finding::Waiting => "waiting for a person",
            Finding::NoProgress => "without progress",
            finding => finding.name(),
        })
    }
}

/// One clause of a finding's definition, as one subject meets it.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// What it demands, in words.
    pub demand: String,
    /// The value that was found, in words.
    pub found: String,
    /// Why the subject is left; none when the clause holds.
    pub failure: Option<Reason>,
    /// The clause demands patience of sweeps alone: a person who asks for something does not wait for it.
    pub is_patience: bool,
}

impl Clause {
    pub(super) fn new(demand: impl Into<String>, found: impl Into<String>, failure: Option<Reason>) -> Clause {
        Clause { demand: demand.into(), found: found.into(), failure, is_patience: false }
    }

    /// The clause as one that demands patience of sweeps alone.
    pub(super) fn demanding_patience(self) -> Clause {
        Clause { is_patience: true, ..self }
    }
}

pub(super) fn is_in_progress(status: &str) -> bool {
    status == "in_progress"
}

/// The clause that the subject's status says that it is in progress.
pub(super) fn in_progress(status: &str) -> Clause {
    let failure = (!is_in_progress(status)).then(|| Reason::NotInProgress(status.to_owned()));
    Clause::new("it is in progress", humanize(status), failure)
}

/// The clause that the subject waits for nothing.
pub(super) fn no_wait_is_declared(wait: Option<&str>) -> Clause {
    let failure = wait.map(|wait| Reason::DeclaredWait(wait.to_owned()));
    Clause::new("no wait is declared", wait.unwrap_or("none"), failure)
}

/// The clause that no run is live; `last_end` says how the last one ended, if that is known.
pub(super) fn no_run_is_live(has_live_run: bool, last_end: Option<&str>) -> Clause {
    let found = match (has_live_run, last_end) {
        (true, _) => "one is".to_owned(),
        (false, None) => "none".to_owned(),
        (false, Some(end)) => format!("none; the last: {end}"),
    };
    Clause::new("no run is live", found, has_live_run.then_some(Reason::LiveRun))
}

/// The clause that no wake is pending. One that is old, or lies in the future, is reported as stuck.
/// `detail` says which wake it is, and what became of it so far.
pub(super) fn no_wake_is_pending(
    history: &History,
    since: Option<DateTime<Utc>>,
    detail: Option<&str>,
    policy: &Policy,
) -> Clause {
    let age = since.map(|since| history.observed_at - since);
    let is_stuck = |age| policy.wake_stuck_after < age || age < -AHEAD_MAX;
    let reason = |age| if is_stuck(age) { Reason::StuckWake(age) } else { Reason::PendingWake };
    let found = age.map_or("none".to_owned(), |age| format!("one, {}", queued_for(age)));
    let found = [Some(found.as_str()), detail].into_iter().flatten().collect::<Vec<_>>().join(": ");
    Clause::new("no wake is pending", found, age.map(reason))
}

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
    fn fmt(&self, f: &mut Formatter) -> FormatResult {
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
        match self {
            Unavailable::NoSuchAgent => policy.abandoned_after,
            Unavailable::Status { status, .. } => match status.as_str() {
                TERMINATED => policy.abandoned_after,
                resting if RESTING.contains(&resting) => policy.paused_after,
                _ => After::Off,
            },
            Unavailable::Obstacle(_) => After::Off,
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
    fn fmt(&self, f: &mut Formatter) -> FormatResult {
        match self {
            Unavailable::NoSuchAgent => f.write_str("its agent does not exist"),
            Unavailable::Status { name, status } => write!(f, "{name} is {}", humanize(status)),
            Unavailable::Obstacle(why) => f.write_str(why),
        }
    }
}
