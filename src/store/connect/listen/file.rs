//! Noticing runs that end in a file of SQLite's, where nobody can notify: the file is looked at a few times a second,
//! and what is new in the relation `run_ends` is read when it has changed.
//!
//! A file at rest is not even opened: its size and its time say whether anybody has written to it. Whoever keeps a
//! connection to it would keep its write-ahead log there, which its own program could not delete when it ends. What
//! sweep itself writes is read as well, and ends no run.

use std::fs::{Metadata, metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, ensure};
use diesel::dsl::max;
use diesel::prelude::*;

use crate::conclusion::unavailable;
use crate::rules::Id;
use crate::store::connect::open::sqlite::beside;
use crate::store::connect::open::{Store, Url};
use crate::store::db::schema::run_ends;
use crate::store::hosts::folders::Host;
use crate::store::{Access, Db, DbConnection, Timeouts};

/// Between two looks at the file.
pub const PAUSE: Duration = Duration::from_millis(200);
/// A file that has not changed for so long is closed. A writer may take that long from its last write to its commit.
const REST: Duration = Duration::from_secs(2);

/// A file whose runs are watched.
pub struct FileListener {
    database: Url,
    path: PathBuf,
    state: FileState,
    changed_at: Instant,
    /// None: the file is at rest.
    db: Option<DbConnection>,
    /// The number of the latest end that was seen.
    seen: i64,
}

impl FileListener {
    /// Opens the file, unless the ends of its runs are not noted there.
    pub fn open(
        database: &Url,
        path: &Path,
        refuse_silence: impl FnOnce(&mut Db, &Host) -> Result<()>,
    ) -> Result<FileListener> {
        let state = FileState::of(path)?;
        let Store { mut db, host, .. } = database.open(Access::Write)?;
        let opened = db.in_transaction(Access::ReadOnly, &Timeouts::default(), |db| -> Result<i64> {
            refuse_silence(db, &host)?;
            Ok(latest(db)?)
        });
        let seen = opened.map_err(|abort| database.explain(abort.into()))?;
        let (database, path) = (database.clone(), path.to_owned());
        Ok(FileListener { database, path, state, changed_at: Instant::now(), db: Some(db), seen })
    }

    /// The issues and steps of which a run has ended since the last look, if the file has changed lately: `most` of
    /// them, the latest.
    pub fn look(&mut self, most: i64) -> Result<Vec<Id>> {
        let state = FileState::of(&self.path)?;
        ensure!(state.identity == self.state.identity, unavailable("another file bears its name now"));
        if state != self.state {
            (self.state, self.changed_at) = (state, Instant::now());
        } else if REST < self.changed_at.elapsed() {
            self.db = None;
            return Ok(Vec::new());
        }
        let read = self.read(most);
        read.map_err(|error| self.database.explain(error)).context("looking for runs that have ended")
    }

    fn read(&mut self, most: i64) -> Result<Vec<Id>> {
        let (database, seen) = (&self.database, self.seen);
        let db = match &mut self.db {
            Some(db) => db,
            None => self.db.insert(database.open(Access::Write)?.db),
        };
        let read = db.in_transaction(Access::ReadOnly, &Timeouts::default(), |db| {
            let latest = latest(db)?;
            let new = run_ends::table.filter(run_ends::id.gt(seen)).select(run_ends::subject_id);
            let ended = match latest == seen {
                true => Vec::new(),
                false => new.order(run_ends::id.desc()).limit(most).load(db)?,
            };
            Ok::<_, diesel::result::Error>((latest, ended))
        });
        let (latest, ended) = read.map_err(Error::from)?;
        // It may be smaller than before: SQLite numbers the rows of some tables anew when it tidies up.
        self.seen = latest;
        Ok(ended)
    }
}

/// The number of the latest end of a run.
fn latest(db: &mut Db) -> QueryResult<i64> {
    Ok(run_ends::table.select(max(run_ends::id)).get_result::<Option<i64>>(db)?.unwrap_or_default())
}

/// What the file system says of a database, without a lock and without opening it.
#[derive(PartialEq)]
struct FileState {
    identity: (u64, u64),
    file: SizeAndTime,
    /// None: there is no write-ahead log, or it is empty, as whoever opens the file makes it and deletes it.
    log: Option<SizeAndTime>,
}

/// How much was written, and when.
#[derive(PartialEq)]
struct SizeAndTime(u64, i64, i64);

impl SizeAndTime {
    fn of(metadata: &Metadata) -> SizeAndTime {
        SizeAndTime(metadata.size(), metadata.mtime(), metadata.mtime_nsec())
    }
}

impl FileState {
    fn of(path: &Path) -> Result<FileState> {
        let unavailable = |error: std::io::Error| unavailable(format!("{}: {error}", path.display()));
        let file = metadata(path).map_err(unavailable)?;
        let log = match metadata(beside(path, "-wal")) {
            Ok(log) => (0 < log.size()).then(|| SizeAndTime::of(&log)),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(unavailable(error).into()),
        };
        Ok(FileState { identity: (file.dev(), file.ino()), file: SizeAndTime::of(&file), log })
    }
}
