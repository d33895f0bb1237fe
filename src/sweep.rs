//! One sweep: scan, then per subject lock, facts, decide, write, commit; and close.
//!
//! Nothing is retried inside a sweep: the next one is the retry. An error costs its subject only; a database that is
//! gone ends the sweep with a truthful report.

pub mod examine;
pub mod scan;
pub mod signals;
mod workers;

use std::io::Write;
use std::time::Instant;

use anyhow::Result;
use diesel::QueryResult;
use tracing::{error, info, warn};

use crate::exit::{Exit, some_failed, usage};
use crate::report::{Examined, Heading, Outcome, Report};
use crate::rules::issue::IssueFacts;
use crate::rules::step::StepFacts;
use crate::rules::{Id, Kind};
use crate::settings::{Selection, Settings};
use crate::store::ledger::{self, Ended};
use crate::store::open::Store;
use crate::store::{Abort, Access, Candidate, Db, Position, Subject, errors};
use crate::text::shown;
use examine::Terms;
use scan::Scan;
use signals::Stop;
use workers::Workers;

/// One line for each kind: what is generic over subjects, done for the kind at hand.
macro_rules! for_kind {
    ($kind:expr, $subject:ident => $body:expr) => {
        match $kind {
            Kind::Issue => for_kind!(@ $subject = IssueFacts, $body),
            Kind::Step => for_kind!(@ $subject = StepFacts, $body),
        }
    };
    (@ $subject:ident = $facts:ty, $body:expr) => {{
        type $subject = $facts;
        $body
    }};
}

/// Sweeps once, prints the report to `out` and says how to exit.
pub fn run(settings: &Settings, stop: &Stop, out: &mut (dyn Write + Send)) -> Result<Exit> {
    let began = Instant::now();
    let access = if settings.dry_run { Access::ReadOnly } else { Access::Write };
    let mut store = settings.database.open(access)?;
    let host = store.host.name();
    let mut sweep = Sweep {
        settings,
        stop,
        terms: Terms { sweep_id: Id::generate(), access, policy: settings.policy.clone(), timeouts: settings.timeouts },
        workers: Workers::new(&settings.database, settings.connections),
        limit: settings.limit,
        report: Report::new(Heading { dry_run: settings.dry_run, host }, settings.output, out),
    };
    let explain = |error, doing| settings.database.explain(error).context(doing);
    sweep.refuse_unknown(&mut store)?;
    sweep
        .record(&mut store.db, |db, sweep| ledger::open_sweep(db, &sweep.terms.sweep_id, host))
        .map_err(|error| explain(error, "cannot record the sweep"))?;
    let swept = sweep.kinds(&mut store);
    let ended = match (&swept, stop.is_set()) {
        (Err(_), _) => Ended::Failed,
        (Ok(()), true) => Ended::Interrupted,
        (Ok(()), false) => Ended::Completed,
    };
    // The scan's own connection may have been idle for too long: a new one may do.
    let closed =
        sweep.close(&mut store.db, ended).or_else(|_| sweep.close(&mut settings.database.connect(access)?, ended));
    let exit = sweep.exit();
    log_sweep(&sweep.report, ended);
    let printed = sweep.report.finish(ended, began.elapsed());
    swept.map_err(|error| explain(error, "the sweep could not go on"))?;
    closed.map_err(|error| explain(error, "the end of the sweep could not be recorded"))?;
    printed.map_err(|error| some_failed(format!("the report could not be written: {error}")))?;
    Ok(exit)
}

/// A sweep under way.
struct Sweep<'a> {
    settings: &'a Settings,
    stop: &'a Stop,
    terms: Terms,
    workers: Workers,
    /// Continuations and escalations that are left.
    limit: Option<u32>,
    report: Report<'a>,
}

impl Sweep<'_> {
    /// Writes the sweep's own row; a dry run has none.
    fn record(&self, db: &mut Db, body: impl FnOnce(&mut Db, &Self) -> QueryResult<()>) -> Result<()> {
        match self.terms.access {
            Access::ReadOnly => Ok(()),
            Access::Write => Ok(db.in_transaction(Access::Write, &self.terms.timeouts, |db| body(db, self))?),
        }
    }

    fn close(&self, db: &mut Db, ended: Ended) -> Result<()> {
        let (counts, oldest_left) = (self.report.counts(), self.report.oldest_left());
        self.record(db, |db, sweep| ledger::close_sweep(db, &sweep.terms.sweep_id, ended, counts, oldest_left))
    }

    /// An id that the operator gave must be there. One whose row cannot be read is: its examination says what is wrong.
    fn refuse_unknown(&self, store: &mut Store) -> Result<()> {
        let Selection::Subjects(subjects) = &self.settings.selection else {
            return Ok(());
        };
        for (kind, id) in subjects.iter().filter(|(kind, _)| store.kinds.contains(kind)) {
            let read = |db: &mut Db| for_kind!(kind, S => S::read(db, id).map(|facts| facts.is_some()));
            let found = store.db.in_transaction(Access::ReadOnly, &self.terms.timeouts, read);
            match found {
                Ok(false) => return Err(usage(format!("--{kind}: there is no {kind} {id} in this database")).into()),
                Err(Abort::RolledBack(error)) if errors::is_undecodable(&error) => {}
                Ok(true) => {}
                Err(abort) => return Err(abort.into()),
            }
        }
        Ok(())
    }

    /// The kinds one after the other, with the same connections and within the same limit.
    fn kinds(&mut self, store: &mut Store) -> Result<()> {
        let kinds: Vec<Kind> = match &self.settings.selection {
            Selection::Kinds(kinds) => kinds.clone(),
            Selection::Subjects(subjects) => subjects.iter().map(|(kind, _)| *kind).collect(),
        };
        for kind in kinds {
            let provided = store.kinds.contains(&kind);
            self.report.begin(kind, provided);
            match provided {
                true => for_kind!(kind, S => self.kind::<S>(&mut store.db))?,
                false => info!("{}: not provided by this database", kind.plural()),
            }
        }
        Ok(())
    }

    fn kind<S: Subject>(&mut self, db: &mut Db) -> Result<()> {
        let Sweep { settings, stop, terms, workers, limit, report } = self;
        let tell = |examined: Examined| {
            log_subject(&examined, terms.access);
            report.add(examined);
        };
        let left = match &settings.selection {
            Selection::Kinds(_) => workers.examine_all::<S>(Scan::<S>::new(db, terms), terms, limit, stop, tell)?,
            Selection::Subjects(subjects) => {
                let of_kind = subjects.iter().filter(|(kind, _)| *kind == S::KIND).map(|(_, id)| id.clone());
                let since = Position::beginning().since;
                let candidates = of_kind.map(|id| Ok(Candidate { group: id.clone(), id, since: since.clone() }));
                workers.examine_all::<S>(candidates, terms, limit, stop, tell)?
            }
        };
        if let Some(candidate) = left {
            report.reach_limit(candidate.since.instant());
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        let total = self.report.total();
        let changed = total.continued + total.escalated + total.recovered;
        match self.stop.exit() {
            Some(exit) => exit,
            None if 0 < total.failed + total.unknown + total.quarantined => Exit::SomeFailed,
            None if changed == 0 && 0 < total.busy => Exit::Busy,
            None if 0 < changed && self.settings.detailed_exitcode => Exit::Changed,
            None => Exit::Done,
        }
    }
}

/// One line for each subject that was touched or could not be, after its commit.
fn log_subject(examined: &Examined, access: Access) {
    let Examined { kind, id, outcome, .. } = examined;
    let (id, reason) = (shown(&id.0), shown(&examined.reason));
    let name = examined.identifier.as_deref().map_or(id.clone(), shown);
    let would = if access == Access::ReadOnly { "would be " } else { "" };
    match outcome {
        Outcome::Continued | Outcome::Recovered => info!(%kind, %id, "{kind} {name} {would}{outcome}: {reason}"),
        Outcome::Escalated => warn!(%kind, %id, "{kind} {name} {would}{outcome}: {reason}"),
        Outcome::Failed | Outcome::Unknown | Outcome::Quarantined => {
            error!(%kind, %id, "{kind} {name} {outcome}: {reason}")
        }
        Outcome::Waiting | Outcome::Skipped | Outcome::Healthy | Outcome::Busy => {}
    }
}

fn log_sweep(report: &Report, ended: Ended) {
    let total = report.total();
    info!(
        ended = ended.name(),
        scanned = total.scanned,
        continued = total.continued,
        escalated = total.escalated,
        recovered = total.recovered,
        failed = total.failed,
        "sweep {}",
        ended.name()
    );
}
