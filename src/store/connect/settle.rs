//! What became of a commit whose answer was lost, where no row of the ledger tells: PostgreSQL is asked what became of
//! the transaction, by its number. SQLite loses no answer.

use std::thread::sleep;
use std::time::Duration;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::{Bool, Nullable, Text};

use crate::store::connect::open::Url;
use crate::store::{Abort, Access, Db, DbConnection, Timeouts};

/// How often a transaction is asked about that may be under way, and after which pauses: a server takes a moment to
/// notice that a client is gone.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// Asks what became of a transaction until that is known. None: the transaction is still under way.
pub fn ask_until_known<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    for _ in 0..TRIES {
        if let Some(known) = ask() {
            return Some(known);
        }
        sleep(PAUSE);
    }
    ask()
}

/// The functions of the server's that are called; a managed server may deny them.
const NEEDED: [&str; 3] =
    ["pg_current_xact_id_if_assigned()", "pg_xact_status(pg_catalog.xid8)", "pg_postmaster_start_time()"];

/// When the server was started, without a zone: a number of another server's, such as of a standby that took over, is
/// another transaction's.
const STARTED: &str = "CAST(EXTRACT(epoch FROM pg_postmaster_start_time()) AS text)";

/// A transaction: its number, and when its server was started.
type Transaction = (Option<String>, String);

/// Runs a transaction that writes. If the answer to its commit is lost, the server is asked on a new connection: what
/// stands is done, and what does not failed.
pub fn write<T, E: From<Error>>(
    url: &Url,
    db: &mut DbConnection,
    timeouts: &Timeouts,
    body: impl FnOnce(&mut Db) -> Result<T, E>,
) -> Result<T, Abort<E>> {
    let mut transaction = None;
    let mut value = None;
    let ended = db.in_transaction(Access::Write, timeouts, |db| {
        let done = body(db)?;
        transaction = under_way(db)?;
        value = Some(done);
        Ok(())
    });
    match (ended, value) {
        (Ok(()), Some(value)) => Ok(value),
        (Err(Abort::Unknown(error)), Some(value)) => match has_committed(url, timeouts, transaction) {
            Some(true) => Ok(value),
            Some(false) => Err(Abort::RolledBack(error)),
            None => Err(Abort::Unknown(error)),
        },
        (Err(abort), _) => Err(abort),
        (Ok(()), None) => unreachable!("what was committed has a value"),
    }
}

/// The transaction that is under way. None: there is nothing to ask by.
fn under_way(db: &mut Db) -> QueryResult<Option<Transaction>> {
    let Db::Postgres(db) = db else { return Ok(None) };
    let may = NEEDED.map(|function| format!("has_function_privilege('pg_catalog.{function}', 'EXECUTE')"));
    if !diesel::select(sql::<Bool>(&may.join(" AND "))).get_result::<bool>(db)? {
        return Ok(None);
    }
    let number = format!("CAST(pg_current_xact_id_if_assigned() AS text), {STARTED}");
    diesel::select(sql::<(Nullable<Text>, Text)>(&number)).get_result(db).map(Some)
}

fn has_committed(url: &Url, timeouts: &Timeouts, transaction: Option<Transaction>) -> Option<bool> {
    let (number, started) = transaction?;
    let number: u64 = number?.parse().ok()?;
    let mut db = url.connect_again(Access::ReadOnly).ok()?;
    ask_until_known(|| {
        let said = db.in_transaction(Access::ReadOnly, timeouts, |db| status(db, number, &started)).ok().flatten();
        match said.as_deref() {
            Some("committed") => Some(Some(true)),
            Some("aborted") => Some(Some(false)),
            Some(_) => None,
            None => Some(None),
        }
    })?
}

/// None: the server is another one, or has forgotten the transaction.
fn status(db: &mut Db, number: u64, started: &str) -> QueryResult<Option<String>> {
    let Db::Postgres(db) = db else { return Ok(None) };
    let status = sql::<Nullable<Text>>(&format!("CASE WHEN {STARTED} = ")).bind::<Text, _>(started);
    diesel::select(status.sql(&format!(" THEN pg_xact_status('{number}') END"))).get_result(db)
}
