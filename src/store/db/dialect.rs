//! What a database says of itself: of which kind it is, which one it is, and what time it is there.

use chrono::{DateTime, Utc};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::store::db::Db;
use crate::store::db::types::sql::Moment;

/// The kind of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Dialect {
    Postgres,
    Sqlite,
}

impl Dialect {
    /// The first on PostgreSQL, the second on SQLite.
    pub fn either<T>(self, on_postgres: T, on_sqlite: T) -> T {
        match self {
            Dialect::Postgres => on_postgres,
            Dialect::Sqlite => on_sqlite,
        }
    }

    /// The name of its folders of migrations.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The name that its makers give it.
    pub fn title(self) -> &'static str {
        self.either("PostgreSQL", "SQLite")
    }

    /// What the name of a relation of sweep's begins with where no path says where names are looked up.
    pub fn schema(self) -> &'static str {
        self.either("sweep.", "")
    }

    /// The expression of SQL that is the database's clock.
    pub fn clock(self) -> &'static str {
        self.either("clock_timestamp()", SQLITE_CLOCK)
    }

    /// The expression of SQL that says which database it is: the id that `sweep migrate` gave it and its name, or the
    /// file. A standby has its primary's, and so has a copy of the same name.
    pub fn identity(self) -> &'static str {
        match self {
            Dialect::Postgres => "(SELECT database_id::text || '/' || current_database() FROM sweep.host)",
            Dialect::Sqlite => "(SELECT file FROM pragma_database_list WHERE name = 'main')",
        }
    }

    /// What stands before and after the text of an id in this database's SQL.
    pub fn around_text(self) -> (&'static str, &'static str) {
        self.either(("CAST(", " AS sweep.id)"), ("", ""))
    }

    /// What stands between an id and a list in which it may be, and after it.
    pub fn around_list(self) -> (&'static str, &'static str) {
        self.either((" = ANY(CAST(", " AS sweep.id[]))"), (" IN (SELECT value FROM json_each(", "))"))
    }
}

/// SQLite's clock, as the migrations write it as well.
pub const SQLITE_CLOCK: &str = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

impl Db {
    pub fn dialect(&self) -> Dialect {
        match self {
            Db::Postgres(_) => Dialect::Postgres,
            Db::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// Which database this is.
    pub fn identity(&mut self) -> QueryResult<String> {
        diesel::select(sql::<Text>(self.dialect().identity())).get_result(self)
    }

    /// What time it is by the database's clock.
    pub fn now(&mut self) -> QueryResult<DateTime<Utc>> {
        diesel::select(sql::<Moment>(self.dialect().clock())).get_result(self)
    }
}
