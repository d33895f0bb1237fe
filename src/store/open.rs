//! Opening a database for a sweep: connect, and refuse what cannot be swept, with a message that says what to do.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};

use super::migrate::{self, Host};
use super::{Access, Db, rights};
use crate::exit::{Refusal, config, unavailable};
use crate::rules::Kind;

/// Where the database is.
#[derive(Clone, Debug, PartialEq)]
pub enum Url {
    /// For libpq: a URI or `key=value` pairs; what it leaves out comes from PG*.
    Postgres(String),
    Sqlite(PathBuf),
}

/// A database that can be swept.
pub struct Store {
    pub db: Db,
    pub host: Host,
    /// The kinds of subject that the host has.
    pub kinds: Vec<Kind>,
}

impl Url {
    pub fn parse(url: &str) -> Result<Url, String> {
        // Secrets that are kept in files often end in a newline.
        let url = url.trim();
        if let Some(path) = url.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.is_empty() {
                Err("sqlite:// needs a path".to_owned())
            } else {
                Ok(Url::Sqlite(path.into()))
            };
        }
        const EXPECTED: &str = "expected postgres://… or sqlite://PATH";
        match url.split_once("://") {
            Some(("postgres" | "postgresql", rest)) if is_ambiguous(rest) => {
                Err("the user name or password has characters that a URL must encode: @ as %40, / as %2F".to_owned())
            }
            Some(("postgres" | "postgresql", _)) => Ok(Url::Postgres(url.to_owned())),
            None if url.contains('=') => Ok(Url::Postgres(url.to_owned())),
            None if url.is_empty() => Err(format!("is empty, {EXPECTED}")),
            Some((scheme, _)) => Err(format!("{EXPECTED}, found {scheme}://…")),
            // Not shown: it may hold a password.
            None => Err(EXPECTED.to_owned()),
        }
    }

    /// Makes the file of an embedded database that does not exist yet, and the directories above it.
    pub fn create(&self) -> Result<()> {
        let Url::Sqlite(path) = self else { return Ok(()) };
        let refuse = |error: std::io::Error| config(format!("{}: cannot create it: {error}", path.display()));
        if path.exists() {
            return Ok(());
        }
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(refuse)?;
        }
        std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .map(drop)
            .map_err(|error| refuse(error).into())
    }

    /// Connects, without a look at what is there.
    pub fn connect(&self, access: Access) -> Result<Db> {
        match self {
            Url::Postgres(url) => connect_postgres(url),
            Url::Sqlite(path) => connect_sqlite(path, access),
        }
    }

    /// Connects and checks that this database can be swept.
    pub fn open(&self, access: Access) -> Result<Store> {
        let mut db = self.connect(access)?;
        if let Db::Postgres(db) = &mut db {
            refuse_standby(db, access)?;
            rights::check(db, access)?;
        }
        let host = migrate::check(&mut db).map_err(|error| self.explain(error))?;
        let kinds = provided(&mut db).context("looking for the kinds that this database provides")?;
        Ok(Store { db, host, kinds })
    }

    /// Names the file of an embedded database in an error of SQLite's, and tells what may pass from what will not.
    pub fn explain(&self, error: Error) -> Error {
        match self {
            Url::Sqlite(path) if !error.is::<Refusal>() => refuse_sqlite(path, &format!("{error:#}")).into(),
            Url::Sqlite(_) | Url::Postgres(_) => error,
        }
    }
}

fn connect_postgres(url: &str) -> Result<Db> {
    let mut db = PgConnection::establish(&with_defaults(url)).map_err(refuse_connection)?;
    // Views are read with the schema's name left out, so that SQLite and PostgreSQL share their queries.
    db.batch_execute("SET client_min_messages = warning")
        .context("setting up the connection")?;
    Ok(Db::Postgres(db))
}

/// libpq waits for ever by default, and a server's operators want to know who is connected.
fn with_defaults(url: &str) -> String {
    let defaults = [("connect_timeout", "10"), ("fallback_application_name", "sweep")];
    let missing = defaults
        .iter()
        .filter(|(key, _)| !url.contains(key))
        .map(|(key, value)| format!("{key}={value}"));
    let missing: Vec<String> = missing.collect();
    match url.split_once("://") {
        None => format!("{url} {}", missing.join(" ")),
        Some(_) => format!(
            "{url}{}{}",
            if url.contains('?') { '&' } else { '?' },
            missing.join("&")
        ),
    }
}

/// Would libpq take a part of the password for the host, and name it in an error?
fn is_ambiguous(url: &str) -> bool {
    let Some((credentials, rest)) = url.split_once('@') else {
        return false;
    };
    let in_query = credentials
        .split_once('?')
        .is_some_and(|(_, query)| query.contains('='));
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    !in_query && (credentials.contains('/') || host.contains('@'))
}

/// libpq says the same for each way that it tried, adds advice, and quotes what it cannot parse: maybe a password.
fn words_of(error: &ConnectionError) -> String {
    let message = error.to_string();
    if ["connection info string", "percent-encoded"]
        .iter()
        .any(|phrase| message.contains(phrase))
    {
        return "the connection string is malformed: encode special characters in a URL (a space as %20), \
                quote values in key='value' pairs"
            .to_owned();
    }
    let mut lines: Vec<&str> = message.lines().filter(|line| !line.starts_with('\t')).collect();
    lines.dedup();
    lines.join("; ")
}

/// What trying again may mend is *unavailable*; the rest is configuration.
fn refuse_connection(error: ConnectionError) -> Refusal {
    let message = words_of(&error);
    let passing = [
        "Connection refused",
        "timeout expired",
        "No such file or directory",
        "starting up",
        "shutting down",
        "too many",
        "remaining connection slots",
        "server closed the connection",
        "could not translate host name",
        "No route to host",
        "Network is unreachable",
        "in recovery mode",
    ];
    match passing.iter().any(|phrase| message.contains(phrase)) {
        true => unavailable(format!("cannot reach PostgreSQL: {message}")),
        false => config(format!("cannot connect to PostgreSQL: {message}")),
    }
}

fn connect_sqlite(path: &Path, access: Access) -> Result<Db> {
    refuse_unless_sqlite(path, access)?;
    let url = match access {
        Access::Write => path.display().to_string(),
        Access::ReadOnly => {
            let path = path
                .display()
                .to_string()
                .replace('%', "%25")
                .replace('?', "%3f")
                .replace('#', "%23");
            format!("file:{path}?mode=ro")
        }
    };
    let mut db = SqliteConnection::establish(&url).map_err(|error| refuse_sqlite(path, &error.to_string()))?;
    // Foreign keys are off by default, per connection; a rival's transaction is waited for.
    let pragmas = match access {
        Access::Write => "PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON",
        Access::ReadOnly => "PRAGMA busy_timeout = 5000; PRAGMA query_only = ON",
    };
    db.batch_execute(pragmas)
        .map_err(|error| refuse_sqlite(path, &error.to_string()))?;
    Ok(Db::Sqlite(db))
}

/// A missing file is not made here: a sweep of an empty database that reports success would hide a wrong path for weeks.
fn refuse_unless_sqlite(path: &Path, access: Access) -> Result<()> {
    let shown = path.display();
    let refuse = |why: &str| Err(config(format!("{shown}: {why}")).into());
    let metadata = match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return refuse(
                "there is no such database. Set DATABASE_URL or --database to the one to sweep, \
                 or create this embedded one with `sweep migrate`",
            );
        }
        Err(error) => return refuse(&error.to_string()),
        Ok(metadata) => metadata,
    };
    if metadata.is_dir() {
        return refuse("is a directory, expected a SQLite database");
    }
    if access == Access::Write && metadata.permissions().readonly() {
        return refuse("is read-only; only --dry-run works on it");
    }
    let mut header = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| config(format!("{shown}: {error}")))?;
    file.take(16)
        .read_to_end(&mut header)
        .with_context(|| format!("reading {shown}"))?;
    match header.as_slice() {
        [] | b"SQLite format 3\0" => Ok(()),
        _ => refuse("is not a SQLite database"),
    }
}

/// An error of SQLite about the file as a whole.
fn refuse_sqlite(path: &Path, message: &str) -> Refusal {
    let lasting = [
        ("malformed", "the file is corrupt; restore it from a backup"),
        (
            "not a database",
            "the file is corrupt or encrypted, or no SQLite database",
        ),
        ("readonly", "only --dry-run works on it"),
        ("unable to open", "see the rights on the file and its directory"),
    ];
    let shown = path.display();
    match lasting.iter().find(|(phrase, _)| message.contains(phrase)) {
        Some((_, hint)) => config(format!("{shown}: {message}: {hint}")),
        None => unavailable(format!("{shown}: {message}")),
    }
}

/// A kind is provided when the host has both of its views.
fn provided(db: &mut Db) -> QueryResult<Vec<Kind>> {
    let mut kinds = Vec::new();
    for kind in Kind::ALL {
        if exists(db, &format!("{kind}_candidates"))? && exists(db, &format!("{kind}_facts"))? {
            kinds.push(kind);
        }
    }
    Ok(kinds)
}

/// Is there such a table or view of ours?
pub(super) fn exists(db: &mut Db, relation: &str) -> QueryResult<bool> {
    match db {
        Db::Postgres(db) => diesel::select(
            sql::<Bool>("to_regclass(")
                .bind::<Text, _>(format!("sweep.{relation}"))
                .sql(") IS NOT NULL"),
        )
        .get_result(db),
        Db::Sqlite(db) => diesel::select(
            sql::<Bool>("EXISTS (SELECT 1 FROM sqlite_master WHERE name = ")
                .bind::<Text, _>(relation)
                .sql(")"),
        )
        .get_result(db),
    }
}

fn refuse_standby(db: &mut PgConnection, access: Access) -> Result<()> {
    let standby: bool = diesel::select(sql::<Bool>("pg_is_in_recovery()")).get_result(db)?;
    match (standby, access) {
        (true, Access::Write) => {
            Err(unavailable("this server is a hot standby and cannot be written to: only --dry-run works on it").into())
        }
        (true, Access::ReadOnly) | (false, _) => Ok(()),
    }
}
