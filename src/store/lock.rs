//! Taking one subject: locking it and what a recovery of it refers to, and then reading its facts.

use std::marker::PhantomData;

use diesel::expression::{AsExpression, Expression};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

use super::Db;
use super::db::MultiBackend;
use super::types::{Bound, sql};
use crate::rules::{Id, Kind};

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

/// A call of `take_issue`, `take_step` or `take_session` (migrations/dialects/postgres.sql): one statement, so that
/// both take one round trip. The DSL does not know functions that return rows.
pub(super) struct Taking<T> {
    kind: Kind,
    /// Of the view of the facts that decide. As in the DSL's own boxed queries, only their SQL type is known from here
    /// on: with the type of each column, it takes minutes to compile.
    columns: Box<dyn QueryFragment<MultiBackend>>,
    types: PhantomData<T>,
    id: Bound<sql::Id>,
}

impl<T> Taking<T> {
    pub(super) fn new<C>(kind: Kind, columns: C, id: &Id) -> Taking<T>
    where
        C: Expression<SqlType = T> + QueryFragment<MultiBackend> + 'static,
    {
        let id = AsExpression::<sql::Id>::as_expression(id);
        Taking { kind, columns: Box::new(columns), types: PhantomData, id }
    }
}

/// Cached by its text.
impl<T> QueryId for Taking<T> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<T> QueryFragment<MultiBackend> for Taking<T> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        let kind = self.kind.name();
        out.push_sql("SELECT ");
        self.columns.walk_ast(out.reborrow())?;
        out.push_sql(&format!(" FROM take_{kind}("));
        self.id.walk_ast(out.reborrow())?;
        out.push_sql(&format!(") {kind}_decided_facts"));
        Ok(())
    }
}

impl<T> Query for Taking<T> {
    type SqlType = T;
}

impl<T> RunQueryDsl<Db> for Taking<T> {}

/// What a row of facts says of the lock, where the subject was taken.
#[derive(Queryable)]
pub(super) struct LockRow {
    held: bool,
    agent: Option<Id>,
    issue: Option<Id>,
}

impl From<&LockRow> for Lock {
    fn from(LockRow { held, agent, issue }: &LockRow) -> Lock {
        if *held { Lock::Rows { agent: agent.clone(), issue: issue.clone() } } else { Lock::Nothing }
    }
}

/// Takes a subject: what is held of it, and its row of facts, if it has one.
macro_rules! take {
    ($kind:expr, $columns:expr, $row:ty, $db:expr, $id:expr) => {
        match $db {
            $crate::store::Db::Postgres(_) => {
                let taken = $crate::store::lock::Taking::new($kind, $columns, $id);
                let row = taken.get_result::<$row>($db).optional()?;
                row.map_or((Lock::Nothing, None), |row| (Lock::from(&row.lock), Some(row.into())))
            }
            // SQLite's BEGIN IMMEDIATE holds the whole database already.
            $crate::store::Db::Sqlite(_) => (Lock::Everything, Self::read($db, $id)?),
        }
    };
}
pub(super) use take;
