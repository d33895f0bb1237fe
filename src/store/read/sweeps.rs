//! The rows of sweeps: the last ones, the last success, and the latest sweep of everything.
//!
//! A sweep may be split into shards, each with a row of its own. The conditions are words of SQL, not of the DSL: they
//! are those of partial indexes, and SQLite uses one only for a query that says the same with nothing bound.

use chrono::{DateTime, Utc};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use schemars::JsonSchema;
use serde::Serialize;

use crate::conclusion::Conclusion;
use crate::store::Db;
use crate::store::db::schema::sweeps;
use crate::store::db::types::{Instant, LossyText, RawInstant, WrittenDocument};
use crate::store::work::candidates::Shard;
use crate::store::work::counts::{KindCounts, KindMode, Tally};

/// The sweep looked at everything, and did all that it had to.
const SUCCEEDED: &str = "succeeded";

/// The sweep was meant to look at everything, and has ended, however.
const WHOLE: &str = "NOT is_restricted AND finished_at IS NOT NULL";

/// The end of the latest sweep of everything that did all it had to. One that is split succeeded when all its shards
/// did: at the earliest of their latest successes. What a clock that was ahead has dated in the future says nothing of
/// the present.
pub fn last_success(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Option<DateTime<Utc>>> {
    let (mut last, mut count) = (None, 0);
    while let Some(next) = next_count(db, count)? {
        count = next;
        last = last.max(success_of_shards(db, count, last, now)?);
    }
    Ok(last)
}

/// The next higher number of shards that sweeps which succeeded were split into.
fn next_count(db: &mut Db, after: i32) -> QueryResult<Option<i32>> {
    use sweeps::*;
    let more = sweeps::table.filter(sql::<Bool>(SUCCEEDED)).filter(shards.gt(after)).filter(shards.le(SHARDS_MAX));
    more.order((shards, shard, finished_at)).select(shards).first(db).optional()
}

/// Since when all shards of sweeps that were split into `count` have succeeded, if that is after `known`.
fn success_of_shards(
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
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = sweeps)]
pub struct SweepRow {
    pub started_at: RawInstant,
    pub finished_at: Option<RawInstant>,
    pub ended: Option<LossyText>,
    pub exit_code: Option<i32>,
    pub partial: bool,
    pub shard: i32,
    pub shards: i32,
    pub counts: WrittenDocument,
}

/// The most shards that a sweep may have.
const SHARDS_MAX: i32 = Shard::COUNT_MAX as i32;

/// The latest sweep of everything that has ended; of one that is split, the latest of each of its shards.
pub fn latest_whole(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Vec<SweepRow>> {
    use sweeps::*;
    let all = || sweeps::table.filter(sql::<Bool>(WHOLE)).filter(finished_at.le(Some(Instant(now))));
    let latest: Option<SweepRow> =
        all().order(finished_at.desc()).select(SweepRow::as_select()).first(db).optional()?;
    let Some(latest) = latest else { return Ok(Vec::new()) };
    if latest.shards <= 1 {
        return Ok(vec![latest]);
    }
    let mut rows = Vec::new();
    for index in 0..latest.shards.min(SHARDS_MAX) {
        let of_shard = all().filter(shards.eq(latest.shards)).filter(shard.eq(index));
        rows.extend(of_shard.order(finished_at.desc()).select(SweepRow::as_select()).first(db).optional()?);
    }
    Ok(rows)
}

/// How many of the last sweeps are shown.
const SWEEPS_MAX: i64 = 10;

/// The last sweeps, the latest first.
pub fn latest(db: &mut Db) -> QueryResult<Vec<SweepSummary>> {
    let latest = sweeps::table.order((sweeps::started_at.desc(), sweeps::id)).limit(SWEEPS_MAX);
    Ok(latest.select(SweepRow::as_select()).load(db)?.into_iter().map(SweepSummary::from).collect())
}

/// One sweep as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SweepSummary {
    /// When it began; null: its row holds no valid time.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended; null: it is running, or was killed.
    pub finished_at: Option<DateTime<Utc>>,
    /// How long it took, in milliseconds; null as `finished_at`.
    pub duration_ms: Option<i64>,
    /// How it ended: `completed`, `interrupted` or `failed`; null: it is running, or was killed.
    pub ended: Option<String>,
    /// Its exit code; null: it is running, was killed, or is of an older version.
    pub exit_code: Option<i32>,
    /// Whether it looked at a part only.
    pub partial: bool,
    /// Which part of a sweep that several share, from 0 on.
    #[schemars(range(min = 0))]
    pub shard: i32,
    /// How many share it; 1: it was not shared.
    #[schemars(range(min = 0))]
    pub shards: i32,
    /// What became of the subjects of all kinds that were on.
    #[serde(flatten)]
    pub tally: Tally,
}

impl From<SweepRow> for SweepSummary {
    fn from(row: SweepRow) -> SweepSummary {
        let SweepRow { started_at, finished_at, ended, exit_code, partial, shard, shards, counts } = row;
        let (started_at, finished_at) = (started_at.instant(), finished_at.and_then(|at| at.instant()));
        let written = KindCounts::read(&counts).filter(|(_, counts)| counts.mode == KindMode::On);
        SweepSummary {
            started_at,
            finished_at,
            duration_ms: started_at.zip(finished_at).map(|(began, ended)| (ended - began).num_milliseconds().max(0)),
            ended: ended.map(String::from),
            exit_code,
            partial,
            shard,
            shards,
            tally: written.fold(Tally::default(), |sum, (_, counts)| sum.plus(counts.tally)),
        }
    }
}

impl SweepSummary {
    /// Whether the sweep did all that it had to.
    pub fn is_well(&self) -> bool {
        did_all(self.exit_code)
    }

    /// Whether the guard held work back.
    pub fn is_guarded(&self) -> bool {
        self.exit_code == Some(Conclusion::Guarded as i32)
    }
}

/// Whether a sweep with this exit code did all that it had to. One that is under way, or of an older version, has not
/// said otherwise.
pub fn did_all(exit_code: Option<i32>) -> bool {
    exit_code.is_none_or(|code| Conclusion::of(code).is_some_and(Conclusion::is_success))
}
