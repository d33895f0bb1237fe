//! What needs a person, whether the sweeper is alive, what the next sweep would do, and how the work stands: read in
//! one snapshot, and nothing is written. `sweep attention`, the page and the tools for agents all show this.
//!
//! As in the status, every column is read whatever it holds.

mod board;
mod days;
mod items;
mod kept_days;
mod links;
mod next_sweep;
mod other;
mod request;
mod sweeper;
mod waiting;
mod work;

use std::collections::BTreeMap;

use anyhow::Result;
use chrono::{DateTime, Utc};
use serde::Serialize;

use super::errors::Refused;
use super::links::HostUrl;
use super::open::{Store, Url};
use super::rights::Purpose;
use super::status::{Counts, Limits, snapshot};
use super::{Abort, Access, DbConnection, Timeouts, find};
use crate::conclusion::usage;
use crate::rules::Kind;
use crate::rules::board::BoardState;
use crate::text::redact;
pub use days::Day;
use items::Reading;
pub use items::{Item, What};
pub use kept_days::KeptDays;
pub use next_sweep::{NextSweep, Planned};
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

/// Connects and reads. Refuses a tenant to whom nothing belongs, and a place that is of another database.
pub fn read_from(
    url: &Url,
    scope: &Scope,
    page: &PageRequest,
    host_url: Option<&HostUrl>,
    timeouts: &Timeouts,
) -> Result<Attention> {
    read_with(url, scope, page, host_url, timeouts, &KeptDays::default())
}

/// The same again and again: days that are slow to count are kept.
pub fn read_with(
    url: &Url,
    scope: &Scope,
    page: &PageRequest,
    host_url: Option<&HostUrl>,
    timeouts: &Timeouts,
    days: &KeptDays,
) -> Result<Attention> {
    let mut store = url.open_to(Purpose::Show)?;
    let links = store.host.links(host_url);
    let read = read(&mut store, scope, page, timeouts, days);
    Ok(read.map_err(|error| url.explain(error))?.with_links(&links))
}

/// Reads one page of what needs a person, and with it all the rest.
fn read(
    store: &mut Store,
    scope: &Scope,
    page: &PageRequest,
    timeouts: &Timeouts,
    kept: &KeptDays,
) -> Result<Attention> {
    let Store { db, host, kinds, .. } = store;
    refuse(db, kinds, scope, page, timeouts)?;
    snapshot(db, timeouts, |db| {
        let now = db.now()?;
        let limits = Limits::read(db)?;
        let sweeper = Sweeper::read(db, now)?;
        let boards = board::read(db, kinds, scope, page)?;
        let reading = Reading { kinds, scope, page, limits: &limits, now };
        let mut placed = boards.items(db, &reading)?;
        let mut items_total = boards.work.count(BoardState::WAITING_FOR_PEOPLE);
        for (of_source, n) in other::read(db, &reading, &sweeper)? {
            placed.extend(of_source);
            items_total += n;
        }
        let (items, next_page) = items::merged(placed, page.limit);
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
            next_sweep: NextSweep::read(db, &boards)?,
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

/// A tenant to whom nothing belongs is more likely a typing error; and a place in another database's list is none here.
fn refuse(db: &mut DbConnection, kinds: &[Kind], scope: &Scope, page: &PageRequest, timeouts: &Timeouts) -> Result<()> {
    let refused = db.in_transaction(Access::ReadOnly, timeouts, |db| {
        if let Some(tenant) = &scope.tenant {
            find::tenant(db, kinds, tenant)?;
        }
        match &page.after {
            Some(after) if !after.is_of(db)? => {
                Err(usage(format!("{}: no page of this database begins there", redact(&after.to_string()))).into())
            }
            _ => Ok(()),
        }
    });
    refused.map_err(|abort: Abort<Refused>| abort.into())
}
