//! One sweep: scan, guard, then per subject lock, facts, decide, write, commit; and close.
//!
//! Nothing is retried inside a sweep: the next one is the retry. An error costs its subject only; a database that is
//! gone ends the sweep with a truthful report.
//!
//! # Example
//! ```
//! use sweep::store::{Access, migrate, open::Url};
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
pub mod cancel;
mod clock;
pub mod context;
mod describe;
pub mod examine;
mod guard;
pub mod heading;
mod left_issues;
pub mod limits;
pub mod logs;
mod observer;
mod options;
mod outcome;
pub mod plan;
mod quarantine;
mod record;
mod round;
pub mod scan;
mod selection;
mod settle;
mod summary;
mod tally;
mod wakes;
mod workers;

use std::time::Instant;

use anyhow::Result;

use crate::conclusion::{Conclusion, conclusion_of};
use crate::rules::{Id, Kind};
use crate::store::connect::open::Store;
use crate::store::db::errors::is_of_statement;
use crate::store::hosts::links::Links;
pub use crate::store::work::counts::{Guarded, HeldBack, KindCounts, KindMode, Tally};
use crate::store::work::ledger::{self, Ended};
use crate::store::work::opening::Glance;
use crate::store::work::wakes::StuckWakes;
use crate::store::{Access, DbConnection, Subject, for_kind, has_any};
pub use cancel::Cancel;
use context::ExamineContext;
use guard::{Held, Memory};
use limits::{Limits, WakeBudget};
pub use observer::{Observer, Progress};
pub use options::{Options, Selection};
pub use outcome::{Examined, Fault, Outcome};
use quarantine::Failures;
use round::Round;
use scan::Scan;
use selection::{glance, heading, is_any_stranded, look, named, refuse};
pub use summary::Summary;
pub use tally::{Clocks, Deferred, KindReport, StopReason, Stuck};
use workers::Workers;

/// Sweeps once. An error says why the sweep could not begin, or not go on; what it did until then stands in the ledger,
/// and `observer` hears of it.
pub fn run(options: &Options, cancel: &Cancel, observer: &mut impl Observer) -> Result<Summary> {
    let began = Instant::now();
    let access = if options.dry_run { Access::ReadOnly } else { Access::Write };
    let explain = |error, doing| options.database.explain(error).context(doing);
    let mut store = options.database.open(access)?;
    let mut begin = |glances: bool| {
        look(options, &mut store.db, |db| {
            let (start, clocks) = clock::read(db, access)?;
            let seen = if glances { glance(options, db, &store.kinds, &start)? } else { Glance::unknown() };
            Ok((start, clocks, seen))
        })
    };
    // What cannot be glanced at is found out, and recorded, by the sweep itself.
    let begun = begin(true).or_else(|_| begin(false));
    let (start, clocks, glance) = begun.map_err(|error| explain(error, "looking at the database"))?;
    let (heading, now) = (heading(options, &store, &start), start.now);
    refuse(options, &mut store, &heading)?;
    let named = named(options, &mut store)?;
    if let Some(issues) = options.selection.only_ids() {
        // Most runs that end leave nothing stranded: such a look is not worth a row.
        if !look(options, &mut store.db, |db| is_any_stranded(db, options, issues))? {
            return Ok(Summary::of(heading, now));
        }
    }
    let mut summary = Summary::of(heading, now);
    summary.compare_clocks(clocks.skew, clocks.ledger_ahead);
    let mut sweep = Sweep {
        options,
        is_restricted: named.is_some() || !options.is_whole(&store.kinds),
        named,
        id: Id::generate(),
        access,
        links: store.host.links(options.host_url.as_ref()),
        workers: Workers::new(&options.database, access, options.connections),
        wakes: WakeBudget::new(options.wakes_per_agent_max),
        limits: Limits {
            left: options.limit,
            deadline: began + options.deadline.to_std().unwrap_or_default(),
            cancel: cancel.clone(),
            progress: observer.progress(),
            counts: Outcome::counts_against_limit,
        },
        memory: Memory::new(options, now),
        glance,
    };
    sweep.open(&mut store.db, &summary).map_err(|error| explain(error, "cannot record the sweep"))?;
    observer.begins(&summary.heading);
    let swept = sweep.kinds(&mut store, &mut summary, observer);
    let swept = swept.map_err(|error| explain(error, "the sweep could not go on"));
    if swept.is_ok() {
        sweep.look_around(&mut store, &mut summary);
    }
    (summary.ended, summary.conclusion) = match (&swept, cancel.conclusion()) {
        (Err(error), _) => (Ended::Failed, conclusion_of(error)),
        (Ok(_), Some(conclusion)) => (Ended::Interrupted, conclusion),
        (Ok(Some(failed)), None) => (Ended::Failed, *failed),
        (Ok(None), None) => (Ended::Completed, summary.concluded(options)),
    };
    // The scan's own connection may have been idle for too long: a new one may do.
    let closed = sweep
        .close(&mut store.db, &summary)
        .or_else(|_| sweep.close(&mut options.database.connect_again(access)?, &summary));
    logs::sweep(&summary, &sweep.id);
    summary.took = began.elapsed();
    summary.has_pending_notifications = matches!(closed, Ok(Some(true)));
    observer.ends(&summary);
    swept?;
    closed.map_err(|error| explain(error, "the end of the sweep could not be recorded"))?;
    Ok(summary)
}

/// A sweep under way.
struct Sweep<'a> {
    options: &'a Options,
    /// It does not look at everything; that other shards look at the rest is no matter.
    is_restricted: bool,
    /// Only these subjects, whether they are candidates or not.
    named: Option<Vec<(Kind, Id)>>,
    id: Id,
    access: Access,
    links: Links,
    workers: Workers,
    wakes: WakeBudget,
    limits: Limits,
    /// Of the guard, if there is one.
    memory: Option<Memory>,
    glance: Glance,
}

impl Sweep<'_> {
    /// The kinds one after the other, with the same connections and within the same limits. That one cannot be looked
    /// at, because its rows are too many or its view is broken, is no reason to leave the others, and is returned; an
    /// outage is an error.
    fn kinds(
        &mut self,
        store: &mut Store,
        summary: &mut Summary,
        observer: &mut impl Observer,
    ) -> Result<Option<Conclusion>> {
        let (deadline, kinds) = (self.limits.deadline, self.options.selection.kinds());
        let mut failed = None;
        for (place, &kind) in kinds.iter().enumerate() {
            let others = kinds[place + 1..].iter().filter(|kind| self.glance.candidates.contains(kind)).count();
            self.limits.share(deadline, 1 + others);
            let (provided, mode) = (store.kinds.contains(&kind), self.options.mode(kind));
            summary.begin(kind, provided, mode);
            observer.kind(kind);
            // What was written about another kind may have stranded some of this one.
            let is_quiet =
                !self.glance.is_unsettled && !self.glance.candidates.contains(&kind) && !summary.has_changed();
            if provided && mode != KindMode::Off && is_quiet {
                self.memory.iter_mut().for_each(|memory| memory.note_nothing(kind));
            } else if provided && mode != KindMode::Off {
                let swept = for_kind!(kind, S => self.kind::<S>(&mut store.db, mode, summary, observer));
                match swept {
                    Err(error) if is_of_statement(&error) => {
                        let error = self.options.database.explain(error);
                        summary.unswept.push(logs::unswept(kind, &error));
                        failed = failed.or(Some(conclusion_of(&error)));
                    }
                    swept => swept?,
                }
            }
        }
        Ok(failed)
    }

    /// What is no subject's: the wakes, the host's clock, and whether there is anything at all. A sweep of a few
    /// subjects does not ask the first; that the others cannot be asked is no reason for a sweep to fail.
    fn look_around(&self, store: &mut Store, summary: &mut Summary) {
        let Store { db, host, kinds, .. } = store;
        if self.glance.is_calm {
            summary.stuck_wakes = Some(Stuck {
                wakes: StuckWakes::default(),
                after: self.options.policy.wake_stuck_after,
                now: summary.began_at,
            });
            summary.empty = self.glance.is_empty;
            return;
        }
        if self.looks_at_kinds() {
            summary.stuck_wakes = wakes::check(db, self.options, self.access, &self.id);
        }
        summary.clocks.host_behind_seconds = clock::host_behind(db, host, self.options);
        if summary.saw_nothing() {
            summary.empty = look(self.options, db, |db| has_any(db, kinds, None)).is_ok_and(|found| !found);
        }
    }

    /// Not at named subjects, nor at issues of which runs have ended.
    fn looks_at_kinds(&self) -> bool {
        self.named.is_none() && self.options.selection.only_ids().is_none()
    }

    fn kind<S: Subject>(
        &mut self,
        db: &mut DbConnection,
        mode: KindMode,
        summary: &mut Summary,
        observer: &mut impl Observer,
    ) -> Result<()> {
        let looks_at_kinds = self.looks_at_kinds();
        let Sweep { options, named, id, access, links, workers, wakes, limits, memory, glance, .. } = self;
        let shadow = mode == KindMode::Shadow;
        // What is not done in shadow takes nothing from what is, and the other way round.
        let mut shadow_limits = Limits { left: options.limit, ..limits.clone() };
        let shadow_wakes = WakeBudget::new(wakes.per_agent_max);
        let (limits, wakes) = if shadow { (&mut shadow_limits, &shadow_wakes) } else { (limits, &*wakes) };
        let context = ExamineContext {
            sweep_id: id,
            access: if shadow { Access::ReadOnly } else { *access },
            policy: &options.policy,
            timeouts: options.timeouts,
            durable: options.durable,
            tenant: options.tenant.as_deref(),
            group: None,
            held: &options.held,
            // What is named is swept by whoever names it.
            shard: options.shard.filter(|_| named.is_none()),
            only_ids: options.selection.only_ids(),
            asked: None,
            plan: options.selection.plan(),
            wakes,
            subscriptions: &options.subscriptions,
            links,
            shadow,
        };
        let mut failures = if glance.has_failures { Failures::load::<S>(db, &context)? } else { Failures::default() };
        summary.in_quarantine(failures.in_quarantine());
        let mut scan = match named {
            None => Scan::<S>::new(db, &context),
            Some(subjects) => Scan::named(db, &context, subjects),
        };
        if observer.wants_counts() {
            observer.expect(scan.rest().count);
        }
        let held = match memory {
            Some(memory) if looks_at_kinds => guard::judge(memory, &mut scan, workers, &context, limits)?,
            Some(_) | None => Held::Nothing,
        };
        let mut round = Round { workers, limits, failures: &mut failures, summary, observer };
        round.examine_but_for(&held, scan, &context)?;
        guard::announce(db, S::KIND, &held, &context);
        if context.access == Access::Write && looks_at_kinds && glance.is_unsettled {
            let settled = db.in_transaction(Access::Write, &context.timeouts, ledger::settle_deleted::<S>);
            settled.unwrap_or_else(|abort| logs::unsettled(S::KIND, abort));
        }
        if S::KIND == Kind::Issue && looks_at_kinds {
            left_issues::announce(db, &context);
        }
        // What is swept by hand, again and again, fails no oftener for it.
        if context.access == Access::Write && named.is_none() {
            failures.record(db, S::KIND, &context, summary.began_at);
        }
        Ok(())
    }
}
