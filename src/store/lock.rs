//! Taking one subject: locking it and what a recovery of it refers to, and then reading its facts.

use diesel::expression::Expression;
use diesel::pg::{Pg, PgConnection};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Bool, Nullable};

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
pub(super) struct Taking<C> {
    kind: Kind,
    /// Of the view of the kind's facts that decide.
    columns: C,
    id: Bound<sql::Id>,
}

/// Whether the subject is held, and the agent and the issue that are.
type Held = (Bool, Nullable<sql::Id>, Nullable<sql::Id>);

impl<C> Taking<C> {
    pub(super) fn new(kind: Kind, columns: C, id: &Id) -> Taking<C> {
        Taking { kind, columns, id: diesel::expression::AsExpression::<sql::Id>::as_expression(id) }
    }
}

/// Cached by its text.
impl<C> QueryId for Taking<C> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<C: QueryFragment<Pg>> QueryFragment<Pg> for Taking<C> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let kind = self.kind.name();
        out.push_sql("SELECT held, held_agent_id, held_issue_id, ");
        self.columns.walk_ast(out.reborrow())?;
        out.push_sql(&format!(" FROM take_{kind}("));
        self.id.walk_ast(out.reborrow())?;
        out.push_sql(&format!(") taken CROSS JOIN LATERAL (SELECT (taken.facts).*) {kind}_decided_facts"));
        Ok(())
    }
}

impl<C: Expression> Query for Taking<C> {
    type SqlType = (Held, C::SqlType);
}

impl<C> RunQueryDsl<PgConnection> for Taking<C> {}

/// As the function says it: `(held, agent, issue)`.
impl From<(bool, Option<Id>, Option<Id>)> for Lock {
    fn from((held, agent, issue): (bool, Option<Id>, Option<Id>)) -> Lock {
        if held { Lock::Rows { agent, issue } } else { Lock::Nothing }
    }
}

/// Takes a subject: what is held of it, and its row of facts, if it has one.
macro_rules! take {
    ($kind:expr, $columns:expr, $row:ty, $db:expr, $id:expr) => {
        match $db {
            $crate::store::Db::Postgres(db) => {
                let taken = $crate::store::lock::Taking::new($kind, $columns, $id);
                let row = taken.get_result::<((bool, Option<Id>, Option<Id>), $row)>(db).optional()?;
                row.map_or((Lock::Nothing, None), |(held, facts)| (Lock::from(held), Some(facts.into())))
            }
            // SQLite's BEGIN IMMEDIATE holds the whole database already.
            $crate::store::Db::Sqlite(_) => (Lock::Everything, Self::read($db, $id)?),
        }
    };
}
pub(super) use take;
