//! Which column of a host's view is null for a subject where the contract of docs/host-reference.md wants a value: the
//! driver does not say.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::Text;

use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::db::errors;
use crate::store::db::types::sql as types;
use crate::store::hosts::contract::CONTRACT;

/// Why a row could not be read, with the name of the view and of the column.
pub fn describe(db: &mut Db, kind: Kind, id: &Id, error: &Error) -> String {
    let columns = if errors::is_null(error) { columns(db, kind, id).unwrap_or_default() } else { String::new() };
    match columns.split_whitespace().collect::<Vec<_>>().as_slice() {
        [] => errors::of_row(kind, error),
        [column] => format!("the column {column} of the view {kind}_facts is null, and must not be"),
        columns => format!("the columns {} of the view {kind}_facts are null, and must not be", columns.join(", ")),
    }
}

/// With a space behind each.
fn columns(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<String> {
    let named = CONTRACT.facts_with_a_value(kind).map(|it| format!("CASE WHEN {it} IS NULL THEN '{it} ' ELSE '' END"));
    let named = named.collect::<Vec<_>>().join(" || ");
    let query = sql::<Text>(&format!("SELECT {named} FROM {kind}_facts WHERE subject_id = "));
    query.bind::<types::Id, _>(id).get_result(db)
}
