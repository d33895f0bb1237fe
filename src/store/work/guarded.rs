//! What the guards of sweeps held back, as the rows of these sweeps remember it.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use serde_json::{Value, json};

use crate::rules::Policy;
use crate::store::Db;
use crate::store::db::schema::sweeps;
use crate::store::db::types::{Document, Instant, RawInstant, WrittenDocument};

/// Shards, and sweeps of one tenant each, may have begun since the one that is looked for.
const ROWS_MAX: i64 = 100;

/// What one sweep held back.
#[derive(Clone, Debug)]
pub struct Remembered {
    /// By the database's clock.
    pub decided_at: DateTime<Utc>,
    pub held: Value,
    /// Is there anything at all?
    pub stands: bool,
}

/// What was held back by this policy, by sweeps of this version that began between these times: when that was decided,
/// and what. The latest is the first.
pub fn latest(
    db: &mut Db,
    policy: &Policy,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> QueryResult<Vec<(DateTime<Utc>, WrittenDocument)>> {
    use sweeps::{guard_decided_at, guard_held, started_at, version};
    let judged = sweeps::table.filter(guard_decided_at.is_not_null()).filter(version.eq(env!("CARGO_PKG_VERSION")));
    let lately = judged.filter(started_at.gt(Instant(from))).filter(started_at.le(Instant(until)));
    let same = lately.filter(sweeps::policy.eq(Document(json!(policy))));
    let latest = same.order(started_at.desc()).limit(ROWS_MAX).select((guard_decided_at, guard_held));
    let rows: Vec<(Option<RawInstant>, Option<WrittenDocument>)> = latest.load(db)?;
    Ok(rows.into_iter().filter_map(|(at, held)| Some((at?.instant()?, held?))).collect())
}

/// What a clock that was ahead has dated in the future would be believed when that time has come, and for longer than
/// it may be.
pub(in crate::store) fn forget_what_is_ahead(db: &mut Db, now: DateTime<Utc>) -> QueryResult<()> {
    let forgotten = (sweeps::guard_decided_at.eq(None::<Instant>), sweeps::guard_held.eq(None::<Document>));
    diesel::update(sweeps::table.filter(sweeps::started_at.gt(Instant(now)))).set(forgotten).execute(db).map(drop)
}
