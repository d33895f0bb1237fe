//! Throw-away copies of a host's database, in which anything may be tried; each is dropped with its value. And a
//! connection to one as a host itself has it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::{Array, BigInt, Text};
use tempfile::TempDir;
use uuid::Uuid;

use crate::conclusion::{Failure, busy, config};
use crate::rules::{Id, Kind};
use crate::store::connect::open::sqlite::{read_only, to_copy};
use crate::store::connect::open::{Url, conninfo};
use crate::store::connect::snapshot::texts;
use crate::store::db::dialect::Dialect;
use crate::store::db::errors;
use crate::store::hosts::catalog;
use crate::store::hosts::folders::Host;
use crate::store::hosts::migrate::refuse_lending;
use crate::store::{Access, Db};

/// A larger database is hardly one that was made to be copied.
const BYTES_MAX: i64 = 1 << 30;
/// The largest file: it is held in memory while it is copied.
const FILE_BYTES_MAX: i64 = 64 << 20;
/// A template that is empty.
const EMPTY: &str = "template0";

/// A copy of a host's database.
pub struct Sandbox {
    /// The URL for sweeps.
    pub url: Url,
    place: CopyPlace,
}

enum CopyPlace {
    /// A database beside the one at this URL.
    Server {
        beside: String,
        name: String,
    },
    File {
        path: PathBuf,
        _directory: TempDir,
    },
}

impl Sandbox {
    /// The host's tables as they are at `source`, but without sweep, and without a row in those that the host's
    /// `host.toml` names. Of sweep's own tables nothing is needed.
    pub fn copy_of(source: &Url, host: &Host) -> Result<Sandbox> {
        let sandbox = match source {
            Url::Postgres(url, _) => {
                // In a transaction whose path leaves out what others could have put in the way.
                let template = source.connect(Access::ReadOnly)?.look(|db| {
                    refuse_lending(db, host)?;
                    refuse_foreign(db, host)?;
                    if host.is_native() { Ok(EMPTY.to_owned()) } else { refuse_large(db) }
                })?;
                let copy = Sandbox::on_server(source, url, &template)?;
                // It may have become another one before it was copied.
                copy.url.connect(Access::ReadOnly)?.look(|db| refuse_lending(db, host))?;
                copy
            }
            Url::Sqlite(path) => Sandbox::in_file((!host.is_native()).then_some(path))?,
        };
        sandbox.empty(host).context("emptying the copy of the host's tables")?;
        Ok(sandbox)
    }

    /// Makes another copy with what is in this one.
    pub fn copy(&self) -> Result<Sandbox> {
        match &self.place {
            CopyPlace::Server { beside, name } => Sandbox::on_server(&self.url, beside, name),
            CopyPlace::File { path, .. } => Sandbox::in_file(Some(path)),
        }
    }

    /// The URL as other programs take it, with its secrets.
    pub fn url_text(&self) -> String {
        match &self.url {
            Url::Postgres(url, _) => url.clone(),
            Url::Sqlite(path) => format!("sqlite://{}", path.display()),
        }
    }

    /// Connects as the host does.
    pub fn connect(&self, host: &Host) -> Result<Outsider> {
        Outsider::new(self.connect_inside()?, host).context("connecting as the host does")
    }

    /// What a connection pooler calls by the copy's name may be another database, which nothing may happen to.
    fn connect_inside(&self) -> Result<Db> {
        let mut db = connect(&self.url)?;
        if let CopyPlace::Server { name, .. } = &self.place {
            let reached = catalog::name(&mut db)?;
            ensure!(
                reached == *name,
                config(format!(
                    "a connection to the copy {name} reached the database {reached}, so nothing was tried: expected \
                     a server, or a pooler that lets every database be reached by its own name"
                ))
            );
        }
        Ok(db)
    }

    fn on_server(like: &Url, beside: &str, template: &str) -> Result<Sandbox> {
        let name = format!("sweep_verify_{}", Uuid::now_v7().simple());
        let Url::Postgres(_, cache) = like else { unreachable!("a server's URL") };
        let mut db = connect(&Url::postgres(beside))?;
        let create = format!("CREATE DATABASE {name} TEMPLATE {} ALLOW_CONNECTIONS false", catalog::quoted(template));
        db.batch_execute(&create).map_err(|error| refuse_creation(&error, template))?;
        let url = Url::postgres(conninfo::with(beside, "dbname", &name)).with(cache.clone());
        let sandbox = Sandbox { url, place: CopyPlace::Server { beside: beside.to_owned(), name: name.clone() } };
        // What stands in the copy is nobody else's business, whoever may connect to the database it was made from.
        for change in ["REVOKE CONNECT ON DATABASE {} FROM PUBLIC", "ALTER DATABASE {} ALLOW_CONNECTIONS true"] {
            db.batch_execute(&change.replace("{}", &name))?;
        }
        // Sweeps connect by themselves.
        sandbox.connect_inside()?;
        Ok(sandbox)
    }

    fn in_file(source: Option<&PathBuf>) -> Result<Sandbox> {
        let directory = tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir();
        let directory = directory.context("making a directory for copies")?;
        let path = directory.path().join("copy.db");
        let url = Url::Sqlite(path.clone());
        source.map_or_else(|| url.create(), |source| copy_file(source, &path))?;
        Ok(Sandbox { url, place: CopyPlace::File { path, _directory: directory } })
    }

    fn empty(&self, host: &Host) -> Result<()> {
        if host.is_native() {
            return Ok(());
        }
        let mut db = self.connect_inside()?;
        let tables: Vec<String> = host.tables().into_iter().map(catalog::quoted).collect();
        let statements = match db.dialect() {
            Dialect::Postgres => {
                let tables = tables.iter().map(|table| format!("public.{table}")).collect::<Vec<_>>().join(", ");
                format!("DROP SCHEMA IF EXISTS sweep CASCADE; TRUNCATE {tables} CASCADE")
            }
            Dialect::Sqlite => {
                let ours: Vec<String> = sql::<Text>(
                    "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'sweep\\_%' ESCAPE '\\'",
                )
                .load(&mut db)?;
                let dropped = ours.iter().map(|table| format!("DROP TABLE {};", catalog::quoted(table)));
                let emptied = tables.iter().map(|table| format!("DELETE FROM {table};"));
                format!("PRAGMA foreign_keys = OFF; {}", dropped.chain(emptied).collect::<String>())
            }
        };
        Ok(db.batch_execute(&statements)?)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if let CopyPlace::Server { beside, name } = &self.place {
            let drop = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
            let _ = connect(&Url::postgres(beside.as_str())).map(|mut db| db.batch_execute(&drop));
        }
    }
}

/// Connects without anything of sweep's: a file's own tables have their names.
fn connect(url: &Url) -> Result<Db> {
    match url {
        Url::Postgres(..) => Ok(url.connect(Access::Write)?.into_db()),
        Url::Sqlite(path) => Ok(Db::Sqlite(to_copy(path)?)),
    }
}

/// Refuses to copy a large database; returns the database's name.
fn refuse_large(db: &mut Db) -> Result<String> {
    let name = catalog::name(db)?;
    let bytes: i64 = diesel::select(sql::<BigInt>("pg_database_size(current_database())")).get_result(db)?;
    refuse_size(&name, bytes, BYTES_MAX)?;
    Ok(name)
}

fn refuse_size(database: &str, bytes: i64, max: i64) -> Result<()> {
    let found = format!("the database {database} has {} MiB, and would be copied several times", bytes >> 20);
    let expected = format!("one with the host's tables and few rows, of at most {} MiB", max >> 20);
    ensure!(bytes <= max, config(format!("{found}: expected {expected}")));
    Ok(())
}

/// What is written to a foreign table, or to one that has such a table as a part, leaves the copy.
fn refuse_foreign(db: &mut Db, host: &Host) -> Result<()> {
    const OTHERS: &str = "WITH RECURSIVE named AS (
        SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace('public') AND relname = ANY (";
    const OF_THESE: &str = ")
        UNION SELECT inhrelid FROM pg_inherits JOIN named ON inhparent = named.oid
    ) SELECT c.relname::text FROM pg_class c JOIN named ON named.oid = c.oid
    WHERE relkind NOT IN ('r', 'p') ORDER BY relname";
    let Db::Postgres(db) = db else { return Ok(()) };
    let tables: Vec<String> = host.tables().into_iter().map(str::to_owned).collect();
    let others: Vec<String> = sql::<Text>(OTHERS).bind::<Array<Text>, _>(tables).sql(OF_THESE).load(db)?;
    let (name, listed) = (host.name(), others.join(", "));
    let refusal = format!("the host {name} names {listed}, or a table of which it is a part");
    ensure!(others.is_empty(), config(format!("{refusal}: expected tables of this database alone")));
    Ok(())
}

fn refuse_creation(error: &Error, template: &str) -> Failure {
    match error.to_string() {
        words if words.contains("being accessed by other users") => {
            busy(format!("the database {template} cannot be copied while others are connected to it: {words}"))
        }
        words => {
            let what = errors::advice(&words).map(|(what, _)| format!(": {what}")).unwrap_or_default();
            config(format!("cannot make a copy of the database {template} beside it: {words}{what}"))
        }
    }
}

/// Copies a file as it is now, with what stands in its write-ahead log; a connection that only reads leaves that as it
/// is.
fn copy_file(from: &Path, to: &Path) -> Result<()> {
    const BYTES: &str = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
    let mut db = read_only(from)?;
    refuse_size(&from.display().to_string(), sql::<BigInt>(BYTES).get_result(&mut db)?, FILE_BYTES_MAX)?;
    let copying = || format!("copying {}", from.display());
    let copy = db.serialize_database_to_buffer();
    std::fs::write(to, copy.try_as_slice().with_context(copying)?).with_context(copying)
}

/// A connection that names the host's tables as the host does.
pub struct Outsider {
    pub db: Db,
    /// The ledger, as it is called here.
    ledger: String,
    /// The names of all tables that sweep keeps on every host.
    pub ledger_tables: Vec<String>,
}

impl Outsider {
    pub(super) fn new(mut db: Db, host: &Host) -> Result<Outsider> {
        let dialect = db.dialect();
        let path = if host.is_native() { "sweep, public" } else { "public" };
        db.batch_execute(&match dialect {
            Dialect::Postgres => format!("SET search_path = {path}"),
            Dialect::Sqlite => "PRAGMA busy_timeout = 5000".to_owned(),
        })?;
        let schema = dialect.schema();
        let ledger = format!("{schema}{}recoveries", catalog::prefix(host, dialect));
        let tables = catalog::tables_of_the_ledger(host, dialect)?;
        let ledger_tables = tables.into_iter().map(|table| format!("{schema}{table}")).collect();
        Ok(Outsider { db, ledger, ledger_tables })
    }

    /// Runs statements in one transaction.
    pub fn run(&mut self, statements: &str) -> QueryResult<()> {
        self.begin(statements)?;
        self.db.batch_execute("COMMIT")
    }

    /// Runs statements in a transaction that stays open, unless it fails.
    pub fn begin(&mut self, statements: &str) -> QueryResult<()> {
        let begin = self.db.dialect().either("BEGIN", "BEGIN IMMEDIATE");
        let begun = self.db.batch_execute(&format!("{begin};\n{statements}"));
        begun.inspect_err(|_| self.roll_back())
    }

    pub fn commit(&mut self) -> QueryResult<()> {
        self.db.batch_execute("COMMIT")
    }

    pub fn roll_back(&mut self) {
        let _ = self.db.batch_execute("ROLLBACK");
    }

    /// Waits for somebody else's lock no longer than this.
    pub fn wait_at_most(&mut self, patience: Duration) -> QueryResult<()> {
        let milliseconds = patience.as_millis();
        self.db.batch_execute(&match self.db.dialect() {
            Dialect::Postgres => format!("SET lock_timeout = {milliseconds}"),
            Dialect::Sqlite => format!("PRAGMA busy_timeout = {milliseconds}"),
        })
    }

    /// Lets time pass for what the ledger remembers.
    pub fn age_the_ledger(&mut self, minutes: i64) -> QueryResult<()> {
        let earlier = |column: &str| match self.db.dialect() {
            Dialect::Postgres => format!("{column} = {column} - interval '{minutes} minutes'"),
            Dialect::Sqlite => format!("{column} = strftime('%Y-%m-%dT%H:%M:%fZ', {column}, '-{minutes} minutes')"),
        };
        let columns = ["created_at", "settled_at", "episode_began_at"].map(earlier).join(", ");
        self.db.batch_execute(&format!("UPDATE {} SET {columns}", self.ledger))
    }

    /// SQL that leaves one row of the ledger about a subject, of half an hour ago, or none: its action, whether it
    /// blocked the subject, and whether it is settled.
    pub fn ledger_row(&self, kind: Kind, id: &Id, row: Option<(&str, bool, bool)>) -> String {
        let (ledger, fresh) = (&self.ledger, Id::generate());
        let at = match self.db.dialect() {
            Dialect::Postgres => "(now() - interval '30 minutes')",
            Dialect::Sqlite => "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-30 minutes')",
        };
        let emptied = format!("DELETE FROM {ledger} WHERE kind = '{kind}' AND subject_id = '{id}';");
        let Some((action, blocked, settled)) = row else { return emptied };
        let settled = if settled { at } else { "null" };
        format!(
            "{emptied} INSERT INTO {ledger} (id, sweep_id, kind, subject_id, action, reason, episode_began_at, \
             attempt, blocked_subject, created_at, settled_at) VALUES ('{fresh}', '{fresh}', '{kind}', '{id}', \
             '{action}', 'made up', {at}, 1, {blocked}, {at}, {settled});"
        )
    }

    /// The planner knows what is in the tables, as a server finds out by itself.
    pub fn analyze(&mut self) -> QueryResult<()> {
        match self.db.dialect() {
            Dialect::Postgres => self.db.batch_execute("ANALYZE"),
            // Nobody does it there.
            Dialect::Sqlite => Ok(()),
        }
    }

    /// What whoever looks would change by the functions that views call, in sentences: each is called in a transaction
    /// that only reads, without values and with made-up ones. A file has no functions.
    pub fn writes_of_readers(&mut self) -> QueryResult<Vec<String>> {
        const CALLS: &str = "SELECT DISTINCT format('select %s(%s)', p.oid::regproc, ( \
                SELECT string_agg(coalesce(quote_literal(made_up), 'null') || '::' || format_type(t.oid, null), ', ' \
                                  ORDER BY place) \
                FROM unnest(proargtypes) WITH ORDINALITY AS argument (type, place) JOIN pg_type t ON t.oid = type, \
                LATERAL (SELECT CASE WHEN has_values THEN CASE \
                    WHEN coalesce(nullif(typbasetype, 0), t.oid) = 'uuid'::regtype THEN gen_random_uuid()::text \
                    WHEN typcategory = 'A' THEN '{}' WHEN typcategory = 'D' THEN 'now' ELSE '1' END END) \
                    AS value (made_up))) \
            FROM pg_proc p, unnest(ARRAY[false, true]) has_values \
            WHERE pronamespace = 'sweep'::regnamespace AND obj_description(p.oid, 'pg_proc') = 'called by views'";
        if self.db.dialect() == Dialect::Sqlite {
            return Ok(Vec::new());
        }
        let calls = texts(&mut self.db, CALLS)?;
        let writes = calls.into_iter().filter_map(|call| {
            let called = self.begin(&format!("SET TRANSACTION READ ONLY; {call}"));
            self.roll_back();
            let error = called.err().filter(|error| error.to_string().contains("read-only transaction"))?;
            Some(format!("whoever looks may write by a function that views call: `{call}`: {error}"))
        });
        Ok(writes.collect())
    }

    /// What it is a connection to, and its version.
    pub fn version(&mut self) -> QueryResult<String> {
        let version = match self.db.dialect() {
            Dialect::Postgres => "'PostgreSQL ' || current_setting('server_version')",
            Dialect::Sqlite => "'SQLite ' || sqlite_version()",
        };
        diesel::select(sql::<Text>(version)).get_result(&mut self.db)
    }

    /// How often the ledger has this action of a subject.
    pub fn count_in_ledger(&mut self, kind: Kind, id: &Id, action: &str) -> QueryResult<usize> {
        let ledger = &self.ledger;
        let query =
            format!("SELECT id FROM {ledger} WHERE kind = '{kind}' AND action = '{action}' AND subject_id = '{id}'");
        Ok(texts(&mut self.db, &query)?.len())
    }
}
