//! What a sweep is to look at: which database it is, whether that may be, and which subjects were named.

use anyhow::Result;
use diesel::QueryResult;

use crate::exit::config;
use crate::report::heading::{Heading, KindMode, Mode, SCHEMA};
use crate::report::plan::Plan;
use crate::rules::issue::IssueFacts;
use crate::rules::{Id, Kind};
use crate::settings::{Selection, Settings};
use crate::store::candidates::Part;
use crate::store::open::Store;
use crate::store::{Access, Db, DbConnection, Subject, find, ledger};
use crate::text::shown;

/// Asks in a read-only transaction.
pub fn look<T>(settings: &Settings, db: &mut DbConnection, body: impl FnOnce(&mut Db) -> QueryResult<T>) -> Result<T> {
    Ok(db.in_transaction(Access::ReadOnly, &settings.timeouts, body)?)
}

pub fn heading(settings: &Settings, store: &mut Store) -> Result<Heading> {
    Ok(Heading {
        schema: SCHEMA,
        mode: match (settings.dry_run, &settings.selection) {
            (true, _) => Mode::DryRun,
            (false, Selection::Plan(_)) => Mode::Apply,
            (false, Selection::Kinds(_) | Selection::Subjects(_) | Selection::Among(_)) => Mode::Sweep,
        },
        host: store.host.name().to_owned(),
        database: look(settings, &mut store.db, Db::identity)?,
        schema_version: store.schema_version.clone(),
        policy: settings.policy.clone(),
        newest_sweeps: look(settings, &mut store.db, ledger::newest_sweeps)?,
    })
}

/// A plan of another database, or of other rules, and a tenant that nothing belongs to, are refused.
pub fn refuse(settings: &Settings, store: &mut Store, heading: &Heading) -> Result<()> {
    let Store { db, kinds, .. } = store;
    if let Selection::Plan(plan) = &settings.selection {
        refuse_elsewhere(settings, db, plan, heading)?;
    }
    match &settings.tenant {
        Some(tenant) => {
            Ok(db.in_transaction(Access::ReadOnly, &settings.timeouts, |db| find::tenant(db, kinds, tenant))??)
        }
        None => Ok(()),
    }
}

/// A copy of a database, and a backup that was restored, have its identity, but not its newest sweeps.
fn refuse_elsewhere(settings: &Settings, db: &mut DbConnection, plan: &Plan, heading: &Heading) -> Result<()> {
    let why = match plan.differs_from(heading) {
        Some(why) => why,
        None => match look(settings, db, |db| ledger::unknown_sweep(db, &plan.heading.newest_sweeps))? {
            Some(id) => format!(
                "it was made after the sweep {}, of which this database knows nothing: it was made in a copy, or this is one, such \
                 as a restored backup",
                shown(&id.0)
            ),
            None => return Ok(()),
        },
    };
    Err(config(format!("--apply: the plan is refused: {why}")).into())
}

/// The subjects that the operator named, if he did. One whose row cannot be read is there: its examination says what is
/// wrong with it.
pub fn named(settings: &Settings, store: &mut Store) -> Result<Option<Vec<(Kind, Id)>>> {
    match &settings.selection {
        Selection::Kinds(_) | Selection::Among(_) => Ok(None),
        Selection::Plan(plan) => Ok(Some(plan.order.clone())),
        Selection::Subjects(subjects) => {
            let mut find = |kind, name: &str| -> Result<(Kind, Id)> {
                let label = find::subject(store, &settings.timeouts, kind, name)?;
                Ok((kind, label.of_tenant(kind, settings.tenant.as_deref())?.id))
            };
            subjects.iter().map(|(kind, name)| find(*kind, name)).collect::<Result<_>>().map(Some)
        }
    }
}

/// Is any of these issues a candidate?
pub fn is_any_stranded(db: &mut Db, settings: &Settings, issues: &[Id]) -> QueryResult<bool> {
    let (tenant, except) = (settings.tenant.as_deref(), settings.held.as_slice());
    let part = Part { tenant, among: Some(issues), except, ..Part::whole() };
    IssueFacts::count_candidates(db, &part).map(|candidates| 0 < candidates)
}

/// Does it look at all that the host has?
pub fn is_whole(settings: &Settings, kinds: &[Kind]) -> bool {
    let swept = settings.selection.kinds();
    let is_swept = |kind: &Kind| swept.contains(kind) && settings.mode(*kind) != KindMode::Off;
    let is_on = |kind: &Kind| settings.mode(*kind) == KindMode::On;
    settings.tenant.is_none()
        && settings.selection.among().is_none()
        && kinds.iter().all(is_swept)
        && kinds.iter().any(is_on)
}
