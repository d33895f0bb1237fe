//! What a sweep came to.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value, json};

use super::heading::Heading;
use super::options::Options;
use super::outcome::{Examined, Fault, Outcome};
use super::tally::{Clocks, Deferred, KindReport, StopReason, Stuck};
use crate::conclusion::{Conclusion, Failure};
use crate::rules::Kind;
use crate::store::work::candidates::Portion;
use crate::store::work::counts::{Guarded, HeldBack, KindCounts, KindMode, Tally};
use crate::store::work::ledger::Ended;
use crate::text::redact_id;

/// What one sweep came to, of each kind and as a whole. It is filled while the sweep goes on.
#[derive(Clone, Debug)]
pub struct Summary {
    pub heading: Heading,
    /// By the database's clock.
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
    /// Of a sweep that begins: nothing is known yet.
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

    /// By how much the database's clock is ahead of this machine's, and the ledger ahead of the database's clock.
    pub(super) fn compare_clocks(&mut self, skew: TimeDelta, ledger_ahead: Option<TimeDelta>) {
        self.clocks.skew_seconds = skew.num_milliseconds() as f64 / 1000.0;
        self.clocks.ledger_future_seconds = ledger_ahead.map(|ahead| ahead.num_seconds());
    }

    /// A kind begins to be swept: what follows is counted with it.
    pub fn begin(&mut self, kind: Kind, provided: bool, mode: KindMode) {
        self.kinds.push(KindReport { kind, counts: KindCounts { provided, mode, ..KindCounts::default() } });
    }

    fn kind(&mut self) -> &mut KindCounts {
        &mut self.kinds.last_mut().expect("a kind has begun").counts
    }

    pub(super) fn guard(&mut self, guarded: Guarded) {
        self.kind().guard = Some(guarded);
    }

    pub(super) fn hold_back(&mut self, held_back: Vec<HeldBack>) {
        self.kind().held_back = held_back;
    }

    pub(super) fn in_quarantine(&mut self, subjects: u64) {
        self.kind().in_quarantine = subjects;
    }

    /// Counts a subject of the kind that has begun.
    pub fn count(&mut self, examined: &Examined) {
        let report = self.kind();
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
        let report = self.kind();
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
        Tally::sum(self.kinds.iter().filter(|report| report.counts.mode == KindMode::On))
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
