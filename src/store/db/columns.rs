//! Columns of rows of facts, each named once beside its field, and the statements that read such rows.

use std::marker::PhantomData;

use diesel::expression::{AsExpression, SqlLiteral};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::db::backends::MultiBackend;
use crate::store::db::errors;
use crate::store::db::types::{IsOneOf, sql};

/// A struct that is read from some columns of a row.
pub(in crate::store) trait Columns {
    type SqlType;

    /// Adds the names of the columns and their SQL types, as written, in the order of the fields.
    fn add_columns(columns: &mut Vec<(&'static str, &'static str)>);
}

/// A struct that holds one row of facts.
pub(in crate::store) trait FactsRow: Columns + Sized {
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
            use $crate::store::db::types::sql::*;
            impl $crate::store::db::columns::Columns for $row {
                type SqlType = ($($sql,)+);
                fn add_columns(columns: &mut Vec<(&'static str, &'static str)>) {
                    columns.extend([$((stringify!($column), stringify!($sql))),+]);
                }
            }
        };
    };
    ($(#[$meta:meta])* $vis:vis struct $row:ident { $($part:ident: $columns:ty,)+ }) => {
        $(#[$meta])*
        #[derive(diesel::Queryable)]
        $vis struct $row { $(pub $part: $columns,)+ }

        impl $crate::store::db::columns::Columns for $row {
            type SqlType = ($(<$columns as $crate::store::db::columns::Columns>::SqlType,)+);
            fn add_columns(columns: &mut Vec<(&'static str, &'static str)>) {
                $(<$columns as $crate::store::db::columns::Columns>::add_columns(columns);)+
            }
        }

        impl $crate::store::db::columns::FactsRow for $row {
            fn load(
                query: $crate::store::db::columns::FactsQuery<$row>,
                db: &mut $crate::store::Db,
            ) -> diesel::QueryResult<Vec<$row>> {
                diesel::RunQueryDsl::load(query, db)
            }
        }
    };
}
pub(in crate::store) use columns;

/// A statement that reads rows of the facts that decide, of one kind. The compiler knows the SQL types of its columns
/// and not the columns themselves: with the type of each column, one such statement took half a minute to compile.
pub(in crate::store) struct FactsQuery<R> {
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

type Bound = crate::store::db::types::Bound<sql::Id>;

/// Cached by its text.
impl<R> QueryId for FactsQuery<R> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<R: Columns> QueryFragment<MultiBackend> for FactsQuery<R> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        let (kind, mut columns) = (self.kind.name(), Vec::new());
        R::add_columns(&mut columns);
        for (n, (name, sql_type)) in columns.into_iter().enumerate() {
            out.push_sql(if n == 0 { "SELECT " } else { ", " });
            let (before, after) = around_column(name, sql_type, out.backend());
            out.push_sql(before);
            // Between double quotes SQLite would take the name of a column that is missing for a text.
            out.push_identifier(name)?;
            out.push_sql(after);
        }
        out.push_sql(" FROM ");
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

/// What stands before and after the name of a column, so that whoever wrote a row does not decide how much memory it
/// takes: of a text 1,200 characters are read, of a session's output the last 20,000 (40 lines of 400, or 20 of 1,000),
/// and of the commands that a host advises the first 20,000.
fn around_column(name: &str, sql_type: &str, backend: &MultiBackend) -> (&'static str, &'static str) {
    match backend {
        _ if !sql_type.contains("Text") => ("", ""),
        _ if name == "resume_commands" => ("substr(", ", 1, 20000)"),
        _ if name != "recent_output" => ("substr(", ", 1, 1200)"),
        MultiBackend::Postgres(_) => ("right(", ", 20000)"),
        MultiBackend::Sqlite(_) => ("substr(", ", -20000)"),
    }
}

impl<R: Columns> Query for FactsQuery<R> {
    type SqlType = R::SqlType;
}

impl<R> RunQueryDsl<Db> for FactsQuery<R> {}

/// The facts of one subject, or none if there is no such subject.
pub(in crate::store) fn read_one<R: FactsRow>(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<Option<R>> {
    load(db, kind, Subjects::One(bound(id))).map(|mut rows| rows.pop())
}

/// Locks one subject and reads its facts, in one round trip; none if somebody else has it, or there is no such subject.
pub(in crate::store) fn take<R: FactsRow>(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<Option<R>> {
    load(db, kind, Subjects::Taken(bound(id))).map(|mut rows| rows.pop())
}

/// The facts of many subjects. A row that cannot be decoded must not cost the others: the halves are read, and the row
/// says no more of itself than that it is missing.
pub(in crate::store) fn read_many<R: FactsRow>(db: &mut Db, kind: Kind, ids: &[Id]) -> QueryResult<Vec<R>> {
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
