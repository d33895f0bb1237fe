//! The databases: PostgreSQL and SQLite behind one set of queries.
//!
//! Only this file and `connection` know which one it is: how rows are locked, and how a transaction begins. Every lock is taken with
//! SKIP LOCKED: a sweep never waits for a row while it holds another. What remains are foreign-key checks, and for those
//! `lock_timeout` is shorter than the server's `deadlock_timeout`: the sweep gives way, its host is never the victim.

pub mod beginnings;
mod boards;
pub mod candidates;
mod catalog;
mod connection;
pub mod errors;
pub mod exemptions;
pub mod find;
pub mod guarded;
pub mod history;
pub mod host_blocks;
pub mod hosts;
pub mod issues;
pub mod latest;
pub mod ledger;
pub mod listen;
pub mod metrics;
pub mod migrate;
pub mod nulls;
pub mod open;
pub mod outbox;
pub mod quarantine;
pub mod rights;
mod rows;
pub mod schema;
mod sessions;
pub mod status;
pub mod steps;
pub mod supervision;
mod totals;
pub mod types;
pub mod wakes;

use chrono::{DateTime, Utc};
use diesel::dsl::sql;
use diesel::pg::{Pg, PgConnection};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Nullable, Text};
use diesel::sqlite::SqliteConnection;

use crate::rules::{Cause, ContinueBy, Facts, Id, Kind, Policy};
use candidates::{Candidate, Group, Part};
pub use connection::{Abort, Access, DbConnection, End, Finish, Timeouts};
use types::sql as portable;

#[derive(diesel::MultiConnection)]
pub enum Db {
    Postgres(PgConnection),
    Sqlite(SqliteConnection),
}

/// One kind of subject, as the store knows it.
pub trait Subject: Facts + Sized {
    const KIND: Kind;
    /// Where all of them are, by their `id`.
    const RELATION: &'static str;
    /// What a sweep needs to lock and to continue, escalate and recover it, beside the views. Locking a row needs UPDATE on
    /// some column of it, and reading its id SELECT.
    const RIGHTS: &'static [rights::Right];

    /// One whose group is null, which no host's view may say.
    fn candidate_without_group(db: &mut Db) -> QueryResult<Option<Id>>;

    /// The next candidates in the order of the scan, at most `limit`.
    fn candidates(db: &mut Db, part: &Part, limit: i64) -> QueryResult<Vec<Candidate>>;
    fn count_candidates(db: &mut Db, part: &Part) -> QueryResult<i64>;
    /// The same for each group.
    fn count_by_group(db: &mut Db, part: &Part) -> QueryResult<Vec<Group>>;
    /// How many in progress are not examined any more.
    fn count_in_quarantine(db: &mut Db, tenant: Option<&str>) -> QueryResult<i64>;
    /// How many of a part there are in progress, healthy or not.
    fn count_in_progress(db: &mut Db, part: &Part) -> QueryResult<i64>;
    /// The tenants that have more than so many candidates, those with the most first.
    fn tenants_of_candidates(db: &mut Db, part: &Part, more_than: i64, limit: i64) -> QueryResult<Vec<String>>;
    /// The group that has the most subjects in progress, and how many.
    fn largest_group(db: &mut Db, part: &Part) -> QueryResult<Option<(Id, i64)>>;
    /// Is there any subject, in whatever state? Of this tenant, or at all.
    fn has_any(db: &mut Db, tenant: Option<&str>) -> QueryResult<bool>;

    /// Locks the subject and all that a recovery of it refers to, as far as nobody else holds it.
    fn lock(db: &mut Db, id: &Id) -> QueryResult<Lock>;

    /// The facts, in a snapshot taken after the locks.
    fn read(db: &mut Db, id: &Id) -> QueryResult<Option<Self>>;

    /// What a subject is called, whatever else its row holds.
    fn label(db: &mut Db, id: &Id) -> QueryResult<Option<find::Label>>;

    /// The first two that people call so.
    fn called(db: &mut Db, identifier: &str) -> QueryResult<Vec<find::Label>>;

    /// What the reports call it.
    fn identifier(&self) -> Option<&str>;
    fn title(&self) -> &str;
    fn tenant(&self) -> &str;
    /// The issue that a recovery refers to besides the subject itself.
    fn linked_issue(&self) -> Option<&Id>;

    /// Queues one wake or command with this id.
    fn resume(&self, db: &mut Db, remedy: ContinueBy, wake_id: &Id, policy: &Policy) -> QueryResult<()>;

    /// Tells a person. Returns whether the subject is blocked now.
    fn escalate(&self, db: &mut Db, cause: &Cause, policy: &Policy) -> QueryResult<bool>;

    /// Takes back what an earlier sweep did to the subject's surroundings, now that it healed.
    fn recover(&self, db: &mut Db) -> QueryResult<()>;
}

/// One line for each kind: what is generic over subjects, done for the kind at hand.
macro_rules! for_kind {
    ($kind:expr, $subject:ident => $body:expr) => {
        match $kind {
            $crate::rules::Kind::Session => $crate::store::for_kind!(@ $subject = $crate::rules::session::SessionFacts, $body),
            $crate::rules::Kind::Issue => $crate::store::for_kind!(@ $subject = $crate::rules::issue::IssueFacts, $body),
            $crate::rules::Kind::Step => $crate::store::for_kind!(@ $subject = $crate::rules::step::StepFacts, $body),
        }
    };
    (@ $subject:ident = $facts:ty, $body:expr) => {{
        type $subject = $facts;
        $body
    }};
}
pub(crate) use for_kind;

/// Is there any subject of one of these kinds, in whatever state? Of this tenant, or at all.
pub fn has_any(db: &mut Db, kinds: &[Kind], tenant: Option<&str>) -> QueryResult<bool> {
    kinds.iter().try_fold(false, |found, &kind| Ok(found || for_kind!(kind, S => S::has_any(db, tenant))?))
}

/// What a transaction holds of one subject.
#[derive(Clone, Debug, PartialEq)]
pub enum Lock {
    /// The whole database, as SQLite does.
    Everything,
    /// The subject, and these of the rows that it refers to.
    Rows { agent: Option<Id>, issue: Option<Id> },
    /// Somebody else has the subject, or it is gone.
    Nothing,
}

impl Lock {
    /// Is everything held that a recovery with these facts refers to? An agent that does not exist cannot be. More may
    /// be: a row names what its facts do not know of, such as another tenant's issue.
    pub fn covers(&self, facts: &impl Subject) -> bool {
        match self {
            Lock::Everything => true,
            Lock::Rows { agent, issue } => {
                let holds = |held: &Option<Id>, needed: Option<&Id>| needed.is_none() || held.as_ref() == needed;
                holds(agent, facts.assignee().existing_id()) && holds(issue, facts.linked_issue())
            }
            Lock::Nothing => false,
        }
    }
}

/// How to lock one subject of a kind, and to read `(agent, issue)`: null where there is none or somebody else has it.
/// The DSL cannot say which tables to lock, and a plain `sql_query` is not prepared once: this is.
struct LockStatement {
    /// Up to `WHERE … = `.
    select: &'static str,
    /// `FOR UPDATE OF … SKIP LOCKED`.
    locking: &'static str,
}

struct LockRows<'a> {
    statement: &'static LockStatement,
    id: &'a Id,
}

/// Cached by its text.
impl QueryId for LockRows<'_> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl QueryFragment<Pg> for LockRows<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(self.statement.select);
        out.push_bind_param::<portable::Id, _>(self.id)?;
        out.push_sql(self.statement.locking);
        Ok(())
    }
}

impl Query for LockRows<'_> {
    type SqlType = (Nullable<portable::Id>, Nullable<portable::Id>);
}

impl RunQueryDsl<PgConnection> for LockRows<'_> {}

impl Db {
    fn lock(&mut self, statement: &'static LockStatement, id: &Id) -> QueryResult<Lock> {
        // SQLite's BEGIN IMMEDIATE holds the whole database already.
        let Db::Postgres(db) = self else {
            return Ok(Lock::Everything);
        };
        let row = LockRows { statement, id }.get_result::<(Option<Id>, Option<Id>)>(db).optional()?;
        Ok(row.map_or(Lock::Nothing, |(agent, issue)| Lock::Rows { agent, issue }))
    }

    /// Which database this is: the cluster's number and its name, or the file. A standby has its primary's.
    pub fn identity(&mut self) -> QueryResult<String> {
        const OF_POSTGRES: &str =
            "SELECT (SELECT system_identifier FROM pg_control_system())::text || '/' || current_database()";
        const OF_SQLITE: &str = "SELECT file FROM pragma_database_list WHERE name = 'main'";
        match self {
            Db::Postgres(db) => sql::<Text>(OF_POSTGRES).get_result(db),
            Db::Sqlite(db) => sql::<Text>(OF_SQLITE).get_result(db),
        }
    }

    /// The database's clock.
    pub fn now(&mut self) -> QueryResult<DateTime<Utc>> {
        match self {
            Db::Postgres(db) => diesel::select(sql::<portable::Instant>("clock_timestamp()")).get_result(db),
            Db::Sqlite(db) => {
                diesel::select(sql::<portable::Instant>("strftime('%Y-%m-%dT%H:%M:%fZ', 'now')")).get_result(db)
            }
        }
    }
}
