//! The log of a watched process: its plain output, in a file that stays when the process crashes.
//!
//! It keeps the last mebibyte, without what looks like a credential. A log that cannot be written is given up.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions, Permissions, remove_file};
use std::io::{Error, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::files::make_private_directory;
use crate::text::redact;

/// How many bytes of the output are kept.
const KEPT: u64 = 1 << 20;

pub struct Log {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Log {
    /// Creates the file, and the directories above it, readable by this user only.
    pub fn create(path: &Path) -> std::io::Result<Log> {
        if let Some(directory) = path.parent() {
            make_private_directory(directory)?;
        }
        let mut options = OpenOptions::new();
        // A link is not followed, and opening a pipe does not wait for its reader.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.read(true).write(true).create(true).mode(0o600).custom_flags(flags.bits() as i32);
        let file = options.open(path)?;
        if !file.metadata()?.is_file() {
            return Err(Error::other("no regular file"));
        }
        // An existing file may have been readable by everybody.
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.set_len(0)?;
        Ok(Log { path: path.to_owned(), file, length: 0 })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn write(&mut self, lines: &VecDeque<String>) -> std::io::Result<()> {
        let text: String = lines.iter().map(|line| redact(line) + "\n").collect();
        self.file.write_all(text.as_bytes())?;
        self.length += text.len() as u64;
        // The file is shortened seldom, so that each byte is written about twice.
        if 2 * KEPT < self.length { self.shorten() } else { Ok(()) }
    }

    /// Cuts the file to the last whole lines that fit into what is kept.
    pub fn shorten(&mut self) -> std::io::Result<()> {
        if self.length <= KEPT {
            return Ok(());
        }
        let mut kept = Vec::new();
        self.file.seek(SeekFrom::End(-(KEPT as i64)))?;
        self.file.read_to_end(&mut kept)?;
        let begin = kept.iter().position(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&kept[begin..])?;
        self.length = (kept.len() - begin) as u64;
        Ok(())
    }

    /// Removes the file, after an end that was no crash.
    pub fn remove(self) {
        let _ = remove_file(&self.path);
    }
}

/// Whether a log may overwrite and remove what is there: a regular file or nothing, but no device, link or pipe.
pub fn may_be_log(path: &Path) -> bool {
    path.symlink_metadata().map_or(true, |metadata| metadata.is_file())
}

/// How many bytes wait to be written.
const BUFFER_MAX: usize = 1 << 20;

/// Lines that wait to be written into the log: the last mebibyte of them.
#[derive(Default)]
pub struct LogBuffer {
    lines: VecDeque<String>,
    bytes: usize,
}

impl LogBuffer {
    /// Adds a line; the oldest lines are dropped when the buffer is full.
    pub fn push(&mut self, line: String) {
        self.bytes += size(&line);
        self.lines.push_back(line);
        while BUFFER_MAX < self.bytes {
            self.bytes -= self.lines.pop_front().map_or(self.bytes, |line| size(&line));
        }
    }

    /// Takes the lines that wait.
    pub fn take(&mut self) -> VecDeque<String> {
        std::mem::take(self).lines
    }
}

fn size(line: &str) -> usize {
    line.len() + size_of::<String>()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::{KEPT, Log};

    #[test]
    fn a_file_that_was_there_becomes_its_owners_only() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("agent.log");
        std::fs::write(&path, "earlier").expect("a file");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).expect("a file of one's own");
        Log::create(&path).expect("a log");
        let metadata = path.metadata().expect("a file");
        assert_eq!((metadata.permissions().mode() & 0o777, metadata.len()), (0o600, 0));
    }

    #[test]
    fn what_is_no_file_is_not_written() {
        let directory = tempfile::tempdir().expect("a directory");
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        std::fs::write(&file, "kept").expect("a file");
        symlink(&file, &link).expect("a link");
        assert!(Log::create(&link).is_err() && Log::create(directory.path()).is_err());
        assert_eq!(std::fs::read_to_string(&file).expect("a file"), "kept");
    }

    #[test]
    fn the_last_mebibyte_is_kept_in_whole_lines_for_its_owner_only() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("logs/agent.log");
        let mut log = Log::create(&path).expect("a log");
        for n in 0..40 {
            log.write(&(0..1000).map(|m| format!("{n} {m} {}", "x".repeat(90))).collect()).expect("room");
        }
        log.shorten().expect("room");
        let text = std::fs::read_to_string(&path).expect("a log");
        assert!((KEPT - 200..=KEPT).contains(&(text.len() as u64)), "{}", text.len());
        assert!(text.ends_with(&format!("39 999 {}\n", "x".repeat(90))));
        assert!(text.lines().all(|line| line.len() < 100 && line.ends_with('x')));
        assert_eq!(path.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
        log.remove();
        assert!(!path.exists());
    }
}
