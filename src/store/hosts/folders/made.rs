//! What migrations have made, as the table `host` records it: all that promises rest on, and how it was defined. What
//! is gone is looked for whenever a database is opened, and what is altered when it is migrated.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::store::Db;
use crate::store::db::dialect::Dialect;
use crate::store::hosts::catalog::PREFIX;
use crate::store::hosts::folders::Host;

/// All that stands in the schema and works, and a hash of its definition; all that stands in a file, and its text.
macro_rules! standing {
    ($before:literal, $after:literal) => {
        standing!("made.postgres.sql", $before, $after)
    };
    ($file:literal, $before:literal, $after:literal) => {
        concat!($before, include_str!($file), $after)
    };
}

/// The query that finds what was made and is gone. It asks for names alone, so that no definition is put together.
pub const GONE_ON_POSTGRES: &str = standing!(
    "SELECT key FROM sweep.host, jsonb_object_keys(made) key WHERE key <> 'server' AND key NOT IN (SELECT name FROM (",
    ") standing) ORDER BY 1"
);

const GONE_ON_SQLITE: &str = standing!(
    "made.sqlite.sql",
    "SELECT key FROM host, json_each(made) WHERE key NOT IN (SELECT name FROM (",
    ") standing) ORDER BY 1"
);

/// A definition is as the server keeps it, which names others by their numbers: a server of another version, and a
/// schema that was restored, have other ones.
const ALTERED_ON_POSTGRES: &str = standing!(
    "SELECT standing.name FROM sweep.host, (",
    ") standing WHERE made ->> standing.name <> definition \
     AND made ->> 'server' = concat(current_setting('server_version_num'), ' ', host.tableoid::oid) ORDER BY 1"
);

const ALTERED_ON_SQLITE: &str = standing!(
    "made.sqlite.sql",
    "SELECT key FROM host, json_each(made) JOIN (",
    ") standing ON standing.name = key WHERE value <> definition ORDER BY 1"
);

/// Finds what was made and is gone.
pub fn gone(db: &mut Db) -> QueryResult<Vec<String>> {
    sql::<Text>(db.dialect().either(GONE_ON_POSTGRES, GONE_ON_SQLITE)).load(db)
}

/// Finds what was made and is defined in another way now.
pub fn altered(db: &mut Db) -> QueryResult<Vec<String>> {
    sql::<Text>(db.dialect().either(ALTERED_ON_POSTGRES, ALTERED_ON_SQLITE)).load(db)
}

/// The query that has all that is to be recorded. In another program's file only sweep's own tables are known by their
/// texts: that program changes its tables, and makes and drops indexes.
pub fn to_record(host: &Host, dialect: Dialect) -> String {
    match dialect {
        Dialect::Postgres => standing!(
            "select jsonb_object_agg(name, definition) from (\n",
            "    union all\n    select 'server', concat(current_setting('server_version_num'), ' ', \
             'sweep.host'::regclass::oid)) standing"
        )
        .to_owned(),
        Dialect::Sqlite => {
            let is_own = match host.is_native() {
                true => "true".to_owned(),
                false => format!("substr(name, 1, {}) = '{PREFIX}'", PREFIX.len()),
            };
            let standing = include_str!("made.sqlite.sql");
            format!(
                "select json_group_object(name, case when {is_own} then definition end) from (\n{standing}\
                 ) standing where (type in ('table', 'view') or {is_own}) and substr(name, 1, 7) <> 'sqlite_'"
            )
        }
    }
}
