//! The limits by which the watcher of a session decides, for people who want an explanation of the session.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use serde::{Deserialize, Serialize};

use super::{Lease, held_by};
use crate::rules::{Id, Policy};
use crate::store::Db;
use crate::store::db::schema::{session_watchers, sessions};
use crate::store::db::types::{LossyText, RawInstant};
use crate::store::hosts::catalog::exists;

/// Characters of a watcher that are read; sweep writes some hundreds.
const WRITTEN_MAX: usize = 10_000;

/// A watcher that examines its session, as the session's row holds it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Watcher {
    pub policy: Policy,
    /// It keeps the session no longer when it was not heard of for longer.
    pub left_after_seconds: i64,
}

/// Writes who examines the session from now on; none: only sweeps.
pub fn examined_by(db: &mut Db, lease: &Lease, watcher: Option<&Watcher>) -> QueryResult<()> {
    let watcher = watcher.map(serde_json::to_string).transpose();
    let watcher = watcher.map_err(|error| diesel::result::Error::SerializationError(error.into()))?;
    diesel::update(held_by(lease)).set(sessions::watcher.eq(watcher)).execute(db).map(drop)
}

/// The policy of the watcher that examines this session at this time, if one does.
pub fn policy_of_watcher(db: &mut Db, id: &Id, now: DateTime<Utc>) -> QueryResult<Option<Policy>> {
    if !exists(db, "session_watchers")? {
        return Ok(None);
    }
    let row = session_watchers::table.filter(session_watchers::subject_id.eq(id));
    let text = sql::<Text>(&format!("substr(watcher, 1, {WRITTEN_MAX})"));
    let row = row.select((text, session_watchers::heard_of_at));
    let Some((watcher, heard_of_at)) = row.first::<(LossyText, RawInstant)>(db).optional()? else { return Ok(None) };
    // What another version, or somebody else, wrote may not be understood.
    let watcher = serde_json::from_str::<Watcher>(&watcher.0).ok();
    let is_alive = |watcher: &Watcher| {
        let silence = heard_of_at.instant().map(|at| now - at);
        silence.zip(TimeDelta::try_seconds(watcher.left_after_seconds)).is_some_and(|(silence, max)| silence <= max)
    };
    Ok(watcher.filter(is_alive).map(|watcher| watcher.policy))
}
