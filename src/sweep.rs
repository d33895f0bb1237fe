//! One sweep: scan, guard, then per subject lock, facts, decide, write, commit; and close.
//!
//! Nothing is retried inside a sweep: the next one is the retry. An error costs its subject only; a database that is
//! gone ends the sweep with a truthful report.
//!
//! # Example
//! ```
//! use sweep::store::{Access, connect::open::Url, hosts::migrate};
//! use sweep::sweep::{Cancel, Options, run};
//!
//! # fn main() -> anyhow::Result<()> {
//! # let directory = tempfile::tempdir()?;
//! let database = Url::Sqlite(directory.path().join("work.db"));
//! database.create()?;
//! migrate::migrate(&mut database.connect(Access::Write)?, &migrate::Wanted::default())?;
//!
//! let summary = run(&Options::of(database), &Cancel::default(), &mut ())?;
//! println!("{} continued, {} escalated", summary.total().continued, summary.total().escalated);
//! # assert!(summary.empty);
//! # Ok(())
//! # }
//! ```

pub mod ask;
pub mod clock;
pub mod examine;
mod guard;
pub mod limits;
mod locks;
pub mod logs;
mod options;
pub mod plan;
mod quarantine;
pub mod scan;
mod summary;
mod surroundings;
mod upkeep;
mod workers;

use std::time::Instant;

use anyhow::{Error, Result};
use diesel::QueryResult;
use diesel::result::DatabaseErrorKind::UniqueViolation;
use diesel::result::Error::DatabaseError;

use crate::conclusion::{Conclusion, conclusion_of};
use crate::rules::{Id, Kind};
use crate::store::connect::open::Store;
use crate::store::db::errors::{is_of_outage, is_of_statement};
use crate::store::hosts::links::Links;
use crate::store::work::candidates::{Part, Portion};
pub use crate::store::work::counts::{Guarded, HeldBack, KindCounts, KindMode, Tally};
use crate::store::work::ledger::{self, Closing, Opening, SweepEnd};
use crate::store::work::opening::{Glance, refresh_statistics};
use crate::store::work::outbox;
use crate::store::work::surroundings::StuckWakes;
use crate::store::{Access, Db, DbConnection, Subject, for_kind, has_any};
pub use clock::Clocks;
pub(crate) use examine::attempt::{
    Attempt, Company, Examination, ExamineContext, Job, Lost, Prospect, Stage, UnknownCommit,
};
pub(crate) use examine::{examine, look_alone, look_at, settle, take_up};
use guard::Withheld;
pub use limits::Cancel;
pub(crate) use limits::{Full, Limits, Reservation, WakeBudget, share_of};
pub use options::{Options, Selection};
use options::{first_look, heading, is_worth_a_sweep, look, named, refuse};
pub(crate) use plan::Plan;
use quarantine::Failures;
pub(crate) use scan::{Ahead, Scan, look_ahead};
pub use summary::{
    Deferred, Examined, Fault, Heading, KindReport, Mode, Observer, Observers, Outcome, Progress, SCHEMA, StopReason,
    Stuck, Summary,
};
use workers::Workers;

/// Sweeps once. An error says why the sweep could not begin, or not go on; what it did until then stands in the ledger,
/// and `observer` hears of it.
pub fn run(options: &Options, cancel: &Cancel, observer: &mut impl Observer) -> Result<Summary> {
    let began = Instant::now();
    let access = if options.dry_run { Access::ReadOnly } else { Access::Write };
    let explain = |error: Error, doing| options.database.explain(error).context(doing);
    let mut store = options.database.open(access)?;
    let (start, clocks, glance) =
        first_look(options, &mut store, access).map_err(|error| explain(error, "looking at the database"))?;
    let heading = heading(options, &store, &start);
    refuse(options, &mut store, &heading)?;
    let named = named(options, &mut store)?;
    let summary = Summary { heading, began_at: start.now, clocks, ..Summary::default() };
    if !is_worth_a_sweep(options, &mut store)? {
        return Ok(summary);
    }
    let connections = prepare(options, &mut store, &glance, start.has_partitions)?;
    let sweep = Sweep {
        options,
        is_restricted: named.is_some() || !options.is_whole(&store.kinds),
        named,
        id: Id::generate(),
        access,
        links: store.host.links(options.host_url.as_ref()),
        wakes: WakeBudget::new(options.wakes_per_agent_max),
        glance,
    };
    let _span = logs::span_of_sweep(&sweep.id, &summary.heading).entered();
    let workers = Workers::new(&options.database, access, connections);
    let mut round = Round { workers, limits: Limits::of(options, began, cancel, observer), summary, observer };
    sweep.open(&mut store.db, &round.summary).map_err(|error| explain(error, "cannot record the sweep"))?;
    round.observer.begins(&round.summary.heading);
    let swept = sweep.sweep_kinds(&mut store, &mut round);
    let swept = swept.map_err(|error| explain(error, "the sweep could not go on"));
    if swept.is_ok() {
        sweep.look_around(&mut store, &mut round.summary);
    }
    let Round { mut summary, observer, .. } = round;
    (summary.ended, summary.conclusion) = match (&swept, cancel.conclusion()) {
        (Err(error), _) => (SweepEnd::Failed, conclusion_of(error)),
        (Ok(_), Some(conclusion)) => (SweepEnd::Interrupted, conclusion),
        (Ok(Some(failed)), None) => (SweepEnd::Failed, *failed),
        (Ok(None), None) => (SweepEnd::Completed, conclude(&summary, options)),
    };
    // The scan's own connection may have been idle for too long: a new one may do.
    let closed = sweep
        .close(&mut store.db, &summary)
        .or_else(|_| sweep.close(&mut options.database.connect_again(access)?, &summary));
    // A sweep of what was named leaves this to others.
    if swept.is_ok() && closed.is_ok() && access == Access::Write && sweep.glance.has_upkeep && sweep.is_full_scan() {
        upkeep::keep_up(&mut store.db, options, cancel);
    }
    logs::sweep(&summary, &sweep.id);
    summary.took = began.elapsed();
    summary.has_pending_notifications = matches!(closed, Ok(Some(true)));
    observer.ends(&summary);
    swept?;
    closed.map_err(|error| explain(error, "the end of the sweep could not be recorded"))?;
    Ok(summary)
}

/// What a sweep that has something to do needs before: plans for tables as they are, and a server with enough locks.
/// The connections that it works with.
fn prepare(options: &Options, store: &mut Store, glance: &Glance, has_partitions: bool) -> Result<u32> {
    if glance.is_calm {
        return Ok(options.connections);
    }
    if !options.dry_run {
        let refreshed = store.db.in_transaction(Access::Write, &options.timeouts, refresh_statistics);
        refreshed.unwrap_or_else(logs::unrefreshed);
    }
    if !has_partitions {
        return Ok(options.connections);
    }
    locks::connections(options, store).or_else(|error| match is_of_statement(&error) && !is_of_outage(&error) {
        // A view that is broken is found out, and named, by the sweep of its kind.
        true => Ok(1),
        false => Err(options.database.explain(error)),
    })
}

/// A sweep under way, as it was asked for.
struct Sweep<'a> {
    options: &'a Options,
    /// It does not look at everything; that other shards look at the rest is no matter.
    is_restricted: bool,
    /// The subjects that were named, whether they are candidates or not; none: it looks for candidates.
    named: Option<Vec<(Kind, Id)>>,
    id: Id,
    access: Access,
    links: Links,
    wakes: WakeBudget,
    glance: Glance,
}

impl Sweep<'_> {
    /// Sweeps the kinds one after the other, with the same connections and within the same limits. That one cannot be
    /// looked at, because its rows are too many or its view is broken, is no reason to leave the others, and is
    /// returned; an outage is an error.
    fn sweep_kinds(&self, store: &mut Store, round: &mut Round<impl Observer>) -> Result<Option<Conclusion>> {
        let Limits { deadline, mut left, .. } = round.limits;
        let kinds = self.options.selection.kinds();
        let mut failed = None;
        for (place, &kind) in kinds.iter().enumerate() {
            let others: Vec<Kind> = kinds[place + 1..].iter().copied().filter(|kind| self.has_work(*kind)).collect();
            round.limits.deadline = share_of(deadline, 1 + others.len());
            let (provided, mode) = (store.kinds.contains(&kind), self.options.mode(kind));
            round.summary.begin(kind, provided, mode);
            round.observer.kind(kind);
            // What was written about another kind may have stranded some of this one.
            let is_quiet =
                !self.glance.is_unsettled && !self.glance.candidates.contains(&kind) && !round.summary.has_changed();
            if !provided || mode == KindMode::Off || is_quiet {
                continue;
            }
            // What is not done in shadow takes nothing from what is.
            let done: Vec<Kind> = others.into_iter().filter(|kind| self.options.mode(*kind) == KindMode::On).collect();
            let kept = left.map(|left| self.kept_for(&done, left, &mut store.db)).unwrap_or_default();
            let is_shadow = mode == KindMode::Shadow;
            round.limits.left = if is_shadow { self.options.limit } else { left.map(|left| left - kept) };
            let swept = for_kind!(kind, S => self.sweep_kind::<S>(&mut store.db, mode, round));
            if !is_shadow {
                left = round.limits.left.map(|left| left + kept);
            }
            match swept {
                Err(error) if is_of_statement(&error) => {
                    let error = self.options.database.explain(error);
                    round.summary.unswept.push(logs::unswept(kind, &error));
                    failed = failed.or(Some(conclusion_of(&error)));
                }
                swept => swept?,
            }
        }
        Ok(failed)
    }

    fn has_work(&self, kind: Kind) -> bool {
        self.glance.candidates.contains(&kind) && self.options.mode(kind) != KindMode::Off
    }

    /// How much of what may be done is kept for the kinds that come later: their share, if they have so many to look
    /// at.
    fn kept_for(&self, later: &[Kind], left: u32, db: &mut DbConnection) -> u32 {
        let context = self.context(&self.wakes);
        let candidates = |&kind: &Kind| for_kind!(kind, S => Scan::<S>::new(db, &context).rest().count);
        let wanted: Vec<u64> = later.iter().map(candidates).filter(|count| 0 < *count).collect();
        let share = left - left.div_ceil(1 + wanted.len() as u32);
        u32::try_from(wanted.iter().sum::<u64>()).map_or(share, |wanted| wanted.min(share))
    }

    fn sweep_kind<S: Subject>(
        &self,
        db: &mut DbConnection,
        mode: KindMode,
        round: &mut Round<impl Observer>,
    ) -> Result<()> {
        let shadow_wakes = WakeBudget::new(self.wakes.per_agent_max);
        let context = match mode {
            KindMode::Shadow => {
                ExamineContext { access: Access::ReadOnly, shadow: true, ..self.context(&shadow_wakes) }
            }
            KindMode::On | KindMode::Off => self.context(&self.wakes),
        };
        let mut failures = match self.glance.has_failures {
            true => Failures::load::<S>(db, &context)?,
            false => Failures::default(),
        };
        round.summary.current().in_quarantine = failures.in_quarantine;
        let mut scan = match &self.named {
            None => Scan::<S>::new(db, &context),
            Some(subjects) => Scan::named(db, &context, subjects),
        };
        if round.observer.wants_counts() {
            round.observer.expect(scan.rest().count);
        }
        let held = match self.options.guard {
            Some(guard) if self.is_full_scan() => {
                guard::assess(guard, &mut scan, &mut round.workers, &context, &round.limits)?
            }
            Some(_) | None => Withheld::Nothing,
        };
        round.examine_but_for(&held, scan, &mut failures, &context)?;
        guard::announce(db, S::KIND, &held, &context);
        if context.access == Access::Write && self.is_full_scan() && self.glance.is_unsettled {
            let settled = db.in_transaction(Access::Write, &context.timeouts, ledger::settle_deleted::<S>);
            settled.unwrap_or_else(|abort| logs::unsettled(S::KIND, abort));
        }
        if S::KIND == Kind::Issue && self.is_full_scan() {
            surroundings::announce_left_issues(db, &context);
        }
        // What is swept by hand, again and again, fails no oftener for it.
        if context.access == Access::Write && self.named.is_none() {
            failures.record(db, S::KIND, &context, round.summary.began_at);
        }
        Ok(())
    }

    fn context<'c>(&'c self, wakes: &'c WakeBudget) -> ExamineContext<'c> {
        let Options { policy, timeouts, subscriptions, .. } = self.options;
        let links = &self.links;
        ExamineContext {
            access: self.access,
            durable: self.options.durable,
            part: self.options.part(),
            // What is named is swept whichever shard names it.
            shard: self.options.shard.filter(|_| self.named.is_none()),
            plan: self.options.selection.plan(),
            ..ExamineContext::of_one(&self.id, policy, *timeouts, wakes, subscriptions, links)
        }
    }

    /// False if subjects were named, or if runs have ended and only their subjects are looked at.
    fn is_full_scan(&self) -> bool {
        self.named.is_none() && self.options.selection.only_ids().is_none()
    }

    /// Looks at what is no subject's: the wakes, the host's clock, and whether there is anything at all. A sweep of a
    /// few subjects does not ask the first; that the others cannot be asked is no reason for a sweep to fail.
    fn look_around(&self, store: &mut Store, summary: &mut Summary) {
        let Store { db, host, kinds, .. } = store;
        if self.glance.is_calm {
            let (wakes, after) = (StuckWakes::default(), self.options.policy.wake_stuck_after);
            summary.stuck_wakes = Some(Stuck { wakes, after, now: summary.began_at });
            summary.empty = self.glance.is_empty;
            return;
        }
        if self.is_full_scan() {
            summary.stuck_wakes = surroundings::check_wakes(db, self.options, self.access, &self.id);
            surroundings::announce_unheard_runs(db, &self.context(&self.wakes));
        }
        summary.clocks.host_behind_seconds = clock::host_behind(db, host, &self.options.timeouts);
        // There was nothing to look at, or to put off, of any kind.
        if summary.kinds.iter().all(|report| report.counts.tally == Tally::default()) {
            summary.empty = look(self.options, db, |db| has_any(db, kinds, None)).is_ok_and(|found| !found);
        }
    }

    /// Opens the sweep's row in the ledger, unless all of it can be written at once.
    fn open(&self, db: &mut DbConnection, summary: &Summary) -> Result<()> {
        if self.glance.is_calm {
            return Ok(());
        }
        let (host, opening) = (&summary.heading.host, self.opening(summary));
        self.record(db, |db| ledger::open_sweep(db, &self.id, host, &opening)).map(drop)
    }

    fn opening(&self, summary: &Summary) -> Opening<'_> {
        let Options { shard, policy, .. } = self.options;
        let (began_at, is_restricted) = (summary.began_at, self.is_restricted);
        Opening { began_at, is_restricted, shard: *shard, policy }
    }

    /// Closes the sweep's row, and says whether anything waits to be delivered: decisions.md#the-closing-transaction
    fn close(&self, db: &mut DbConnection, summary: &Summary) -> Result<Option<bool>> {
        let closing = Closing {
            ended: summary.ended,
            conclusion: summary.conclusion,
            partial: self.is_restricted || summary.stopped_by == Some(StopReason::Deadline),
            counts: summary.counts(),
            idle: is_idle(summary),
            oldest_left: summary.oldest_left,
        };
        let (host, opening) = (&summary.heading.host, self.opening(summary));
        self.record(db, |db| match self.glance.is_calm {
            true => match ledger::record_calm_sweep(db, &self.id, host, &opening, closing) {
                // The reply to a COMMIT was lost: the row is there.
                Ok(()) | Err(DatabaseError(UniqueViolation, _)) => Ok(false),
                Err(error) => Err(error),
            },
            false => {
                ledger::close_sweep(db, &self.id, closing)?;
                outbox::is_any_waiting(db)
            }
        })
    }

    /// Writes the sweep's own row; a dry run has none.
    fn record<T>(&self, db: &mut DbConnection, body: impl FnOnce(&mut Db) -> QueryResult<T>) -> Result<Option<T>> {
        match self.access {
            Access::ReadOnly => Ok(None),
            Access::Write => Ok(Some(db.in_transaction(Access::Write, &self.options.timeouts, body)?)),
        }
    }
}

/// What a sweep uses and fills while it goes on.
struct Round<'a, O> {
    workers: Workers,
    limits: Limits,
    summary: Summary,
    observer: &'a mut O,
}

impl<O: Observer> Round<'_, O> {
    /// Examines what the scan yields, within the limits, but for what the guard holds back: that is put off.
    fn examine_but_for<S: Subject>(
        &mut self,
        held: &Withheld,
        mut scan: Scan<S>,
        failures: &mut Failures,
        context: &ExamineContext,
    ) -> Result<()> {
        let parts = match held {
            Withheld::Nothing => return self.examine_all(scan, failures, context),
            Withheld::Everything(guarded) => {
                self.summary.current().guard = Some(*guarded);
                self.summary.defer(scan.rest());
                return Ok(());
            }
            Withheld::Parts(parts) => parts,
        };
        self.summary.current().held_back = parts.clone();
        let held: Vec<Portion> =
            parts.iter().map(|part| part.portion.clone()).chain(context.part.except.to_vec()).collect();
        let rest = ExamineContext { part: Part { except: &held, ..context.part }, ..*context };
        self.examine_all(scan.again(&rest), failures, &rest)?;
        // Last, since counting takes its time.
        for HeldBack { portion, .. } in parts {
            let of_part = ExamineContext { part: portion.part(context.part.except), ..*context };
            self.summary.defer(scan.again(&of_part).rest());
        }
        Ok(())
    }

    fn examine_all<S: Subject>(
        &mut self,
        mut scan: Scan<S>,
        failures: &mut Failures,
        context: &ExamineContext,
    ) -> Result<()> {
        let Round { workers, limits, summary, observer } = self;
        let not_begun = workers.examine_all(&mut scan, context, limits, |examined| {
            let heading = &summary.heading;
            let (sweep, host, mode) = (context.sweep_id, Some(heading.host.as_str()), heading.mode.name());
            logs::subject(&examined, &logs::LogSource { sweep, host, mode });
            failures.note(&examined);
            summary.count(&examined);
            observer.subject(&examined);
        })?;
        summary.defer(not_begun);
        if limits.left == Some(0) || limits.are_over() {
            let rest = scan.rest();
            summary.defer(rest);
            if 0 < rest.count + not_begun.count && !context.shadow {
                summary.stopped_by = limits.stop_reason().or(summary.stopped_by);
            }
        }
        Ok(())
    }
}

/// Did the sweep find nothing to do?
fn is_idle(summary: &Summary) -> bool {
    let is_done = summary.ended == SweepEnd::Completed && summary.conclusion == Conclusion::Done;
    is_done && !summary.has_changed() && summary.total().deferred == 0
}

/// How a sweep ends that could go on.
fn conclude(summary: &Summary, options: &Options) -> Conclusion {
    let total = summary.total();
    match summary.has_changed() {
        _ if summary.lacks_rights => Conclusion::Config,
        _ if summary.is_guarded() => Conclusion::Guarded,
        _ if 0 < total.failed + total.unknown + total.unreadable => Conclusion::SomeFailed,
        false if 0 < total.busy => Conclusion::Busy,
        true if options.concludes_changed => Conclusion::Changed,
        _ => Conclusion::Done,
    }
}
