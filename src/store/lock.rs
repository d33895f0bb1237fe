//! Locking one subject, and what a recovery of it refers to.

use diesel::pg::{Pg, PgConnection};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Nullable, Text};

use super::Db;
use super::types::{FROM_TEXT, sql};
use crate::rules::Id;

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

/// How to lock one subject of a kind, and to read `(agent, issue)`: null where there is none or somebody else has it.
/// The DSL cannot say which tables to lock, and a plain `sql_query` is not prepared once: this is.
pub(super) struct LockStatement {
    /// Up to `WHERE … = `.
    pub select: &'static str,
    /// `FOR UPDATE OF … SKIP LOCKED`.
    pub locking: &'static str,
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
        out.push_sql(FROM_TEXT.0);
        out.push_bind_param::<Text, _>(&self.id.0)?;
        out.push_sql(FROM_TEXT.1);
        out.push_sql(self.statement.locking);
        Ok(())
    }
}

impl Query for LockRows<'_> {
    type SqlType = (Nullable<sql::Id>, Nullable<sql::Id>);
}

impl RunQueryDsl<PgConnection> for LockRows<'_> {}

impl Db {
    pub(super) fn lock(&mut self, statement: &'static LockStatement, id: &Id) -> QueryResult<Lock> {
        // SQLite's BEGIN IMMEDIATE holds the whole database already.
        let Db::Postgres(db) = self else {
            return Ok(Lock::Everything);
        };
        let row = LockRows { statement, id }.get_result::<(Option<Id>, Option<Id>)>(db).optional()?;
        Ok(row.map_or(Lock::Nothing, |(agent, issue)| Lock::Rows { agent, issue }))
    }
}
