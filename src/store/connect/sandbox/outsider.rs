//! A connection as a host itself has one.

use std::time::Duration;

use anyhow::Result;
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::connect::snapshot::texts;
use crate::store::db::dialect::Dialect;
use crate::store::hosts::catalog;
use crate::store::hosts::folders::Host;

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
        let begin = match self.db.dialect() {
            Dialect::Postgres => "BEGIN",
            Dialect::Sqlite => "BEGIN IMMEDIATE",
        };
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
