//! What sweeps achieved: what came of continuations, how many exemptions there are, and what sweeps did on each day of
//! the last four weeks. Days are those of UTC. What a person asked for is not counted in them.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use diesel::dsl::sql as literal;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use schemars::JsonSchema;
use serde::Serialize;

use crate::store::Db;
use crate::store::db::schema::{exemptions, tenant_exemptions};
use crate::store::db::types::{Instant, LossyText, sql};
use crate::store::work::history::{DaySum, first_of, of_last, read_days};
use crate::store::work::ledger::Action;

/// How many days the effect looks back; today is the last of them.
const EFFECT_DAYS: i64 = 7;

/// What was continued in the last days, and what came of it: the next thing that the ledger knows of the subject.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Effect {
    /// How many days it looks back, in UTC; today is the last of them.
    pub days: i64,
    /// How many continuations there were.
    pub continuations: i64,
    /// After how many the work went on, or was finished.
    pub recovered: i64,
    /// After how many it became its host's or a person's.
    pub handed_over: i64,
    /// After how many it was reported to a person.
    pub escalated: i64,
    /// After how many people were notified that its agent is gone or cannot be woken.
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

/// The DSL has no query over a query.
const WHAT_CAME: [&str; 2] = [
    "SELECT next, count(*) FROM ( \
        SELECT action, lead(action) OVER (PARTITION BY kind, subject_id ORDER BY created_at, id) AS next \
        FROM recoveries WHERE created_at > ",
    ") r WHERE action = 'continue' GROUP BY next",
];

/// What came of the continuations of the last days.
pub fn read_effect(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Effect> {
    let first = first_of(EFFECT_DAYS, now);
    let since = Instant(first.and_time(NaiveTime::MIN).and_utc());
    let came = literal::<(Nullable<Text>, BigInt)>(WHAT_CAME[0]).bind::<sql::Moment, _>(since).sql(WHAT_CAME[1]);
    let came: Vec<(Option<LossyText>, i64)> = came.load(db)?;
    let days = read_days(db, Some(first))?;
    let false_rescues = of_last(&days, EFFECT_DAYS, now).map(|sum| sum.in_vain).sum();
    let mut effect = Effect { days: EFFECT_DAYS, false_rescues, ..Effect::default() };
    for (next, n) in came {
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

/// How many days are shown; today is the last of them.
const DAYS: i64 = 28;

/// What sweeps did on one day.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Day {
    /// The day, in UTC.
    pub date: NaiveDate,
    /// Continuations.
    pub continued: i64,
    /// Recoveries.
    pub recovered: i64,
    /// Handovers.
    pub handed_over: i64,
    /// Escalations.
    pub escalated: i64,
    /// Reports of abandoned work.
    pub abandoned: i64,
    /// Continuations during which a run was live after all.
    pub false_rescues: i64,
}

/// What sweeps did on each of the days, also on those on which they did nothing; the oldest first.
pub(super) fn count_days(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Vec<Day>> {
    let first = first_of(DAYS, now);
    let dates = first.iter_days().take(DAYS as usize);
    let mut days: BTreeMap<String, Day> =
        dates.map(|date| (date.to_string(), Day { date, ..Day::default() })).collect();
    for DaySum { day, kind: _, action, recorded, requested, in_vain } in read_days(db, Some(first))? {
        // What a clock that was ahead has dated in the future is of none of these days.
        let Some(day) = days.get_mut(&day) else { continue };
        day.false_rescues += in_vain;
        day.counter(&action).into_iter().for_each(|counter| *counter += recorded - requested);
    }
    Ok(days.into_values().collect())
}

/// A count of a day.
pub type DayCount = fn(&Day) -> i64;

impl Day {
    /// The counts that people are shown, by their names in the JSON.
    pub const SHOWN: [(&str, DayCount); 4] = [
        ("continued", |day| day.continued),
        ("recovered", |day| day.recovered),
        ("escalated", |day| day.escalated),
        ("false_rescues", |day| day.false_rescues),
    ];

    fn counter(&mut self, what: &str) -> Option<&mut i64> {
        let action = Action::ALL.iter().find(|action| action.name() == what)?;
        Some(match action {
            Action::Continue => &mut self.continued,
            Action::Recover => &mut self.recovered,
            Action::HandOver => &mut self.handed_over,
            Action::Escalate => &mut self.escalated,
            Action::Abandon => &mut self.abandoned,
        })
    }
}
