//! What a verification asks of a copy as a sweep does: what a host's relations tell of the wakes of a subject that the
//! ledger says sweep queued for it, and where the time of a statement goes.

use std::sync::LazyLock;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use regex::Regex;

use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::connect::snapshot::texts;
use crate::store::hosts::catalog::is_readable;

/// The wakes of which a relation has no row, by their ids. A host without the relation has none to lack.
pub fn unknown_wakes(db: &mut Db, relation: &str, kind: Kind, id: &Id) -> QueryResult<Vec<String>> {
    let of_ledger = queued_by_sweep(kind, id);
    let query = format!("{of_ledger} AND CAST(r.wake_id AS text) NOT IN (SELECT CAST(id AS text) FROM {relation})");
    if is_readable(db, relation)? { texts(db, &query) } else { Ok(Vec::new()) }
}

/// The statuses of those that nobody has taken up, as the host's wakes tell; a host whose facts are its own tells none.
pub fn statuses_of_waiting(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<Vec<String>> {
    let of_ledger = queued_by_sweep(kind, id);
    texts(db, &format!("SELECT status FROM wakes WHERE status IN ('queued', 'deferred') AND id IN ({of_ledger})"))
}

/// The wakes that the host counts among those that were not taken up.
pub fn untaken(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<Vec<String>> {
    let of_ledger = queued_by_sweep(kind, id);
    let query = format!(
        "SELECT id FROM untaken_wakes WHERE CAST(id AS text) IN (SELECT CAST(wake_id AS text) FROM ({of_ledger}) w)"
    );
    if is_readable(db, "untaken_wakes")? { texts(db, &query) } else { Ok(Vec::new()) }
}

/// Do people see that a wake of this subject was not taken up? A host without that relation shows none.
pub fn is_stuck_in_sight(db: &mut Db, id: &Id) -> QueryResult<bool> {
    let query = format!("SELECT subject_id FROM untaken_wakes WHERE subject_id = '{id}'");
    Ok(!is_readable(db, "untaken_wakes")? || !texts(db, &query)?.is_empty())
}

/// Was a wake of this subject in vain, as the host tells?
pub fn has_false_rescue(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<bool> {
    let query = format!("SELECT recovery_id FROM false_rescues WHERE kind = '{kind}' AND subject_id = '{id}'");
    Ok(!texts(db, &query)?.is_empty())
}

/// The query that finds the wakes that the ledger says sweep queued for a subject.
fn queued_by_sweep(kind: Kind, id: &Id) -> String {
    format!(
        "SELECT r.wake_id FROM recoveries r WHERE r.kind = '{kind}' AND r.subject_id = '{id}' AND r.wake_id IS NOT NULL"
    )
}

/// A step that took a tenth of the whole says something.
const SHARE: f64 = 0.1;

/// A step of PostgreSQL's plan: what it does, how many milliseconds it took each time, and how often it was done.
static STEP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^ *(?:-> +)?(.*?) +\(actual time=[\d.]+\.\.([\d.]+) rows=[\d.]+ loops=(\d+)\)$")
        .expect("a regular expression")
});

/// The query by which a scan asks for candidates.
pub fn select_candidates(kind: Kind) -> String {
    format!("SELECT * FROM {kind}_candidates")
}

/// The query by which the facts of these subjects are asked for.
pub fn select_facts(kind: Kind, ids: &[Id]) -> String {
    let ids: Vec<String> = ids.iter().map(|id| format!("'{id}'")).collect();
    format!("SELECT * FROM {kind}_facts WHERE subject_id IN ({})", ids.join(", "))
}

/// Runs a query, and says which steps took long; of SQLite, which knows no times, all steps.
pub fn slow_steps(db: &mut Db, query: &str) -> QueryResult<Vec<String>> {
    match db {
        Db::Postgres(db) => {
            let lines: Vec<String> =
                sql::<Text>(&format!("EXPLAIN (ANALYZE, COSTS OFF, SUMMARY OFF) {query}")).load(db)?;
            let steps: Vec<(String, f64)> = lines.iter().filter_map(|line| step_of(line)).collect();
            let whole = steps.first().map_or(0.0, |(_, took)| *took);
            let long = steps.into_iter().filter(|(_, took)| SHARE * whole <= *took);
            Ok(long.map(|(what, took)| format!("{what} {took:.1} ms")).collect())
        }
        Db::Sqlite(db) => {
            let steps = diesel::sql_query(format!("EXPLAIN QUERY PLAN {query}")).load::<PlannedStep>(db)?;
            Ok(steps.into_iter().map(|step| step.detail).collect())
        }
    }
}

/// A step of SQLite's plan.
#[derive(QueryableByName)]
struct PlannedStep {
    #[diesel(sql_type = Text)]
    detail: String,
}

/// Reads a line of PostgreSQL's plan: what the step does, and how many milliseconds it took.
fn step_of(line: &str) -> Option<(String, f64)> {
    let [what, took, times] = STEP.captures(line)?.extract().1;
    Some((what.to_owned(), took.parse::<f64>().ok()? * times.parse::<f64>().ok()?))
}
