//! Issues that the host blocked itself without notifying anybody, where a host does such a thing: the view
//! `host_blocks`.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;

use super::Db;
use super::catalog::exists;
use super::schema::host_blocks;
use super::types::LossyText;
use crate::rules::Id;

/// One of them.
#[derive(Clone, Debug, Queryable)]
pub struct HostBlock {
    pub id: Id,
    pub tenant: LossyText,
    pub identifier: Option<LossyText>,
    pub title: LossyText,
    pub agent_name: Option<LossyText>,
    pub reason: LossyText,
}

/// People are notified of so many in one sweep, the oldest first.
const AT_ONCE_MAX: i64 = 100;

const UNNOTIFIED: &str = "NOT EXISTS (SELECT FROM notifications n WHERE n.event = 'host_blocked' \
    AND n.subject_id = host_blocks.subject_id AND n.created_at >= host_blocks.since)";

/// Those of a tenant, or all, of which nobody was notified; none where the host has no such view.
pub fn unnotified(db: &mut Db, of_tenant: Option<&str>) -> QueryResult<Vec<HostBlock>> {
    if !exists(db, "host_blocks")? {
        return Ok(Vec::new());
    }
    use host_blocks::*;
    let unnotified = host_blocks::table
        .select((subject_id, tenant, identifier, title, agent_name, reason))
        .filter(sql::<Bool>(UNNOTIFIED));
    let all = unnotified.order((host_blocks::since, host_blocks::subject_id)).limit(AT_ONCE_MAX).into_boxed();
    let blocks = match of_tenant {
        None => all,
        Some(of_tenant) => all.filter(host_blocks::tenant.eq(of_tenant)),
    };
    blocks.load(db)
}
