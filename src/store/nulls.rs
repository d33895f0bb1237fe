//! Which column of a host's view is null for a subject where the contract of `docs/hosts.md` wants a value: the driver
//! does not say.

use diesel::prelude::*;
use diesel::result::Error;

use super::schema::{issue_facts, session_facts, step_facts};
use super::{Db, errors};
use crate::rules::{Id, Kind};

/// Why a row could not be read, with the name of the view and of the column.
pub fn describe(db: &mut Db, kind: Kind, id: &Id, error: &Error) -> String {
    let columns = if errors::is_null(error) { columns(db, kind, id).unwrap_or_default() } else { Vec::new() };
    match columns.as_slice() {
        [] => errors::of_row(kind, error),
        [column] => format!("the column {column} of the view {kind}_facts is null, and must not be"),
        columns => format!("the columns {} of the view {kind}_facts are null, and must not be", columns.join(", ")),
    }
}

macro_rules! nulls {
    ($db:ident, $id:ident, $facts:ident: $($column:ident),+) => {{
        let mut found = Vec::new();
        $(
            let of_subject = $facts::table.filter($facts::subject_id.eq($id)).filter($facts::$column.is_null());
            if 0 < of_subject.count().get_result::<i64>($db)? {
                found.push(stringify!($column));
            }
        )+
        Ok(found)
    }};
}

fn columns(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<Vec<&'static str>> {
    match kind {
        Kind::Session => nulls!(
            db, id, session_facts: tenant, title, status, issue_has_live_run, started_at, progressed_at, recent_output,
            takes_commands, reports_progress, takes_nudges, idle_since, episode_began_at, attempts, attempts_last_day,
            escalated, escalations_last_day, observed_at
        ),
        Kind::Issue => nulls!(
            db, id, issue_facts: tenant, title, status, assigned_to_user, has_live_run, run_end_grace_seconds,
            resume_advice,
            idle_since, episode_began_at, attempts, attempts_unserved, attempts_last_day, escalated,
            escalations_last_day,
            observed_at
        ),
        Kind::Step => nulls!(
            db, id, step_facts: tenant, identifier, title, status, plan_id, plan_status, position, has_live_run,
            idle_since,
            episode_began_at, attempts, attempts_unserved, attempts_last_day, escalated, escalations_last_day,
            observed_at
        ),
    }
}
