//! What needs a person, whether the sweeper is alive, what the next sweep would do, and how the work stands: read in
//! one snapshot, and nothing is written. `sweep attention`, the page and the tools for agents all show this.
//!
//! As in the status, every column is read whatever it holds.

mod board;
mod commands;
mod days;
mod items;
mod kept_days;
mod links;
mod next_sweep;
mod other;
mod owner;
mod remedies;
mod request;
mod sweeper;
mod waiting;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use chrono::{DateTime, Utc};
use diesel::prelude::*;
use serde::Serialize;

use crate::conclusion::{Failure, usage};
use crate::rules::board::BoardState;
use crate::store::connect::databases::Found;
use crate::store::connect::open::Store;
use crate::store::db::ids::IdType;
use crate::store::db::schema::host_behavior;
use crate::store::db::types::LossyText;
use crate::store::hosts::links::HostUrl;
use crate::store::hosts::rights::Purpose;
use crate::store::read::status::{Counts, Limits, snapshot};
use crate::store::{Db, Timeouts};
use crate::text::redact;
use commands::with_commands;
pub use days::Day;
use items::Reading;
pub use items::{Item, What};
pub use kept_days::KeptDays;
pub use next_sweep::{NextSweep, Planned};
use owner::Owner;
use remedies::with_remedies;
pub use request::{Cursor, PageRequest, Scope};
pub use sweeper::{HeldWork, Sweeper, SweeperState};
pub use work::Share;

/// The version of the JSON.
const SCHEMA: u32 = 1;

/// Everything that people look at; the fields are those of the JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Attention {
    pub schema: u32,
    pub host: String,
    /// Only this one's work; sweeps and days are everybody's.
    pub tenant: Option<String>,
    /// Only this agent's work: its id or its name, as it was asked for.
    pub agent: Option<String>,
    /// The database's clock.
    pub observed_at: DateTime<Utc>,
    pub sweeper: Sweeper,
    /// What needs a person, the oldest first.
    pub items: Vec<Item>,
    pub items_total: i64,
    /// Where the next page of items begins; null: there are no more.
    pub next_page: Option<Cursor>,
    pub next_sweep: NextSweep,
    /// Work by its state, by the kind's plural.
    pub kinds: BTreeMap<&'static str, Counts>,
    /// Work by tenant, and by agent: those of whose work most needs attention come first.
    pub tenants: Vec<Share>,
    pub tenants_total: usize,
    pub agents: Vec<Share>,
    pub agents_total: usize,
    /// Of the last four weeks, the oldest first; today is the last.
    pub days: Vec<Day>,
    /// When the days were counted, if that was before.
    #[serde(skip)]
    pub days_counted_at: Option<DateTime<Utc>>,
}

/// Connects and reads. Refuses a tenant or an agent who is unknown, and a place that is of another database.
pub fn read_from(
    database: &Found,
    scope: &Scope,
    page: &PageRequest,
    host_url: Option<&HostUrl>,
    timeouts: &Timeouts,
) -> Result<Attention> {
    read_with(database, scope, page, host_url, timeouts, &Arc::default())
}

/// The same again and again: days that are slow to count are kept.
pub fn read_with(
    database: &Found,
    scope: &Scope,
    page: &PageRequest,
    host_url: Option<&HostUrl>,
    timeouts: &Timeouts,
    days: &Arc<KeptDays>,
) -> Result<Attention> {
    let (database, scope, page) = (database.clone(), scope.clone(), page.clone());
    let (host_url, its_timeouts, days) = (host_url.cloned(), *timeouts, Arc::clone(days));
    database.url.clone().ask(timeouts, move |url| {
        let mut store = url.open_to(Purpose::Show)?;
        let links = store.host.links(host_url.as_ref());
        let read = read(&mut store, &database, &scope, &page, &its_timeouts, &days);
        Ok(read.map_err(|error| url.explain(error))?.with_links(&links))
    })
}

/// Reads one page of what needs a person, and with it all the rest.
fn read(
    store: &mut Store,
    database: &Found,
    scope: &Scope,
    page: &PageRequest,
    timeouts: &Timeouts,
    kept: &KeptDays,
) -> Result<Attention> {
    let Store { db, host, kinds, .. } = store;
    snapshot(db, timeouts, |db| {
        let (now, id_type) = (db.now()?, IdType::of(db)?);
        refuse_another_databases(&page.after, db, id_type)?;
        let owner = Owner::find(db, kinds, scope)?;
        let sweeper = Sweeper::read(db, now)?;
        let boards = board::read(db, kinds, &owner, page)?;
        let (limits, resume_advice) = (Limits::read(db)?, resume_advice(db)?);
        let reading =
            Reading { kinds, owner: &owner, page, limits: &limits, resume_advice: &resume_advice, id_type, now };
        let mut placed = boards.items(&reading);
        let mut items_total = boards.work.count(BoardState::WAITING_FOR_PEOPLE);
        for (of_source, n) in other::read(db, &reading, &sweeper)? {
            placed.extend(of_source);
            items_total += n;
        }
        let (items, next_page) = items::merged(placed, page.limit);
        let argument = database.argument();
        let items = with_remedies(items, db, &resume_advice)?;
        let items = with_commands(items, db, &reading, argument.as_deref())?;
        let (tenants, tenants_total) = boards.work.by_tenant();
        let (agents, agents_total) = boards.work.by_agent();
        let (days, days_counted_at) = kept.read(db, now)?;
        Ok(Attention {
            schema: SCHEMA,
            host: host.name().to_owned(),
            tenant: scope.tenant.clone(),
            agent: scope.agent.clone(),
            observed_at: now,
            items,
            items_total,
            next_page,
            next_sweep: NextSweep::read(db, &boards, &sweeper)?,
            kinds: boards.work.kinds(kinds),
            tenants,
            tenants_total,
            agents,
            agents_total,
            days,
            days_counted_at,
            sweeper,
        })
    })
}

/// How a person has the agent of a blocked issue go on, on this host.
fn resume_advice(db: &mut Db) -> QueryResult<String> {
    let advice: Option<LossyText> = host_behavior::table.select(host_behavior::resume_advice).first(db).optional()?;
    Ok(advice.map(String::from).unwrap_or_default())
}

/// Refuses a place in another database's list, which is none here.
fn refuse_another_databases(place: &Option<Cursor>, db: &Db, id_type: IdType) -> Result<(), Failure> {
    match place {
        Some(place) if !place.is_of(db, id_type) => {
            Err(usage(format!("{}: no page of this database begins there", redact(&place.to_string()))))
        }
        _ => Ok(()),
    }
}
