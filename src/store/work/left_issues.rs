//! Issues that the host left to itself: what it blocked without notifying anybody, and what is to do and nothing will
//! start. The view `left_issues`, where a host has it.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;

use crate::rules::Id;
use crate::store::Db;
use crate::store::db::schema::left_issues;
use crate::store::db::types::LossyText;
use crate::store::hosts::catalog::exists;
use crate::store::work::outbox::Event;

/// One of them.
#[derive(Clone, Debug, Queryable)]
pub struct LeftIssue {
    pub id: Id,
    pub tenant: LossyText,
    pub identifier: Option<LossyText>,
    pub title: LossyText,
    pub agent_name: Option<LossyText>,
    pub reason: LossyText,
}

/// The status of those of which people are notified by an event.
pub const LEFT: [(Event, &str); 2] = [(Event::HostBlocked, "blocked"), (Event::Unstarted, UNSTARTED)];

/// The status of those that nothing will start.
pub const UNSTARTED: &str = "todo";

/// People are notified of so many by one event in one sweep, the oldest first.
const AT_ONCE_MAX: i64 = 100;

/// Has the host such a view?
pub fn are_known(db: &mut Db) -> QueryResult<bool> {
    exists(db, "left_issues")
}

/// Those of a tenant, or all, of which nobody was notified: by each of these events those of its status.
pub fn unnotified(
    db: &mut Db,
    of_tenant: Option<&str>,
    wanted: &[(Event, &str)],
) -> QueryResult<Vec<(Event, LeftIssue)>> {
    use left_issues::*;
    let mut unnotified = Vec::new();
    for &(event, of_status) in wanted {
        let is_new = format!(
            "NOT EXISTS (SELECT FROM notifications n WHERE n.event = '{}' AND n.subject_id = left_issues.subject_id \
             AND n.created_at >= left_issues.since)",
            event.name()
        );
        let columns = (subject_id, tenant, identifier, title, agent_name, reason);
        let new = left_issues::table.select(columns).filter(status.eq(of_status)).filter(sql::<Bool>(&is_new));
        let all = new.order((since, subject_id)).limit(AT_ONCE_MAX).into_boxed();
        let owned = match of_tenant {
            None => all,
            Some(of_tenant) => all.filter(tenant.eq(of_tenant)),
        };
        unnotified.extend(owned.load(db)?.into_iter().map(|issue| (event, issue)));
    }
    Ok(unnotified)
}
