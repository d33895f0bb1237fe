//! What is written about one subject, and how much of it was.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::result::Error;
use diesel::sql_types::{BigInt, Integer, Nullable};

use crate::store::Db;
use crate::store::db::MultiBackend;

/// What is written about one subject, in this order. On PostgreSQL it is one statement, and so one round trip; whatever
/// its triggers do, they do not see what comes later. A row that is updated comes before what may fire a trigger, since
/// one that a trigger has changed cannot be updated by the same statement.
#[derive(Default)]
pub struct Writes<'a>(Vec<(WriteStatement<'a>, IfNothing)>);

/// One of the DSL's, with its values.
type WriteStatement<'a> = Box<dyn QueryFragment<MultiBackend> + 'a>;

/// What it means that a statement has written no row.
enum IfNothing {
    /// A trigger of the host's that writes nothing makes no error by itself: what was not written must not be recorded
    /// as done.
    Refused(&'static str),
    /// The row is no longer as it was seen.
    Changed,
}

impl<'a> Writes<'a> {
    /// One row into a relation.
    pub fn insert(&mut self, relation: &'static str, statement: impl QueryFragment<MultiBackend> + 'a) {
        self.0.push((Box::new(statement), IfNothing::Refused(relation)));
    }

    /// An update of a row as it was seen.
    pub fn update_as_seen(&mut self, statement: impl QueryFragment<MultiBackend> + 'a) {
        self.0.push((Box::new(statement), IfNothing::Changed));
    }

    /// Writes all of it, or fails: with `NotFound` when a row was no longer as it was seen.
    pub fn execute(self, db: &mut Db) -> QueryResult<()> {
        match db {
            _ if self.0.is_empty() => Ok(()),
            Db::Postgres(_) => {
                let failed: Option<i32> = Together(&self.0).get_result(db)?;
                let failed = failed.and_then(|place| self.0.get(place as usize));
                failed.map_or(Ok(()), |(_, if_nothing)| Err(if_nothing.error()))
            }
            Db::Sqlite(_) => self.0.iter().try_for_each(|(statement, if_nothing)| {
                let rows = rows_written(db, |db| Alone(&**statement).execute(db))?;
                if rows == 0 { Err(if_nothing.error()) } else { Ok(()) }
            }),
        }
    }
}

impl IfNothing {
    fn error(&self) -> Error {
        match self {
            IfNothing::Changed => Error::NotFound,
            IfNothing::Refused(relation) => {
                Error::QueryBuilderError(format!("the host's {relation} took no row: its trigger wrote nothing").into())
            }
        }
    }
}

/// `WITH w0 AS (INSERT … RETURNING 1), … SELECT CASE WHEN NOT EXISTS (SELECT FROM w0) THEN 0 … END`: each is executed
/// when it is asked whether it has written a row, in this order; and the answer is the place of the first that has not.
struct Together<'a, 'b>(&'a [(WriteStatement<'b>, IfNothing)]);

impl QueryFragment<MultiBackend> for Together<'_, '_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        for (place, (statement, _)) in self.0.iter().enumerate() {
            out.push_sql(&format!("{} w{place} AS (", if place == 0 { "WITH" } else { "," }));
            statement.walk_ast(out.reborrow())?;
            out.push_sql(" RETURNING 1)");
        }
        let cases = (0..self.0.len()).map(|place| format!(" WHEN NOT EXISTS (SELECT FROM w{place}) THEN {place}"));
        out.push_sql(&format!(" SELECT CASE{} END", cases.collect::<String>()));
        Ok(())
    }

    /// The DSL takes it that an update may set other columns each time; these have one text each, by which they are
    /// cached.
    fn is_safe_to_cache_prepared(&self, _backend: &MultiBackend) -> QueryResult<bool> {
        Ok(true)
    }
}

impl QueryId for Together<'_, '_> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl Query for Together<'_, '_> {
    type SqlType = Nullable<Integer>;
}

impl RunQueryDsl<Db> for Together<'_, '_> {}

/// One of them.
struct Alone<'a, 'b>(&'a (dyn QueryFragment<MultiBackend> + 'b));

impl QueryFragment<MultiBackend> for Alone<'_, '_> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        self.0.walk_ast(out)
    }
}

impl QueryId for Alone<'_, '_> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl RunQueryDsl<Db> for Alone<'_, '_> {}

/// The rows that `write` has written. SQLite itself does not count what a view's triggers write; so where one row is
/// written by several of them, there are more.
pub fn rows_written(db: &mut Db, write: impl FnOnce(&mut Db) -> QueryResult<usize>) -> QueryResult<usize> {
    let before = written_so_far(db)?;
    let counted = write(db)?;
    let after = written_so_far(db)?;
    Ok(before.zip(after).map_or(counted, |(before, after)| usize::try_from(after - before).unwrap_or(0)))
}

/// An update of a row as it was seen. Fails with `NotFound` when it is no longer so.
pub fn update_as_seen(db: &mut Db, write: impl FnOnce(&mut Db) -> QueryResult<usize>) -> QueryResult<()> {
    if rows_written(db, write)? == 0 { Err(Error::NotFound) } else { Ok(()) }
}

/// The rows that this connection has written; none on PostgreSQL, which counts each statement's.
fn written_so_far(db: &mut Db) -> QueryResult<Option<i64>> {
    match db {
        Db::Postgres(_) => Ok(None),
        Db::Sqlite(db) => diesel::select(sql::<BigInt>("total_changes()")).get_result(db).map(Some),
    }
}
