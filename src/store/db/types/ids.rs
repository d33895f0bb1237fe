//! A host's ids, whatever their type. PostgreSQL is given their text, and makes of it what the host's ids are: its
//! migrations make the domain `sweep.id`. SQLite compares a text with a column of any type.

use std::marker::PhantomData;

use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql};
use diesel::dsl::sql;
use diesel::expression::is_aggregate::Never;
use diesel::expression::{
    AppearsOnTable, AsExpression, Expression, SelectableExpression, TypedExpressionType, ValidGrouping,
};
use diesel::pg::{Pg, PgValue};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Bool, HasSqlType, Integer, Nullable, SqlType, Text, Uuid as PgUuid};
use diesel::sqlite::{Sqlite, SqliteValue};
use serde::Deserialize;
use uuid::Uuid;

use crate::rules::Id;
use crate::store::db::dialect::Dialect;
use crate::store::db::types::{IdList, lossy, sql};
use crate::store::db::{Db, MultiBackend};

/// What statements are written for.
trait HasDialect: Backend {
    fn dialect(&self) -> Dialect;
}
impl HasDialect for Pg {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }
}
impl HasDialect for Sqlite {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }
}
impl HasDialect for MultiBackend {
    fn dialect(&self) -> Dialect {
        if matches!(self, MultiBackend::Postgres(_)) { Dialect::Postgres } else { Dialect::Sqlite }
    }
}

/// An id in a statement: `sql::HostId`, or `Nullable<sql::HostId>`.
#[derive(Clone, Debug, QueryId)]
pub struct Bound<T>(Option<String>, PhantomData<T>);

impl Bound<Nullable<sql::HostId>> {
    /// Binds an id that may be missing.
    pub fn optional(id: Option<&Id>) -> Self {
        Bound(id.map(|id| id.0.clone()), PhantomData)
    }
}

macro_rules! bound {
    ($($id:ty),+) => {$(
        impl AsExpression<sql::HostId> for $id {
            type Expression = Bound<sql::HostId>;
            fn as_expression(self) -> Bound<sql::HostId> {
                Bound(Some(self.0.clone()), PhantomData)
            }
        }
        impl AsExpression<Nullable<sql::HostId>> for $id {
            type Expression = Bound<Nullable<sql::HostId>>;
            fn as_expression(self) -> Bound<Nullable<sql::HostId>> {
                Bound(Some(self.0.clone()), PhantomData)
            }
        }
    )+};
}
bound!(Id, &Id);

impl<T: SqlType + TypedExpressionType> Expression for Bound<T> {
    type SqlType = T;
}
impl<T, Source> AppearsOnTable<Source> for Bound<T> where Bound<T>: Expression {}
impl<T, Source> SelectableExpression<Source> for Bound<T> where Bound<T>: Expression {}
impl<T, Columns> ValidGrouping<Columns> for Bound<T> {
    type IsAggregate = Never;
}

impl<T, DB: HasDialect + HasSqlType<Text>> QueryFragment<DB> for Bound<T>
where
    Option<String>: ToSql<Nullable<Text>, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let (before, after) = out.backend().dialect().around_text();
        out.push_sql(before);
        out.push_bind_param::<Nullable<Text>, _>(&self.0)?;
        out.push_sql(after);
        Ok(())
    }
}

/// Is the id of a row one of these?
#[derive(QueryId, ValidGrouping)]
pub struct IsOneOf<Column> {
    id: Column,
    ids: IdList,
}

impl<Column> IsOneOf<Column> {
    pub fn new(id: Column, ids: &[Id]) -> IsOneOf<Column> {
        IsOneOf { id, ids: IdList(ids.iter().map(|id| id.0.clone()).collect()) }
    }
}

impl<C: Expression> Expression for IsOneOf<C> {
    type SqlType = Bool;
}
impl<C: AppearsOnTable<Source>, Source> AppearsOnTable<Source> for IsOneOf<C> {}
impl<C: SelectableExpression<Source>, Source> SelectableExpression<Source> for IsOneOf<C> {}

impl<C: QueryFragment<DB>, DB: HasDialect + HasSqlType<sql::IdTexts>> QueryFragment<DB> for IsOneOf<C>
where
    IdList: ToSql<sql::IdTexts, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let (before, after) = out.backend().dialect().around_list();
        self.id.walk_ast(out.reborrow())?;
        out.push_sql(before);
        out.push_bind_param::<sql::IdTexts, _>(&self.ids)?;
        out.push_sql(after);
        Ok(())
    }
}

/// The types of which a host's ids may be, by their numbers in PostgreSQL's catalog.
impl FromSql<sql::HostId, Pg> for Id {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        Ok(Id(match value.get_oid().get() {
            2950 => <Uuid as FromSql<PgUuid, Pg>>::from_sql(value)?.to_string(),
            20 => <i64 as FromSql<BigInt, Pg>>::from_sql(value)?.to_string(),
            23 => <i32 as FromSql<Integer, Pg>>::from_sql(value)?.to_string(),
            _ => String::from_utf8_lossy(value.as_bytes()).into_owned(),
        }))
    }
}

impl FromSql<sql::HostId, Sqlite> for Id {
    fn from_sql(value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Self> {
        Ok(Id(lossy(value)))
    }
}

/// Words of more characters are no ids.
const LENGTH_MAX: usize = 200;

/// The type of a host's ids, as PostgreSQL calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, strum::EnumString, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum IdType {
    Uuid,
    Integer,
    Bigint,
    Text,
    /// On SQLite: any text, of which it makes whatever its column needs; and a uuid as sweep writes it.
    #[serde(skip)]
    #[strum(disabled)]
    TextOrUuid,
}

impl IdType {
    pub fn of(db: &mut Db) -> QueryResult<IdType> {
        let Db::Postgres(db) = db else { return Ok(IdType::TextOrUuid) };
        let base: String =
            sql::<Text>("SELECT typbasetype::regtype::text FROM pg_type WHERE oid = to_regtype('sweep.id')")
                .get_result(db)?;
        Ok(base.parse().unwrap_or(IdType::Text))
    }

    /// Parses the id that this is, as the database writes it, if it can be one.
    pub fn parse(self, text: &str) -> Option<Id> {
        let is_plausible = !text.is_empty() && text.chars().count() <= LENGTH_MAX && !text.contains('\0');
        let uuid = Uuid::parse_str(text).ok().map(|uuid| uuid.to_string());
        let id = match self {
            IdType::Uuid => uuid?,
            IdType::Integer => text.parse::<i32>().ok()?.to_string(),
            IdType::Bigint => text.parse::<i64>().ok()?.to_string(),
            IdType::Text => is_plausible.then(|| text.to_owned())?,
            IdType::TextOrUuid => uuid.or(is_plausible.then(|| text.to_owned()))?,
        };
        Some(Id(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_an_id_only_if_the_hosts_ids_can_be_so() {
        let parse = |of: IdType, text: &str| of.parse(text).map(|id| id.0);
        let uuid = "0192F0C1-0000-7000-8000-000000000001";
        assert_eq!(parse(IdType::Uuid, uuid), Some(uuid.to_lowercase()));
        assert_eq!(parse(IdType::Uuid, "ACM-12"), None);
        assert_eq!(parse(IdType::Bigint, "0012"), Some("12".to_owned()));
        assert_eq!(parse(IdType::Integer, "4000000000"), None);
        assert_eq!(parse(IdType::Bigint, "4000000000"), Some("4000000000".to_owned()));
        assert_eq!(parse(IdType::Bigint, "ACM-12"), None);
        assert_eq!(parse(IdType::Text, "t_0a1b2c3d"), Some("t_0a1b2c3d".to_owned()));
        assert_eq!(parse(IdType::Text, uuid), Some(uuid.to_owned()));
        let wide = "─".repeat(LENGTH_MAX);
        assert_eq!(parse(IdType::TextOrUuid, &wide), Some(wide));
        assert_eq!(parse(IdType::TextOrUuid, uuid), Some(uuid.to_lowercase()));
        assert_eq!(parse(IdType::TextOrUuid, "t_0a1b2c3d"), Some("t_0a1b2c3d".to_owned()));
        for none in ["", "a\0b", &"x".repeat(LENGTH_MAX + 1)] {
            assert_eq!(parse(IdType::Text, none), None, "{none:?}");
        }
    }
}
