//! Does this role have the rights that a sweep needs? Asked before the first subject, so that one message names them
//! all, and not every subject one.

use anyhow::{Context, Result};
use diesel::prelude::*;
use diesel::sql_types::{Array, Text};

use super::Access;
use crate::exit::config;
use crate::rules::Kind;

/// What a dry run reads of every kind; the rest is what a sweep needs besides.
fn needed(kinds: &[Kind], access: Access) -> Vec<(&'static str, &'static str)> {
    let mut needed = Vec::new();
    for kind in kinds {
        needed.extend(match kind {
            Kind::Issue => [("issue_candidates", "SELECT"), ("issue_facts", "SELECT")],
            Kind::Step => [("step_candidates", "SELECT"), ("step_facts", "SELECT")],
        });
        if access == Access::ReadOnly {
            continue;
        }
        // Locking a row needs UPDATE on some column of it.
        needed.extend(match kind {
            Kind::Issue => [("issues", "UPDATE"), ("comments", "INSERT")],
            Kind::Step => [("plan_steps", "UPDATE"), ("plans", "UPDATE")],
        });
    }
    if access == Access::Write {
        let common = [
            "agents UPDATE",
            "wakes INSERT",
            "recoveries SELECT",
            "recoveries INSERT",
            "recoveries UPDATE",
        ];
        needed.extend(common.iter().filter_map(|right| right.split_once(' ')));
        needed.extend([("sweeps", "SELECT"), ("sweeps", "INSERT"), ("sweeps", "UPDATE")]);
    }
    needed
}

/// A right on one column is enough to pass here; views and triggers check the rest.
const MISSING: &str = "SELECT current_user::text AS role, privilege || ' on sweep.' || relation AS missing \
    FROM unnest($1, $2) AS needed (relation, privilege) \
    WHERE NOT has_any_column_privilege('sweep.' || relation, privilege)";

#[derive(QueryableByName)]
struct Missing {
    #[diesel(sql_type = Text)]
    role: String,
    #[diesel(sql_type = Text)]
    missing: String,
}

/// Refuses a role that lacks rights, and names the relations.
pub(super) fn check(db: &mut PgConnection, kinds: &[Kind], access: Access) -> Result<()> {
    let (relations, privileges): (Vec<_>, Vec<_>) = needed(kinds, access).into_iter().unzip();
    let missing: Vec<Missing> = diesel::sql_query(MISSING)
        .bind::<Array<Text>, _>(relations)
        .bind::<Array<Text>, _>(privileges)
        .load(db)
        .context("checking the rights of this role")?;
    let Some(first) = missing.first() else { return Ok(()) };
    let list: Vec<&str> = missing.iter().map(|row| row.missing.as_str()).collect();
    Err(config(format!("the role {} lacks rights: {}", first.role, list.join(", "))).into())
}
