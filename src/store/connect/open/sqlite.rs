//! The file of an embedded database: making it, opening it, and whose it is.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use super::paths;
use crate::conclusion::{Failure, busy, config, unavailable};
use crate::files;
use crate::store::db::connection::sqlite::{Companion, NO_CHECKPOINT, PATIENT};
use crate::store::db::connection::sqlite_guard::{self, Allowance};
use crate::store::db::errors;
use crate::store::hosts::guest;
use crate::store::{Access, DbConnection, Timeouts};

/// What stands behind `sqlite://`. A URI of SQLite's own could name another file than it seems to, or none at all.
pub(super) fn path_in(url: &str) -> Result<PathBuf, String> {
    match url {
        "" => Err("sqlite:// needs a path".to_owned()),
        ":memory:" => Err("expected the plain path of a file, found :memory:".to_owned()),
        _ if url.starts_with("file:") => {
            Err("expected the plain path of a file, found file:…, which is a URI of SQLite's".to_owned())
        }
        path => Ok(path.into()),
    }
}

const NO_MATCH: &str = "no file matches this pattern";

/// Makes the file, for its owner only; SQLite gives its journals the same mode. One that is there stays as it is.
pub(super) fn create(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    if path.to_string_lossy().contains('*') {
        return Err(config(format!("{shown}: {NO_MATCH}")));
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let directory = path.parent().unwrap_or(path).display();
            let meant = paths::hint(path);
            Err(config(format!("{shown}: cannot be made{meant}: make {directory}, or correct the path")))
        }
        Err(error) => Err(config(format!("{shown}: cannot create it: {}", files::error_text(&error)))),
    }
}

/// Opens a file that is there. Until it is known whose it is, it is treated as another program's.
pub(super) fn connect(path: &Path, access: Access) -> Result<DbConnection> {
    let failed = |error: diesel::result::Error| explain(path, &error.to_string());
    refuse_unless_file(path, access)?;
    let allowance = Allowance::new(Timeouts::default());
    let companion = match Companion::new(open(path, Access::ReadOnly, &allowance)?) {
        Err(error) if is_half_written(path, &error) => {
            take_back(path, access, &allowance)?;
            Companion::new(open(path, Access::ReadOnly, &allowance)?)
        }
        companion => companion,
    };
    let companion = companion.map_err(failed)?;
    let mut db = open(path, access, &allowance)?;
    db.batch_execute(&format!("{PATIENT}; {NO_CHECKPOINT}")).map_err(failed)?;
    guest::settle_in(&mut db)?;
    // Foreign keys are off by default, per connection; a rival's transaction is waited for.
    let pragma = match access {
        Access::Write => "PRAGMA foreign_keys = ON",
        Access::ReadOnly => "PRAGMA query_only = ON",
    };
    db.batch_execute(pragma).map_err(failed)?;
    Ok(DbConnection::of_file(db, companion, allowance))
}

/// Has a writer that used no write-ahead log been killed? Its journal says what to take back, which only a writer can.
fn is_half_written(path: &Path, error: &diesel::result::Error) -> bool {
    error.to_string().contains("readonly") && beside(path, "-journal").exists()
}

/// What SQLite keeps beside a file: beside the file itself, whatever link leads to it.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.canonicalize().unwrap_or_else(|_| path.to_owned()).into_os_string();
    name.push(ending);
    name.into()
}

/// Every writer of SQLite's does this with its first look. One that finds a write-ahead log would also write that into
/// the file and delete it when it closes, so then nothing is done.
fn take_back(path: &Path, access: Access, allowance: &Arc<Allowance>) -> Result<(), Failure> {
    let shown = path.display();
    if beside(path, "-wal").exists() {
        let journal = beside(path, "-journal");
        return Err(config(format!(
            "{shown}: {} stands beside a write-ahead log, and a database has one or the other: let its program open \
             it, or move the journal away if it is another file's",
            journal.display()
        )));
    }
    if access == Access::ReadOnly {
        return Err(config(format!(
            "{shown}: it is half written: whoever wrote it last was killed. Let its program open it, or run `sweep` \
             without --dry-run: that takes back what is half written"
        )));
    }
    let mut writer = open(path, Access::Write, allowance)?;
    let looked = writer.batch_execute(&format!("{PATIENT}; SELECT count(*) FROM sqlite_master"));
    looked.map_err(|error| explain(path, &error.to_string()))
}

/// A connection by which a file is copied: nothing is written, not even the log back into the file.
pub fn read_only(path: &Path) -> Result<SqliteConnection> {
    refuse_unless_file(path, Access::ReadOnly)?;
    Ok(open(path, Access::ReadOnly, &Allowance::new(Timeouts::default()))?)
}

/// A connection to sweep's own copy of a file.
pub fn to_copy(path: &Path) -> Result<SqliteConnection> {
    Ok(open(path, Access::Write, &Allowance::new(Timeouts::default()))?)
}

fn open(path: &Path, access: Access, allowance: &Arc<Allowance>) -> Result<SqliteConnection, Failure> {
    sqlite_guard::open(&uri(path, access)?, allowance).map_err(|error| explain(path, &error.to_string()))
}

/// SQLite takes a URI, in which each character of the path stands for itself, and none makes a file that is missing.
fn uri(path: &Path, access: Access) -> Result<String, Failure> {
    // In place of a path that is no text it would open another one.
    let text = path.to_str().ok_or_else(|| config(format!("{}: the path is no UTF-8", path.display())))?;
    let text = text.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    // What follows two slashes would be a host.
    let authority = if path.is_absolute() { "//" } else { "" };
    let mode = match access {
        Access::Write => "rw",
        Access::ReadOnly => "ro",
    };
    Ok(format!("file:{authority}{text}?mode={mode}"))
}

/// A missing file is not made here: a sweep of an empty database that reports success would hide a wrong path for
/// weeks. What it holds SQLite finds out: closing a handle of ours would release the locks of every other connection of
/// this process.
fn refuse_unless_file(path: &Path, access: Access) -> Result<(), Failure> {
    let refuse = |why: &str| Err(config(format!("{}: {why}", path.display())));
    if let Some(special) =
        ["-journal", "-wal", "-shm"].map(|ending| beside(path, ending)).iter().find(|it| files::is_special(it))
    {
        return refuse(&format!("{} stands beside it and is no regular file", special.display()));
    }
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && path.to_string_lossy().contains('*') => refuse(NO_MATCH),
        Err(error) if error.kind() == ErrorKind::NotFound => refuse(&format!(
            "there is no such database{}. Set DATABASE_URL or --database to the one to sweep, \
             or create this embedded one with `sweep migrate`",
            paths::hint(path)
        )),
        Err(error) => refuse(&files::error_text(&error)),
        Ok(metadata) if metadata.is_dir() => match std::fs::read_dir(path) {
            Ok(_) => refuse("is a directory, expected a SQLite database"),
            Err(error) => refuse(&format!(
                "the directory cannot be read, so what is in it is not known: {}",
                files::error_text(&error)
            )),
        },
        Ok(metadata) if !metadata.is_file() => refuse("is no regular file, expected a SQLite database"),
        Ok(metadata) if access == Access::Write && metadata.permissions().readonly() => {
            refuse("is read-only; only a dry run works on it")
        }
        Ok(_) => Ok(()),
    }
}

/// Explains an error of SQLite about the file as a whole.
pub(super) fn explain(path: &Path, message: &str) -> Failure {
    let lasting = [
        ("malformed", "the file is corrupt; restore it from a backup"),
        ("not a database", "it is corrupt, encrypted, or is not a SQLite database"),
        ("readonly", "only a dry run works on it"),
        ("unable to open", "see the rights on the file and its directory"),
        ("not authorized", "a trigger or a view of this file wants more than sweep lets a file do, see SECURITY.md"),
        ("unsafe use of", "a trigger or a view of this file wants more than sweep lets a file do, see SECURITY.md"),
    ];
    let shown = path.display();
    match lasting.iter().find(|(phrase, _)| message.contains(phrase)) {
        Some((_, hint)) => config(format!("{shown}: {message}: {hint}")),
        None if message.contains("is locked") => {
            busy(format!("{shown}: {message}: another program, or other sweeps, are writing to it; try again"))
        }
        None => match errors::advice(message) {
            Some((what, _)) => unavailable(format!("{shown}: {message}: {what}")),
            None => unavailable(format!("{shown}: {message}")),
        },
    }
}
