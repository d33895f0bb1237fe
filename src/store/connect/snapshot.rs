//! What a verification looks at: what stands in a database, as texts that can be compared (its schema, its rows, and
//! the values that its columns may hold and do); what a host's relations tell of the wakes of a subject that the ledger
//! says sweep queued for it; and where the time of a statement goes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Json, Nullable, Text};
use regex::Regex;
use serde_json::Value;

use crate::rules::{Id, Kind};
use crate::store::db::dialect::Dialect;
use crate::store::hosts::catalog::{is_readable, quoted};
use crate::store::{Abort, Access, Db, DbConnection, Timeouts};

/// Everything that a migration can make, one line each, its schema first; on SQLite the schema is empty.
pub fn catalog(db: &mut Db) -> QueryResult<BTreeSet<String>> {
    let lines = match db.dialect() {
        Dialect::Postgres => include_str!("snapshot/catalog.sql"),
        Dialect::Sqlite => "SELECT ' ' || type || ' ' || name || ' ' || coalesce(sql, '') FROM main.sqlite_master",
    };
    Ok(sql::<Text>(lines).load::<String>(db)?.into_iter().collect())
}

/// What is wrong with the rights in sweep's schema, in sentences. A file has none.
pub fn rights(db: &mut Db) -> QueryResult<Vec<String>> {
    match db.dialect() {
        Dialect::Postgres => sql::<Text>(include_str!("snapshot/rights.sql")).load(db),
        Dialect::Sqlite => Ok(Vec::new()),
    }
}

/// The rows of each table by their primary keys, each as one text. A table of PostgreSQL's schema `public` is called by
/// its name alone, and the parts of one that is partitioned are not called anything.
pub type Rows = BTreeMap<String, BTreeMap<String, String>>;

/// The rows of all tables that this role can see.
pub fn rows(db: &mut Db) -> QueryResult<Rows> {
    let queries = queries(db)?.into_iter();
    let rows = |(table, query): (String, String)| {
        let rows: Vec<(String, String)> = sql::<(Text, Text)>(&query).load(db)?;
        Ok((table, rows.into_iter().collect()))
    };
    queries.map(rows).collect()
}

/// The first column of a query's rows, those without a value left out.
pub fn texts(db: &mut Db, query: &str) -> QueryResult<Vec<String>> {
    let query = format!("WITH answer (value) AS (\n{query}\n) SELECT CAST(value AS text) FROM answer");
    let rows: Vec<Option<String>> = sql::<Nullable<Text>>(&query).load(db)?;
    Ok(rows.into_iter().flatten().collect())
}

/// How many rows there are in all tables.
pub fn count_rows(db: &mut Db) -> QueryResult<i64> {
    let queries = queries(db)?.into_iter();
    let counts = queries.map(|(_, query)| format!("SELECT count(*) FROM ({query}) AS counted"));
    counts.map(|count| sql::<BigInt>(&count).get_result::<i64>(db)).sum()
}

/// The query that reads the rows of each table as texts. A row of a table without a key is its own.
fn queries(db: &mut Db) -> QueryResult<Vec<(String, String)>> {
    let queries = match db.dialect() {
        Dialect::Postgres => include_str!("snapshot/rows.postgres.sql"),
        Dialect::Sqlite => include_str!("snapshot/rows.sqlite.sql"),
    };
    sql::<(Text, Text)>(queries).load(db)
}

/// The listed values of each column, by the names of its table and its own; of one without a list none.
pub type ColumnValues = BTreeMap<(String, String), BTreeSet<String>>;

/// A list of values in the text of a table of SQLite's, which has it nowhere else.
static LIST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)\bcheck\s*\(\s*"?(\w+)"?\s+in\s*\(([^()]*)\)\s*\)"#).expect("a regular expression")
});

/// Lists the columns of all tables in a schema of PostgreSQL's, or in a file.
pub fn listed_values(db: &mut Db, schema: &str) -> QueryResult<ColumnValues> {
    const OF_POSTGRES: &str = include_str!("snapshot/values.postgres.sql");
    const OF_SQLITE: &str = "SELECT m.name, c.name, m.sql FROM main.sqlite_master m \
        JOIN pragma_table_info(m.name, 'main') c WHERE m.type = 'table'";
    let mut values = ColumnValues::new();
    match db {
        Db::Postgres(db) => {
            type Row = (String, String, Option<String>);
            let of_schema = sql::<(Text, Text, Nullable<Text>)>(OF_POSTGRES).sql("SELECT to_regnamespace(");
            for (table, column, value) in of_schema.bind::<Text, _>(schema).sql("))").load::<Row>(db)? {
                values.entry((table, column)).or_default().extend(value);
            }
        }
        Db::Sqlite(db) => {
            for (table, column, text) in sql::<(Text, Text, Text)>(OF_SQLITE).load::<(String, String, String)>(db)? {
                let lists = LIST.captures_iter(&text).filter(|list| list[1].eq_ignore_ascii_case(&column));
                let items: Vec<String> =
                    lists.flat_map(|list| list[2].split(',').map(unquoted).collect::<Vec<_>>()).collect();
                values.entry((table, column)).or_default().extend(items);
            }
        }
    }
    Ok(values)
}

/// The value of a literal of SQL, as a row holds it.
fn unquoted(literal: &str) -> String {
    let literal = literal.trim();
    match literal.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        Some(text) => text.replace("''", "'"),
        None if literal.eq_ignore_ascii_case("false") => "0".to_owned(),
        None if literal.eq_ignore_ascii_case("true") => "1".to_owned(),
        None => literal.to_owned(),
    }
}

/// Reads the values that stand in these columns now.
pub fn held_values(db: &mut Db, columns: &ColumnValues) -> QueryResult<ColumnValues> {
    let mut values = ColumnValues::new();
    for (table, column) in columns.keys() {
        let texts = texts(db, &format!("SELECT DISTINCT {} FROM {}", quoted(column), quoted(table)))?;
        values.insert((table.clone(), column.clone()), texts.into_iter().collect());
    }
    Ok(values)
}

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
            let steps = sql::<(Integer, Integer, Integer, Text)>(&format!("EXPLAIN QUERY PLAN {query}"));
            let steps: Vec<(i32, i32, i32, String)> = steps.load(db)?;
            Ok(steps.into_iter().map(|(.., detail)| detail).collect())
        }
    }
}

/// How much work a question is, whatever else the machine does: on PostgreSQL the rows and pages that the steps of its
/// query read, each time, and on SQLite the steps of its machine, ten of which are about a row.
pub fn work(db: &mut DbConnection, query: &str, question: impl FnOnce(&mut Db) -> QueryResult<()>) -> QueryResult<u64> {
    let before = db.steps();
    let counted = db.in_transaction(Access::ReadOnly, &Timeouts::default(), |db| match db {
        Db::Postgres(db) => {
            // As a sweep that takes one subject.
            db.batch_execute("SET LOCAL sweep.facts_of = 'one'")?;
            let plan = sql::<Json>(&format!("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {query}"));
            let plan = &plan.get_result::<Value>(db)?[0]["Plan"];
            Ok(number(plan, "Shared Hit Blocks") + number(plan, "Shared Read Blocks") + rows_read(plan))
        }
        Db::Sqlite(_) => question(db).map(|()| 0.0),
    });
    let steps = db.steps().zip(before).map(|(after, before)| (after - before) / 10);
    counted.map(|counted| steps.unwrap_or(counted as u64)).map_err(Abort::error)
}

/// The rows that a step of a plan and those below it read and leave out, and one for each time that a step is begun.
fn rows_read(step: &Value) -> f64 {
    let left_out = ["Rows Removed by Filter", "Rows Removed by Join Filter", "Rows Removed by Index Recheck"];
    let each = 1.0 + number(step, "Actual Rows") + left_out.map(|rows| number(step, rows)).iter().sum::<f64>();
    let below = step["Plans"].as_array().into_iter().flatten().map(rows_read);
    number(step, "Actual Loops") * each + below.sum::<f64>()
}

fn number(step: &Value, name: &str) -> f64 {
    step[name].as_f64().unwrap_or_default()
}

/// Reads a line of PostgreSQL's plan: what the step does, and how many milliseconds it took.
fn step_of(line: &str) -> Option<(String, f64)> {
    let [what, took, times] = STEP.captures(line)?.extract().1;
    Some((what.to_owned(), took.parse::<f64>().ok()? * times.parse::<f64>().ok()?))
}
