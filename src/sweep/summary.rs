//! What a sweep came to.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::clock::Clocks;
use super::examined::{Examined, Fault};
use super::heading::Heading;
use super::options::Options;
use crate::conclusion::{Conclusion, Failure};
use crate::rules::Kind;
use crate::rules::display::HumanDuration;
use crate::store::work::candidates::{Candidate, Portion};
use crate::store::work::counts::{KindCounts, KindMode, Outcome, Tally};
use crate::store::work::ledger::Ended;
use crate::store::work::surroundings::StuckWakes;
use crate::text::redact_id;

/// What one sweep came to, of each kind and as a whole. It is filled while the sweep goes on.
#[derive(Clone, Debug)]
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
    pub ended: Ended,
    pub conclusion: Conclusion,
    pub took: Duration,
    /// Notifications wait to be delivered: of this sweep, or of one before it.
    pub has_pending_notifications: bool,
}

impl Summary {
    /// The summary of a sweep that begins: nothing is known yet.
    pub fn of(heading: Heading, began_at: DateTime<Utc>) -> Summary {
        Summary {
            heading,
            began_at,
            kinds: Vec::new(),
            oldest_left: None,
            stopped_by: None,
            stuck_wakes: None,
            clocks: Clocks::default(),
            empty: false,
            lacks_rights: false,
            unswept: Vec::new(),
            ended: Ended::Completed,
            conclusion: Conclusion::Done,
            took: Duration::ZERO,
            has_pending_notifications: false,
        }
    }

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

    /// Was there nothing to look at, or to put off, of any kind?
    pub(super) fn saw_nothing(&self) -> bool {
        self.kinds.iter().all(|report| report.counts.tally == Tally::default())
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

    /// How a sweep ends that could go on.
    pub(super) fn concluded(&self, options: &Options) -> Conclusion {
        let total = self.total();
        match self.has_changed() {
            _ if self.lacks_rights => Conclusion::Config,
            _ if self.is_guarded() => Conclusion::Guarded,
            _ if 0 < total.failed + total.unknown + total.unreadable => Conclusion::SomeFailed,
            false if 0 < total.busy => Conclusion::Busy,
            true if options.concludes_changed => Conclusion::Changed,
            _ => Conclusion::Done,
        }
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
