//! Facts are read by the names of their columns. A type of facts says once which columns it has and what becomes of
//! each; the statements that read it are made from that.

use chrono::{DateTime, Utc};
use diesel::connection::LoadConnection;
use diesel::deserialize::{self, FromSql};
use diesel::expression::{AsExpression, SqlLiteral};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::result::Error;
use diesel::row::{Field, Row};
use diesel::sql_types::is_nullable::NotNull;
use diesel::sql_types::{BigInt, Bool, Double, Integer, Nullable, SqlType, Text, Untyped};

use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::db::MultiBackend;
use crate::store::db::errors::{self, UnreadableColumn};
use crate::store::db::types::{Bound, IsOneOf, LossyText, sql};

/// A type that is made of the columns of a row of facts.
pub trait FromColumns: Sized {
    /// Asks for every column, whatever the others hold: the first call is answered with defaults, without a row, and
    /// teaches which columns there are.
    fn from_columns(columns: &mut impl Columns) -> deserialize::Result<Self>;
}

/// Columns that are asked for by name.
pub trait Columns {
    fn get<T: FromColumn>(&mut self, name: &'static str) -> deserialize::Result<T>;
}

/// A Rust type that a column is read into.
pub trait FromColumn: Default {
    /// The column's type, as `migrations/contract.toml` calls it.
    const TYPE: &'static str;
    const IS_NULLABLE: bool = false;
    type Sql;
    type Stored: FromSql<Self::Sql, MultiBackend>;

    fn from_stored(stored: Self::Stored) -> Self;
}

/// A text that must be UTF-8, since it is compared with what stands in the database.
#[derive(Default)]
pub struct Utf8(pub String);

/// The id of a row of sweep's own.
#[derive(Default)]
pub struct Key(pub Id);

macro_rules! from_column {
    ($($rust:ty: $name:literal, $sql:ty, $stored:ty, $from_stored:expr;)+) => {
        $(impl FromColumn for $rust {
            const TYPE: &'static str = $name;
            type Sql = $sql;
            type Stored = $stored;

            fn from_stored(stored: $stored) -> $rust {
                $from_stored(stored)
            }
        })+
    };
}
from_column! {
    Id: "id", sql::HostId, Id, |id| id;
    Key: "uuid", sql::OwnKey, Id, Key;
    Utf8: "text", Text, String, Utf8;
    String: "text", Text, LossyText, String::from;
    bool: "boolean", Bool, bool, |truth| truth;
    i32: "integer", Integer, i32, |number| number;
    u32: "bigint", BigInt, i64, |count| u32::try_from(count).unwrap_or(u32::MAX);
    f64: "double precision", Double, f64, |number| number;
    DateTime<Utc>: "timestamptz", sql::Moment, DateTime<Utc>, |time| time;
}

impl<T: FromColumn> FromColumn for Option<T>
where
    T::Sql: SqlType<IsNull = NotNull>,
{
    const TYPE: &'static str = T::TYPE;
    const IS_NULLABLE: bool = true;
    type Sql = Nullable<T::Sql>;
    type Stored = Option<T::Stored>;

    fn from_stored(stored: Option<T::Stored>) -> Option<T> {
        stored.map(T::from_stored)
    }
}

/// A column of some facts.
#[derive(Clone, Copy, Debug)]
pub struct FactsColumn {
    pub name: &'static str,
    /// As `migrations/contract.toml` calls it.
    pub of_type: &'static str,
    pub is_nullable: bool,
}

impl FactsColumn {
    /// The columns of these facts, in the order in which they are asked for.
    pub fn all_of<F: FromColumns>() -> Vec<FactsColumn> {
        let mut columns = Vec::new();
        // Nothing is decoded, and so nothing fails.
        let _ = F::from_columns(&mut columns);
        columns
    }

    /// What stands before and after the column's name, so that whoever wrote a row does not decide how much memory it
    /// takes: of a text 1,200 characters are read, of a session's output the last 20,000 (40 lines of 400, or 20 of
    /// 1,000), and of the commands that a host advises the first 20,000.
    fn around_name(&self, backend: &MultiBackend) -> (&'static str, &'static str) {
        match (self.of_type, self.name, backend) {
            ("text", "resume_commands", _) => ("substr(", ", 1, 20000)"),
            ("text", "recent_output", MultiBackend::Postgres(_)) => ("right(", ", 20000)"),
            ("text", "recent_output", MultiBackend::Sqlite(_)) => ("substr(", ", -20000)"),
            ("text", ..) => ("substr(", ", 1, 1200)"),
            _ => ("", ""),
        }
    }
}

impl Columns for Vec<FactsColumn> {
    fn get<T: FromColumn>(&mut self, name: &'static str) -> deserialize::Result<T> {
        self.push(FactsColumn { name, of_type: T::TYPE, is_nullable: T::IS_NULLABLE });
        Ok(T::default())
    }
}

/// A row of a `FactsQuery`, whose columns stand in the order in which they are asked for.
struct FactsRow<'r, R> {
    row: &'r R,
    next: usize,
}

impl<'a, R: Row<'a, MultiBackend>> Columns for FactsRow<'_, R> {
    fn get<T: FromColumn>(&mut self, name: &'static str) -> deserialize::Result<T> {
        let place = self.next;
        self.next += 1;
        debug_assert_eq!(self.row.get(place).as_ref().and_then(|field| field.field_name()), Some(name));
        let stored = self.row.get_value::<T::Sql, T::Stored, usize>(place);
        stored.map(T::from_stored).map_err(|cause| UnreadableColumn { name, cause }.into())
    }
}

/// A statement that reads rows of the facts that decide, of one kind.
struct FactsQuery {
    kind: Kind,
    subjects: Subjects,
    columns: Vec<FactsColumn>,
}

/// The subjects whose facts are read.
enum Subjects {
    One(Bound<sql::HostId>),
    Many(IsOneOf<SqlLiteral<sql::HostId>>),
    /// Locked before, by one call of `take_issue`, `take_step` or `take_session` (migrations/dialects/postgres.sql).
    Taken(Bound<sql::HostId>),
}

/// The statement is cached by its text.
impl QueryId for FactsQuery {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl QueryFragment<MultiBackend> for FactsQuery {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        let kind = self.kind.name();
        for (n, column) in self.columns.iter().enumerate() {
            out.push_sql(if n == 0 { "SELECT " } else { ", " });
            let (before, after) = column.around_name(out.backend());
            out.push_sql(before);
            // Between double quotes SQLite would take the name of a column that is missing for a text.
            out.push_identifier(column.name)?;
            out.push_sql(after);
            out.push_sql(" AS ");
            out.push_identifier(column.name)?;
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

impl Query for FactsQuery {
    type SqlType = Untyped;
}

/// The facts of one subject, or none if there is no such subject.
pub(in crate::store) fn read_one<F: FromColumns>(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<Option<F>> {
    load(db, kind, Subjects::One(AsExpression::<sql::HostId>::as_expression(id))).map(|mut rows| rows.pop())
}

/// Locks one subject and reads its facts, in one round trip; none if somebody else has it, or there is no such subject.
pub(in crate::store) fn take_one<F: FromColumns>(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<Option<F>> {
    load(db, kind, Subjects::Taken(AsExpression::<sql::HostId>::as_expression(id))).map(|mut rows| rows.pop())
}

/// The facts of many subjects. A row that cannot be decoded must not cost the others: the halves are read, and the row
/// says no more of itself than that it is missing.
pub(in crate::store) fn read_many<F: FromColumns>(db: &mut Db, kind: Kind, ids: &[Id]) -> QueryResult<Vec<F>> {
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

fn load<F: FromColumns>(db: &mut Db, kind: Kind, subjects: Subjects) -> QueryResult<Vec<F>> {
    let rows = LoadConnection::load(db, FactsQuery { kind, subjects, columns: FactsColumn::all_of::<F>() })?;
    let facts =
        rows.map(|row| F::from_columns(&mut FactsRow { row: &row?, next: 0 }).map_err(Error::DeserializationError));
    facts.collect()
}
