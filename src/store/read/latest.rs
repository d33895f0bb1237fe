//! Whether the schedule does what it is there for: the last success, and the latest sweep of everything.
//!
//! A sweep may be split into shards, each with a row of its own. The conditions are words of SQL, not of the DSL: they
//! are those of partial indexes, and SQLite uses one only for a query that says the same with nothing bound.

use chrono::{DateTime, Utc};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;

use crate::store::Db;
use crate::store::db::schema::sweeps;
use crate::store::db::shard::Shard;
use crate::store::db::types::{Instant, RawInstant, WrittenDocument};

/// It looked at everything, and did all that it had to.
const SUCCEEDED: &str = "succeeded";

/// It has ended, however, and was meant to look at everything.
const WHOLE: &str = "NOT is_restricted AND finished_at IS NOT NULL";

/// The end of the latest sweep of everything that did all it had to. One that is split succeeded when all its shards
/// did: at the earliest of their latest successes. What a clock that was ahead has dated in the future says nothing of
/// the present.
pub fn success(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Option<DateTime<Utc>>> {
    let (mut last, mut count) = (None, 0);
    while let Some(next) = next_count(db, count)? {
        count = next;
        last = last.max(success_of(db, count, last, now)?);
    }
    Ok(last)
}

/// In how many shards sweeps were split that succeeded, one number after the other.
fn next_count(db: &mut Db, after: i32) -> QueryResult<Option<i32>> {
    use sweeps::*;
    let more = sweeps::table.filter(sql::<Bool>(SUCCEEDED)).filter(shards.gt(after)).filter(shards.le(SHARDS_MAX));
    more.order((shards, shard, finished_at)).select(shards).first(db).optional()
}

/// Since when all of so many shards have succeeded, if it is after `known`.
fn success_of(
    db: &mut Db,
    count: i32,
    known: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> QueryResult<Option<DateTime<Utc>>> {
    use sweeps::*;
    let mut earliest = None;
    for index in 0..count {
        let of_shard = sweeps::table.filter(sql::<Bool>(SUCCEEDED)).filter(shards.eq(count)).filter(shard.eq(index));
        let latest = of_shard.filter(finished_at.le(Some(Instant(now)))).order(finished_at.desc()).select(finished_at);
        let at: Option<Option<RawInstant>> = latest.first(db).optional()?;
        let at = at.flatten().and_then(|at| at.instant());
        if at <= known {
            return Ok(None);
        }
        earliest = earliest.into_iter().chain(at).min();
    }
    Ok(earliest)
}

/// One row of `sweeps`, whatever it holds.
#[derive(Clone, Debug, Queryable)]
pub struct EndedSweep {
    pub started_at: RawInstant,
    pub finished_at: Option<RawInstant>,
    pub exit_code: Option<i32>,
    shards: i32,
    pub counts: WrittenDocument,
}

/// More are no sweep's.
const SHARDS_MAX: i32 = Shard::COUNT_MAX as i32;

/// The latest sweep of everything; of one that is split, the latest of each of its shards.
pub fn whole(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Vec<EndedSweep>> {
    use sweeps::*;
    let columns = (started_at, finished_at, exit_code, shards, counts);
    let all = || sweeps::table.filter(sql::<Bool>(WHOLE)).filter(finished_at.le(Some(Instant(now))));
    let latest: Option<EndedSweep> = all().order(finished_at.desc()).select(columns).first(db).optional()?;
    let Some(latest) = latest else { return Ok(Vec::new()) };
    if latest.shards <= 1 {
        return Ok(vec![latest]);
    }
    let mut rows = Vec::new();
    for index in 0..latest.shards.min(SHARDS_MAX) {
        let of_shard = all().filter(shards.eq(latest.shards)).filter(shard.eq(index));
        rows.extend(of_shard.order(finished_at.desc()).select(columns).first::<EndedSweep>(db).optional()?);
    }
    Ok(rows)
}
