//! A connection to a database. Nothing but what its server is like is asked on it outside of a transaction, and on
//! PostgreSQL the first message of each says where names are looked up: whoever owns the database, or had the
//! connection before us behind a pooler, may have set a path on which his own functions come first. Nothing is set for
//! longer than a transaction, since a pooler would hand it on to somebody else.

mod session;

pub(in crate::store) mod sqlite_guard;

use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use diesel::connection::{CacheSize, SimpleConnection};
use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error};

use crate::rules::Kind;
use crate::store::Db;
use crate::store::db::dialect::Dialect;
use crate::store::db::errors;
use session::{AS_IT_BEGAN, AS_IT_BEGAN_TO_MIGRATE, FLUSHING_COMMIT, OF_ITS_SERVER};
use sqlite_guard::Allowance;

pub use session::{Companion, Durable, NO_CHECKPOINT, PATIENT, StatementCache, Timeouts};

/// Reads the rows of a query one by one, so that few of them are in memory. None is kept.
macro_rules! for_each_row {
    ($db:expr, $query:expr, $row:ty, $each:expr) => {
        match $db {
            $crate::store::Db::Postgres(db) => {
                $query.load_iter::<$row, diesel::pg::PgRowByRowLoadingMode>(db)?.try_for_each($each)
            }
            $crate::store::Db::Sqlite(db) => {
                let rows = $query.load_iter::<$row, diesel::connection::DefaultLoadingMode>(db)?;
                rows.inspect(|_| $crate::store::db::connection::sqlite_guard::forget_row()).try_for_each($each)
            }
        }
    };
}
pub(in crate::store) use for_each_row;

/// Runs nothing by itself: what it is asked is asked in a transaction.
pub struct DbConnection {
    db: Db,
    /// Closed after `db`: see `Companion`.
    companion: Option<Companion>,
    /// What a statement may cost (SQLite).
    allowance: Option<Arc<Allowance>>,
    /// What transactions set that servers do not have in common (PostgreSQL). None: each asks its server.
    of_this_server: Option<String>,
    /// Statements are prepared now, and whether they may be (PostgreSQL).
    prepares: bool,
    statement_cache: StatementCache,
    /// How the transaction that is under way is to end, where the next one's beginning ends it.
    unfinished: Option<Finish>,
    /// How many subjects were read by plans that are kept, and with how many plans are due anew (PostgreSQL).
    subjects_read: usize,
    plans_due_at: usize,
    /// When whoever waits for the latest transaction gives up.
    given_up_at: Option<Instant>,
}

/// A plan that was made on empty tables reads them whole for each subject, and a sweep fills them. So plans are made
/// anew when a connection has read so many subjects, and whenever it has read four times as many: before a table is
/// long, and so seldom that planning is little beside as many subjects.
const FIRST_PLANS_DUE_AT: usize = 128;
const NEXT_PLANS_DUE_AT: usize = 4;

/// Names that are PostgreSQL's own. Before the schema `sweep` is known to be ours, everything else is written with its
/// schema.
const CATALOG: &str = "pg_catalog, pg_temp";

/// Names that are ours or PostgreSQL's, which come first without being named. The temporary schema comes last when it
/// is named, and first when it is not.
pub(in crate::store) const OURS: &str = "sweep, pg_temp";

/// What a transaction may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Write,
    /// One snapshot, and no lock, row or transaction id.
    ReadOnly,
}

/// Why a transaction did not end as it was asked to. `E`: the error of what was done in it.
#[derive(Debug)]
pub enum Abort<E = Error> {
    /// Nothing was written.
    RolledBack(E),
    /// Nothing was written, and the connection is gone.
    Lost(E),
    /// The reply to COMMIT was lost: it may or may not have committed.
    Unknown(E),
}

impl<E> Abort<E> {
    /// The error, whatever became of the transaction.
    pub fn error(self) -> E {
        match self {
            Abort::RolledBack(error) | Abort::Lost(error) | Abort::Unknown(error) => error,
        }
    }

    fn map<F>(self, convert: impl FnOnce(E) -> F) -> Abort<F> {
        match self {
            Abort::RolledBack(error) => Abort::RolledBack(convert(error)),
            Abort::Lost(error) => Abort::Lost(convert(error)),
            Abort::Unknown(error) => Abort::Unknown(convert(error)),
        }
    }
}

impl<E: Into<anyhow::Error>> From<Abort<E>> for anyhow::Error {
    fn from(abort: Abort<E>) -> anyhow::Error {
        abort.error().into()
    }
}

/// What a transaction is to end with. A commit would wait for the disk even if rows were only locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    Commit,
    RollBack,
}

/// How a transaction ended; `Ok`: as it was asked to.
pub type Ending = Result<(), Abort>;

impl Finish {
    /// What failed is rolled back.
    fn of_result<T, E>(done: &Result<T, E>) -> Finish {
        if done.is_ok() { Finish::Commit } else { Finish::RollBack }
    }
}

impl DbConnection {
    /// A connection to a file comes with a companion and an allowance.
    pub(in crate::store) fn new(
        db: Db,
        statement_cache: StatementCache,
        of_file: Option<(Companion, Arc<Allowance>)>,
    ) -> DbConnection {
        let (companion, allowance) = of_file.unzip();
        let (of_this_server, prepares, unfinished, given_up_at) = (None, false, None, None);
        let (subjects_read, plans_due_at) = (0, FIRST_PLANS_DUE_AT);
        DbConnection {
            db,
            companion,
            allowance,
            of_this_server,
            prepares,
            statement_cache,
            unfinished,
            subjects_read,
            plans_due_at,
            given_up_at,
        }
    }

    /// Says whether the statements that come are asked again and again: preparing one takes a round trip more
    /// (PostgreSQL).
    pub fn repeats(&mut self, repeats: bool) {
        if let Db::Postgres(db) = &mut self.db {
            self.prepares = repeats && !self.statement_cache.is_off();
            let size = if self.prepares { CacheSize::Unbounded } else { CacheSize::Disabled };
            db.set_prepared_statement_cache_size(size);
        }
    }

    /// If a pooler has lost a prepared statement, prepares none at this server from now on, and returns true: what
    /// failed for it can be tried again.
    pub fn stops_preparing_after(&mut self, error: &Error) -> bool {
        let is_lost = self.prepares && errors::is_of_a_prepared_statement(error);
        if is_lost {
            self.statement_cache.turn_off();
            self.repeats(false);
        }
        is_lost
    }

    /// The file turned out to be sweep's own.
    pub(in crate::store) fn is_ours(&mut self) -> QueryResult<()> {
        match (&mut self.db, self.companion.take()) {
            // As SQLite does by itself.
            (Db::Sqlite(db), Some(_)) => db.batch_execute("PRAGMA wal_autocheckpoint = 1000"),
            _ => Ok(()),
        }
    }

    /// How much work this connection has had: steps of SQLite's machine. PostgreSQL counts it for a statement alone.
    pub(in crate::store) fn steps(&self) -> Option<u64> {
        self.allowance.as_ref().map(|allowance| allowance.steps())
    }

    /// For who does not sweep with it.
    pub(in crate::store) fn into_db(self) -> Db {
        self.db
    }

    pub fn dialect(&self) -> Dialect {
        self.db.dialect()
    }

    pub fn is_sqlite(&self) -> bool {
        self.dialect() == Dialect::Sqlite
    }

    /// Runs `body` in one transaction, which is committed unless it fails.
    pub fn in_transaction<T, E: From<Error>>(
        &mut self,
        access: Access,
        timeouts: &Timeouts,
        body: impl FnOnce(&mut Db) -> Result<T, E>,
    ) -> Result<T, Abort<E>> {
        let begin = self.begin_statement(access, OURS, timeouts);
        self.transact(&begin, body, Finish::of_result)
    }

    /// Like `in_transaction`, for a statement that is asked again and again with other ids, of so many subjects each
    /// time, and only reads. Planned anew for the first five times, as by default, the facts of one subject take some
    /// 20 ms.
    pub fn read_repeatedly<T, E: From<Error>>(
        &mut self,
        timeouts: &Timeouts,
        subjects: usize,
        body: impl FnOnce(&mut Db) -> Result<T, E>,
    ) -> Result<T, Abort<E>> {
        let mut begin = self.begin_repeated(Access::ReadOnly, timeouts, subjects);
        if self.are_plans_due() {
            self.plans_due_at = NEXT_PLANS_DUE_AT * self.subjects_read;
            begin += "; DISCARD PLANS";
        }
        self.transact(&begin, body, |_| Finish::RollBack)
    }

    fn transact<T, E: From<Error>>(
        &mut self,
        begin: &str,
        body: impl FnOnce(&mut Db) -> Result<T, E>,
        finish: impl FnOnce(&Result<T, E>) -> Finish,
    ) -> Result<T, Abort<E>> {
        // What may be under way are questions, of which nothing is to be kept.
        let (_, begun) = self.end_and_begin(begin, false);
        begun.map_err(|abort| abort.map(E::from))?;
        let done = body(&mut self.db);
        let end = self.end_as(finish(&done), "COMMIT");
        match (done, end) {
            (Ok(value), Ok(())) => Ok(value),
            (Ok(_), Err(abort)) => Err(abort.map(E::from)),
            (Err(error), Err(Abort::Lost(_))) => Err(Abort::Lost(error)),
            (Err(error), _) => Err(Abort::RolledBack(error)),
        }
    }

    /// Begins the transaction of the next subject, and with it commits the one that is under way, if there is one:
    /// returns how that has ended. If it was to be flushed, it and all before it on this connection are on disk.
    pub fn begin_next(
        &mut self,
        access: Access,
        timeouts: &Timeouts,
        durable: Durable,
        flush: bool,
    ) -> (Option<Ending>, Result<(), Abort>) {
        let mut begin = self.begin_repeated(access, timeouts, 1);
        if !self.is_sqlite() && access == Access::Write && durable == Durable::Together {
            begin += "; SET LOCAL synchronous_commit = off";
        }
        self.end_and_begin(&begin, flush)
    }

    fn end_and_begin(&mut self, begin: &str, flush: bool) -> (Option<Ending>, Result<(), Abort>) {
        let ended = match self.unfinished {
            Some(Finish::Commit) if !self.is_sqlite() => {
                self.unfinished = None;
                let commit = if flush { FLUSHING_COMMIT } else { "COMMIT" };
                match self.run_begin(&format!("{commit}; {begin}")) {
                    Ok(()) => return (Some(Ok(())), Ok(())),
                    Err(error) => Some(Err(self.uncommitted(error))),
                }
            }
            _ => self.end(),
        };
        (ended, self.try_begin(begin))
    }

    fn try_begin(&mut self, begin: &str) -> Result<(), Abort> {
        let begun = self.run_begin(begin);
        begun.map_err(|error| if self.roll_back().is_ok() { Abort::RolledBack(error) } else { Abort::Lost(error) })
    }

    /// Does something in the transaction that has begun; it is ended as this says, by `begin_next` or `end`.
    pub fn proceed<T>(&mut self, body: impl FnOnce(&mut Db) -> (Finish, T)) -> T {
        let (finish, value) = body(&mut self.db);
        self.unfinished = Some(finish);
        value
    }

    /// Ends the transaction that is under way, if there is one. If it is committed, it and all before it on this
    /// connection are on disk.
    pub fn end(&mut self) -> Option<Ending> {
        let finish = self.unfinished.take()?;
        Some(self.end_as(finish, if self.is_sqlite() { "COMMIT" } else { FLUSHING_COMMIT }))
    }

    /// Ends a transaction; `commit`: by which statement, if it is to be committed.
    fn end_as(&mut self, finish: Finish, commit: &str) -> Ending {
        match finish {
            Finish::RollBack => self.roll_back().map_err(Abort::Lost),
            Finish::Commit => {
                let committed = self.refuse_late().and_then(|()| self.db.batch_execute(commit));
                committed.map_err(|error| self.uncommitted(error))
            }
        }
    }

    /// Says what became of a commit to which this error was the reply.
    fn uncommitted(&mut self, error: Error) -> Abort {
        // That ROLLBACK is answered proves nothing here: a pooler may have lost the server that had the COMMIT.
        let _ = self.roll_back();
        if errors::is_refusal(&error) || self.is_sqlite() { Abort::RolledBack(error) } else { Abort::Unknown(error) }
    }

    /// Asks in the snapshot in which the question before was asked, or else in a new one. `end`, or the next
    /// transaction, ends it.
    pub fn ask<T>(
        &mut self,
        timeouts: &Timeouts,
        mut question: impl FnMut(&mut Db) -> QueryResult<T>,
    ) -> QueryResult<T> {
        if self.unfinished.is_none() {
            let begin = self.begin_statement(Access::ReadOnly, OURS, timeouts);
            self.try_begin(&begin).map_err(Abort::error)?;
        }
        let answer = question(&mut self.db);
        self.unfinished = Some(Finish::of_result(&answer));
        if let Err(error) = &answer {
            self.end();
            if self.stops_preparing_after(error) {
                return self.ask(timeouts, question);
            }
        }
        answer
    }

    /// Has all that this connection committed written to disk, and to a standby that is waited for. A commit waits for
    /// that only if it has written something to the log: a message that nobody reads.
    pub fn flush(&mut self, timeouts: &Timeouts) -> QueryResult<()> {
        if self.is_sqlite() {
            return Ok(());
        }
        let begin = self.begin_statement(Access::Write, OURS, timeouts);
        let write = "SELECT pg_logical_emit_message(true, 'sweep', '')";
        self.db.batch_execute(&format!("{begin}; {write}; COMMIT")).inspect_err(|_| {
            let _ = self.roll_back();
        })
    }

    /// Asks once what each transaction would ask otherwise.
    pub fn expect_many(&mut self) -> QueryResult<()> {
        if let Db::Postgres(db) = &mut self.db {
            let (statements, may_ask) = session::of_this_server(db)?;
            self.of_this_server = Some(statements);
            if may_ask && !self.statement_cache.is_off() && session::is_lent(db)? {
                self.statement_cache.turn_off();
            }
            self.repeats(true);
        }
        Ok(())
    }

    /// Are the plans that are kept of tables that have grown since (PostgreSQL)?
    pub fn are_plans_due(&self) -> bool {
        !self.is_sqlite() && self.plans_due_at <= self.subjects_read
    }

    /// Has the server plan how subjects of a kind are taken before it takes one: planning takes as long as twenty
    /// subjects, and would be done while the first one is locked. One subject's facts are no use to another, so nothing
    /// is kept for that. If it fails, it fails again where it is reported.
    pub fn plan_taking(&mut self, kind: Kind, timeouts: &Timeouts) {
        if self.is_sqlite() {
            return;
        }
        self.plans_due_at = self.plans_due_at.max(NEXT_PLANS_DUE_AT * self.subjects_read);
        let begin = self.begin_repeated(Access::Write, timeouts, 0);
        let plan = "DISCARD PLANS; SET LOCAL enable_memoize = off; SET LOCAL enable_material = off";
        let planned = self.db.batch_execute(&format!("{begin}; {plan}; SELECT FROM take_{kind}(NULL); ROLLBACK"));
        if planned.is_err() {
            let _ = self.roll_back();
        }
    }

    /// Looks at a database of which nothing is known yet, and changes nothing: whose schema is it, what is there?
    pub fn look<T>(&mut self, body: impl FnOnce(&mut Db) -> anyhow::Result<T>) -> anyhow::Result<T> {
        self.begin(Access::ReadOnly, CATALOG, &Timeouts::default()).context("looking at the database")?;
        let seen = body(&mut self.db);
        let _ = self.roll_back();
        seen
    }

    /// Changes the schema, in a transaction that diesel begins; the path is set by the first message after BEGIN.
    /// The body sets the path to `OURS` once it knows that the schema is ours.
    pub(in crate::store) fn migrate<T>(
        &mut self,
        body: impl FnOnce(&mut Db) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        match &mut self.db {
            Db::Postgres(db) => {
                let mode = session::mode_to_migrate(db)?;
                self.db.transaction(|db| {
                    db.batch_execute(&format!(
                        "{mode}; {AS_IT_BEGAN_TO_MIGRATE}; {AS_IT_BEGAN}; SET LOCAL search_path = {CATALOG}"
                    ))?;
                    body(db)
                })
            }
            Db::Sqlite(_) => {
                // The journal of another program's file is that program's choice.
                if self.companion.is_none() {
                    session::keep_a_write_ahead_log(&mut self.db).context("setting the journal's mode")?;
                }
                session::immediately(&mut self.db, body)
            }
        }
    }

    /// Does anybody answer?
    pub(in crate::store) fn is_alive(&mut self) -> bool {
        self.begin(Access::ReadOnly, CATALOG, &Timeouts::default()).is_ok() && self.roll_back().is_ok()
    }

    /// The first that have arrived on the channels that this connection listens to (PostgreSQL), each as its channel
    /// and its payload. No statement.
    pub(in crate::store) fn notifications(&mut self, max: usize) -> QueryResult<Vec<(String, String)>> {
        let Db::Postgres(db) = &mut self.db else { return Ok(Vec::new()) };
        db.notifications_iter().take(max).map(|it| it.map(|it| (it.channel, it.payload))).collect()
    }

    /// Rolls back, and fails if the connection is gone (decisions.md#is-the-connection-lost). SQLite's never is: there
    /// a failure says that the transaction is over already.
    fn roll_back(&mut self) -> QueryResult<()> {
        let rolled_back = self.db.batch_execute("ROLLBACK");
        if self.is_sqlite() { Ok(()) } else { rolled_back }
    }

    fn begin(&mut self, access: Access, path: &str, timeouts: &Timeouts) -> QueryResult<()> {
        let begin = self.begin_statement(access, path, timeouts);
        self.run_begin(&begin)
    }

    /// Refuses what nobody waits for any more: that a server was silent has been said, and nothing is done later.
    fn refuse_late(&self) -> QueryResult<()> {
        let late = "nobody waits for it any more: it took too long".to_owned();
        match self.given_up_at.is_some_and(|at| at <= Instant::now()) {
            true => Err(Error::DatabaseError(DatabaseErrorKind::ClosedConnection, Box::new(late))),
            false => Ok(()),
        }
    }

    fn run_begin(&mut self, begin: &str) -> QueryResult<()> {
        self.refuse_late()?;
        if self.prepares && self.statement_cache.is_off() {
            self.repeats(false);
        }
        if self.is_sqlite() { session::begin_in_turn(&mut self.db, begin) } else { self.db.batch_execute(begin) }
    }

    /// One message. SQLite must lock at once: a transaction that reads first and writes later fails when another wrote
    /// meanwhile. PostgreSQL is not to compile the views' many expressions (`jit`): that takes seconds, and evaluating
    /// them for ten thousand issues half a one. And a few rows in an index's order are to be read in that order: with
    /// the price of a page as on a disk that turns, all rows of a plan would be read and sorted for each of its steps.
    fn begin_statement(&mut self, access: Access, path: &str, timeouts: &Timeouts) -> String {
        self.given_up_at = timeouts.given_up_at;
        let (mode, sqlite) = match access {
            Access::Write => ("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", "BEGIN IMMEDIATE"),
            Access::ReadOnly => ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "BEGIN DEFERRED"),
        };
        match &self.db {
            Db::Sqlite(_) => {
                self.allowance.iter().for_each(|allowance| allowance.allow(*timeouts));
                sqlite.to_owned()
            }
            Db::Postgres(_) => format!(
                "{mode}; {AS_IT_BEGAN}; SET LOCAL search_path = {path}; SET LOCAL lock_timeout = {lock}; \
                 SET LOCAL jit = off; SET LOCAL random_page_cost = 1.1; SET LOCAL statement_timeout = {statement}; \
                 SET LOCAL idle_in_transaction_session_timeout = {statement}; {its_server}",
                its_server = self.of_this_server.as_deref().unwrap_or(OF_ITS_SERVER),
                lock = timeouts.lock.num_milliseconds(),
                statement = timeouts.statement_ms(),
            ),
        }
    }

    /// Has each statement planned once for all ids. So many subjects are read in this transaction.
    fn begin_repeated(&mut self, access: Access, timeouts: &Timeouts, subjects: usize) -> String {
        let begin = self.begin_statement(access, OURS, timeouts);
        self.subjects_read += subjects;
        if self.is_sqlite() { begin } else { begin + "; SET LOCAL plan_cache_mode = force_generic_plan" }
    }
}
