//! New work in a directory, by git's files: a commit, what is staged, and tracked files with other content.
//!
//! git itself is never run: the configuration of a repository may name programs (`core.fsmonitor`, filters, hooks), and
//! the agent can write it. HEAD, its branch and the index are read as files, which nobody locks or refreshes for it.
//! *New* is what was not there before: a file that changes to and fro is no new work. A look costs at most a thousand
//! questions for the state of a file, and fifty files that are read. What cannot be read, or is larger than expected,
//! shows nothing.
// decisions.md#git-is-not-run

mod index;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use super::SharedRecord;
use index::Blob;

/// The size of a file that names something: HEAD, a branch, where the repository is.
const NAME_MAX: u64 = 4 << 10;

/// The size of an index that is read, of some twenty thousand files. In a larger work tree only commits are seen.
const INDEX_MAX: u64 = 2 << 20;

/// The size of a tracked file that is read; of a larger one its size counts.
const CONTENT_MAX: u64 = 1 << 20;

/// How many tracked files a look asks for, one after the other, and how many of those that were written it reads.
const FILES_MAX: usize = 1000;
const READ_MAX: usize = 50;

/// How much is remembered of what was there before.
const REMEMBERED_MAX: usize = 2000;

/// Reports new work in this directory to the record. A thread of its own waits for disks and networks, without an end
/// if need be.
pub fn follow(directory: PathBuf, every: Duration, record: SharedRecord) {
    thread::spawn(move || {
        let (mut tree, mut looked_at) = (WorkTree::new(directory), Instant::now());
        loop {
            let now = Instant::now();
            if tree.has_new_work() {
                record.lock().has_worked(looked_at, now);
            }
            looked_at = now;
            thread::sleep(every);
        }
    });
}

/// What was seen of a work tree.
struct WorkTree {
    directory: PathBuf,
    repository: Option<Repository>,
    commit: Option<String>,
    /// How the index was when it was read.
    index: Stamp,
    /// The tracked files, by their paths.
    files: BTreeMap<Vec<u8>, TrackedFile>,
    /// The file that was looked at last.
    last: Vec<u8>,
    remembered: Remembered,
}

/// A file that the index has.
struct TrackedFile {
    blob: Blob,
    /// None: nobody has looked at it.
    stamp: Option<Stamp>,
}

/// A file's inode, size and time of writing, by which it is known to be unchanged; None: there is no such file.
type Stamp = Option<(u64, u64, i64, i64)>;

fn stamp_of(path: &Path) -> Stamp {
    let regular = path.symlink_metadata().ok().filter(Metadata::is_file)?;
    Some((regular.ino(), regular.size(), regular.mtime(), regular.mtime_nsec()))
}

impl WorkTree {
    fn new(directory: PathBuf) -> WorkTree {
        WorkTree {
            directory,
            repository: None,
            commit: None,
            index: None,
            files: BTreeMap::new(),
            last: Vec::new(),
            remembered: Remembered::default(),
        }
    }

    /// Whether there is anything new since the last look. What a repository has at the first look is not new.
    fn has_new_work(&mut self) -> bool {
        let found = Repository::of(&self.directory);
        let is_first = found != self.repository;
        if is_first {
            *self = WorkTree { repository: found, ..WorkTree::new(std::mem::take(&mut self.directory)) };
        }
        let Some(repository) = self.repository.clone() else { return false };
        let has_commit = self.reads_new_commit(&repository);
        let has_staged = self.reads_new_index(&repository);
        let has_written = self.reads_new_content(&repository);
        !is_first && (has_commit || has_staged || has_written)
    }

    fn reads_new_commit(&mut self, repository: &Repository) -> bool {
        // A branch that git has packed is in no file of its own until its next commit.
        let Some(commit) = repository.commit().filter(|commit| self.commit.as_ref() != Some(commit)) else {
            return false;
        };
        let before = self.commit.replace(commit.clone());
        self.remembered.is_new(before, Some(commit))
    }

    fn reads_new_index(&mut self, repository: &Repository) -> bool {
        let path = repository.directory.join("index");
        let stamp = stamp_of(&path);
        if stamp == self.index {
            return false;
        }
        let Some(tracked) = read(&path, INDEX_MAX).and_then(|bytes| index::parse(&bytes)) else { return false };
        self.index = stamp;
        let mut before = std::mem::take(&mut self.files);
        let mut has_new = false;
        for (path, blob) in tracked {
            let known = before.remove(&path);
            let (was, stamp) = known.map_or((None, None), |file| (Some(file.blob), file.stamp));
            if was != Some(blob) {
                has_new |= self.remembered.is_new(was.map(|was| (&path, was)), Some((&path, blob)));
            }
            self.files.insert(path, TrackedFile { blob, stamp });
        }
        for (path, file) in &before {
            has_new |= self.remembered.is_new(Some((path, file.blob)), Some((path, "is removed")));
        }
        has_new
    }

    /// Looks at the next files, and reads those that were written since they were looked at before.
    fn reads_new_content(&mut self, repository: &Repository) -> bool {
        let (mut has_new, mut readable) = (false, READ_MAX);
        let behind = self.files.range_mut((Bound::Excluded(self.last.clone()), Bound::Unbounded)).take(FILES_MAX);
        let mut last = Vec::new();
        let mut looked_at = 0;
        for (path, file) in behind {
            looked_at += 1;
            last.clone_from(path);
            let found = repository.root.join(Path::new(OsStr::from_bytes(path)));
            let stamp = stamp_of(&found);
            let is_written = file.stamp.replace(stamp).is_some_and(|before| before != stamp);
            if is_written && 0 < readable {
                readable -= 1;
                let content = read(&found, CONTENT_MAX).ok_or(stamp.map(|(_, size, ..)| size));
                has_new |= self.remembered.remember((path, content));
            }
        }
        // After the last file the first one follows.
        self.last = if looked_at < FILES_MAX { Vec::new() } else { last };
        has_new
    }
}

/// Where the files of a work tree are.
#[derive(Clone, Debug, PartialEq)]
struct Repository {
    root: PathBuf,
    /// `.git`, or where a file of that name leads: in a linked work tree, or a submodule.
    directory: PathBuf,
    /// Where the branches are.
    common: PathBuf,
}

impl Repository {
    /// The repository of the innermost work tree around a directory.
    fn of(directory: &Path) -> Option<Repository> {
        let (root, found) = directory.ancestors().find_map(|root| {
            let path = root.join(".git");
            let is_directory = path.symlink_metadata().ok()?.is_dir();
            Some((root.to_owned(), if is_directory { path } else { root.join(named_in(&path, "gitdir: ")?) }))
        })?;
        let common = named_in(&found.join("commondir"), "").map(|common| found.join(common));
        Some(Repository { root, common: common.unwrap_or_else(|| found.clone()), directory: found })
    }

    /// The commit of HEAD; None if no file names it.
    fn commit(&self) -> Option<String> {
        let head = text(&self.directory.join("HEAD"))?;
        let Some(branch) = head.strip_prefix("ref: ") else { return Some(head) };
        let branch = Path::new(branch.trim());
        let is_inside = branch.components().all(|part| matches!(part, Component::Normal(_)));
        [&self.directory, &self.common].into_iter().filter(|_| is_inside).find_map(|at| text(&at.join(branch)))
    }
}

/// The path that a file of one line names.
fn named_in(path: &Path, prefix: &str) -> Option<PathBuf> {
    Some(PathBuf::from(text(path)?.strip_prefix(prefix)?))
}

/// A short text without the end of its line.
fn text(path: &Path) -> Option<String> {
    let text = String::from_utf8(read(path, NAME_MAX)?).ok()?;
    Some(text.trim_end().to_owned()).filter(|text| !text.is_empty())
}

/// A regular file, unless it is longer. Nothing else is waited for, such as a pipe or a terminal.
fn read(path: &Path, size_max: u64) -> Option<Vec<u8>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    let file: File = OpenOptions::new().read(true).custom_flags(flags as i32).open(path).ok()?;
    file.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() <= size_max)?;
    let mut bytes = Vec::new();
    file.take(size_max + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= size_max).then_some(bytes)
}

/// What was there before, as hashes, of which the oldest are forgotten.
#[derive(Default)]
struct Remembered {
    known: HashSet<u64>,
    order: VecDeque<u64>,
}

impl Remembered {
    /// Remembers what something was and is now, and returns whether it never was what it is now.
    fn is_new(&mut self, was: impl Hash, is: impl Hash) -> bool {
        self.remember(was);
        self.remember(is)
    }

    /// Returns whether it is remembered only now.
    fn remember(&mut self, seen: impl Hash) -> bool {
        let mut hasher = DefaultHasher::new();
        seen.hash(&mut hasher);
        let hash = hasher.finish();
        let is_new = self.known.insert(hash);
        if is_new {
            self.order.push_back(hash);
            if REMEMBERED_MAX < self.order.len() {
                self.order.pop_front().map(|oldest| self.known.remove(&oldest));
            }
        }
        is_new
    }
}

#[cfg(test)]
mod tests;
