//! What came of continuations, and how many exemptions there are.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use schemars::JsonSchema;
use serde::Serialize;

use crate::store::Db;
use crate::store::db::schema::{exemptions, false_rescues, tenant_exemptions};
use crate::store::db::types::{Instant, LossyText, sql};

/// How far the effect looks back.
const EFFECT: TimeDelta = TimeDelta::days(7);

/// What was continued in the last days, and what came of it: the next thing that the ledger knows of the subject.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Effect {
    /// How many days it looks back.
    pub days: i64,
    /// How many continuations there were.
    pub continuations: i64,
    /// After how many the work went on, or was finished.
    pub recovered: i64,
    /// After how many it became its host's or a person's.
    pub handed_over: i64,
    /// After how many it was reported to a person.
    pub escalated: i64,
    /// After how many people were notified that its agent is gone, terminated or paused.
    pub abandoned: i64,
    /// After how many it was continued again.
    pub continued_again: i64,
    /// Recoveries of which nothing has come yet.
    pub still_open: i64,
    /// Recoveries during which a run was live after all.
    pub false_rescues: i64,
}

/// How many exemptions there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Exemptions {
    /// How many hold.
    pub holding: i64,
    /// How many have expired.
    pub expired: i64,
}

/// Counts the exemptions of subjects and tenants.
pub fn count_exemptions(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Exemptions> {
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

/// How many continuations had which action next.
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

/// What came of the continuations of the last days.
pub fn read_effect(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Effect> {
    let since = Instant(now - EFFECT);
    let came: Vec<Came> = diesel::sql_query(WHAT_CAME).bind::<sql::Instant, _>(since).load(db)?;
    let false_rescues = count_false_rescues(db, now)?;
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
pub fn count_false_rescues(db: &mut Db, now: DateTime<Utc>) -> QueryResult<i64> {
    let since = Instant(now - EFFECT);
    false_rescues::table.filter(false_rescues::continued_at.gt(since)).count().get_result(db)
}
