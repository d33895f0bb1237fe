//! How much the ledger has ever recorded, by kind and action.
//!
//! Each sweep that closes remembers the count: what the one before it remembered, and what came since. So nobody counts
//! the whole ledger again, and the count does not fall when old rows are pruned.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::count_star;
use diesel::prelude::*;
use serde_json::json;

use crate::rules::Kind;
use crate::store::Db;
use crate::store::db::schema::recoveries;
use crate::store::db::types::{Document, Instant, LossyText, RawInstant, WrittenDocument};

/// How many rows were recorded, by kind and then by action, as stored.
pub type Totals = BTreeMap<String, BTreeMap<String, i64>>;

/// A row is counted for good when the transaction that wrote it has certainly ended.
pub(in crate::store) const SETTLED_AFTER: TimeDelta = TimeDelta::hours(1);

/// All that was ever recorded.
pub fn read(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Totals> {
    let (from, totals) = remembered(db, now)?;
    count(db, totals, &from, None)
}

/// What a sweep that closes now remembers: the time, and the count of all rows before it.
pub fn to_remember(db: &mut Db, now: DateTime<Utc>) -> QueryResult<(Instant, Document)> {
    let (from, totals) = remembered(db, now)?;
    // A clock that was set back makes nobody count twice.
    let until = from.instant().into_iter().chain([now - SETTLED_AFTER]).max().unwrap_or(now);
    let totals = count(db, totals, &from, Some(until))?;
    Ok((Instant(until), Document(json!(totals))))
}

/// A column of the latest sweep that remembers; null: there is none. One whose clock was ahead remembers a time that
/// has not come.
macro_rules! latest {
    ($column:literal: $type:ty, $now:expr) => {
        diesel::dsl::sql::<diesel::sql_types::Nullable<$type>>(concat!(
            "(SELECT ", $column, " FROM sweeps WHERE ledger_until <= "
        ))
        .bind::<$crate::store::db::types::sql::Instant, _>(Instant($now))
        .sql(" ORDER BY started_at DESC LIMIT 1)")
    };
}

/// The time until which the ledger is counted, and the counts, as the latest sweep remembers them.
macro_rules! latest_memory {
    ($now:expr) => {{
        use $crate::store::db::types::sql as types;
        (
            $crate::store::work::totals::latest!("ledger_until": types::Instant, $now),
            $crate::store::work::totals::latest!("ledger_counts": types::Document, $now),
        )
    }};
}

/// The rows that a sweep that closes now would remember, and the latest one did not.
macro_rules! to_be_counted {
    ($now:expr) => {{
        use $crate::store::db::schema::recoveries::{created_at, table};
        use $crate::store::work::totals::SETTLED_AFTER;
        let (until, _) = $crate::store::work::totals::latest_memory!($now);
        table.filter(created_at.lt(Instant($now - SETTLED_AFTER))).filter(created_at.nullable().ge(until))
    }};
}
pub(in crate::store) use {latest, latest_memory, to_be_counted};

fn remembered(db: &mut Db, now: DateTime<Utc>) -> QueryResult<(RawInstant, Totals)> {
    let latest: (Option<RawInstant>, Option<WrittenDocument>) = diesel::select(latest_memory!(now)).get_result(db)?;
    // What cannot be read is counted again, from the beginning.
    let read = latest.0.zip(latest.1.and_then(|counts| counts.read()));
    Ok(read.unwrap_or((RawInstant::Beginning, Totals::new())))
}

/// Adds the rows from one time on, and before another.
fn count(db: &mut Db, mut totals: Totals, from: &RawInstant, until: Option<DateTime<Utc>>) -> QueryResult<Totals> {
    use recoveries::{action, created_at, kind};
    let grouped = recoveries::table.group_by((kind, action)).select((kind, action, count_star())).into_boxed();
    // Others who may write to the ledger may name any number of kinds.
    totals.retain(|of_kind, _| Kind::parse(of_kind).is_some());
    let later = grouped.filter(kind.eq_any(Kind::names())).filter(created_at.ge(from));
    let counted = match until {
        None => later,
        Some(until) => later.filter(created_at.lt(Instant(until))),
    };
    for (of_kind, what, n) in counted.load::<(LossyText, LossyText, i64)>(db)? {
        *totals.entry(of_kind.0).or_default().entry(what.0).or_default() += n;
    }
    Ok(totals)
}
