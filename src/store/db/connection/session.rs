//! How long a statement, a lock and a commit are waited for, and the settings of a session of PostgreSQL's. Behind a
//! transaction pooler the session is somebody else's in turn, and holds what that one has set: each transaction sets
//! first what it goes by. And the transactions of an embedded database: who waits for its lock, and for how long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use backon::{BlockingRetryable, ConstantBuilder};
use chrono::TimeDelta;
use diesel::connection::{AnsiTransactionManager, SimpleConnection, TransactionManager};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable, Text};

use crate::store::Db;
use crate::store::db::errors;

/// How long one statement may take, and how long it may wait for a lock (on SQLite always as long as anybody would).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timeouts {
    pub statement: TimeDelta,
    /// Below the server's deadlock_timeout of 1 s, so that the sweep gives way before its host is chosen as a victim.
    pub lock: TimeDelta,
    /// When whoever waits for the answers gives up: a statement ends before, and afterwards nothing is begun or
    /// committed, whenever a server that was silent goes on. None: somebody waits for as long as it takes.
    pub given_up_at: Option<Instant>,
}

/// A statement ends so long before whoever waits for it gives up, or half of the time that is left before.
const TO_ANSWER: Duration = Duration::from_secs(1);

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts { statement: TimeDelta::seconds(30), lock: TimeDelta::milliseconds(500), given_up_at: None }
    }
}

impl Timeouts {
    /// How long a statement may take that begins now, in milliseconds.
    pub fn statement_ms(&self) -> i64 {
        let all = self.statement.num_milliseconds();
        let Some(at) = self.given_up_at else { return all };
        let left = at.saturating_duration_since(Instant::now());
        let most = left.saturating_sub(TO_ANSWER).max(left / 2).as_millis();
        all.min(i64::try_from(most).unwrap_or(i64::MAX)).max(1)
    }

    /// How long two statements may take, which each end by themselves when there is a server at all.
    pub fn question(&self) -> Duration {
        2 * self.statement.to_std().unwrap_or_default()
    }
}

/// Which commits wait for the disk (PostgreSQL).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Durable {
    /// With others, at most a tenth of a second later, and before anything is reported of it. What a crash of the
    /// server loses until then is lost whole, and the next sweep does it again.
    #[default]
    Together,
    /// Before it is answered, by the server's own `synchronous_commit`.
    Each,
}

/// A commit that waits for the disk as the server is set up: a session's default is what it began with.
pub const FLUSHING_COMMIT: &str = "SET LOCAL synchronous_commit TO DEFAULT; COMMIT";

/// As the session began, whatever a client before us behind a pooler has set in it: with whose rights statements run,
/// what a commit waits for, and how values are read and written. PostgreSQL knows more settings: those have a statement
/// end, or take longer, and leave what it does as it is.
pub const AS_IT_BEGAN: &str = "SET LOCAL role TO DEFAULT; SET LOCAL row_security TO DEFAULT; \
    SET LOCAL synchronous_commit TO DEFAULT; SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle TO DEFAULT; \
    SET LOCAL IntervalStyle TO DEFAULT; SET LOCAL standard_conforming_strings TO DEFAULT; \
    SET LOCAL bytea_output TO DEFAULT; SET LOCAL extra_float_digits TO DEFAULT; SET LOCAL array_nulls TO DEFAULT; \
    SET LOCAL transform_null_equals TO DEFAULT; SET LOCAL quote_all_identifiers = off; \
    SET LOCAL xmloption TO DEFAULT; SET LOCAL gin_fuzzy_search_limit TO DEFAULT";

/// The further settings of a transaction that makes tables, which may take its time.
pub const AS_IT_BEGAN_TO_MIGRATE: &str = "SET LOCAL statement_timeout TO DEFAULT; SET LOCAL lock_timeout TO DEFAULT; \
    SET LOCAL idle_in_transaction_session_timeout TO DEFAULT; SET LOCAL default_tablespace TO DEFAULT; \
    SET LOCAL default_table_access_method TO DEFAULT; SET LOCAL check_function_bodies TO DEFAULT; SET LOCAL jit = off";

/// What transactions set only where it is needed: a server whose database has no encoding refuses to send what is none
/// of the client's, so that there the client has none either; and before version 17 there is no limit of a transaction.
pub const OF_ITS_SERVER: &str = "SELECT set_config(name, value, true) FROM (VALUES ('transaction_timeout', '0'), \
    ('client_encoding', CASE current_setting('server_encoding') WHEN 'SQL_ASCII' THEN 'SQL_ASCII' ELSE 'UTF8' END)) \
    AS setting (name, value) WHERE current_setting(name, true) <> value";

/// The statements of `OF_ITS_SERVER` that this server needs, to be asked for once; and whether `is_lent` may be asked,
/// which a managed server may deny: then the first statement that is lost tells.
pub fn of_this_server(db: &mut PgConnection) -> QueryResult<(String, bool)> {
    // PostgreSQL's own functions, wherever names are looked up.
    let settings = "pg_catalog.current_setting('server_encoding'), \
                    pg_catalog.current_setting('transaction_timeout', true), \
                    pg_catalog.has_function_privilege('pg_catalog.pg_prepared_statement()', 'EXECUTE')";
    let settings = diesel::select(sql::<(Text, Nullable<Text>, Bool)>(settings));
    let (encoding, limit, may_ask) = settings.get_result::<(String, Option<String>, bool)>(db)?;
    let encoding = if encoding == "SQL_ASCII" { "SQL_ASCII" } else { "UTF8" };
    let no_limit = limit.map_or("", |_| "; SET LOCAL transaction_timeout = 0");
    Ok((format!("SET LOCAL client_encoding = '{encoding}'{no_limit}"), may_ask))
}

/// True if somebody else has prepared statements by diesel in this session, which is new to us: a pooler lends the
/// session.
pub fn is_lent(db: &mut PgConnection) -> QueryResult<bool> {
    let is_there = "EXISTS (SELECT FROM pg_catalog.pg_prepared_statements \
                    WHERE pg_catalog.starts_with(name, '__diesel_stmt_'))";
    diesel::select(sql::<Bool>(is_there)).get_result(db)
}

/// The mode of a transaction that makes tables; on a standby, where there is nothing to make, one that reads.
pub fn mode_to_migrate(db: &mut PgConnection) -> QueryResult<&'static str> {
    // A managed server may deny pg_is_in_recovery().
    let is_standby = sql::<Bool>("pg_catalog.current_setting('in_hot_standby') OPERATOR(pg_catalog.=) 'on'");
    let is_standby = diesel::select(is_standby).get_result(db)?;
    Ok(match is_standby {
        true => "SET TRANSACTION ISOLATION LEVEL READ COMMITTED READ ONLY",
        false => "SET TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE",
    })
}

/// Whether statements are prepared, so that they are planned once for a connection (PostgreSQL). A transaction pooler
/// that does not know prepared statements, such as PgBouncer before 1.21, gives them to somebody else's connection: as
/// soon as one is lost so, or another's is met, none is prepared any more. The clones of what is known of a server
/// share what one of them finds out.
#[derive(Clone, Debug, Default)]
pub struct StatementCache {
    is_off: Arc<AtomicBool>,
}

impl StatementCache {
    /// For a pooler that is known to lose prepared statements.
    pub fn off() -> StatementCache {
        StatementCache { is_off: Arc::new(AtomicBool::new(true)) }
    }

    pub(super) fn is_off(&self) -> bool {
        self.is_off.load(Ordering::Relaxed)
    }

    pub(super) fn turn_off(&self) {
        self.is_off.store(true, Ordering::Relaxed);
    }
}

/// It is no part of which database it is.
impl PartialEq for StatementCache {
    fn eq(&self, _: &StatementCache) -> bool {
        true
    }
}

/// SQLite itself waits for a lock: as long as anybody would.
pub const PATIENT: &str = "PRAGMA busy_timeout = 5000";
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
pub(super) fn begin_in_turn(db: &mut Db, statement: &str) -> QueryResult<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_ends_before_whoever_waits_for_it_gives_up() {
        let ms = |left: Option<u64>| {
            let given_up_at = left.map(|left| Instant::now() + Duration::from_millis(left));
            Timeouts { given_up_at, ..Timeouts::default() }.statement_ms()
        };
        assert_eq!((ms(None), ms(Some(60_000)), ms(Some(0))), (30_000, 30_000, 1));
        assert!((3_900..=4_000).contains(&ms(Some(5_000))) && (400..=500).contains(&ms(Some(1_000))));
    }
}
