//! Opening a database for a sweep: connect, and refuse what cannot be swept, with a message that says what to do.

pub mod conninfo;
pub mod patience;
mod postgres;
pub(in crate::store) mod sqlite;
pub mod unanswered;

use std::fmt::{Debug, Formatter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Error, Result};
use migrate::SetUp;

use crate::conclusion::{Failure, busy, config, unavailable};
use crate::rules::Kind;
use crate::store::db::dialect::Dialect;
use crate::store::db::errors::{self, Refused};
use crate::store::hosts::folders::Host;
use crate::store::hosts::migrate;
use crate::store::hosts::rights::{self, Purpose};
use crate::store::{Abort, Access, Db, DbConnection, Timeouts};
use conninfo::Conninfo;
use patience::{FALLEN_SILENT, Patience};

pub use crate::store::db::connection::StatementCache;

/// The place of a database.
#[derive(Clone, PartialEq)]
pub enum Url {
    /// What libpq takes: a URI or `key=value` pairs; what it leaves out comes from PG*.
    Postgres(String, StatementCache),
    Sqlite(PathBuf),
}

/// A URL may hold a password, and settings are printed whole.
impl Debug for Url {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        match self {
            Url::Postgres(..) => f.write_str("Postgres(***)"),
            Url::Sqlite(path) => f.debug_tuple("Sqlite").field(path).finish(),
        }
    }
}

/// A database that can be swept.
pub struct Store {
    pub db: DbConnection,
    pub host: Arc<Host>,
    /// The version of the latest migration.
    pub schema_version: String,
    /// The kinds of subject that the host has.
    pub kinds: Vec<Kind>,
}

impl Url {
    pub fn dialect(&self) -> Dialect {
        match self {
            Url::Postgres(..) => Dialect::Postgres,
            Url::Sqlite(_) => Dialect::Sqlite,
        }
    }

    pub fn parse(url: &str) -> Result<Url, String> {
        // Secrets that are kept in files often end in a newline.
        let url = url.trim();
        if let Some(path) = url.strip_prefix("sqlite:") {
            return sqlite::path_in(path.strip_prefix("//").unwrap_or(path)).map(Url::Sqlite);
        }
        // A regular file is one, whatever libpq would make of its name.
        if !url.contains("://") && Path::new(url).is_file() || sqlite::names_files(url) {
            return Ok(Url::Sqlite(url.into()));
        }
        let is_name = url.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
        let meant = if is_name { sqlite::hint(Path::new(url)) } else { String::new() };
        match url.split_once("://") {
            Some(("postgres" | "postgresql", rest)) if postgres::is_ambiguous(rest) => {
                Err("the user name or password has characters that a URL must encode: @ as %40, / as %2F".to_owned())
            }
            Some(("postgres" | "postgresql", _)) => Ok(Url::postgres(url)),
            Some((scheme, _)) if scheme.chars().all(|c| c.is_ascii_alphanumeric()) => {
                Err(format!("expected {FORMS}, found {scheme}://…"))
            }
            None | Some(_) if url.contains('=') => Ok(Url::postgres(url)),
            None if url.is_empty() => Err(format!("is empty, expected {FORMS}")),
            // The text is not shown: it may hold a password. What looks like the name of a file may be mistyped.
            None | Some(_) => Err(format!(
                "expected {FORMS}, or the path of a file that is there; the name of a database alone is neither{meant}"
            )),
        }
    }

    /// The URL of what libpq takes.
    pub fn postgres(url: impl Into<String>) -> Url {
        Url::Postgres(url.into(), StatementCache::default())
    }

    pub fn with(self, cache: StatementCache) -> Url {
        match self {
            Url::Postgres(url, _) => Url::Postgres(url, cache),
            Url::Sqlite(_) => self,
        }
    }

    /// This URL with a parameter of libpq's, unless it has that parameter.
    pub fn or(self, parameter: &str, value: &str) -> Url {
        match self {
            Url::Postgres(url, cache) if Conninfo::read(&url).get(parameter).is_none() => {
                Url::Postgres(conninfo::with(&url, parameter, value), cache)
            }
            Url::Postgres(..) | Url::Sqlite(_) => self,
        }
    }

    /// What it says of a server of PostgreSQL; none for an embedded database.
    pub fn conninfo(&self) -> Option<Conninfo<'_>> {
        match self {
            Url::Postgres(url, _) => Some(Conninfo::read(url)),
            Url::Sqlite(_) => None,
        }
    }

    /// What it is called among several: the server and the database, or the file. No secret is in it.
    pub fn name(&self) -> String {
        match self {
            Url::Postgres(..) => self.conninfo().map(|conninfo| conninfo.name()).unwrap_or_default(),
            Url::Sqlite(path) => path.display().to_string(),
        }
    }

    /// What leads to it as `--database` of a command, without what authenticates, of which libpq finds it in its own
    /// places. None: it may hold a secret elsewhere, or be in a place that it names.
    pub fn without_credentials(&self) -> Option<String> {
        match self {
            Url::Postgres(..) => self.conninfo()?.without_credentials(),
            Url::Sqlite(path) => Some(format!("sqlite://{}", path.to_str()?)),
        }
    }

    /// The text of a URL, as it may be shown: without what is a secret, may hold one, or names a file that does.
    pub fn without_secrets(url: &str) -> String {
        match Url::parse(url) {
            Ok(Url::Postgres(url, _)) => Conninfo::read(&url).hidden(),
            Ok(Url::Sqlite(_)) => url.to_owned(),
            Err(_) => "***".to_owned(),
        }
    }

    /// Makes the file of an embedded database that does not exist yet, in a directory that does.
    pub fn create(&self) -> Result<()> {
        match self {
            Url::Postgres(..) => Ok(()),
            Url::Sqlite(path) => Ok(sqlite::create(path)?),
        }
    }

    /// Connects, without a look at what is there.
    pub fn connect(&self, access: Access) -> Result<DbConnection> {
        match self {
            Url::Postgres(url, cache) => postgres::connect(url, cache),
            Url::Sqlite(path) => sqlite::connect(path, access),
        }
    }

    /// Connects to what was opened before: another database may bear its name by now.
    pub fn connect_again(&self, access: Access) -> Result<DbConnection> {
        let mut db = self.connect(access)?;
        db.look(|db| refuse_at_first_look(db, access))?;
        Ok(db)
    }

    /// Connects and checks that this database can be swept, or looked at.
    pub fn open(&self, access: Access) -> Result<Store> {
        self.open_to(match access {
            Access::ReadOnly => Purpose::Look,
            Access::Write => Purpose::Sweep,
        })
    }

    /// Connects and checks that sweep's schema is current and that this role has the rights for it.
    pub fn open_to(&self, purpose: Purpose) -> Result<Store> {
        let access = purpose.access();
        let mut db = self.connect(access)?;
        let looked = db.look(|db| {
            let set_up = refuse_at_first_look(db, access)?;
            if let Db::Postgres(db) = db {
                rights::check(db, purpose)?;
            }
            migrate::check(db, set_up)
        });
        let (host, schema_version) = looked.map_err(|error| self.explain(error))?;
        if host.is_native() {
            db.is_ours()?;
        }
        let kinds = host.kinds();
        Ok(Store { db, host, schema_version, kinds })
    }

    /// Asks a question of several statements, and gives up on a database that has fallen silent meanwhile.
    pub fn ask<T: Send + 'static>(
        &self,
        timeouts: &Timeouts,
        question: impl FnOnce(&Url) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.ask_within(Patience::of(self.patience(timeouts.question())), question)
    }

    /// Asks a question on a thread of its own, and waits for the answer no longer than `patience`.
    pub fn ask_within<T: Send + 'static>(
        &self,
        patience: Patience,
        question: impl FnOnce(&Url) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let url = self.clone();
        let answer = patience::within(patience, &self.key(), move || question(&url));
        answer.map_err(|why| unavailable(format!("{FALLEN_SILENT}: {why}")))?
    }

    /// The time that connecting may take, and with it `rest`, for what is asked then.
    pub fn patience(&self, rest: Duration) -> Duration {
        match self {
            Url::Postgres(url, _) => patience::to_connect(url).unwrap_or(Duration::MAX).saturating_add(rest),
            Url::Sqlite(_) => rest,
        }
    }

    /// The name by which attempts to ask this database are counted. It may hold a password, and is never shown.
    pub(crate) fn key(&self) -> String {
        match self {
            Url::Postgres(url, _) => url.clone(),
            Url::Sqlite(path) => path.display().to_string(),
        }
    }

    /// Names the file of an embedded database in an error of SQLite's, adds to one of PostgreSQL's what can be done
    /// about it, and distinguishes what may pass from what will not.
    pub fn explain(&self, error: Error) -> Error {
        if error.is::<Failure>() {
            return error;
        }
        let words = format!("{error:#}");
        match (self, errors::advice(&words)) {
            (Url::Sqlite(path), _) => sqlite::explain(path, &words).into(),
            (Url::Postgres(..), _) if words.contains(errors::DENIED) => {
                let mut db = self.connect(Access::ReadOnly).ok();
                config(rights::denial(db.as_mut(), &words)).into()
            }
            (Url::Postgres(..), Some((what, true))) => config(format!("{words}: {what}")).into(),
            (Url::Postgres(..), Some((what, false))) => unavailable(format!("{words}: {what}")).into(),
            (Url::Postgres(..), None) => error,
        }
    }

    /// Explains why what somebody asked for was not done; that others are at it is no fault of the database's.
    pub fn explain_refusal(&self, abort: Abort<Refused>) -> Error {
        match &abort {
            Abort::RolledBack(Refused::Query(error))
                if errors::is_contention(error) || errors::is_lock_timeout(error) =>
            {
                busy(format!("somebody else is at it, try again: {}", errors::error_chain(error))).into()
            }
            Abort::RolledBack(_) | Abort::Lost(_) | Abort::Unknown(_) => self.explain(abort.into()),
        }
    }
}

const FORMS: &str = "postgres://… or sqlite://PATH";

/// Refuses what must not be read, or cannot be used so. Of a schema that comes a moment later nothing is read either.
pub(in crate::store) fn refuse_at_first_look(db: &mut Db, access: Access) -> Result<SetUp> {
    let there = match db {
        Db::Postgres(db) => postgres::first_look(db, access)?,
        Db::Sqlite(_) => Some(SetUp::Unknown),
    };
    there.map_or_else(|| migrate::refuse_unmigrated(db), Ok)
}
