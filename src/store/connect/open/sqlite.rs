//! The files of embedded databases: which files a path may mean, making one, opening it, and whose it is.
//!
//! A path may mean several files, where it is a pattern such as `boards/*.db`, or a file whose name was mistyped. In a
//! pattern with a `*`, `?` and `[a-z]` have their meaning as well.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{DirEntry, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use glob::{MatchOptions, Pattern};

use crate::conclusion::{Failure, busy, config, unavailable};
use crate::files;
use crate::store::db::connection::sqlite_guard::{self, Allowance};
use crate::store::db::connection::{Companion, NO_CHECKPOINT, PATIENT, StatementCache};
use crate::store::db::errors;
use crate::store::hosts::guest;
use crate::store::{Access, Db, DbConnection, Timeouts};

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
            let meant = hint(path);
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
    Ok(DbConnection::new(Db::Sqlite(db), StatementCache::default(), Some((companion, allowance))))
}

/// Has a writer that used no write-ahead log been killed? Its journal says what to take back, which only a writer can.
fn is_half_written(path: &Path, error: &diesel::result::Error) -> bool {
    error.to_string().contains("readonly") && beside(path, "-journal").exists()
}

/// What SQLite keeps beside a file: beside the file itself, whatever link leads to it.
pub(in crate::store) fn beside(path: &Path, ending: &str) -> PathBuf {
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
            hint(path)
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
        None => {
            let advice = errors::advice(message).map(|(what, _)| format!(": {what}")).unwrap_or_default();
            unavailable(format!("{shown}: {message}{advice}"))
        }
    }
}

/// Names that differ by more were not meant.
const FAR: f64 = 0.8;

/// Entries that are looked at in a directory.
const LOOKED_AT: usize = 1000;

/// A pattern that is given without `sqlite://`, as a file that is there may be. What has another character may be a
/// connection string, or a password.
pub fn names_files(text: &str) -> bool {
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || "-_./*?[]".contains(c);
    text.contains('*') && text.contains(['.', '/']) && text.chars().all(is_of_path)
}

/// A path with `*`, unless there is a file of that name. With a `?` or `[` alone it is one only if it matches a file.
pub fn is_pattern(path: &Path) -> bool {
    let text = path.to_string_lossy();
    !path.exists() && (text.contains('*') || (text.contains(['?', '[']) && !matching(path).is_empty()))
}

/// The databases among the files that match, in the order of their names: not those that are hidden, nor the logs that
/// SQLite keeps beside a file. What cannot be read is among them, so that whoever opens it says why.
pub fn matching(pattern: &Path) -> Vec<PathBuf> {
    let components: Vec<&OsStr> = pattern.iter().collect();
    let mut found = BTreeSet::new();
    walk(PathBuf::new(), &components, &mut found);
    found.into_iter().collect()
}

/// Goes on from this place by the components that are left. Nobody looks first whether it is a directory: what cannot
/// be read is not the same as what is none.
fn walk(place: PathBuf, components: &[&OsStr], found: &mut BTreeSet<PathBuf>) {
    let Some((component, rest)) = components.split_first() else {
        found.extend(is_meant(&place).then_some(place));
        return;
    };
    let text = component.to_string_lossy();
    if !text.contains(['*', '?', '[']) {
        return walk(place.join(component), rest, found);
    }
    let is_any_depth = text == "**";
    if is_any_depth {
        walk(place.clone(), rest, found);
    }
    let Ok(pattern) = Pattern::new(&text) else { return };
    match entries(&place) {
        Ok(entries) => {
            for (name, is_directory) in entries.into_iter().filter(|(name, _)| is_match(&pattern, name)) {
                if !is_any_depth || is_directory {
                    walk(place.join(name), if is_any_depth { components } else { rest }, found);
                }
            }
        }
        Err(error) if is_nothing(&error) => {}
        Err(_) => drop(found.insert(place)),
    }
}

/// The names in a directory, and which of them are directories themselves: links are not.
fn entries(directory: &Path) -> io::Result<Vec<(OsString, bool)>> {
    let directory = if directory == Path::new("") { Path::new(".") } else { directory };
    let entry = |entry: io::Result<DirEntry>| {
        entry.map(|entry| (entry.file_name(), entry.file_type().is_ok_and(|kind| kind.is_dir())))
    };
    std::fs::read_dir(directory)?.map(entry).collect()
}

/// `*` matches a name that is no UTF-8 as well; no hidden one, unless the pattern has its dot.
fn is_match(pattern: &Pattern, name: &OsStr) -> bool {
    let options = MatchOptions { require_literal_leading_dot: true, ..MatchOptions::default() };
    pattern.matches_with(&name.to_string_lossy(), options)
}

/// A file that is no log of SQLite's, a link to nothing, or what cannot be looked at.
fn is_meant(path: &Path) -> bool {
    const LOGS: [&[u8]; 3] = [b"-wal", b"-shm", b"-journal"];
    match path.metadata() {
        Ok(metadata) => metadata.is_file() && !LOGS.iter().any(|log| path.as_os_str().as_bytes().ends_with(log)),
        Err(error) => !is_nothing(&error) || path.is_symlink(),
    }
}

/// There is nothing at the path, or it leads through a file.
fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// What a path that leads nowhere may have been meant to be, in words to stand behind what is wrong; empty when there
/// is nothing like it.
pub fn hint(path: &Path) -> String {
    let directory = directory_of(path);
    // Where the embedded database would be: nobody has typed that.
    if dirs::data_dir().is_some_and(|data| path.starts_with(data)) {
        return String::new();
    }
    if !directory.is_dir() {
        return missing_directory(path, directory);
    }
    let meant = nearest(directory, path, Path::is_file);
    meant.map(|file| format!(" (did you mean {}?)", file.display())).unwrap_or_default()
}

/// Which directory of the path is missing, and which one may have been meant.
fn missing_directory(path: &Path, directory: &Path) -> String {
    let is_missing = |above: &&Path| **above != *Path::new("") && !above.exists();
    let missing = directory.ancestors().take_while(is_missing).last().unwrap_or(directory);
    let meant = nearest(directory_of(missing), missing, Path::is_dir).map(|meant| {
        let whole = path.strip_prefix(missing).map(|rest| meant.join(rest)).ok().filter(|whole| whole.exists());
        whole.unwrap_or(meant)
    });
    let meant = meant.map(|meant| format!(" (did you mean {}?)", meant.display())).unwrap_or_default();
    format!(", since there is no directory {}{meant}", missing.display())
}

/// The entry of this kind whose name is most like that of the path.
fn nearest(directory: &Path, path: &Path, is_meant: fn(&Path) -> bool) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy();
    let entries = std::fs::read_dir(directory).ok()?.flatten().take(LOOKED_AT);
    let alike = entries.filter_map(|entry| {
        let found = entry.file_name();
        let likeness = strsim::jaro_winkler(&name, &found.to_string_lossy());
        (FAR <= likeness).then_some((likeness, found))
    });
    let (_, name) =
        alike.filter(|(_, name)| is_meant(&directory.join(name))).max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    Some(if directory == Path::new(".") { PathBuf::from(name) } else { directory.join(name) })
}

/// The directory of a path; `.` for a name alone.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
}
