//! Rows of facts: the columns that every kind has, and the statements that read them.

use std::marker::PhantomData;

use chrono::{DateTime, Utc};
use diesel::expression::{AsExpression, SqlLiteral};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

use super::db::MultiBackend;
use super::ledger::Action;
use super::types::{IsOneOf, LossyText, sql};
use super::{Db, errors};
use crate::rules::{Assignee, Exemption, History, Id, Kind, OpenRecovery, Whose};

/// A struct that is read from some columns of a row.
pub(super) trait Columns {
    type SqlType;

    /// Adds the names of the columns, in the order of the fields.
    fn add_names(names: &mut Vec<&'static str>);
}

/// A struct that holds one row of facts.
pub(super) trait FactsRow: Columns + Sized {
    fn load(query: FactsQuery<Self>, db: &mut Db) -> QueryResult<Vec<Self>>;
}

/// A struct whose fields are columns, each named once: `column -> its type in SQL as its type in Rust`. Or one row
/// of facts, whose fields are such structs.
macro_rules! columns {
    ($(#[$meta:meta])* $vis:vis struct $row:ident { $($column:ident -> $sql:ty as $rust:ty,)+ }) => {
        $(#[$meta])*
        #[derive(diesel::Queryable)]
        $vis struct $row { $(pub $column: $rust,)+ }

        const _: () = {
            use diesel::sql_types::*;
            use $crate::store::types::sql::*;
            impl $crate::store::rows::Columns for $row {
                type SqlType = ($($sql,)+);
                fn add_names(names: &mut Vec<&'static str>) {
                    names.extend([$(stringify!($column)),+]);
                }
            }
        };
    };
    ($(#[$meta:meta])* $vis:vis struct $row:ident { $($part:ident: $columns:ty,)+ }) => {
        $(#[$meta])*
        #[derive(diesel::Queryable)]
        $vis struct $row { $(pub $part: $columns,)+ }

        impl $crate::store::rows::Columns for $row {
            type SqlType = ($(<$columns as $crate::store::rows::Columns>::SqlType,)+);
            fn add_names(names: &mut Vec<&'static str>) {
                $(<$columns as $crate::store::rows::Columns>::add_names(names);)+
            }
        }

        impl $crate::store::rows::FactsRow for $row {
            fn load(
                query: $crate::store::rows::FactsQuery<$row>,
                db: &mut $crate::store::Db,
            ) -> diesel::QueryResult<Vec<$row>> {
                diesel::RunQueryDsl::load(query, db)
            }
        }
    };
}
pub(super) use columns;

/// A statement that reads rows of the facts that decide, of one kind. The compiler knows the SQL types of its columns
/// and not the columns themselves: with the type of each column, one such statement took half a minute to compile.
pub(super) struct FactsQuery<R> {
    kind: Kind,
    subjects: Subjects,
    row: PhantomData<R>,
}

/// Whose facts are read.
enum Subjects {
    One(Bound),
    Many(IsOneOf<SqlLiteral<sql::Id>>),
    /// Locked before, by one call of `take_issue`, `take_step` or `take_session` (migrations/dialects/postgres.sql).
    Taken(Bound),
}

type Bound = super::types::Bound<sql::Id>;

/// Cached by its text.
impl<R> QueryId for FactsQuery<R> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<R: Columns> QueryFragment<MultiBackend> for FactsQuery<R> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        let (kind, mut names) = (self.kind.name(), Vec::new());
        R::add_names(&mut names);
        out.push_sql(&format!("SELECT \"{}\" FROM ", names.join("\", \"")));
        match &self.subjects {
            Subjects::One(id) => {
                out.push_sql(&format!("{kind}_decided_facts WHERE subject_id = "));
                id.walk_ast(out.reborrow())
            }
            Subjects::Many(is_one_of) => {
                out.push_sql(&format!("{kind}_decided_facts WHERE "));
                is_one_of.walk_ast(out.reborrow())
            }
            Subjects::Taken(id) => {
                out.push_sql(&format!("take_{kind}("));
                id.walk_ast(out.reborrow())?;
                out.push_sql(&format!(") {kind}_decided_facts"));
                Ok(())
            }
        }
    }
}

impl<R: Columns> Query for FactsQuery<R> {
    type SqlType = R::SqlType;
}

impl<R> RunQueryDsl<Db> for FactsQuery<R> {}

/// The facts of one subject, or none if there is no such subject.
pub(super) fn read_one<R: FactsRow>(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<Option<R>> {
    load(db, kind, Subjects::One(bound(id))).map(|mut rows| rows.pop())
}

/// Locks one subject and reads its facts, in one round trip; none if somebody else has it, or there is no such subject.
pub(super) fn take<R: FactsRow>(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<Option<R>> {
    load(db, kind, Subjects::Taken(bound(id))).map(|mut rows| rows.pop())
}

/// The facts of many subjects. A row that cannot be decoded must not cost the others: the halves are read, and the row
/// says no more of itself than that it is missing.
pub(super) fn read_many<R: FactsRow>(db: &mut Db, kind: Kind, ids: &[Id]) -> QueryResult<Vec<R>> {
    match load(db, kind, Subjects::Many(IsOneOf::new(diesel::dsl::sql("subject_id"), ids))) {
        Err(error) if errors::is_undecodable(&error) && ids.len() <= 1 => Ok(Vec::new()),
        Err(error) if errors::is_undecodable(&error) => {
            let (first, second) = ids.split_at(ids.len() / 2);
            let mut all = read_many(db, kind, first)?;
            all.extend(read_many(db, kind, second)?);
            Ok(all)
        }
        read => read,
    }
}

fn load<R: FactsRow>(db: &mut Db, kind: Kind, subjects: Subjects) -> QueryResult<Vec<R>> {
    R::load(FactsQuery { kind, subjects, row: PhantomData }, db)
}

fn bound(id: &Id) -> Bound {
    AsExpression::<sql::Id>::as_expression(id)
}

columns! {
    pub(super) struct AgentRow {
        agent_id -> Nullable<Id> as Option<Id>,
        agent_name -> Nullable<Text> as Option<LossyText>,
        agent_status -> Nullable<Text> as Option<LossyText>,
    }
}

impl AgentRow {
    pub fn into_assignee(self, obstacle: Option<LossyText>) -> Assignee {
        match self.agent_id {
            None => Assignee::Nobody,
            Some(id) => {
                let [name, status, obstacle] =
                    [self.agent_name, self.agent_status, obstacle].map(|words| words.map(LossyText::into));
                Assignee::Agent { id, name, status, obstacle }
            }
        }
    }
}

columns! {
    pub(super) struct HistoryRow {
        observed_at -> Instant as DateTime<Utc>,
        idle_since -> Instant as DateTime<Utc>,
        episode_began_at -> Instant as DateTime<Utc>,
        attempts -> BigInt as i64,
        attempts_last_day -> BigInt as i64,
        last_attempt_at -> Nullable<Instant> as Option<DateTime<Utc>>,
        escalated -> Bool as bool,
        escalations_last_day -> BigInt as i64,
        open_recovery_id -> Nullable<Key> as Option<Id>,
        open_recovery_action -> Nullable<Text> as Option<LossyText>,
        open_recovery_at -> Nullable<Instant> as Option<DateTime<Utc>>,
        exemption -> Nullable<Text> as Option<LossyText>,
        exemption_until -> Nullable<Instant> as Option<DateTime<Utc>>,
        agent_exemption -> Nullable<Text> as Option<LossyText>,
        agent_exemption_until -> Nullable<Instant> as Option<DateTime<Utc>>,
        tenant_exemption -> Nullable<Text> as Option<LossyText>,
        tenant_exemption_until -> Nullable<Instant> as Option<DateTime<Utc>>,
    }
}

columns! {
    /// What is known of subjects that are continued by wakes: how many wakes nobody took up, and when the work that the
    /// last one began ended.
    pub(super) struct WakesRow {
        attempts_unserved -> BigInt as i64,
        last_attempt_ended_at -> Nullable<Instant> as Option<DateTime<Utc>>,
    }
}

impl HistoryRow {
    pub fn with_wakes(self, wakes: WakesRow) -> History {
        History {
            attempts_unserved: count(wakes.attempts_unserved),
            last_attempt_ended_at: wakes.last_attempt_ended_at,
            ..self.into()
        }
    }
}

fn count(n: i64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

impl From<HistoryRow> for History {
    fn from(row: HistoryRow) -> History {
        History {
            observed_at: row.observed_at,
            idle_since: row.idle_since,
            episode_began_at: row.episode_began_at,
            attempts: count(row.attempts),
            attempts_unserved: 0,
            attempts_last_day: count(row.attempts_last_day),
            last_attempt_at: row.last_attempt_at,
            last_attempt_ended_at: None,
            escalated: row.escalated,
            abandoned: row.open_recovery_action.is_some_and(|action| action.0 == Action::Abandon.name()),
            escalations_last_day: count(row.escalations_last_day),
            open: row.open_recovery_id.zip(row.open_recovery_at).map(|(id, since)| OpenRecovery { id, since }),
            exemption: first_exemption(
                [
                    (Whose::Subject, row.exemption, row.exemption_until),
                    (Whose::Agent, row.agent_exemption, row.agent_exemption_until),
                    (Whose::Tenant, row.tenant_exemption, row.tenant_exemption_until),
                ],
                row.observed_at,
            ),
        }
    }
}

/// The first exemption that holds at `now`; else the subject's own, which has expired.
fn first_exemption(
    rows: [(Whose, Option<LossyText>, Option<DateTime<Utc>>); 3],
    now: DateTime<Utc>,
) -> Option<Exemption> {
    let exemption = |(whose, reason, until): (Whose, Option<LossyText>, _)| {
        reason.map(|reason| Exemption { whose, reason: reason.into(), until })
    };
    let all: Vec<Exemption> = rows.into_iter().filter_map(exemption).collect();
    let is_own = |exemption: &&Exemption| exemption.whose == Whose::Subject;
    all.iter().find(|exemption| exemption.holds(now)).or_else(|| all.iter().find(is_own)).cloned()
}
