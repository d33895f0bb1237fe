//! Opening a SQLite file.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use crate::exit::{Refusal, config, unavailable};
use crate::store::{Access, Db};

/// Opens a file that is there.
pub(super) fn connect(path: &Path, access: Access) -> Result<Db> {
    refuse_unless_sqlite(path, access)?;
    let url = match access {
        Access::Write => path.display().to_string(),
        Access::ReadOnly => {
            let path = path.display().to_string().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
            format!("file:{path}?mode=ro")
        }
    };
    let mut db = SqliteConnection::establish(&url).map_err(|error| explain(path, &error.to_string()))?;
    // Foreign keys are off by default, per connection; a rival's transaction is waited for.
    let pragmas = match access {
        Access::Write => "PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON",
        Access::ReadOnly => "PRAGMA busy_timeout = 5000; PRAGMA query_only = ON",
    };
    db.batch_execute(pragmas).map_err(|error| explain(path, &error.to_string()))?;
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
    file.take(16).read_to_end(&mut header).with_context(|| format!("reading {shown}"))?;
    match header.as_slice() {
        [] | b"SQLite format 3\0" => Ok(()),
        _ => refuse("is not a SQLite database"),
    }
}

/// An error of SQLite about the file as a whole.
pub(super) fn explain(path: &Path, message: &str) -> Refusal {
    let lasting = [
        ("malformed", "the file is corrupt; restore it from a backup"),
        ("not a database", "the file is corrupt or encrypted, or no SQLite database"),
        ("readonly", "only --dry-run works on it"),
        ("unable to open", "see the rights on the file and its directory"),
    ];
    let shown = path.display();
    match lasting.iter().find(|(phrase, _)| message.contains(phrase)) {
        Some((_, hint)) => config(format!("{shown}: {message}: {hint}")),
        None => unavailable(format!("{shown}: {message}")),
    }
}
