//! What a sweep is to look at: which database it is, whether that may be, and which subjects were named.

use anyhow::Result;
use diesel::QueryResult;

use super::heading::{Heading, Mode, SCHEMA};
use super::options::{Options, Selection};
use super::plan::Plan;
use crate::conclusion::config;
use crate::rules::issue::IssueFacts;
use crate::rules::{Id, Kind};
use crate::store::connect::open::Store;
use crate::store::work::candidates::Part;
use crate::store::work::opening::{Glance, Start};
use crate::store::work::{find, ledger};
use crate::store::{Access, Db, DbConnection, Nominated};
use crate::text::redact;

/// Asks in a read-only transaction.
pub fn look<T>(options: &Options, db: &mut DbConnection, body: impl FnOnce(&mut Db) -> QueryResult<T>) -> Result<T> {
    Ok(db.in_transaction(Access::ReadOnly, &options.timeouts, body)?)
}

pub fn heading(options: &Options, store: &Store, start: &Start) -> Heading {
    Heading {
        schema: SCHEMA,
        mode: match (options.dry_run, &options.selection) {
            (true, _) => Mode::DryRun,
            (false, Selection::Plan(_)) => Mode::Apply,
            (false, Selection::Kinds(_) | Selection::Subjects(_) | Selection::Issues(_)) => Mode::Sweep,
        },
        host: store.host.name().to_owned(),
        database: start.database.clone(),
        schema_version: store.schema_version.clone(),
        policy: options.policy.clone(),
        newest_sweeps: start.newest_sweeps.clone(),
    }
}

/// Does a sweep find nothing to do at the first glance? Asked of one that goes by itself: what was named is looked at
/// anyway. People who are notified want to know as well of what is over.
pub fn glance(options: &Options, db: &mut Db, kinds: &[Kind], start: &Start) -> QueryResult<Glance> {
    let asks = matches!(options.selection, Selection::Kinds(_)) && !options.dry_run;
    match asks && options.subscriptions.destinations.is_empty() {
        true => start.glance(db, kinds, &options.policy),
        false => Ok(Glance::unknown()),
    }
}

/// A plan of another database, or of other rules, and a tenant that nothing belongs to, are refused.
pub fn refuse(options: &Options, store: &mut Store, heading: &Heading) -> Result<()> {
    let Store { db, kinds, .. } = store;
    if let Selection::Plan(plan) = &options.selection {
        refuse_elsewhere(options, db, plan, heading)?;
    }
    match &options.tenant {
        Some(tenant) => {
            Ok(db.in_transaction(Access::ReadOnly, &options.timeouts, |db| find::tenant(db, kinds, tenant))?)
        }
        None => Ok(()),
    }
}

/// A copy of a database, and a backup that was restored, have its identity, but not its newest sweeps.
fn refuse_elsewhere(options: &Options, db: &mut DbConnection, plan: &Plan, heading: &Heading) -> Result<()> {
    let why = match plan.differs_from(heading) {
        Some(why) => why,
        None => match look(options, db, |db| ledger::unknown_sweep(db, &plan.heading.newest_sweeps))? {
            Some(id) => format!(
                "it was made after the sweep {}, of which this database knows nothing: it was made in a copy, or this \
                    is one, such \
                 as a restored backup",
                redact(&id.0)
            ),
            None => return Ok(()),
        },
    };
    Err(config(format!("the plan is refused: {why}")).into())
}

/// The subjects that the operator named, if he did. One whose row cannot be read is there: its examination says what is
/// wrong with it.
pub fn named(options: &Options, store: &mut Store) -> Result<Option<Vec<(Kind, Id)>>> {
    match &options.selection {
        Selection::Kinds(_) | Selection::Issues(_) => Ok(None),
        Selection::Plan(plan) => Ok(Some(plan.order.clone())),
        Selection::Subjects(subjects) => {
            let mut find = |kind, name: &str| -> Result<(Kind, Id)> {
                let label = find::subject(store, &options.timeouts, kind, name)?;
                Ok((kind, label.of_tenant(kind, options.tenant.as_deref())?.id))
            };
            subjects.iter().map(|(kind, name)| find(*kind, name)).collect::<Result<_>>().map(Some)
        }
    }
}

/// Is any of these issues a candidate?
pub fn is_any_stranded(db: &mut Db, options: &Options, issues: &[Id]) -> QueryResult<bool> {
    let (tenant, except) = (options.tenant.as_deref(), options.held.as_slice());
    let part = Part { tenant, only_ids: Some(issues), except, ..Part::whole() };
    IssueFacts::count_candidates(db, &part).map(|candidates| 0 < candidates)
}
