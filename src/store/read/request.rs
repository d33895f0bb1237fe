//! What is asked for: whose work, and which page of what needs a person, from a place between two items on; and what
//! else all parts of one reading go by.
//!
//! Each item has a place in its own source, and the sources are merged by time: so each item is on exactly one page,
//! however many there are.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use anyhow::Result;
use chrono::{DateTime, Utc};
use diesel::prelude::*;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Serialize, Serializer};
use uuid::Uuid;

use crate::conclusion::usage;
use crate::rules::{Id, Kind};
use crate::store::connect::open::Store;
use crate::store::db::errors::Refused;
use crate::store::db::lists::ListPlace;
use crate::store::db::schema::host_behavior;
use crate::store::db::types::{IdType, LossyText, RawInstant};
use crate::store::hosts::links::{HostUrl, Links};
use crate::store::read::{BoardLimits, snapshot};
use crate::store::work::candidates::Part;
use crate::store::work::find::{self, CalledSo};
use crate::store::work::surroundings::StuckQuestion;
use crate::store::{Db, Label, Nominated, Timeouts, for_kind};
use crate::text::redact;

/// What is asked of one database.
#[derive(Clone, Debug, Default)]
pub struct OverviewRequest {
    pub scope: Scope,
    pub page: PageRequest,
    /// Where the pages of the host's own board are.
    pub host_url: Option<HostUrl>,
}

/// The owner of the work that is read; by default everybody.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scope {
    pub tenant: Option<String>,
    /// An agent's id, or a name that no other agent has.
    pub agent: Option<String>,
}

/// Which page of items is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct PageRequest {
    /// None: from the oldest on.
    pub after: Option<Cursor>,
    /// The most items that the page has: at least one.
    pub limit: usize,
}

impl PageRequest {
    /// The first page that people read.
    pub const FIRST: PageRequest = PageRequest { after: None, limit: PageRequest::LIMIT };

    /// The items of a page that people read.
    pub const LIMIT: usize = 50;

    /// The most items that a page may have.
    pub const LIMIT_MAX: u32 = 500;

    /// From where on this page reads a source.
    pub fn after(&self, source: ItemSource) -> ListPlace {
        match &self.after {
            None => ListPlace::Nothing,
            Some(at) if at.source < source => ListPlace::From(at.since.clone()),
            Some(at) if at.source == source => ListPlace::Row(at.since.clone(), at.key.clone()),
            Some(at) => ListPlace::Since(at.since.clone()),
        }
    }

    /// How many rows a source has on all pages, of which `read` were read for this one. They are counted only if there
    /// may be others.
    pub fn total(&self, read: usize, count: impl FnOnce() -> QueryResult<i64>) -> QueryResult<i64> {
        if self.after.is_none() && read <= self.limit { Ok(read as i64) } else { count() }
    }

    /// The rows that are read of a source: one more than the page has tells whether there is another page.
    pub fn rows(&self) -> i64 {
        self.limit as i64 + 1
    }
}

impl Default for PageRequest {
    fn default() -> PageRequest {
        PageRequest::FIRST
    }
}

/// Where items come from, in the order in which those of one moment are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ItemSource {
    Guard,
    Blocked,
    Session,
    Issue,
    Step,
    LeftIssue,
    Run,
    Wake,
    QuarantinedSession,
    QuarantinedIssue,
    QuarantinedStep,
    Notification,
}

impl ItemSource {
    /// The work in progress of a kind.
    pub fn of(kind: Kind) -> ItemSource {
        match kind {
            Kind::Session => ItemSource::Session,
            Kind::Issue => ItemSource::Issue,
            Kind::Step => ItemSource::Step,
        }
    }

    /// What is in quarantine of a kind.
    pub fn quarantined(kind: Kind) -> ItemSource {
        match kind {
            Kind::Session => ItemSource::QuarantinedSession,
            Kind::Issue => ItemSource::QuarantinedIssue,
            Kind::Step => ItemSource::QuarantinedStep,
        }
    }
}

/// The place behind one item.
#[derive(Clone, Debug, PartialEq)]
pub struct Cursor {
    pub since: RawInstant,
    pub source: ItemSource,
    /// What orders the items of one moment in the source.
    pub key: Id,
}

impl Cursor {
    /// Whether this can be a place in the lists of this database.
    pub fn is_of(&self, db: &Db, id_type: IdType) -> bool {
        let is_time = match (db, &self.since) {
            (_, RawInstant::Beginning) => true,
            (Db::Postgres(_), since) => matches!(since, RawInstant::Micros(_)),
            (Db::Sqlite(_), since) => matches!(since, RawInstant::Text(_)),
        };
        let is_key = match self.source {
            ItemSource::Guard => true,
            ItemSource::Notification => Uuid::parse_str(&self.key.0).is_ok(),
            _ => id_type.parse(&self.key.0).as_ref() == Some(&self.key),
        };
        is_time && is_key
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What of a key is encoded: others chose it, it may not be shown as it is, and it must be found again.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-');

/// `@817369200123456~step~0199…`: the time as the column has it, the source, and what the source orders by.
impl Display for Cursor {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        match &self.since {
            RawInstant::Beginning => f.write_str("-")?,
            RawInstant::Micros(micros) => write!(f, "@{micros}")?,
            RawInstant::Text(text) => f.write_str(&text.replace('~', "-"))?,
        }
        let key = utf8_percent_encode(&self.key.0, ENCODED);
        write!(f, "~{}~{key}", <&str>::from(self.source))
    }
}

impl FromStr for Cursor {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Cursor, &'static str> {
        let expected = "expected `next_page` of an earlier answer";
        let mut parts = text.splitn(3, '~');
        let (Some(since), Some(source), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(expected);
        };
        let since = match since.strip_prefix('@') {
            _ if since == "-" => RawInstant::Beginning,
            Some(micros) => RawInstant::Micros(micros.parse().map_err(|_| expected)?),
            None => RawInstant::Text(since.to_owned()),
        };
        let key = percent_decode_str(key).decode_utf8().ok().filter(|key| !key.contains('\0')).ok_or(expected)?;
        Ok(Cursor { since, source: source.parse().map_err(|_| expected)?, key: Id(key.into_owned()) })
    }
}

/// What all parts of one reading go by.
pub struct Inquiry<'a> {
    /// The kinds that the database provides.
    pub kinds: &'a [Kind],
    pub owner: &'a Owner,
    pub page: &'a PageRequest,
    pub limits: &'a BoardLimits,
    pub links: &'a Links,
    /// How a person has the agent of a blocked issue go on, on this host.
    pub resume_advice: &'a str,
    /// The type of the host's ids.
    pub id_type: IdType,
    /// Whether the tables are sweep's own.
    pub is_native: bool,
    pub now: DateTime<Utc>,
}

impl Inquiry<'_> {
    /// What is asked, from the oldest on.
    pub fn begun_anew(&self) -> Inquiry<'_> {
        Inquiry { page: &PageRequest::FIRST, ..*self }
    }

    /// The question which wakes of this owner's are stuck.
    pub fn stuck_wakes(&self) -> StuckQuestion<'_> {
        let (tenant, agent) = self.owner.names();
        StuckQuestion { tenant, agent, after: self.limits.wake_stuck_after, now: self.now }
    }
}

/// Reads in one snapshot what is asked of a database. Refuses a tenant or an agent that is unknown, and a place in
/// another database's list.
pub fn inquire<T>(
    store: &mut Store,
    (scope, page): (&Scope, &PageRequest),
    host_url: Option<&HostUrl>,
    timeouts: &Timeouts,
    read: impl FnOnce(&mut Db, &Inquiry) -> Result<T, Refused>,
) -> Result<T> {
    let Store { db, host, kinds, .. } = store;
    let (links, is_native) = (&host.links(host_url), host.is_native());
    snapshot(db, timeouts, |db| {
        let (now, id_type) = (db.now()?, IdType::of(db)?);
        if let Some(place) = page.after.as_ref().filter(|place| !place.is_of(db, id_type)) {
            let place = redact(&place.to_string());
            return Err(usage(format!("{place}: no page of this database begins there")).into());
        }
        let owner = &Owner::find(db, kinds, scope)?;
        let limits = &BoardLimits::read(db)?;
        let advice = host_behavior::table.select(host_behavior::resume_advice).first::<LossyText>(db).optional()?;
        let resume_advice = &advice.map(String::from).unwrap_or_default();
        let inquiry = Inquiry { kinds, owner, page, limits, links, resume_advice, id_type, is_native, now };
        read(db, &inquiry)
    })
}

/// The owner of the work that is read: a tenant, an agent, or everybody.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Owner {
    pub tenant: Option<String>,
    pub agent: Option<Id>,
    /// What people call the agent; none: no agent is asked for, or its row is gone.
    pub agent_name: Option<String>,
    /// Only work that no agent has, of a list.
    pub is_nobody: bool,
    /// Only steps of this plan, of a list.
    pub plan: Option<Id>,
}

impl Owner {
    /// Refuses a tenant to whom nothing belongs, and what is not the id or the name of exactly one agent: it is more
    /// likely a typing error than somebody without work.
    pub fn find(db: &mut Db, kinds: &[Kind], scope: &Scope) -> Result<Owner, Refused> {
        if let Some(tenant) = &scope.tenant {
            find::tenant(db, kinds, tenant)?;
        }
        let agent = scope.agent.as_deref().map(|name| find_agent(db, kinds, name)).transpose()?;
        let (agent, agent_name) = agent.map(|Label { id, identifier, .. }| (id, identifier)).unzip();
        Ok(Owner { tenant: scope.tenant.clone(), agent, agent_name: agent_name.flatten(), ..Owner::default() })
    }

    pub fn names(&self) -> (Option<&str>, Option<&Id>) {
        (self.tenant.as_deref(), self.agent.as_ref())
    }
}

/// An agent whose row is gone may have left work, and is known by its id.
fn find_agent(db: &mut Db, kinds: &[Kind], name: &str) -> Result<Label, Refused> {
    match (find::agent(db, name)?, IdType::of(db)?.parse(name)) {
        (CalledSo::Nothing, Some(id)) if has_work(db, kinds, &id)? => Ok(Label::of_id(id)),
        (found, _) => Ok(found.one("agent", name)?),
    }
}

fn has_work(db: &mut Db, kinds: &[Kind], agent: &Id) -> QueryResult<bool> {
    let part = Part { group: Some(agent), ..Part::whole() };
    kinds.iter().try_fold(false, |found, &kind| Ok(found || 0 < for_kind!(kind, S => S::count_in_progress(db, &part))?))
}
