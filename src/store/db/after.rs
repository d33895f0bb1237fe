//! A place in a list that is read page by page, in the order of a time and then of a key.

use crate::rules::Id;
use crate::store::db::types::RawInstant;

/// From where on a list is read. Of lists that are merged by time, each sees the place of the others' last item so.
#[derive(Clone, Debug, PartialEq)]
pub enum After {
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
            After::Nothing => $query,
            After::From(at) => $query.filter($since.ge(at)),
            After::Since(at) => $query.filter($since.gt(at)),
            After::Row(at, key) => $query.filter($since.gt(at.clone()).or($since.eq(at).and($key.gt(key)))),
        }
    };
}
pub(in crate::store) use after;

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
pub(in crate::store) use owned;
