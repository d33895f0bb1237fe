//! The PostgreSQL server, its databases, and its programs psql and pgbench.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Double, Text};
use sweep::store::Access;
use sweep::store::connect::open::Url;
use sweep::store::hosts::migrate::{Wanted, migrate};

use crate::fixtures::Company;

pub struct Server {
    /// The URL of a superuser, for the database `postgres`.
    url: String,
}

impl Server {
    pub fn of_environment() -> Result<Server> {
        #[expect(clippy::disallowed_methods, reason = "how tests/postgres hands over its server")]
        let url = std::env::var("TEST_DATABASE_URL").context("TEST_DATABASE_URL is not set")?;
        Ok(Server { url })
    }

    /// Names the server's version and settings, on which the figures depend.
    pub fn describe(&self) -> Result<String> {
        let show = |setting: &str| self.text("postgres", &format!("current_setting('{setting}')"));
        let cores = std::thread::available_parallelism()?;
        let (version, fsync) = (show("server_version")?, show("fsync")?);
        Ok(format!("{cores} cores, PostgreSQL {version}, fsync {fsync}"))
    }

    /// The URL of another database of this server.
    pub fn url(&self, database: &str) -> String {
        let (base, parameters) = self.url.split_once('?').unwrap_or((&self.url, ""));
        let server = base.rsplit_once('/').map_or(base, |(server, _)| server);
        format!("{server}/{database}?{parameters}")
    }

    /// The directory of the Unix socket, and the port, if the URL says both: `?host=%2F…&port=…`.
    pub fn socket(&self) -> Option<(String, String)> {
        let parameters = self.url.split_once('?')?.1;
        let value = |name: &str| parameters.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        Some((value("host")?.replace("%2F", "/"), value("port")?.to_owned()))
    }

    /// The URL of a database by a socket of this port in another directory.
    pub fn url_by(&self, database: &str, directory: &str) -> Option<String> {
        let encoded = |directory: &str| format!("host={}", directory.replace('/', "%2F"));
        Some(self.url(database).replace(&encoded(&self.socket()?.0), &encoded(directory)))
    }

    /// Creates a migrated database with a company in it.
    pub fn create(&self, database: &str, company: &Company) -> Result<()> {
        self.create_empty(database)?;
        self.migrate(database)?;
        for statements in company.postgres() {
            self.execute(database, &statements)?;
        }
        self.execute(database, "checkpoint")
    }

    /// Creates a database with Paperclip's schema, and sweep's beside it.
    pub fn create_paperclip(&self, database: &str, schema: &Path) -> Result<()> {
        self.create_empty(database)?;
        let mut psql = Command::new("psql");
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", "-f"]).arg(schema).arg(self.url(database));
        output(&mut psql)?;
        self.migrate(database)
    }

    pub fn create_empty(&self, database: &str) -> Result<()> {
        self.drop(database)?;
        self.execute("postgres", &format!("create database {database}"))
    }

    fn migrate(&self, database: &str) -> Result<()> {
        migrate(&mut Url::postgres(self.url(database)).connect(Access::Write)?, &Wanted::default()).map(drop)
    }

    /// Makes a fresh copy of a database, and a checkpoint, which would otherwise fall into the measurement.
    pub fn copy(&self, template: &str, database: &str) -> Result<()> {
        self.drop(database)?;
        self.execute("postgres", &format!("create database {database} template {template}"))?;
        self.execute("postgres", "checkpoint")
    }

    pub fn drop(&self, database: &str) -> Result<()> {
        self.execute("postgres", &format!("drop database if exists {database} with (force)"))
    }

    pub fn execute(&self, database: &str, statements: &str) -> Result<()> {
        Ok(self.connect(database)?.batch_execute(statements)?)
    }

    /// Sets one of the server's settings, for all databases from now on.
    pub fn configure(&self, setting: &str, value: &str) -> Result<()> {
        self.execute("postgres", &format!("alter system set {setting} = {value}"))?;
        self.execute("postgres", "select pg_reload_conf()")
    }

    /// How many milliseconds the server needs for the statements of a database while something happens.
    pub fn milliseconds(&self, database: &str, happens: impl FnOnce() -> Result<()>) -> Result<f64> {
        self.statements(database, happens)?;
        let sum = "SELECT sum(total_exec_time + total_plan_time) FROM pg_stat_statements WHERE toplevel";
        Ok(sql::<Double>(sum).get_result(&mut self.connect("postgres")?)?)
    }

    /// Counts all statements of a database while something happens, those inside functions as well: how often each was
    /// executed, how many milliseconds it took and took to plan, and how it begins. The longest come first.
    pub fn statements(
        &self,
        database: &str,
        happens: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<(i64, f64, f64, String)>> {
        self.execute(
            "postgres",
            "create extension if not exists pg_stat_statements; select pg_stat_statements_reset()",
        )?;
        for setting in ["track = 'all'", "track_planning = on"] {
            self.execute("postgres", &format!("alter database {database} set pg_stat_statements.{setting}"))?;
        }
        happens()?;
        let query = "SELECT calls, total_exec_time, total_plan_time, left(regexp_replace(query, '\\s+', ' ', 'g'), 100) \
                     FROM pg_stat_statements ORDER BY total_exec_time + total_plan_time DESC LIMIT 12";
        Ok(sql::<(BigInt, Double, Double, Text)>(query).load(&mut self.connect("postgres")?)?)
    }

    pub fn number(&self, database: &str, expression: &str) -> Result<i64> {
        Ok(diesel::select(sql::<BigInt>(expression)).get_result(&mut self.connect(database)?)?)
    }

    fn text(&self, database: &str, expression: &str) -> Result<String> {
        Ok(diesel::select(sql::<Text>(expression)).get_result(&mut self.connect(database)?)?)
    }

    pub fn connect(&self, database: &str) -> Result<PgConnection> {
        let mut db =
            PgConnection::establish(&self.url(database)).with_context(|| format!("connecting to {database}"))?;
        db.batch_execute("set client_min_messages = warning")?;
        Ok(db)
    }

    /// How long psql took with a query, and how many milliseconds of it the query took, as psql says. The server compiles
    /// no query, as it compiles none for sweep.
    pub fn psql(&self, database: &str, query: &str) -> Result<(Duration, f64)> {
        let mut psql = Command::new("psql");
        psql.args([
            "-X",
            "-q",
            "-o",
            "/dev/null",
            "-c",
            "set jit = off",
            "-c",
            "\\timing on",
            "-c",
            query,
            &self.url(database),
        ]);
        let began = Instant::now();
        let said = output(&mut psql)?;
        let whole = began.elapsed();
        let time = said.lines().find_map(|line| line.strip_prefix("Time: ")?.split(' ').next()?.parse().ok());
        time.map(|time| (whole, time)).with_context(|| format!("psql did not say how long it took: {said}"))
    }

    /// Transactions per second, without connecting, of a script that so many clients run with prepared statements.
    pub fn pgbench(&self, database: &str, script: &str, clients: u32, each: u32) -> Result<f64> {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), script)?;
        let mut pgbench = Command::new("pgbench");
        pgbench.env("PGOPTIONS", "-c search_path=sweep").arg("-f").arg(file.path());
        pgbench.args(["-n", "-M", "prepared", "-D", "round=0", "-D", &format!("each={each}")]);
        pgbench.args(["-c", &clients.to_string(), "-j", &clients.min(2).to_string(), "-t", &each.to_string()]);
        let said = output(pgbench.arg(self.url(database)))?;
        let tps = said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
        tps.with_context(|| format!("pgbench did not say how fast it was: {said}"))
    }
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("running {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}
