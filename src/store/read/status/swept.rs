//! What sweeps did, and what came of it.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use serde::Serialize;

use super::limits::ROWS_MAX;
use crate::conclusion::Conclusion;
use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::db::schema::{exemptions, failures, false_rescues, sweeps, tenant_exemptions};
use crate::store::db::types::{Instant, LossyText, RawInstant, WrittenDocument, sql};
use crate::store::work::counts::{KindCounts, KindMode, Tally};
use crate::store::work::find::label_of_row;

/// How many of the last sweeps are shown.
const SWEEPS_MAX: i64 = 10;

/// How far the effect looks back.
const EFFECT: TimeDelta = TimeDelta::days(7);

/// One sweep; the fields are those of the JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SweepSummary {
    pub started_at: Option<DateTime<Utc>>,
    /// Null: running, or killed before its end.
    pub finished_at: Option<DateTime<Utc>>,
    pub duration_ms: Option<i64>,
    pub ended: Option<String>,
    pub exit_code: Option<i32>,
    /// It looked at a part only.
    pub partial: bool,
    /// Which part of a sweep that several share, from 0; 0 of 1: it was not shared.
    pub shard: i32,
    pub shards: i32,
    /// Of all kinds together.
    pub continued: u64,
    pub escalated: u64,
    pub recovered: u64,
    pub handed_over: u64,
    pub abandoned: u64,
    pub failed: u64,
    pub deferred: u64,
}

impl SweepSummary {
    /// Did it do all that it had to? One that is under way, or of an older version, has not said otherwise.
    pub fn is_well(&self) -> bool {
        SweepSummary::did_all(self.exit_code)
    }

    /// The same of an exit code.
    pub fn did_all(exit_code: Option<i32>) -> bool {
        exit_code.is_none_or(|code| Conclusion::of(code).is_some_and(Conclusion::is_success))
    }

    /// Did the guard hold work back?
    pub fn is_guarded(&self) -> bool {
        self.exit_code == Some(Conclusion::Guarded as i32)
    }
}

/// What was continued in the last days, and what came of it: the next thing that the ledger knows of the subject.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Effect {
    pub days: i64,
    pub continuations: i64,
    pub recovered: i64,
    pub handed_over: i64,
    pub escalated: i64,
    pub abandoned: i64,
    pub continued_again: i64,
    pub still_open: i64,
    /// Of all continuations: a run was live after all.
    pub false_rescues: i64,
}

/// A subject whose row sweeps no longer examine.
#[derive(Clone, Debug, Serialize)]
pub struct Quarantined {
    pub kind: String,
    pub id: Id,
    /// As people call it; none: it has no such name, it cannot be read, or it is another tenant's than was asked for.
    pub identifier: Option<String>,
    /// Its page in the host's own board.
    pub url: Option<String>,
    pub reason: String,
    pub since: Option<DateTime<Utc>>,
    pub age_seconds: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Exemptions {
    pub holding: i64,
    pub expired: i64,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = sweeps)]
struct SweepRow {
    started_at: RawInstant,
    finished_at: Option<RawInstant>,
    ended: Option<LossyText>,
    exit_code: Option<i32>,
    partial: bool,
    shard: i32,
    shards: i32,
    counts: WrittenDocument,
}

pub fn latest(db: &mut Db) -> QueryResult<Vec<SweepSummary>> {
    let latest = sweeps::table.order((sweeps::started_at.desc(), sweeps::id)).limit(SWEEPS_MAX);
    let rows = latest.select(SweepRow::as_select()).load(db)?;
    Ok(rows.into_iter().map(SweepSummary::from).collect())
}

impl From<SweepRow> for SweepSummary {
    fn from(row: SweepRow) -> SweepSummary {
        let SweepRow { started_at, finished_at, ended, exit_code, partial, shard, shards, counts } = row;
        let (started_at, finished_at) = (started_at.instant(), finished_at.and_then(|at| at.instant()));
        let written = KindCounts::read(&counts).filter(|(_, counts)| counts.mode == KindMode::On);
        let total = written.fold(Tally::default(), |sum, (_, counts)| sum.plus(counts.tally));
        SweepSummary {
            started_at,
            finished_at,
            duration_ms: started_at.zip(finished_at).map(|(began, ended)| (ended - began).num_milliseconds().max(0)),
            ended: ended.map(|text| text.0),
            exit_code,
            partial,
            shard,
            shards,
            continued: total.continued,
            escalated: total.escalated,
            recovered: total.recovered,
            handed_over: total.handed_over,
            abandoned: total.abandoned,
            failed: total.failed,
            deferred: total.deferred,
        }
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = failures)]
struct FailureRow {
    kind: LossyText,
    subject_id: Id,
    reason: LossyText,
    quarantined_at: Option<RawInstant>,
}

/// The oldest, and how many there are.
pub fn quarantined(
    db: &mut Db,
    provided: &[Kind],
    tenant: Option<&str>,
    now: DateTime<Utc>,
) -> QueryResult<(Vec<Quarantined>, i64)> {
    use failures::*;
    let all = failures::table.filter(quarantined_at.is_not_null());
    let total = all.count().get_result(db)?;
    let oldest = all.order((quarantined_at, kind, subject_id)).limit(ROWS_MAX);
    let rows = oldest.select(FailureRow::as_select()).load(db)?;
    let rows = rows.into_iter().map(|row| {
        let (since, age_seconds) = row.quarantined_at.map_or((None, None), |since| since.with_age(now));
        let label = label_of_row(db, provided, &row.kind.0, &row.subject_id)?;
        // What a tenant's is called is nobody else's business.
        let identifier = label.identifier.filter(|_| tenant.is_none() || label.tenant.as_deref() == tenant);
        Ok(Quarantined {
            kind: row.kind.into(),
            id: row.subject_id,
            identifier,
            url: None,
            reason: row.reason.into(),
            since,
            age_seconds,
        })
    });
    Ok((rows.collect::<QueryResult<_>>()?, total))
}

pub fn exemptions(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Exemptions> {
    macro_rules! counted {
        ($of:ident) => {{
            let total: i64 = $of::table.count().get_result(db)?;
            let expired: i64 = $of::table.filter($of::until.le(Some(Instant(now)))).count().get_result(db)?;
            (total - expired, expired)
        }};
    }
    let (rows, tenants) = (counted!(exemptions), counted!(tenant_exemptions));
    Ok(Exemptions { holding: rows.0 + tenants.0, expired: rows.1 + tenants.1 })
}

#[derive(QueryableByName)]
struct Came {
    #[diesel(sql_type = Nullable<Text>)]
    next: Option<LossyText>,
    #[diesel(sql_type = BigInt)]
    n: i64,
}

/// The DSL has no query over a query.
const WHAT_CAME: &str = "SELECT next, count(*) AS n FROM ( \
        SELECT action, lead(action) OVER (PARTITION BY kind, subject_id ORDER BY created_at, id) AS next \
        FROM recoveries WHERE created_at > $1 \
    ) r WHERE action = 'continue' GROUP BY next";

pub fn effect(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Effect> {
    let since = Instant(now - EFFECT);
    let came: Vec<Came> = diesel::sql_query(WHAT_CAME).bind::<sql::Instant, _>(since).load(db)?;
    let false_rescues = false_rescues(db, now)?;
    let mut effect = Effect { days: EFFECT.num_days(), false_rescues, ..Effect::default() };
    for Came { next, n } in came {
        effect.continuations += n;
        *match next.as_ref().map(|action| action.0.as_str()) {
            Some("recover") => &mut effect.recovered,
            Some("hand_over") => &mut effect.handed_over,
            Some("escalate") => &mut effect.escalated,
            Some("abandon") => &mut effect.abandoned,
            Some(_) => &mut effect.continued_again,
            None => &mut effect.still_open,
        } += n;
    }
    Ok(effect)
}

/// Continuations of the last days where a run was live after all.
pub fn false_rescues(db: &mut Db, now: DateTime<Utc>) -> QueryResult<i64> {
    let since = Instant(now - EFFECT);
    false_rescues::table.filter(false_rescues::continued_at.gt(since)).count().get_result(db)
}
