//! How much a statement has written.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::BigInt;

use super::Db;

/// The rows that `write` has written. SQLite itself does not count what a view's triggers write; so where one row is
/// written by several of them, there are more.
pub fn rows_written(db: &mut Db, write: impl FnOnce(&mut Db) -> QueryResult<usize>) -> QueryResult<usize> {
    let before = written_so_far(db)?;
    let counted = write(db)?;
    let after = written_so_far(db)?;
    Ok(before.zip(after).map_or(counted, |(before, after)| usize::try_from(after - before).unwrap_or(0)))
}

/// One row into a relation of the host's. A trigger of its that writes nothing makes no error by itself: what was not
/// written must not be recorded as done.
pub fn insert_one(db: &mut Db, relation: &str, write: impl FnOnce(&mut Db) -> QueryResult<usize>) -> QueryResult<()> {
    match rows_written(db, write)? {
        0 => Err(Error::QueryBuilderError(
            format!("the host's {relation} took no row: its trigger wrote nothing").into(),
        )),
        _ => Ok(()),
    }
}

/// An update of a row as it was seen. Fails with `NotFound` when it is no longer so.
pub fn update_as_seen(db: &mut Db, write: impl FnOnce(&mut Db) -> QueryResult<usize>) -> QueryResult<()> {
    if rows_written(db, write)? == 0 { Err(Error::NotFound) } else { Ok(()) }
}

/// By this connection; none on PostgreSQL, which counts each statement's.
fn written_so_far(db: &mut Db) -> QueryResult<Option<i64>> {
    match db {
        Db::Postgres(_) => Ok(None),
        Db::Sqlite(db) => diesel::select(sql::<BigInt>("total_changes()")).get_result(db).map(Some),
    }
}
