//! What the views of the boards go by: the one row of the table `policy`, written from the rules.

use std::collections::BTreeMap;

use diesel::connection::SimpleConnection;
use diesel::dsl::{select, sql};
use diesel::prelude::*;
use diesel::sql_types::Bool;
use serde_json::{Value, json};

use crate::rules::board::Vocabulary;
use crate::rules::{AHEAD_MAX, Policy};
use crate::store::Db;
use crate::store::db::dialect::Dialect;

/// The columns that no sweep decides.
const VOCABULARY: [&str; 2] = ["vocabulary", "clock_ahead_max_seconds"];

/// What goes with the views of this version, as statements. The limits of a row that is there are left: they are those
/// of the latest sweep. `prefix`: with what the table's name begins.
pub fn preparation(prefix: &str, dialect: Dialect) -> String {
    let policy = Policy::default();
    let row = row(&policy);
    let of_the_rules = VOCABULARY.map(|column| format!("{column} = {}", row[column])).join(", ");
    let insertion = insertion(&policy, prefix, dialect);
    format!("UPDATE {prefix}policy SET {of_the_rules};\n{insertion};\n")
}

/// Is it there already?
pub fn is_prepared(db: &mut Db) -> QueryResult<bool> {
    let row = row(&Policy::default());
    let same = VOCABULARY.map(|column| format!("{column} = {}", row[column])).join(" AND ");
    select(sql::<Bool>(&format!("EXISTS (SELECT 1 FROM policy WHERE {same})"))).get_result(db)
}

/// A condition of SQL: the row has the limits of a sweep.
pub fn says(policy: &Policy) -> String {
    equal(policy).join(" AND ")
}

/// Writes the limits of a sweep. One that somebody else holds is left: whoever has it is about to write it, or stopped
/// in the middle of that, and no sweep waits for a board.
pub fn write(db: &mut Db, policy: &Policy) -> QueryResult<()> {
    let free = db.dialect().either(" WHERE only_row IN (SELECT only_row FROM policy FOR UPDATE SKIP LOCKED)", "");
    let insertion = insertion(policy, "", db.dialect());
    db.batch_execute(&format!("UPDATE policy SET {}{free};\n{insertion}", equal(policy).join(", ")))
}

fn equal(policy: &Policy) -> Vec<String> {
    row(policy).iter().map(|(column, value)| format!("{column} = {value}")).collect()
}

/// The statement that inserts the row, if there is none.
fn insertion(policy: &Policy, prefix: &str, dialect: Dialect) -> String {
    let (columns, values): (Vec<_>, Vec<_>) = row(policy).into_iter().unzip();
    let (columns, values) = (columns.join(", "), values.join(", "));
    match dialect {
        // In another program's file it is a view, which takes no upsert; and whoever writes is alone.
        Dialect::Sqlite => format!(
            "INSERT INTO {prefix}policy ({columns}) SELECT {values} WHERE NOT EXISTS (SELECT 1 FROM {prefix}policy)"
        ),
        Dialect::Postgres => format!("INSERT INTO policy ({columns}) VALUES ({values}) ON CONFLICT DO NOTHING"),
    }
}

/// The columns, named as in the JSON of a policy, and their values as SQL writes them.
fn row(policy: &Policy) -> BTreeMap<&'static str, String> {
    const LIMITS: [&str; 8] = [
        "orphan_grace_seconds", "step_stalled_after_seconds", "session_silent_after_seconds",
        "run_silent_after_seconds", "wake_stuck_after_seconds", "nudge_delay_seconds", "attempts_max",
        "attempts_per_day_max",
    ];
    let policy = json!(policy);
    let values = [json!(Vocabulary::of_the_rules()), json!(AHEAD_MAX.num_seconds())];
    let vocabulary = VOCABULARY.into_iter().zip(values);
    let limits = LIMITS.map(|limit| (limit, policy[limit].clone()));
    limits.into_iter().chain(vocabulary).map(|(column, value)| (column, literal(&value))).collect()
}

fn literal(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        document => format!("'{}'", document.to_string().replace('\'', "''")),
    }
}
