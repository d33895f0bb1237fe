//! What is told of a sweep: its heading, each subject's line, what it came to; and who hears of it while it goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Clocks;
use crate::conclusion::{Conclusion, Failure};
use crate::rules::display::HumanDuration;
use crate::rules::{Finding, Id, Kind, Policy};
use crate::store::work::candidates::{Candidate, Portion};
pub use crate::store::work::counts::Outcome;
use crate::store::work::counts::{KindCounts, KindMode, Tally};
use crate::store::work::ledger::SweepEnd;
use crate::store::work::surroundings::StuckWakes;
use crate::text::{redact, redact_id};

/// What one sweep came to, of each kind and as a whole. It is filled while the sweep goes on.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    pub heading: Heading,
    /// When the sweep began, by the database's clock.
    pub began_at: DateTime<Utc>,
    pub kinds: Vec<KindReport>,
    /// Since when the oldest subject that was neither healthy nor helped has been idle.
    pub oldest_left: Option<DateTime<Utc>>,
    pub stopped_by: Option<StopReason>,
    /// None: it could not be asked, or was of no interest.
    pub stuck_wakes: Option<Stuck>,
    pub clocks: Clocks,
    /// The database holds no subject at all.
    pub empty: bool,
    /// Subjects failed since this role lacks a right.
    pub lacks_rights: bool,
    /// Why kinds could not be swept, or not to their end, while the others were.
    pub unswept: Vec<String>,
    pub ended: SweepEnd,
    pub conclusion: Conclusion,
    pub took: Duration,
    /// Notifications wait to be delivered: of this sweep, or of one before it.
    pub has_pending_notifications: bool,
}

impl Summary {
    /// A kind begins to be swept: what follows is counted with it.
    pub fn begin(&mut self, kind: Kind, provided: bool, mode: KindMode) {
        self.kinds.push(KindReport { kind, counts: KindCounts { provided, mode, ..KindCounts::default() } });
    }

    /// The counts of the kind that has begun.
    pub(super) fn current(&mut self) -> &mut KindCounts {
        &mut self.kinds.last_mut().expect("a kind has begun").counts
    }

    /// Counts a subject of the kind that has begun.
    pub fn count(&mut self, examined: &Examined) {
        let report = self.current();
        report.tally.count(examined.outcome);
        if examined.outcome == Outcome::Deferred {
            report.oldest_deferred_at = report.oldest_deferred_at.into_iter().chain(examined.idle_since).min();
        }
        self.lacks_rights |= examined.fault == Fault::Rights && !examined.shadow;
        let is_helped = examined.outcome.is_change() && !examined.shadow;
        if !is_helped && examined.outcome != Outcome::Healthy {
            self.oldest_left = self.oldest_left.into_iter().chain(examined.idle_since).min();
        }
        if let Some(ahead) = examined.ahead.map(|ahead| ahead.num_seconds())
            && self.clocks.future_seconds.is_none_or(|furthest| furthest < ahead)
        {
            self.clocks.future_seconds = Some(ahead);
            self.clocks.future_subject = Some(redact_id(&examined.id));
            self.clocks.future_name = Some(format!("{} {}", examined.kind, examined.name()));
        }
    }

    /// Counts subjects that were not examined.
    pub(super) fn defer(&mut self, deferred: Deferred) {
        let report = self.current();
        let mut all = Deferred { count: report.tally.deferred, oldest: report.oldest_deferred_at };
        all.add(deferred);
        (report.tally.deferred, report.oldest_deferred_at) = (all.count, all.oldest);
        self.oldest_left = self.oldest_left.into_iter().chain(deferred.oldest).min();
    }

    /// Was anything written about a subject, or may it have been?
    pub(super) fn has_changed(&self) -> bool {
        let total = self.total();
        0 < total.continued + total.escalated + total.recovered + total.handed_over + total.abandoned + total.unknown
    }

    /// Why not all kinds could be swept, if so.
    pub fn failure(&self) -> Option<Failure> {
        (!self.unswept.is_empty()).then(|| Failure::new(self.conclusion, self.unswept.join("; ")))
    }

    /// All kinds that are on, together.
    pub fn total(&self) -> Tally {
        let on = self.kinds.iter().filter(|report| report.counts.mode == KindMode::On);
        on.fold(Tally::default(), |sum, report| sum.plus(report.counts.tally))
    }

    /// Was anything left alone that is on?
    pub fn is_guarded(&self) -> bool {
        self.kinds.iter().any(|report| report.counts.is_guarded() && report.counts.mode == KindMode::On)
    }

    /// What the guard held back of a kind; none: all of it.
    pub fn held_back(&self, kind: Kind) -> Option<Vec<Portion>> {
        let of_kind = || self.kinds.iter().filter(|report| report.kind == kind && report.counts.mode == KindMode::On);
        let is_whole = of_kind().any(|report| report.counts.guard.is_some());
        (!is_whole)
            .then(|| of_kind().flat_map(|report| &report.counts.held_back).map(|part| part.portion.clone()).collect())
    }

    /// Are wakes stuck, and taken up by nobody at all?
    pub fn no_wake_is_taken(&self) -> bool {
        self.stuck_wakes.is_some_and(|stuck| stuck.wakes.none_is_taken)
    }

    /// What became of each kind, as in the JSON report.
    pub fn counts(&self) -> Value {
        let counts = self.kinds.iter().map(|report| (report.kind.plural().to_owned(), json!(report)));
        Value::Object(counts.collect::<Map<_, _>>())
    }
}

/// What is said of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct KindReport {
    #[serde(skip)]
    pub kind: Kind,
    #[serde(flatten)]
    pub counts: KindCounts,
}

/// Subjects that were left to the next sweep unseen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deferred {
    pub count: u64,
    pub oldest: Option<DateTime<Utc>>,
}

impl Deferred {
    /// One candidate that was left.
    pub fn one(candidate: &Candidate) -> Deferred {
        Deferred { count: 1, oldest: candidate.since.instant() }
    }

    pub fn add(&mut self, other: Deferred) {
        self.count += other.count;
        self.oldest = self.oldest.into_iter().chain(other.oldest).min();
    }
}

/// What ended a sweep before all was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    Limit,
    Deadline,
}

/// The wakes that were stuck at the end of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stuck {
    #[serde(flatten)]
    pub wakes: StuckWakes,
    /// How long a wake may be queued.
    #[serde(skip)]
    pub after: TimeDelta,
    /// When the wakes were looked for.
    #[serde(skip)]
    pub now: DateTime<Utc>,
}

impl Stuck {
    pub fn sentence(&self) -> String {
        let Stuck { wakes: StuckWakes { count, oldest_at, none_is_taken }, after, now } = self;
        let (limit, oldest) = (HumanDuration(*after), oldest_at.map(|at| *now - at).filter(|age| *after < *age));
        let wakes = match (count, oldest.map(HumanDuration)) {
            (1, Some(age)) => format!("1 wake is stuck: queued for {age}, and taken up by nobody"),
            (1, None) => format!("1 wake is stuck: queued for longer than {limit}, and taken up by nobody"),
            (_, age) => {
                let oldest = age.map(|age| format!(", the oldest for {age}")).unwrap_or_default();
                format!("{count} wakes are stuck: queued for longer than {limit}, and taken up by nobody{oldest}")
            }
        };
        match none_is_taken {
            true => {
                format!("{wakes}. No wake was taken up in the last {limit}: does whatever runs the agents still run?")
            }
            false => wakes,
        }
    }

    /// The sentence that says that it is over.
    pub fn all_clear(&self) -> String {
        format!("wakes are taken up again: none has been queued for longer than {}", HumanDuration(self.after / 2))
    }
}

/// The cause of a subject's failure: its own fault, or another's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// The subject's own fault, as far as is known.
    #[default]
    Own,
    /// The database was full, or went away.
    Outage,
    /// The role lacks a right.
    Rights,
}

/// One subject in the report; the fields are those of the JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Examined {
    pub kind: Kind,
    pub id: Id,
    pub identifier: Option<String>,
    pub tenant: Option<String>,
    /// Its page in the host's own board. Null: none is known.
    pub url: Option<String>,
    pub finding: Option<Finding>,
    /// Null when it could not be decided.
    pub decision: Option<&'static str>,
    pub reason: String,
    /// Which attempt this is, or how many were made.
    pub attempt: Option<u32>,
    pub attempts_max: u32,
    /// The agent that is, or would be, woken.
    pub agent_id: Option<Id>,
    #[serde(skip)]
    pub agent_name: Option<String>,
    pub idle_seconds: Option<i64>,
    pub outcome: Outcome,
    /// Decided and reported, and never written.
    pub shadow: bool,
    #[serde(skip)]
    pub idle_since: Option<DateTime<Utc>>,
    #[serde(skip)]
    pub fault: Fault,
    /// How far its latest sign of life lies in the future: it counts as healthy until then.
    #[serde(skip)]
    pub ahead: Option<TimeDelta>,
}

impl Examined {
    /// What people call it, or its id, as it may be shown.
    pub fn name(&self) -> String {
        redact(self.identifier.as_deref().unwrap_or(&self.id.0))
    }

    /// As it may be printed: its texts are others', and on SQLite so are its ids.
    pub fn redacted(&self) -> Examined {
        Examined {
            id: redact_id(&self.id),
            identifier: self.identifier.as_deref().map(redact),
            tenant: self.tenant.as_deref().map(redact),
            reason: redact(&self.reason),
            agent_name: self.agent_name.as_deref().map(redact),
            agent_id: self.agent_id.as_ref().map(redact_id),
            ..self.clone()
        }
    }
}

/// The version of the JSON report.
pub const SCHEMA: u32 = 1;

/// The head of a report: how the sweep went about it, which database, and with what rules. A plan is applied only where
/// its own is the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heading {
    pub schema: u32,
    pub mode: Mode,
    pub host: String,
    /// Which database it is: the id that `sweep migrate` gave it and its name, or the file.
    pub database: String,
    /// The latest migration.
    pub schema_version: String,
    pub policy: Policy,
    /// The newest sweeps that the database knew of, the latest first: a copy of it soon knows others. Empty as well
    /// when this role may not read them.
    #[serde(default)]
    pub newest_sweeps: Vec<Id>,
}

impl Heading {
    /// As it may be printed: a file may be called anything, and so may a nudge.
    pub fn redacted(&self) -> Heading {
        let policy = Policy { nudge_message: redact(&self.policy.nudge_message), ..self.policy.clone() };
        let newest_sweeps = self.newest_sweeps.iter().map(redact_id).collect();
        Heading { database: redact(&self.database), policy, newest_sweeps, ..self.clone() }
    }
}

/// How a sweep goes about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Mode {
    #[default]
    Sweep,
    DryRun,
    /// Only what a plan says.
    Apply,
}

impl Mode {
    /// As programs read it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Hears of a sweep while it goes on, on the thread that runs it. `()` is one that does nothing.
pub trait Observer {
    /// The sweep begins. One that finds at a first look that there is nothing to do never does, and has a summary
    /// alone.
    fn begins(&mut self, _heading: &Heading) {}

    /// A kind begins to be swept: what follows is of this kind.
    fn kind(&mut self, _kind: Kind) {}

    /// Is it worth a query to know how many subjects are to be examined?
    fn wants_counts(&self) -> bool {
        false
    }

    /// Hears how many subjects of the kind are to be examined.
    fn expect(&mut self, _subjects: u64) {}

    /// A subject was examined.
    fn subject(&mut self, _examined: &Examined) {}

    /// The sweep has ended, also when it could not go on.
    fn ends(&mut self, _summary: &Summary) {}

    /// Could what it heard not be passed on? Then a person may not know of what was done.
    fn has_failed(&self) -> bool {
        false
    }

    /// What counts the sweep's steps, for those who want to know whether it hangs.
    fn progress(&self) -> Progress {
        Progress::default()
    }
}

impl Observer for () {}

/// Hears of the sweeps of several databases, while they go on at the same time.
pub trait Observers: Sync {
    /// Has the database at this place swept, and hears of it, on the thread that asks for it.
    fn hear(
        &self,
        place: usize,
        name: &str,
        sweep: impl FnOnce(&mut dyn Observer) -> Result<Summary>,
    ) -> Result<Summary>;

    /// As `Observer::has_failed`, of any of them.
    fn has_failed(&self) -> bool;
}

/// How many steps a sweep has made: a page was read, or a subject examined. One that hangs makes none.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<AtomicUsize>);

impl Progress {
    pub fn step(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn steps(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// An observer that only counts steps.
impl Observer for Progress {
    fn progress(&self) -> Progress {
        self.clone()
    }
}
