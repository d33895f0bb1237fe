//! The type of a host's ids, for words of operators that may be one.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use serde::Deserialize;
use uuid::Uuid;

use crate::rules::Id;
use crate::store::Db;

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
