//! One sweep: scan, guard, then per subject lock, facts, decide, write, commit; and close.
//!
//! Nothing is retried inside a sweep: the next one is the retry. An error costs its subject only; a database that is
//! gone ends the sweep with a truthful report.

mod clock;
pub mod examine;
mod guard;
mod host_blocks;
pub mod limits;
pub mod logs;
mod quarantine;
mod round;
pub mod scan;
mod selection;
mod settle;
pub mod signals;
pub mod terms;
mod unreadable;
mod wakes;
mod workers;

use std::io::Write;
use std::time::Instant;

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use diesel::QueryResult;

use crate::cli::Format;
use crate::exit::{Exit, code_of, some_failed};
use crate::report::heading::KindMode;
use crate::report::plan::Plan;
use crate::report::progress::Progress;
use crate::report::table::Detail;
use crate::report::{HeldBack, Outcome, Report, Stopper, Tally};
use crate::rules::{Id, Kind};
use crate::settings::Settings;
use crate::store::candidates::Portion;
use crate::store::ledger::{self, Ended};
use crate::store::open::Store;
use crate::store::outbox::delivery;
use crate::store::{Access, Db, DbConnection, Subject, for_kind, has_any};
use guard::{Held, Judge, Memory};
use limits::{Limits, Wakes};
use quarantine::Failures;
use round::examine_all;
use scan::Scan;
use selection::{heading, is_any_stranded, is_whole, look, named, refuse};
use signals::Stop;
use terms::Terms;
use workers::Workers;

/// What one sweep came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Swept {
    pub exit: Exit,
    /// All kinds that are on, together.
    pub total: Tally,
    /// Notifications wait to be delivered: of this sweep, or of one before it.
    pub has_news: bool,
    /// What the guard held back of the issues; none: all of them.
    pub held_issues: Option<Vec<Portion>>,
    /// Wakes are stuck, and nobody takes up any.
    pub no_wake_is_taken: bool,
}

/// Sweeps once and prints the report to `out`.
pub fn run(settings: &Settings, stop: &Stop, out: &mut (dyn Write + Send)) -> Result<Swept> {
    run_and_plan(settings, stop, out).map(|(swept, _)| swept)
}

/// A dry run for people: what it shows, whole, is the plan.
pub fn plan(settings: &Settings, stop: &Stop, out: &mut (dyn Write + Send)) -> Result<(Swept, Plan)> {
    let settings = Settings { dry_run: true, output: Format::Table, detail: Detail::Whole, ..settings.clone() };
    let (swept, plan) = run_and_plan(&settings, stop, out)?;
    Ok((swept, plan.context("a dry run has no plan")?))
}

fn run_and_plan(settings: &Settings, stop: &Stop, out: &mut (dyn Write + Send)) -> Result<(Swept, Option<Plan>)> {
    let began = Instant::now();
    let access = if settings.dry_run { Access::ReadOnly } else { Access::Write };
    let explain = |error, doing| settings.database.explain(error).context(doing);
    let mut store = settings.database.open(access)?;
    let heading = heading(settings, &mut store).map_err(|error| explain(error, "looking at the database"))?;
    refuse(settings, &mut store, &heading)?;
    let named = named(settings, &mut store)?;
    // Most runs that end leave nothing stranded: such a look is not worth a row.
    if let Some(issues) = settings.selection.among()
        && !look(settings, &mut store.db, |db| is_any_stranded(db, settings, issues))?
    {
        let (total, held_issues) = (Tally::default(), Some(Vec::new()));
        let nothing = Swept { exit: Exit::Done, total, has_news: false, held_issues, no_wake_is_taken: false };
        return Ok((nothing, None));
    }
    let clock::Clocks { now: began_at, skew, ledger_ahead } =
        look(settings, &mut store.db, |db| clock::compare(db, access))?;
    let deadline = began + settings.deadline.to_std().unwrap_or_default();
    let mut sweep = Sweep {
        settings,
        narrowed: named.is_some() || !is_whole(settings, &store.kinds),
        named,
        id: Id::generate(),
        began_at,
        access,
        workers: Workers::new(&settings.database, access, settings.connections),
        wakes: Wakes::new(settings.wakes_per_agent_max),
        limits: Limits { left: settings.limit, deadline, stop: stop.clone(), counts: Outcome::counts_against_limit },
        memory: Memory::new(settings, began_at),
    };
    sweep
        .record(&mut store.db, |db, sweep| ledger::open_sweep(db, &sweep.id, &heading.host, sweep.opening()))
        .map_err(|error| explain(error, "cannot record the sweep"))?;
    let mut report = Report::new(heading, began_at, settings.output, out).with(settings.detail);
    if settings.shows_progress {
        report = report.with_progress(Progress::beside(settings.output));
    }
    report.compare_clocks(skew, ledger_ahead);
    let swept = sweep.kinds(&mut store, &mut report).map_err(|error| explain(error, "the sweep could not go on"));
    // A sweep of a few subjects does not ask.
    let asks = swept.is_ok() && sweep.named.is_none() && settings.selection.among().is_none();
    let stuck = if asks { wakes::check(&mut store.db, settings, access, &sweep.id) } else { None };
    stuck.into_iter().for_each(|stuck| report.stuck_wakes(stuck));
    // That this cannot be asked is no reason for a sweep to fail.
    if swept.is_ok() && report.saw_nothing() {
        let Store { db, kinds, .. } = &mut store;
        report.of_an_empty_database(look(settings, db, |db| has_any(db, kinds, None)).is_ok_and(|found| !found));
    }
    let ended = match (&swept, stop.is_set()) {
        (Err(_), _) => Ended::Failed,
        (Ok(()), true) => Ended::Interrupted,
        (Ok(()), false) => Ended::Completed,
    };
    let exit = swept.as_ref().map_or_else(code_of, |()| sweep.exit(&report));
    // The scan's own connection may have been idle for too long: a new one may do.
    let closed = sweep
        .close(&mut store.db, ended, exit, &report)
        .or_else(|_| sweep.close(&mut settings.database.connect(access)?, ended, exit, &report));
    let (total, held_issues) = (report.total(), report.held_back(Kind::Issue));
    logs::sweep(&report, &sweep.id, ended, exit);
    let plan = report.plan();
    let printed = report.finish(ended, began.elapsed());
    swept?;
    let has_news = closed.map_err(|error| explain(error, "the end of the sweep could not be recorded"))?;
    printed.map_err(|error| some_failed(format!("the report could not be written: {error}")))?;
    let no_wake_is_taken = stuck.is_some_and(|stuck| stuck.wakes.none_is_taken);
    Ok((Swept { exit, total, has_news: has_news.unwrap_or(false), held_issues, no_wake_is_taken }, plan))
}

/// A sweep under way.
struct Sweep<'a> {
    settings: &'a Settings,
    /// It does not look at everything; that other shards look at the rest is no matter.
    narrowed: bool,
    /// Only these subjects, whether they are candidates or not.
    named: Option<Vec<(Kind, Id)>>,
    id: Id,
    /// By the database's clock.
    began_at: DateTime<Utc>,
    access: Access,
    workers: Workers,
    wakes: Wakes,
    limits: Limits,
    /// Of the guard, if there is one.
    memory: Option<Memory>,
}

impl Sweep<'_> {
    /// Writes the sweep's own row; a dry run has none.
    fn record<T>(
        &self,
        db: &mut DbConnection,
        body: impl FnOnce(&mut Db, &Self) -> QueryResult<T>,
    ) -> Result<Option<T>> {
        match self.access {
            Access::ReadOnly => Ok(None),
            Access::Write => Ok(Some(db.in_transaction(Access::Write, &self.settings.timeouts, |db| body(db, self))?)),
        }
    }

    fn opening(&self) -> ledger::Opening<'_> {
        let Settings { shard, policy, .. } = self.settings;
        ledger::Opening { began_at: self.began_at, narrowed: self.narrowed, shard: *shard, policy }
    }

    /// Does anything wait to be told? Asked here, so that nobody connects again just to hear that there is nothing.
    fn close(&self, db: &mut DbConnection, ended: Ended, exit: Exit, report: &Report) -> Result<Option<bool>> {
        let (counts, oldest_left) = (report.counts(), report.oldest_left());
        let partial = self.narrowed || report.stopped_by() == Some(Stopper::Deadline);
        let guard = self.memory.as_ref().and_then(Memory::remembered);
        let closing = ledger::Closing { ended, exit, partial, counts, oldest_left, guard };
        self.record(db, |db, sweep| {
            ledger::close_sweep(db, &sweep.id, closing)?;
            delivery::is_any_waiting(db)
        })
    }

    /// The kinds one after the other, with the same connections and within the same limits.
    fn kinds(&mut self, store: &mut Store, report: &mut Report) -> Result<()> {
        for kind in self.settings.selection.kinds() {
            let (provided, mode) = (store.kinds.contains(&kind), self.settings.mode(kind));
            report.begin(kind, provided, mode);
            if provided && mode != KindMode::Off {
                for_kind!(kind, S => self.kind::<S>(&mut store.db, mode, report))?;
            }
        }
        Ok(())
    }

    fn kind<S: Subject>(&mut self, db: &mut DbConnection, mode: KindMode, report: &mut Report) -> Result<()> {
        let Sweep { settings, named, id, began_at, access, workers, wakes, limits, memory, narrowed: _ } = self;
        let shadow = mode == KindMode::Shadow;
        // What is not done in shadow takes nothing from what is, and the other way round.
        let mut shadow_limits = Limits { left: settings.limit, ..limits.clone() };
        let shadow_wakes = Wakes::new(wakes.per_agent_max);
        let (limits, wakes) = if shadow { (&mut shadow_limits, &shadow_wakes) } else { (limits, &*wakes) };
        let queueing = settings.notify.queueing();
        let terms = Terms {
            sweep_id: id,
            access: if shadow { Access::ReadOnly } else { *access },
            policy: &settings.policy,
            timeouts: settings.timeouts,
            tenant: settings.tenant.as_deref(),
            group: None,
            held: &settings.held,
            // What is named is swept by whoever names it.
            shard: settings.shard.filter(|_| named.is_none()),
            among: settings.selection.among(),
            plan: settings.selection.plan(),
            wakes,
            queueing: &queueing,
            shadow,
        };
        let mut failures = Failures::load::<S>(db, &terms)?;
        report.in_quarantine(failures.in_quarantine());
        let mut scan = match named {
            None => Scan::<S>::new(db, &terms),
            Some(subjects) => Scan::named(db, &terms, subjects),
        };
        if report.shows_progress() {
            report.expect(scan.rest().count);
        }
        let held = match (&named, terms.among, memory) {
            (None, None, Some(memory)) => Judge { memory, scan: &mut scan, workers, terms: &terms, limits }.held()?,
            (_, _, _) => Held::Nothing,
        };
        match &held {
            Held::Nothing => examine_all(scan, &terms, workers, limits, &mut failures, report)?,
            Held::Everything(guarded) => {
                report.guard(*guarded);
                report.defer(scan.rest());
            }
            Held::Parts(parts) => {
                for HeldBack { portion, .. } in parts {
                    let of_part = Terms { tenant: Some(&portion.tenant), group: portion.group.as_ref(), ..terms };
                    report.defer(scan.again(&of_part).rest());
                }
                report.hold_back(parts.clone());
                let held: Vec<Portion> =
                    parts.iter().map(|part| part.portion.clone()).chain(terms.held.to_vec()).collect();
                let rest = Terms { held: &held, ..terms };
                examine_all(Scan::<S>::new(db, &rest), &rest, workers, limits, &mut failures, report)?;
            }
        }
        guard::announce(db, S::KIND, &held, &terms);
        if terms.access == Access::Write && named.is_none() && terms.among.is_none() {
            let settled = db.in_transaction(Access::Write, &terms.timeouts, ledger::settle_deleted::<S>);
            settled.unwrap_or_else(|abort| logs::unsettled(S::KIND, abort));
        }
        if S::KIND == Kind::Issue && named.is_none() && terms.among.is_none() {
            host_blocks::announce(db, &terms);
        }
        // What is swept by hand, again and again, fails no oftener for it.
        if terms.access == Access::Write && named.is_none() {
            failures.record(db, S::KIND, &terms, *began_at);
        }
        Ok(())
    }

    fn exit(&self, report: &Report) -> Exit {
        let total = report.total();
        let changed = total.continued + total.escalated + total.recovered + total.handed_over + total.abandoned;
        match self.limits.stop.exit() {
            Some(exit) => exit,
            None if report.is_guarded() => Exit::Guarded,
            None if 0 < total.failed + total.unknown + total.unreadable => Exit::SomeFailed,
            None if changed == 0 && 0 < total.busy => Exit::Busy,
            None if 0 < changed && self.settings.detailed_exitcode => Exit::Changed,
            None => Exit::Done,
        }
    }
}
