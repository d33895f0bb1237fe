//! Rows of lists: what people call a subject, from which place on a list is read, and whose rows it has.

use diesel::prelude::*;

use crate::conclusion::{Failure, usage};
use crate::rules::{Id, Kind};
use crate::store::db::types::RawInstant;
use crate::text::redact;

/// What a subject is called.
#[derive(Clone, Debug, PartialEq, Queryable)]
pub struct Label {
    pub id: Id,
    pub tenant: Option<String>,
    pub identifier: Option<String>,
}

impl Label {
    /// The label of a subject of which no more than the id can be read, or that is gone.
    pub fn of_id(id: Id) -> Label {
        Label { id, tenant: None, identifier: None }
    }

    /// What people call it, redacted.
    pub fn name(&self) -> String {
        redact(self.identifier.as_deref().unwrap_or(&self.id.0))
    }

    /// Its id, redacted: on SQLite an id is what others wrote, too.
    pub fn redact_id(&self) -> String {
        redact(&self.id.0)
    }

    /// Refuses a subject of another tenant than is wanted.
    pub fn of_tenant(self, kind: Kind, wanted: Option<&str>) -> Result<Label, Failure> {
        match (&self.tenant, wanted) {
            (Some(its), Some(wanted)) if its != wanted => {
                Err(usage(format!("the {kind} {} belongs to the tenant {its}, not to {wanted}", self.name())))
            }
            _ => Ok(self),
        }
    }
}

/// The columns of a label: no other column of a row can make it unreadable.
macro_rules! labels {
    ($facts:ident) => {
        $facts::table.select(($facts::subject_id, $facts::tenant.nullable(), $facts::identifier.nullable()))
    };
}

/// From where on a list is read. Of lists that are merged by time, each sees the place of the others' last item so.
#[derive(Clone, Debug, PartialEq)]
pub enum ListPlace {
    Nothing,
    /// What is as old comes later, since this list does.
    From(RawInstant),
    /// What is as old came before.
    Since(RawInstant),
    Row(RawInstant, Id),
}

/// Restricts a boxed query to what comes after a place, in the order of a time and then of a key.
macro_rules! after {
    ($query:expr, $after:expr, $since:expr, $key:expr) => {
        match $after.clone() {
            ListPlace::Nothing => $query,
            ListPlace::From(at) => $query.filter($since.ge(at)),
            ListPlace::Since(at) => $query.filter($since.gt(at)),
            ListPlace::Row(at, key) => $query.filter($since.gt(at.clone()).or($since.eq(at).and($key.gt(key)))),
        }
    };
}
/// Restricts a boxed query to the rows of one tenant and of one agent, where they are given: `(tenant, agent)`.
macro_rules! owned {
    ($query:expr, $tenant:expr, $agent:expr, $owner:expr) => {{
        let (its_tenant, its_agent): (Option<&str>, Option<&$crate::rules::Id>) = $owner;
        let of_tenant = match its_tenant {
            None => $query,
            Some(one) => $query.filter($tenant.eq(one)),
        };
        match its_agent {
            None => of_tenant,
            Some(one) => of_tenant.filter($agent.eq(one)),
        }
    }};
}
pub(in crate::store) use {after, labels, owned};
