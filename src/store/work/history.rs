//! What the ledger has recorded, day by day. The days are those of UTC. Each row is counted once: what is old enough
//! stands in the table `ledger_days` as sums, and what is younger is read from the ledger.
//! decisions.md#the-ledger-is-summed-once

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};

use crate::rules::Kind;
use crate::store::Db;
use crate::store::db::schema::{ledger_days, recoveries, upkeep};
use crate::store::db::types::{Instant, LossyText, RawInstant, sql as types};
use crate::store::db::written::rows_written;
use crate::store::work::ledger::Action;

/// What was recorded about one kind on one day.
#[derive(Clone, Debug, PartialEq)]
pub struct DaySum {
    pub day: String,
    pub kind: String,
    pub action: String,
    /// How many rows.
    pub recorded: i64,
    /// How many of them a person asked for.
    pub requested: i64,
    /// How many of these continuations were false rescues.
    pub in_vain: i64,
}

impl DaySum {
    /// Was this day's sum taken back?
    fn is_nothing(&self) -> bool {
        [self.recorded, self.requested, self.in_vain] == [0; 3]
    }
}

/// How many rows were recorded, by kind and then by action, as stored.
pub type Totals = BTreeMap<String, BTreeMap<String, i64>>;

pub fn totals_of(days: &[DaySum]) -> Totals {
    let mut totals = Totals::new();
    for sum in days {
        *totals.entry(sum.kind.clone()).or_default().entry(sum.action.clone()).or_default() += sum.recorded;
    }
    totals
}

/// The first of so many days, of which today is the last.
pub fn first_of(days: i64, now: DateTime<Utc>) -> NaiveDate {
    (now - TimeDelta::days(days - 1)).date_naive()
}

/// The sums of the last so many days, of which today is the last. What a clock that was ahead has dated in the future
/// is of none of them.
pub fn of_last(days: &[DaySum], n: i64, now: DateTime<Utc>) -> impl Iterator<Item = &DaySum> {
    let (first, today) = (first_of(n, now).to_string(), first_of(1, now).to_string());
    days.iter().filter(move |sum| (&first..=&today).contains(&&sum.day))
}

/// The sums of the days from this one on; none: of all days. A day may have several of one kind and action.
pub fn read_days(db: &mut Db, first: Option<NaiveDate>) -> QueryResult<Vec<DaySum>> {
    let summed_until = upkeep::table.find(FIRST_LOOK).select(upkeep::until).first::<RawInstant>(db).optional()?;
    let after = summed_until.and_then(|at| at.instant()).unwrap_or_default();
    let from = first.map_or(DateTime::UNIX_EPOCH, |day| day.and_time(NaiveTime::MIN).and_utc());
    let sums = ledger_days::table.filter(ledger_days::day.ge(from.date_naive().to_string()));
    let rows: Vec<Row> = sums.load(db)?;
    let mut days: Vec<DaySum> = rows.into_iter().map(DaySum::from).filter(|sum| !sum.is_nothing()).collect();
    let later = Span { after, from, until: THE_END };
    days.extend(count_rows(db, &later)?);
    days.extend(count_reports(db, &later, ANY_TIME)?);
    Ok(days)
}

/// A time after all that can be recorded.
const THE_END: DateTime<Utc> = DateTime::from_timestamp(253_402_300_799, 0).expect("the year 9999");

/// The rows after one time, from another on, and up to a third.
struct Span {
    after: DateTime<Utc>,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
}

type Row = (LossyText, LossyText, LossyText, i64, i64, i64);

impl From<Row> for DaySum {
    fn from((day, kind, action, recorded, requested, in_vain): Row) -> DaySum {
        DaySum { day: day.0, kind: kind.0, action: action.0, recorded, requested, in_vain }
    }
}

fn count_rows(db: &mut Db, span: &Span) -> QueryResult<Vec<DaySum>> {
    count(
        db,
        span,
        "created_at",
        "action, count(*), count(requested_by), cast(0 AS bigint)",
        "recoveries",
        "true",
        "1, 2, 3",
    )
}

/// The seconds between a continuation and its report that any false rescue has.
const ANY_TIME: (i64, i64) = (0, i64::MAX);

/// Counts the false rescues whose report came within these seconds after the continuation.
fn count_reports(db: &mut Db, span: &Span, (from, until): (i64, i64)) -> QueryResult<Vec<DaySum>> {
    let later = db.dialect().either(
        "extract(epoch FROM reported_at - continued_at)",
        "(julianday(reported_at) - julianday(continued_at)) * 86400",
    );
    let within = format!("{later} >= {from} AND {later} < {until}");
    let columns = format!("'{}', cast(0 AS bigint), cast(0 AS bigint), count(*)", Action::Continue.name());
    count(db, span, "continued_at", &columns, "false_rescues", &within, "1, 2")
}

/// The DSL cannot group by a day.
fn count(
    db: &mut Db,
    Span { after, from, until }: &Span,
    at: &str,
    columns: &str,
    relation: &str,
    condition: &str,
    groups: &str,
) -> QueryResult<Vec<DaySum>> {
    let to_day = db.dialect().either("to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD')", "substr({}, 1, 10)");
    // Others who may write to the ledger may name any number of kinds.
    let kinds: Vec<String> = Kind::names().map(|kind| format!("'{kind}'")).collect();
    let asked = format!(
        "SELECT {}, kind, {columns} FROM {relation} WHERE kind IN ({}) AND {condition} AND {at} > ",
        to_day.replace("{}", at),
        kinds.join(", ")
    );
    let asked = sql::<(Text, Text, Text, BigInt, BigInt, BigInt)>(&asked).bind::<types::Moment, _>(Instant(*after));
    let asked = asked.sql(&format!(" AND {at} >= ")).bind::<types::Moment, _>(Instant(*from));
    let asked = asked.sql(&format!(" AND {at} <= ")).bind::<types::Moment, _>(Instant(*until));
    let rows: Vec<Row> = asked.sql(&format!(" GROUP BY {groups}")).load(db)?;
    Ok(rows.into_iter().map(DaySum::from).collect())
}

/// A look at the ledger's rows when they are of a certain age. A row is settled within an hour: its transaction has
/// ended, however long it took.
#[derive(Clone, Copy, Debug)]
pub struct HistoryLook {
    age: TimeDelta,
    /// Adds the reports that came within these seconds after a continuation: those that earlier looks have not added.
    reports: (i64, i64),
}

/// The name of the upkeep's task that is the first look, in which the rows themselves are counted.
const FIRST_LOOK: &str = "sum_rows";

impl HistoryLook {
    pub const FIRST: HistoryLook = HistoryLook { age: TimeDelta::hours(1), reports: (0, 1_800) };
    pub const SECOND: HistoryLook = HistoryLook { age: TimeDelta::hours(7), reports: (1_800, 21_600) };
    pub const LAST: HistoryLook = HistoryLook { age: TimeDelta::hours(25), reports: (21_600, i64::MAX) };
}

/// What a step of the upkeep has done.
pub struct StepDone {
    /// Everything up to this time.
    pub until: DateTime<Utc>,
    /// When there may be something to do again.
    pub due_at: DateTime<Utc>,
    /// The next step is the first of all rows once more.
    pub begins_anew: bool,
}

/// The rows that are looked at in one step.
pub const STEP: i64 = 5_000;

/// Adds what a look at the next rows shows to the sums.
pub fn sum(db: &mut Db, look: HistoryLook, after: DateTime<Utc>, now: DateTime<Utc>) -> QueryResult<StepDone> {
    let after = if after <= now - look.age { after } else { after.min(take_back(db, now)?) };
    let later = |after: DateTime<Utc>| {
        use recoveries::{created_at, table};
        table.filter(created_at.gt(Instant(after))).order(created_at).select(created_at)
    };
    let old = later(after).filter(recoveries::created_at.lt(Instant(now - look.age)));
    let rows: Vec<RawInstant> = old.limit(STEP).load(db)?;
    let until = rows.last().and_then(RawInstant::instant).unwrap_or(after);
    if !rows.is_empty() {
        let span = Span { after, from: after, until };
        let mut sums = count_reports(db, &span, look.reports)?;
        if look.age == HistoryLook::FIRST.age {
            sums.extend(count_rows(db, &span)?);
        }
        sums.iter().try_for_each(|sum| add(db, sum))?;
    }
    let young: Option<RawInstant> = later(until).first(db).optional()?;
    let began_at = young.and_then(|at| at.instant()).unwrap_or(now).min(now);
    Ok(StepDone { until, due_at: began_at + look.age, begins_anew: false })
}

/// Takes the sums of the last two days, and of all days to come, back, to be made anew: a look has come to rows that it
/// should have left to later looks, so the clock was ahead, and would pass over what is recorded now. The rows are all
/// there: none so young is removed. Returns from when on there are no sums.
fn take_back(db: &mut Db, now: DateTime<Utc>) -> QueryResult<DateTime<Utc>> {
    let first = first_of(2, now);
    let from = first.and_time(NaiveTime::MIN).and_utc();
    let looks = upkeep::table.filter(upkeep::task.like("sum%")).filter(upkeep::until.gt(Instant(from)));
    diesel::update(looks).set(upkeep::until.eq(Instant(from))).execute(db)?;
    let nothing = (ledger_days::recorded.eq(0), ledger_days::requested.eq(0), ledger_days::in_vain.eq(0));
    diesel::update(ledger_days::table.filter(ledger_days::day.ge(first.to_string()))).set(nothing).execute(db)?;
    Ok(from)
}

/// Adds to the sum of a day. No upsert: a guest's file shows its tables as views.
fn add(db: &mut Db, sum: &DaySum) -> QueryResult<()> {
    use ledger_days::{action, day, in_vain, kind, recorded, requested, table};
    let its = table.filter(day.eq(&sum.day)).filter(kind.eq(&sum.kind)).filter(action.eq(&sum.action));
    let added = diesel::update(its).set((
        recorded.eq(recorded + sum.recorded),
        requested.eq(requested + sum.requested),
        in_vain.eq(in_vain + sum.in_vain),
    ));
    if 0 < rows_written(db, |db| added.execute(db))? {
        return Ok(());
    }
    let first = (
        day.eq(&sum.day),
        kind.eq(&sum.kind),
        action.eq(&sum.action),
        recorded.eq(sum.recorded),
        requested.eq(sum.requested),
        in_vain.eq(sum.in_vain),
    );
    diesel::insert_into(table).values(first).execute(db).map(drop)
}
