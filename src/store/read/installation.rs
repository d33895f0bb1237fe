//! What an installation rests upon, as its database tells before anything of sweep's schema is known there: the server
//! or the library, how it is reached, and whether it can be written to. And what is known of the schema itself.

use std::sync::Arc;

use anyhow::Result;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text};

use crate::store::connect::open::refuse_at_first_look;
use crate::store::hosts::folders::Host;
use crate::store::hosts::{migrate, rights};
use crate::store::{Abort, Access, Db, DbConnection, Timeouts};

/// A database, as it presents itself.
pub struct Installation {
    /// `PostgreSQL 16.4`, or `SQLite 3.50.4`.
    pub version: String,
    pub place: DatabasePlace,
}

/// Where a database is kept.
pub enum DatabasePlace {
    Server(ServerState),
    /// A file, and the mode of its journal: `wal`, `delete`, …
    File(String),
}

/// What a server says of itself, and of this connection.
pub struct ServerState {
    /// The number of the process that answers: behind a pooler, connections share it.
    pub process: i32,
    /// The connection came by a Unix socket.
    pub is_by_socket: bool,
    /// The version of TLS; none: it is not encrypted, or the server does not say.
    pub tls: Option<String>,
    pub is_standby: bool,
    /// How many tables other servers write to by logical replication; none: this role may not know.
    pub subscribed_tables: Option<i64>,
    /// May this role migrate? None: there is no schema yet.
    pub may_migrate: Option<bool>,
}

/// The version, the process, whether the connection is by a socket, whether it is a standby, and whether this role is a
/// member of the schema's owner.
const OF_A_SERVER: &str = "current_setting('server_version'), pg_backend_pid(), inet_server_addr() IS NULL, \
    current_setting('in_hot_standby') = 'on', \
    (SELECT pg_has_role(nspowner, 'MEMBER') FROM pg_namespace WHERE nspname = 'sweep')";

const TLS: &str = "(SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl)";

const SUBSCRIBED: &str = "(SELECT count(DISTINCT srrelid) FROM pg_subscription_rel)";

/// The mode of a file's journal.
#[derive(QueryableByName)]
struct Journal {
    #[diesel(sql_type = Text)]
    journal_mode: String,
}

impl Installation {
    pub fn read(db: &mut DbConnection) -> Result<Installation> {
        if db.is_sqlite() {
            return db.look(|db| {
                let version: String = diesel::select(sql::<Text>("sqlite_version()")).get_result(db)?;
                let Journal { journal_mode } = diesel::sql_query("PRAGMA journal_mode").get_result(db)?;
                Ok(Installation { version: format!("SQLite {version}"), place: DatabasePlace::File(journal_mode) })
            });
        }
        type Row = (String, i32, bool, bool, Option<bool>);
        type Types = (Text, Integer, Bool, Bool, Nullable<Bool>);
        let ask = |db: &mut Db| Ok(diesel::select(sql::<Types>(OF_A_SERVER)).get_result::<Row>(db)?);
        let (version, process, is_by_socket, is_standby, may_migrate) = db.look(ask)?;
        // A managed server may deny these two.
        let tls = |db: &mut Db| Ok(diesel::select(sql::<Nullable<Text>>(TLS)).get_result::<Option<String>>(db)?);
        let tls = db.look(tls).ok().flatten();
        let subscribed = |db: &mut Db| Ok(diesel::select(sql::<BigInt>(SUBSCRIBED)).get_result::<i64>(db)?);
        let subscribed_tables = db.look(subscribed).ok();
        let state = ServerState { process, is_by_socket, tls, is_standby, subscribed_tables, may_migrate };
        Ok(Installation { version: format!("PostgreSQL {version}"), place: DatabasePlace::Server(state) })
    }
}

/// The host of a schema that is up to date, whole, and as `sweep migrate` has made it; refuses every other one.
pub fn examine_schema(db: &mut DbConnection, timeouts: &Timeouts) -> Result<Arc<Host>> {
    let host = db.look(|db| {
        let set_up = refuse_at_first_look(db, Access::ReadOnly)?;
        if let Db::Postgres(db) = db {
            rights::check_version(db)?;
        }
        Ok(migrate::check(db, set_up)?.0)
    })?;
    // How a view is defined reads as it was recorded where names are looked up as they were then.
    db.in_transaction(Access::ReadOnly, timeouts, migrate::refuse_altered).map_err(Abort::error)?;
    Ok(host)
}
