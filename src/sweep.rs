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
use tracing::{error, info, warn};

use crate::exit::{Exit, usage};
use crate::report::{Examined, Heading, Outcome, Report};
use crate::rules::issue::IssueFacts;
use crate::rules::step::StepFacts;
use crate::rules::{Id, Kind};
use crate::settings::{Selection, Settings};
use crate::store::ledger::{self, Ended};
use crate::store::open::Store;
use crate::store::{Access, Candidate, Db, Position, Subject, errors};
use examine::Terms;
use scan::Scan;
use signals::Stop;
use workers::Workers;

/// Sweeps once, prints the report to `out` and says how to exit.
pub fn run(settings: &Settings, stop: &Stop, out: &mut (dyn Write + Send)) -> Result<Exit> {
    let began = Instant::now();
    let access = if settings.dry_run {
        Access::ReadOnly
    } else {
        Access::Write
    };
    let mut store = settings.database.open(access)?;
    let terms = Terms {
        sweep_id: Id::generate(),
        access,
        policy: settings.policy.clone(),
        timeouts: settings.timeouts,
    };
    if let Selection::Subjects(subjects) = &settings.selection {
        refuse_unknown(&mut store, subjects, &terms)?;
    }
    if access == Access::Write {
        write(&mut store.db, &terms, |db| {
            ledger::open_sweep(db, &terms.sweep_id, store.host.name())
        })
        .map_err(|error| settings.database.explain(error).context("cannot record the sweep"))?;
    }
    let heading = Heading {
        dry_run: settings.dry_run,
        host: store.host.name(),
    };
    let mut report = Report::new(heading, settings.output, out);
    let swept = sweep_kinds(&mut store, settings, &terms, stop, &mut report);

    let ended = match (&swept, stop.is_set()) {
        (Err(_), _) => Ended::Failed,
        (Ok(()), true) => Ended::Interrupted,
        (Ok(()), false) => Ended::Completed,
    };
    let closed = match access {
        Access::ReadOnly => Ok(()),
        Access::Write => write(&mut store.db, &terms, |db| {
            ledger::close_sweep(db, &terms.sweep_id, ended, report.counts(), report.oldest_left())
        }),
    };
    let exit = exit_of(&report, settings, stop);
    log_sweep(&report, ended);
    report.finish(ended, began.elapsed());
    swept.map_err(|error| settings.database.explain(error).context("the sweep could not go on"))?;
    closed.map_err(|error| {
        settings
            .database
            .explain(error)
            .context("the end of the sweep could not be recorded")
    })?;
    Ok(exit)
}

fn write(db: &mut Db, terms: &Terms, body: impl FnOnce(&mut Db) -> diesel::QueryResult<()>) -> Result<()> {
    Ok(db.in_transaction(Access::Write, &terms.timeouts, body)?)
}

/// An id that the operator gave must be there. One whose row cannot be read is: its examination says what is wrong.
fn refuse_unknown(store: &mut Store, subjects: &[(Kind, Id)], terms: &Terms) -> Result<()> {
    for (kind, id) in subjects.iter().filter(|(kind, _)| store.kinds.contains(kind)) {
        let found = store
            .db
            .in_transaction(Access::ReadOnly, &terms.timeouts, |db| match kind {
                Kind::Issue => Ok(IssueFacts::read(db, id).map(|facts| facts.is_some())),
                Kind::Step => Ok(StepFacts::read(db, id).map(|facts| facts.is_some())),
            })?;
        match found {
            Ok(false) => return Err(usage(format!("--{kind}: there is no {kind} {id} in this database")).into()),
            Err(error) if !errors::is_undecodable(&error) => return Err(error.into()),
            Ok(true) | Err(_) => {}
        }
    }
    Ok(())
}

/// The kinds one after the other, with the same connections and within the same limit.
fn sweep_kinds(store: &mut Store, settings: &Settings, terms: &Terms, stop: &Stop, report: &mut Report) -> Result<()> {
    let mut workers = Workers::new(&settings.database, settings.connections);
    let mut limit = settings.limit;
    let kinds: Vec<Kind> = match &settings.selection {
        Selection::Kinds(kinds) => kinds.clone(),
        Selection::Subjects(subjects) => subjects.iter().map(|(kind, _)| *kind).collect(),
    };
    for kind in kinds {
        let provided = store.kinds.contains(&kind);
        report.begin(kind, provided);
        if !provided {
            info!("{}: not provided by this database", kind.plural());
            continue;
        }
        let sweep = match kind {
            Kind::Issue => sweep_kind::<IssueFacts>,
            Kind::Step => sweep_kind::<StepFacts>,
        };
        sweep(&mut store.db, &mut workers, settings, terms, &mut limit, stop, report)?;
    }
    Ok(())
}

fn sweep_kind<S: Subject>(
    db: &mut Db,
    workers: &mut Workers,
    settings: &Settings,
    terms: &Terms,
    limit: &mut Option<u32>,
    stop: &Stop,
    report: &mut Report,
) -> Result<()> {
    let tell = |examined: Examined| {
        log_subject(&examined, terms.access);
        report.add(examined);
    };
    match &settings.selection {
        Selection::Kinds(_) => workers.examine_all::<S>(Scan::<S>::new(db, terms), terms, limit, stop, tell),
        Selection::Subjects(subjects) => {
            let of_kind = subjects
                .iter()
                .filter(|(kind, _)| *kind == S::KIND)
                .map(|(_, id)| id.clone());
            let since = Position::beginning().since;
            let candidates = of_kind.map(|id| {
                Ok(Candidate {
                    group: id.clone(),
                    id,
                    since: since.clone(),
                })
            });
            workers.examine_all::<S>(candidates, terms, limit, stop, tell)
        }
    }
}

fn exit_of(report: &Report, settings: &Settings, stop: &Stop) -> Exit {
    let total = report.total();
    let changed = total.continued + total.escalated + total.recovered;
    match stop.exit() {
        Some(exit) => exit,
        None if 0 < total.failed + total.unknown + total.quarantined => Exit::SomeFailed,
        None if changed == 0 && 0 < total.busy => Exit::Busy,
        None if 0 < changed && settings.detailed_exitcode => Exit::Changed,
        None => Exit::Done,
    }
}

/// One line for each subject that was touched or could not be, after its commit.
fn log_subject(examined: &Examined, access: Access) {
    let Examined {
        kind,
        id,
        reason,
        outcome,
        ..
    } = examined;
    let name = examined.identifier.as_deref().unwrap_or(&id.0);
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
