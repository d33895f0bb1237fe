//! Where the time of a statement goes.

use std::sync::LazyLock;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Integer, Text};
use regex::Regex;

use crate::rules::{Id, Kind};
use crate::store::Db;

/// A step that took a tenth of the whole says something.
const SHARE: f64 = 0.1;

/// A step of PostgreSQL's plan: what it does, how many milliseconds it took each time, and how often it was done.
static STEP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^ *(?:-> +)?(.*?) +\(actual time=[\d.]+\.\.([\d.]+) rows=[\d.]+ loops=(\d+)\)$")
        .expect("a regular expression")
});

/// What a scan asks for.
pub fn of_candidates(kind: Kind) -> String {
    format!("SELECT * FROM {kind}_candidates")
}

/// What is asked about these subjects.
pub fn of_facts(kind: Kind, ids: &[Id]) -> String {
    let ids: Vec<String> = ids.iter().map(|id| format!("'{id}'")).collect();
    format!("SELECT * FROM {kind}_facts WHERE subject_id IN ({})", ids.join(", "))
}

/// Runs a query, and says which steps took long; of SQLite, which knows no times, all steps.
pub fn steps(db: &mut Db, query: &str) -> QueryResult<Vec<String>> {
    match db {
        Db::Postgres(db) => {
            let lines: Vec<String> =
                sql::<Text>(&format!("EXPLAIN (ANALYZE, COSTS OFF, SUMMARY OFF) {query}")).load(db)?;
            let steps: Vec<(String, f64)> = lines.iter().filter_map(|line| step(line)).collect();
            let whole = steps.first().map_or(0.0, |(_, took)| *took);
            let long = steps.into_iter().filter(|(_, took)| SHARE * whole <= *took);
            Ok(long.map(|(what, took)| format!("{what} {took:.1} ms")).collect())
        }
        Db::Sqlite(db) => {
            type Row = (i32, i32, i32, String);
            let rows =
                sql::<(Integer, Integer, Integer, Text)>(&format!("EXPLAIN QUERY PLAN {query}")).load::<Row>(db)?;
            Ok(rows.into_iter().map(|(_, _, _, what)| what).collect())
        }
    }
}

fn step(line: &str) -> Option<(String, f64)> {
    let [what, took, times] = STEP.captures(line)?.extract().1;
    Some((what.to_owned(), took.parse::<f64>().ok()? * times.parse::<f64>().ok()?))
}
