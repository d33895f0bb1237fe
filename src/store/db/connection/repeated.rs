//! Many transactions that ask the same with other ids, one after the other: each statement is planned once for a
//! connection, and the end of each transaction is sent with the beginning of the next one.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use super::{Abort, Access, DbConnection, Durable, End, Finish, OURS, Timeouts, session};
use crate::rules::Kind;
use crate::store::Db;

/// A commit that waits for the disk as the server is set up: a session's default is what it began with.
const FLUSHING_COMMIT: &str = "SET LOCAL synchronous_commit TO DEFAULT; COMMIT";

impl Finish {
    /// What failed is rolled back.
    pub(super) fn by<T, E>(done: Result<T, E>) -> (Finish, Result<T, E>) {
        (if done.is_ok() { Finish::Commit } else { Finish::RollBack }, done)
    }
}

impl DbConnection {
    /// One such transaction, which says itself how it is to end: what came of it, and how it ended. Planned anew for
    /// the first five ids, as by default, the facts of one subject take some 20 ms.
    pub fn in_repeated_transaction<T>(
        &mut self,
        access: Access,
        timeouts: &Timeouts,
        body: impl FnOnce(&mut Db) -> (Finish, T),
    ) -> Result<(T, End), Abort> {
        let begin = self.begin_repeated(access, timeouts, Durable::Each);
        self.transact(&begin, body)
    }

    /// Asks once what each transaction would ask otherwise.
    pub fn expect_many(&mut self) -> QueryResult<()> {
        if let Db::Postgres(db) = &mut self.db {
            self.of_this_server = Some(session::of_this_server(db)?);
        }
        Ok(())
    }

    /// Has the server plan how subjects of a kind are taken before it takes one: planning takes as long as twenty
    /// subjects, and would be done while the first one is locked. One subject's facts are no use to another, so nothing
    /// is kept for that. If it fails, it fails again where it is reported.
    pub fn plan_taking(&mut self, kind: Kind, timeouts: &Timeouts) {
        if self.is_sqlite() {
            return;
        }
        let begin = self.begin_repeated(Access::Write, timeouts, Durable::Together);
        let plan = "SET LOCAL enable_memoize = off; SET LOCAL enable_material = off";
        let planned = self.db.batch_execute(&format!("{begin}; {plan}; SELECT FROM take_{kind}(NULL); ROLLBACK"));
        if planned.is_err() {
            self.roll_back();
        }
    }

    /// The message by which such transactions begin.
    pub fn begin_repeated(&self, access: Access, timeouts: &Timeouts, durable: Durable) -> String {
        let mut begin = self.begin_statement(access, OURS, timeouts);
        if !self.is_sqlite() {
            begin += "; SET LOCAL plan_cache_mode = force_generic_plan";
        }
        if !self.is_sqlite() && access == Access::Write && durable == Durable::Together {
            begin += "; SET LOCAL synchronous_commit = off";
        }
        begin
    }

    /// Begins the next transaction, and with it commits the one that is under way, if there is one: how that has ended.
    /// If it was to be flushed, it and all before it on this connection are on disk.
    pub fn begin_next(&mut self, begin: &str, flush: bool) -> (Option<End>, Result<(), Abort>) {
        let ended = match self.unfinished {
            Some(Finish::Commit) if !self.is_sqlite() => {
                self.unfinished = None;
                let commit = if flush { FLUSHING_COMMIT } else { "COMMIT" };
                match self.run_begin(&format!("{commit}; {begin}")) {
                    Ok(()) => return (Some(End::Committed), Ok(())),
                    Err(error) => Some(self.uncommitted(error)),
                }
            }
            _ => self.end(),
        };
        (ended, self.try_begin(begin))
    }

    /// Does something in the transaction that has begun; it is ended as this says, by `begin_next` or `end`.
    pub fn proceed<T>(&mut self, body: impl FnOnce(&mut Db) -> (Finish, T)) -> T {
        let (finish, value) = body(&mut self.db);
        self.unfinished = Some(finish);
        value
    }

    /// Ends the transaction that is under way, if there is one. If it is committed, it and all before it on this
    /// connection are on disk.
    pub fn end(&mut self) -> Option<End> {
        let finish = self.unfinished.take()?;
        Some(self.end_as(finish, if self.is_sqlite() { "COMMIT" } else { FLUSHING_COMMIT }))
    }

    /// Asks in the snapshot in which the question before was asked, or else in a new one. `end`, or the next
    /// transaction, ends it.
    pub fn ask<T>(&mut self, timeouts: &Timeouts, question: impl FnOnce(&mut Db) -> QueryResult<T>) -> QueryResult<T> {
        if self.unfinished.is_none() {
            let begin = self.begin_statement(Access::ReadOnly, OURS, timeouts);
            self.try_begin(&begin).map_err(Abort::error)?;
        }
        let answer = self.proceed(|db| Finish::by(question(db)));
        if answer.is_err() {
            self.end();
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
            self.roll_back();
        })
    }
}
