//! What sweeps did on each day of the last four weeks, and how much of it was in vain. Days are those of UTC. What a
//! person asked for is not counted.

use std::collections::BTreeMap;

use chrono::{DateTime, Days, NaiveDate, TimeDelta, Utc};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use serde::Serialize;

use crate::store::Db;
use crate::store::db::types::{Instant, LossyText, sql};
use crate::store::work::ledger::Action;

/// Today is the last of them.
const DAYS: u64 = 28;

/// One day; the fields are those of the JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Day {
    pub date: NaiveDate,
    pub continued: i64,
    pub recovered: i64,
    pub handed_over: i64,
    pub escalated: i64,
    pub abandoned: i64,
    /// Of what was continued: a run was live after all.
    pub false_rescues: i64,
}

#[derive(QueryableByName)]
struct Counted {
    #[diesel(sql_type = Text)]
    day: LossyText,
    #[diesel(sql_type = Text)]
    what: LossyText,
    #[diesel(sql_type = BigInt)]
    n: i64,
}

const FALSE_RESCUES: &str = "false_rescues";

/// All of them, also those on which nothing was done; the oldest first.
pub fn read(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Vec<Day>> {
    let first = (now - TimeDelta::days(DAYS as i64 - 1)).date_naive();
    let day_of = |column: &str| match db {
        Db::Postgres(_) => format!("({column} AT TIME ZONE 'UTC')::date"),
        Db::Sqlite(_) => format!("substr({column}, 1, 10)"),
    };
    let (of_ledger, of_rescues) = (day_of("created_at"), day_of("continued_at"));
    let query = diesel::sql_query(format!(
        "SELECT CAST(day AS text) AS day, what, n FROM ( \
             SELECT {of_ledger} AS day, action AS what, count(*) AS n \
             FROM recoveries WHERE created_at >= $1 AND requested_by IS NULL GROUP BY 1, 2 \
             UNION ALL \
             SELECT {of_rescues}, '{FALSE_RESCUES}', count(*) FROM false_rescues WHERE continued_at >= $1 GROUP BY 1 \
         ) d"
    ));
    let since = first.and_time(chrono::NaiveTime::MIN).and_utc();
    let counted: Vec<Counted> = query.bind::<sql::Instant, _>(Instant(since)).load(db)?;
    let mut days: BTreeMap<NaiveDate, Day> = (0..DAYS)
        .filter_map(|n| first.checked_add_days(Days::new(n)))
        .map(|date| (date, Day::without_news(date)))
        .collect();
    for Counted { day, what, n } in counted {
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

    fn without_news(date: NaiveDate) -> Day {
        Day { date, continued: 0, recovered: 0, handed_over: 0, escalated: 0, abandoned: 0, false_rescues: 0 }
    }

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
