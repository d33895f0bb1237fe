//! What a sweep is to look at: which database it is, whether that may be, and which subjects were named.

use anyhow::Result;
use diesel::QueryResult;

use super::clock::{self, Clocks};
use super::heading::{Heading, Mode, SCHEMA};
use super::options::{Options, Selection};
use super::plan::Plan;
use crate::conclusion::config;
use crate::rules::issue::IssueFacts;
use crate::rules::{Id, Kind};
use crate::store::connect::open::Store;
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

/// Looks at the database for the first time: which it is, what time it is there, and whether there is anything to do.
pub fn first_look(options: &Options, store: &mut Store, access: Access) -> Result<(Start, Clocks, Glance)> {
    let Store { db, kinds, .. } = store;
    let known = look(options, db, |db| {
        let (start, clocks) = clock::read(db, access)?;
        let glance =
            if goes_by_itself(options) { start.glance(db, kinds, &options.policy)? } else { Glance::unknown() };
        Ok((start, clocks, glance))
    });
    // What cannot be glanced at is found out, and recorded, by the sweep itself.
    known.or_else(|_| {
        let (start, clocks) = look(options, db, |db| clock::read(db, access))?;
        Ok((start, clocks, Glance::unknown()))
    })
}

/// True if a first glance may find nothing to do: what was named is looked at anyway, and people who are notified want
/// to know as well of what is over.
fn goes_by_itself(options: &Options) -> bool {
    let looks_for_candidates = matches!(options.selection, Selection::Kinds(_));
    looks_for_candidates && !options.dry_run && options.subscriptions.destinations.is_empty()
}

/// False if runs have ended that left nothing stranded, as most do: such a look is not worth a row.
pub fn is_worth_a_sweep(options: &Options, store: &mut Store) -> Result<bool> {
    match options.selection.only_ids() {
        None => Ok(true),
        Some(_) => Ok(0 < look(options, &mut store.db, |db| IssueFacts::count_candidates(db, &options.part()))?),
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
                 is one, such as a restored backup",
                redact(&id.0)
            ),
            None => return Ok(()),
        },
    };
    Err(config(format!("the plan is refused: {why}")).into())
}

/// The subjects that the operator named, if any. One whose row cannot be read is there: its examination says what is
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
