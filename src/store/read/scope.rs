//! The owner of the work that is read, as rows name it, and what else all parts of one reading go by.

use chrono::{DateTime, Utc};
use diesel::dsl::{exists, select};
use diesel::prelude::*;

use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::db::errors::Refused;
use crate::store::db::schema::{issue_subjects, session_subjects, step_subjects};
use crate::store::db::types::IdType;
use crate::store::hosts::links::Links;
use crate::store::read::request::{PageRequest, Scope};
use crate::store::read::snapshot::BoardLimits;
use crate::store::work::find::{self, Found};
use crate::store::work::surroundings::StuckQuestion;

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
    pub now: DateTime<Utc>,
}

impl Inquiry<'_> {
    /// The question which wakes of this owner's are stuck.
    pub fn stuck_wakes(&self) -> StuckQuestion<'_> {
        let (tenant, agent) = self.owner.names();
        StuckQuestion { tenant, agent, after: self.limits.wake_stuck_after, now: self.now }
    }
}

/// The owner of the work that is read: a tenant, an agent, or everybody.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Owner {
    pub tenant: Option<String>,
    pub agent: Option<Id>,
}

impl Owner {
    /// Refuses a tenant to whom nothing belongs, and what is not the id or the name of exactly one agent: it is more
    /// likely a typing error than somebody without work.
    pub fn find(db: &mut Db, kinds: &[Kind], scope: &Scope) -> Result<Owner, Refused> {
        if let Some(tenant) = &scope.tenant {
            find::tenant(db, kinds, tenant)?;
        }
        let agent = scope.agent.as_deref().map(|name| find_agent(db, kinds, name)).transpose()?;
        Ok(Owner { tenant: scope.tenant.clone(), agent })
    }

    pub fn names(&self) -> (Option<&str>, Option<&Id>) {
        (self.tenant.as_deref(), self.agent.as_ref())
    }
}

/// An agent whose row is gone may have left work, and is known by its id.
fn find_agent(db: &mut Db, kinds: &[Kind], name: &str) -> Result<Id, Refused> {
    match (find::agent(db, name)?, IdType::of(db)?.parse(name)) {
        (Found::Nothing, Some(id)) if has_work(db, kinds, &id)? => Ok(id),
        (found, _) => Ok(found.one("agent", name)?.id),
    }
}

fn has_work(db: &mut Db, kinds: &[Kind], agent: &Id) -> QueryResult<bool> {
    macro_rules! is_any {
        ($subjects:ident) => {
            select(exists($subjects::table.filter($subjects::group_id.eq(agent)))).get_result(db)
        };
    }
    for kind in kinds {
        let is_any = match kind {
            Kind::Session => is_any!(session_subjects),
            Kind::Issue => is_any!(issue_subjects),
            Kind::Step => is_any!(step_subjects),
        };
        if is_any? {
            return Ok(true);
        }
    }
    Ok(false)
}
