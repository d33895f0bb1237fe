//! Portable column types: one Rust type and one SQL type each, on PostgreSQL and on SQLite.
//!
//! | SQL type | PostgreSQL | SQLite | Rust |
//! |---|---|---|---|
//! | `sql::HostId`, of a host's rows | as the host's | as the host's | `Id` |
//! | `sql::OwnKey`, of sweep's own rows | uuid | text | `Id` |
//! | `sql::Moment` | timestamptz | text: `2026-11-21T09:30:00.000Z` | `DateTime<Utc>`, `Instant`, `RawInstant` |
//! | `sql::JsonDocument` | jsonb | text | `Document` |
//! | diesel's `Text` | text | text | `String`; `LossyText`, whatever it holds |

use std::io::Write;

use chrono::{DateTime, Datelike, NaiveDateTime, SecondsFormat, Utc};
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::{Array, HasSqlType, Jsonb, Text, Timestamptz, Uuid as PgUuid};
use diesel::sqlite::{Sqlite, SqliteValue};
use uuid::Uuid;

use crate::rules::Id;
use crate::store::db::{MultiBackend, MultiRawValue};

pub mod sql {
    use diesel::query_builder::QueryId;
    use diesel::sql_types::SqlType;

    #[derive(Clone, Copy, Debug, Default, QueryId, SqlType)]
    #[diesel(postgres_type(name = "id", schema = "sweep"), sqlite_type(name = "Text"))]
    pub struct HostId;

    #[derive(Clone, Copy, Debug, Default, QueryId, SqlType)]
    #[diesel(postgres_type(oid = 2950, array_oid = 2951), sqlite_type(name = "Text"))]
    pub struct OwnKey;

    /// Texts of ids: `text[]`, on SQLite an array of JSON.
    #[derive(Clone, Copy, Debug, Default, QueryId, SqlType)]
    #[diesel(postgres_type(oid = 1009, array_oid = 0), sqlite_type(name = "Text"))]
    pub struct IdTexts;

    #[derive(Clone, Copy, Debug, Default, QueryId, SqlType)]
    #[diesel(postgres_type(oid = 1184, array_oid = 1185), sqlite_type(name = "Text"))]
    pub struct Moment;

    #[derive(Clone, Copy, Debug, Default, QueryId, SqlType)]
    #[diesel(postgres_type(oid = 3802, array_oid = 3807), sqlite_type(name = "Text"))]
    pub struct JsonDocument;
}

impl diesel::sql_types::SqlOrd for sql::Moment {}

/// A place in the order of the scan. Unlike `DateTime`, it holds whatever the column holds, so that one absurd
/// timestamp cannot end a scan: on PostgreSQL microseconds with both infinities, on SQLite any text.
#[derive(Clone, Debug, PartialEq, PartialOrd, AsExpression, FromSqlRow)]
#[diesel(sql_type = sql::Moment)]
pub enum RawInstant {
    /// Before every timestamp.
    Beginning,
    Micros(i64),
    Text(String),
}

impl RawInstant {
    /// The time that it is, if it is one.
    pub fn instant(&self) -> Option<DateTime<Utc>> {
        /// PostgreSQL counts from the year 2000.
        const EPOCH_MICROS: i64 = 946_684_800_000_000;
        match self {
            RawInstant::Beginning => None,
            RawInstant::Micros(micros) => DateTime::from_timestamp_micros(micros.checked_add(EPOCH_MICROS)?),
            RawInstant::Text(text) => DateTime::parse_from_rfc3339(text).ok().map(|instant| instant.to_utc()),
        }
    }
}

/// What lies in the future has no age yet.
pub fn age_seconds(at: DateTime<Utc>, now: DateTime<Utc>) -> i64 {
    (now - at).num_seconds().max(0)
}

/// A JSON document that is written.
#[derive(Clone, Debug, AsExpression)]
#[diesel(sql_type = sql::JsonDocument)]
pub struct Document(pub serde_json::Value);

/// Text of a row, also when it is no UTF-8.
#[derive(Clone, Debug, PartialEq, FromSqlRow)]
pub struct LossyText(pub String);

impl From<LossyText> for String {
    fn from(text: LossyText) -> String {
        text.0
    }
}

/// The text of a document that is read. As a tree it takes eighty times the memory, so that it is read into what is
/// wanted of it, and rows are kept as they come.
#[derive(Clone, Debug, FromSqlRow)]
pub struct WrittenDocument(String);

impl WrittenDocument {
    /// Reads it as a `T`; none if it holds something else.
    pub fn read<T: serde::de::DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(&self.0).ok()
    }
}

#[derive(AsExpression, FromSqlRow)]
#[diesel(foreign_derive, sql_type = sql::OwnKey)]
#[expect(dead_code, reason = "the derives are for Id, which is pure and knows nothing of diesel")]
struct IdProxy(Id);

/// A time that is written; one that is read is a `DateTime<Utc>`.
#[derive(Clone, Copy, Debug, PartialEq, AsExpression)]
#[diesel(sql_type = sql::Moment)]
pub struct Instant(pub DateTime<Utc>);

impl Id {
    /// A new id; ids made later sort later.
    pub fn generate() -> Id {
        Id(Uuid::now_v7().to_string())
    }

    /// When it was made, if it was made so.
    pub fn made_at(&self) -> Option<DateTime<Utc>> {
        let (seconds, nanos) = Uuid::parse_str(&self.0).ok()?.get_timestamp()?.to_unix();
        DateTime::from_timestamp(i64::try_from(seconds).ok()?, nanos)
    }
}

/// What `MultiConnection` needs to know of a type that is not one of diesel's own.
macro_rules! portable {
    ($sql:ty: $($rust:ty),*) => {
        impl HasSqlType<$sql> for MultiBackend {
            fn metadata(lookup: &mut Self::MetadataLookup) -> Self::TypeMetadata {
                Self::lookup_sql_type::<$sql>(lookup)
            }
        }
        $(impl ToSql<$sql, MultiBackend> for $rust {
            fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, MultiBackend>) -> serialize::Result {
                out.set_value((<$sql>::default(), self));
                Ok(IsNull::No)
            }
        })*
    };
}
macro_rules! readable {
    ($sql:ty: $($rust:ty),+) => {
        $(impl FromSql<$sql, MultiBackend> for $rust {
            fn from_sql(bytes: MultiRawValue<'_>) -> deserialize::Result<Self> {
                bytes.from_sql::<Self, $sql>()
            }
        })+
    };
}
portable!(sql::HostId:);
portable!(sql::OwnKey: Id);
portable!(sql::IdTexts: IdList);
portable!(sql::Moment: Instant, RawInstant);
portable!(sql::JsonDocument: Document);
readable!(sql::HostId: Id);
readable!(sql::OwnKey: Id);
readable!(sql::Moment: DateTime<Utc>, RawInstant);
readable!(Text: LossyText);
readable!(sql::JsonDocument: WrittenDocument);

mod ids;
pub use ids::{Bound, IdType, IsOneOf};

/// The texts of ids, in one parameter: however many there are, the statement is the same, and is planned once.
#[derive(Debug)]
pub struct IdList(pub Vec<String>);

impl ToSql<sql::IdTexts, Pg> for IdList {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        <Vec<String> as ToSql<Array<Text>, Pg>>::to_sql(&self.0, &mut out.reborrow())
    }
}

impl ToSql<sql::IdTexts, Sqlite> for IdList {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(serde_json::to_string(&self.0)?);
        Ok(IsNull::No)
    }
}

impl FromSql<sql::OwnKey, Pg> for Id {
    fn from_sql(bytes: PgValue<'_>) -> deserialize::Result<Self> {
        <Uuid as FromSql<PgUuid, Pg>>::from_sql(bytes).map(|uuid| Id(uuid.to_string()))
    }
}

impl ToSql<sql::OwnKey, Pg> for Id {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        out.write_all(Uuid::parse_str(&self.0)?.as_bytes())?;
        Ok(IsNull::No)
    }
}

impl FromSql<sql::OwnKey, Sqlite> for Id {
    fn from_sql(value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Self> {
        Ok(Id(lossy(value)))
    }
}

impl ToSql<sql::OwnKey, Sqlite> for Id {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.as_str());
        Ok(IsNull::No)
    }
}

impl FromSql<sql::Moment, Pg> for DateTime<Utc> {
    fn from_sql(bytes: PgValue<'_>) -> deserialize::Result<Self> {
        let naive = <NaiveDateTime as FromSql<Timestamptz, Pg>>::from_sql(bytes);
        let naive = naive.map_err(|_| "a time of which no calendar knows is no plausible time")?;
        plausible(naive.and_utc())
    }
}

impl ToSql<sql::Moment, Pg> for Instant {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        <NaiveDateTime as ToSql<Timestamptz, Pg>>::to_sql(&self.0.naive_utc(), &mut out.reborrow())
    }
}

impl FromSql<sql::Moment, Sqlite> for DateTime<Utc> {
    fn from_sql(value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Self> {
        let text = lossy(value);
        let instant = DateTime::parse_from_rfc3339(&text)
            .map_err(|_| format!("{} is no timestamp like 2026-11-21T09:30:00.000Z", quoted(&text)))?;
        plausible(instant.to_utc())
    }
}

impl ToSql<sql::Moment, Sqlite> for Instant {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.to_rfc3339_opts(SecondsFormat::Millis, true));
        Ok(IsNull::No)
    }
}

impl FromSql<sql::Moment, Pg> for RawInstant {
    fn from_sql(bytes: PgValue<'_>) -> deserialize::Result<Self> {
        let micros: [u8; 8] = bytes.as_bytes().try_into()?;
        Ok(RawInstant::Micros(i64::from_be_bytes(micros)))
    }
}

impl ToSql<sql::Moment, Pg> for RawInstant {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        let micros = match self {
            RawInstant::Beginning => i64::MIN,
            RawInstant::Micros(micros) => *micros,
            RawInstant::Text(_) => return Err("a text is no place in a scan of PostgreSQL".into()),
        };
        out.write_all(&micros.to_be_bytes())?;
        Ok(IsNull::No)
    }
}

impl FromSql<sql::Moment, Sqlite> for RawInstant {
    fn from_sql(value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Self> {
        Ok(RawInstant::Text(lossy(value)))
    }
}

impl ToSql<sql::Moment, Sqlite> for RawInstant {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(match self {
            RawInstant::Beginning => String::new(),
            RawInstant::Text(text) => text.clone(),
            RawInstant::Micros(micros) => return Err(format!("{micros} is no place in a scan of SQLite").into()),
        });
        Ok(IsNull::No)
    }
}

impl ToSql<sql::JsonDocument, Pg> for Document {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        <serde_json::Value as ToSql<Jsonb, Pg>>::to_sql(&self.0, &mut out.reborrow())
    }
}

impl ToSql<sql::JsonDocument, Sqlite> for Document {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.to_string());
        Ok(IsNull::No)
    }
}

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

/// The first byte of `jsonb` is the version of its format.
impl FromSql<sql::JsonDocument, Pg> for WrittenDocument {
    fn from_sql(bytes: PgValue<'_>) -> deserialize::Result<Self> {
        let text = bytes.as_bytes().get(1..).unwrap_or_default();
        Ok(WrittenDocument(String::from_utf8_lossy(text).into_owned()))
    }
}

impl FromSql<sql::JsonDocument, Sqlite> for WrittenDocument {
    fn from_sql(value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Self> {
        Ok(WrittenDocument(lossy(value)))
    }
}

/// No control plane is older than this century: what is, or lies in the far future, is a broken row and no sign of
/// life.
fn plausible(instant: DateTime<Utc>) -> deserialize::Result<DateTime<Utc>> {
    match instant.year() {
        2000..=2199 => Ok(instant),
        _ => Err(format!("“{instant}” is no plausible time").into()),
    }
}

/// What a column of times holds instead of one. SQLite lets it be any text, a secret as well: only what could have been
/// meant as a time is repeated.
fn quoted(text: &str) -> String {
    let length = text.chars().count();
    match length <= 30 && text.chars().all(|c| c.is_ascii_digit() || "TZ-:.,+/ ".contains(c)) {
        true => format!("“{text}”"),
        false => format!("a text of {length} characters"),
    }
}

/// SQLite keeps any bytes as text: a row must be found and named although its text is no UTF-8.
fn lossy(mut value: SqliteValue<'_, '_, '_>) -> String {
    String::from_utf8_lossy(value.read_blob()).into_owned()
}
