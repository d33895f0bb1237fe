//! One connection: to PostgreSQL or to SQLite.

use diesel::pg::PgConnection;
use diesel::sqlite::SqliteConnection;

#[derive(diesel::MultiConnection)]
pub enum Db {
    Postgres(PgConnection),
    Sqlite(SqliteConnection),
}

/// Reads the rows of a query one by one, so that few of them are in memory. None is kept.
macro_rules! for_each_row {
    ($db:expr, $query:expr, $row:ty, $each:expr) => {
        match $db {
            $crate::store::Db::Postgres(db) => {
                $query.load_iter::<$row, diesel::pg::PgRowByRowLoadingMode>(db)?.try_for_each($each)
            }
            $crate::store::Db::Sqlite(db) => {
                let rows = $query.load_iter::<$row, diesel::connection::DefaultLoadingMode>(db)?;
                rows.inspect(|_| $crate::store::connection::sqlite_guard::forget_row()).try_for_each($each)
            }
        }
    };
}
pub(super) use for_each_row;
