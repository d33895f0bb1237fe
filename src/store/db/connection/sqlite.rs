//! The transactions of an embedded database: who waits for its lock, and for how long.

use std::time::Duration;

use anyhow::Result;
use backon::{BlockingRetryable, ConstantBuilder};
use diesel::connection::{AnsiTransactionManager, SimpleConnection, TransactionManager};
use diesel::prelude::*;

use crate::store::Db;
use crate::store::db::errors;

/// SQLite itself waits for a lock: as long as anybody would.
pub(in crate::store) const PATIENT: &str = "PRAGMA busy_timeout = 5000";
/// It does not wait at all.
const IMPATIENT: &str = "PRAGMA busy_timeout = 0";

/// Keeps SQLite from writing the log back into the file, and deleting it, when a connection of this process is
/// closed: whoever closes last does that. A program that opens and closes its file beside SQLite loses its locks on
/// it, as POSIX has it; then we seem to be the last, and all that the program writes afterwards is gone. A
/// connection that only reads never does it, so one is kept until all others are closed.
pub struct Companion {
    _reader: SqliteConnection,
}

impl Companion {
    /// `reader`: opened with `mode=ro`. It has a part in the lock of the file from its first look at it on.
    pub fn new(mut reader: SqliteConnection) -> QueryResult<Companion> {
        reader.batch_execute(&format!("{PATIENT}; SELECT count(*) FROM sqlite_master"))?;
        Ok(Companion { _reader: reader })
    }
}

/// The log of another program's file is written back by that program.
pub const NO_CHECKPOINT: &str = "PRAGMA wal_autocheckpoint = 0";

/// Readers and the writer do not wait for one another then; the file keeps it.
pub(super) fn keep_a_write_ahead_log(db: &mut Db) -> QueryResult<()> {
    in_turn(|| db.batch_execute("PRAGMA journal_mode = WAL"))
}

/// Begins a transaction. SQLite asks for the lock ever more seldom the longer it has waited, so that of several sweeps
/// those that began first come last, or never; here all that wait ask equally often.
pub(super) fn begin(db: &mut Db, statement: &str) -> QueryResult<()> {
    let begun = in_turn(|| db.batch_execute(&format!("{IMPATIENT}; {statement}")));
    db.batch_execute(PATIENT)?;
    begun
}

/// Tries again every 1 to 2 ms, and for some ten seconds, while another has the lock.
fn in_turn(attempt: impl FnMut() -> QueryResult<()>) -> QueryResult<()> {
    let waits = ConstantBuilder::default().with_delay(Duration::from_millis(1)).with_jitter().with_max_times(6_000);
    attempt.retry(waits).when(errors::is_contention).sleep(std::thread::sleep).call()
}

/// One transaction that nobody else's write comes between: one that reads first and writes later would fail then.
pub(super) fn immediately<T>(db: &mut Db, body: impl FnOnce(&mut Db) -> Result<T>) -> Result<T> {
    if let Db::Sqlite(db) = db {
        in_turn(|| AnsiTransactionManager::begin_transaction_sql(db, "BEGIN IMMEDIATE"))?;
    }
    let result = body(db);
    type Manager = <Db as Connection>::TransactionManager;
    match result {
        Ok(_) => Manager::commit_transaction(db)?,
        // What went wrong before says more than what goes wrong now.
        Err(_) => drop(Manager::rollback_transaction(db)),
    }
    result
}
