//! Text and documents that are read whatever they hold: what reads all rows must not end at one of them.

use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::pg::{Pg, PgValue};
use diesel::sql_types::Text;
use diesel::sqlite::{Sqlite, SqliteValue};

use super::{WrittenDocument, lossy, sql};
use crate::store::db::backends::{MultiBackend, MultiRawValue};

/// Text of a row, also when it is no UTF-8.
#[derive(Clone, Debug, PartialEq, FromSqlRow)]
pub struct LossyText(pub String);

impl From<LossyText> for String {
    fn from(text: LossyText) -> String {
        text.0
    }
}

readable!(Text: LossyText);
readable!(sql::Document: WrittenDocument);

impl FromSql<Text, Pg> for LossyText {
    fn from_sql(bytes: PgValue<'_>) -> deserialize::Result<Self> {
        Ok(LossyText(String::from_utf8_lossy(bytes.as_bytes()).into_owned()))
    }
}

impl FromSql<Text, Sqlite> for LossyText {
    fn from_sql(value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Self> {
        Ok(LossyText(lossy(value)))
    }
}

/// The first byte is the format's version.
impl FromSql<sql::Document, Pg> for WrittenDocument {
    fn from_sql(bytes: PgValue<'_>) -> deserialize::Result<Self> {
        let text = bytes.as_bytes().get(1..).unwrap_or_default();
        Ok(WrittenDocument(String::from_utf8_lossy(text).into_owned()))
    }
}

impl FromSql<sql::Document, Sqlite> for WrittenDocument {
    fn from_sql(value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Self> {
        Ok(WrittenDocument(lossy(value)))
    }
}
