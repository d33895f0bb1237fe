//! How many locks a subject takes in a host whose tables have partitions: a query that reads its facts locks each
//! partition and each index of it, in a table of the server's that all its clients share (PostgreSQL).

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::BigInt;

use crate::rules::Kind;
use crate::store::Db;

/// The server's table of locks, and what one subject needs of it.
#[derive(Clone, Copy, Debug)]
pub struct LockTable {
    pub per_subject: i64,
    pub size: i64,
    /// What all clients hold at the moment.
    pub in_use: i64,
}

/// Counts the locks of the kind that takes the most. None: the database is one of SQLite's.
pub fn count(db: &mut Db, kinds: &[Kind]) -> QueryResult<Option<LockTable>> {
    let Db::Postgres(db) = db else { return Ok(None) };
    let number = |db: &mut PgConnection, what: &str| diesel::select(sql::<BigInt>(what)).get_result::<i64>(db);
    let in_use = number(db, "(SELECT count(*) FROM pg_locks)")?;
    for kind in kinds {
        // A subject that is found by a query is none that a plan knows: no partition is left out, as in a kept plan.
        let first = format!("(SELECT subject_id FROM {kind}_candidates LIMIT 1)");
        diesel::sql_query(format!("SELECT * FROM {kind}_decided_facts WHERE subject_id = {first}")).execute(db)?;
    }
    let per_subject = number(db, "(SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid())")?;
    let size = "current_setting('max_locks_per_transaction')::bigint * (current_setting('max_connections')::bigint \
                + current_setting('max_prepared_transactions')::bigint)";
    Ok(Some(LockTable { per_subject, size: number(db, size)?, in_use }))
}
