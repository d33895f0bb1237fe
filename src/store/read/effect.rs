//! What sweeps achieved: what came of continuations, how many exemptions there are, and what sweeps did on each day of
//! the last four weeks. Days are those of UTC. What a person asked for is not counted in them. Days that are slow to
//! count are kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Utc};
use diesel::dsl::sql as literal;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use schemars::JsonSchema;
use serde::Serialize;

use crate::store::connect::open::Url;
use crate::store::db::schema::{exemptions, false_rescues, tenant_exemptions};
use crate::store::db::types::{Instant, LossyText, sql};
use crate::store::hosts::rights::Purpose;
use crate::store::read::kept::Kept;
use crate::store::read::snapshot;
use crate::store::work::ledger::Action;
use crate::store::{Db, Timeouts};

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
    let since = Instant(now - EFFECT);
    let came = literal::<(Nullable<Text>, BigInt)>(WHAT_CAME[0]).bind::<sql::Moment, _>(since).sql(WHAT_CAME[1]);
    let came: Vec<(Option<LossyText>, i64)> = came.load(db)?;
    let false_rescues = count_false_rescues(db, now)?;
    let mut effect = Effect { days: EFFECT.num_days(), false_rescues, ..Effect::default() };
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

/// Continuations of the last days where a run was live after all.
pub fn count_false_rescues(db: &mut Db, now: DateTime<Utc>) -> QueryResult<i64> {
    let since = Instant(now - EFFECT);
    false_rescues::table.filter(false_rescues::continued_at.gt(since)).count().get_result(db)
}

/// How many days are counted; today is the last of them.
const DAYS: u64 = 28;

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

const FALSE_RESCUES: &str = "false_rescues";

/// Counts each of the days, also those on which nothing was done; the oldest first.
pub(super) fn count_days(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Vec<Day>> {
    let first = (now - TimeDelta::days(DAYS as i64 - 1)).date_naive();
    let day_of = |column: &str| match db {
        Db::Postgres(_) => format!("({column} AT TIME ZONE 'UTC')::date"),
        Db::Sqlite(_) => format!("substr({column}, 1, 10)"),
    };
    let (of_ledger, of_rescues) = (day_of("created_at"), day_of("continued_at"));
    let since = Instant(first.and_time(NaiveTime::MIN).and_utc());
    let counts = literal::<(Text, Text, BigInt)>(&format!(
        "SELECT CAST(day AS text), what, n FROM ( \
             SELECT {of_ledger} AS day, action AS what, count(*) AS n \
             FROM recoveries WHERE requested_by IS NULL AND created_at >= "
    ));
    let counts = counts.bind::<sql::Moment, _>(since).sql(&format!(
        " GROUP BY 1, 2 \
             UNION ALL \
             SELECT {of_rescues}, '{FALSE_RESCUES}', count(*) FROM false_rescues WHERE continued_at >= "
    ));
    let counts = counts.bind::<sql::Moment, _>(since).sql(" GROUP BY 1) d");
    let counted: Vec<(LossyText, LossyText, i64)> = counts.load(db)?;
    let mut days: BTreeMap<NaiveDate, Day> = (0..DAYS)
        .filter_map(|n| first.checked_add_days(Days::new(n)))
        .map(|date| (date, Day { date, ..Day::default() }))
        .collect();
    for (day, what, n) in counted {
        // What a clock that was ahead has dated in the future is of none of these days.
        let day = day.0.parse().ok().and_then(|date: NaiveDate| days.get_mut(&date));
        let counter = day.and_then(|day| day.counter(&what.0));
        counter.into_iter().for_each(|counter| *counter += n);
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
        (FALSE_RESCUES, |day| day.false_rescues),
    ];

    fn counter(&mut self, what: &str) -> Option<&mut i64> {
        if what == FALSE_RESCUES {
            return Some(&mut self.false_rescues);
        }
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

/// The days of one database.
pub type KeptDays = Kept<Vec<Day>>;

impl KeptDays {
    /// Counts the days again.
    pub fn refresh(self: Arc<Self>, url: &Url, timeouts: &Timeouts) -> Result<()> {
        let its_timeouts = *timeouts;
        url.ask(timeouts, move |url| {
            let mut store = url.open_to(Purpose::Show)?;
            snapshot(&mut store.db, &its_timeouts, |db| {
                let now = db.now()?;
                self.count(now, || count_days(db, now))?;
                Ok(())
            })
        })
    }
}
