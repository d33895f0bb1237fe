//! What people call a subject.

use diesel::prelude::*;

use crate::conclusion::{Failure, usage};
use crate::rules::{Id, Kind};
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

/// The first two subjects that people call so: of a kind whose names no index helps to find.
macro_rules! called {
    ($facts:ident, $db:expr, $identifier:expr) => {
        labels!($facts).filter($facts::identifier.eq($identifier)).order($facts::subject_id).limit(2).load($db)
    };
}
pub(in crate::store) use {called, labels};
