//! Whose work is read, as rows have it: a tenant's, an agent's, or everybody's.

use diesel::dsl::{exists, select};
use diesel::prelude::*;

use super::request::Scope;
use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::db::errors::Refused;
use crate::store::db::ids::IdType;
use crate::store::db::schema::{issue_subjects, session_subjects, step_subjects};
pub use crate::store::read::board_rows::Owner;
use crate::store::work::find::{self, Found};

impl Owner {
    /// Refuses a tenant to whom nothing belongs, and what is not the id or the name of exactly one agent: it is more
    /// likely a typing error than somebody without work.
    pub fn find(db: &mut Db, kinds: &[Kind], scope: &Scope) -> Result<Owner, Refused> {
        if let Some(tenant) = &scope.tenant {
            find::tenant(db, kinds, tenant)?;
        }
        let agent = scope.agent.as_deref().map(|name| agent(db, kinds, name)).transpose()?;
        Ok(Owner { tenant: scope.tenant.clone(), agent })
    }
}

/// One whose row is gone may have left work, and is known by its id.
fn agent(db: &mut Db, kinds: &[Kind], name: &str) -> Result<Id, Refused> {
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
