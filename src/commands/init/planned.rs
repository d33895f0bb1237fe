//! A file that `sweep init` would write: what stands there now, what would stand there, how both are shown, and how it
//! is written, whole and in one moment. No file is a link, and what another user owns is left alone.

use std::fs::{DirBuilder, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use anyhow::Result;
use owo_colors::OwoColorize;
use rustix::fs::{Access, access};
use similar::{Change, ChangeTag, TextDiff};

use super::questions::Asker;
use crate::conclusion::{Failure, config};
use crate::files::{self, SETTINGS_BYTES_MAX};
use crate::settings::file::without_secret;
use crate::store::Url;
use crate::text::redact;

/// The kind of a planned file, by which it is shown, and by which what stands there is kept or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// Settings, in which a person's values stay: what is asked for is changed.
    Settings,
    /// Settings in which something of a person's would be replaced.
    SettingsReplaced,
    /// Its owner alone may read it.
    Secret,
    /// A file of `deploy/`, which a person may have changed.
    Deployed,
}

/// What became of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesWritten {
    All,
    /// Somebody said no to one that is needed.
    Declined,
}

pub struct PlannedFile {
    path: PathBuf,
    nature: Nature,
    /// None: there is no such file.
    before: Option<String>,
    text: String,
}

/// The text of a file that is there; none: there is none. Refuses a link, and another user's file.
pub fn read_before(path: &Path) -> Result<Option<String>> {
    let refuse = |why: &str| config(format!("{}: {why}", path.display()));
    match path.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refuse(&files::error_text(&error)).into()),
        Ok(found) if found.is_symlink() => return Err(refuse("is a link, expected a file or nothing").into()),
        Ok(_) => {}
    }
    let found = files::read_own(path, SETTINGS_BYTES_MAX).map_err(|why| refuse(&why))?;
    let text = String::from_utf8(found.bytes).map_err(|_| refuse("expected UTF-8"))?;
    Ok(Some(text))
}

impl PlannedFile {
    /// Plans a file by what stands there.
    pub fn plan(path: PathBuf, nature: Nature, text: impl Fn(Option<&str>) -> Result<String>) -> Result<PlannedFile> {
        let before = read_before(&path)?;
        let text = text(before.as_deref())?;
        Ok(PlannedFile { path, nature, before, text })
    }

    pub fn is_new(&self) -> bool {
        self.before.is_none()
    }

    /// Does it stay, with who may read it?
    pub fn is_as_it_was(&self) -> bool {
        self.has_its_text() && self.mode_before() == Some(self.mode())
    }

    fn has_its_text(&self) -> bool {
        self.before.as_ref().is_some_and(|before| before.trim() == self.text.trim())
    }

    /// Whether what was asked for is not done without it.
    pub fn is_needed(&self) -> bool {
        self.nature != Nature::Deployed
    }

    /// Whether something of a person's would be gone. Settings change only as they were asked to, and an empty file
    /// holds nothing of anybody's.
    fn replaces(&self) -> bool {
        let holds_something = self.before.as_ref().is_some_and(|before| !before.trim().is_empty());
        self.nature != Nature::Settings && holds_something && !self.has_its_text()
    }

    pub fn may_be_replaced(&self, asker: &Asker) -> Result<bool> {
        let question = format!("Change {}, as shown?", self.path_shown());
        if self.replaces() { asker.agrees_itself(&question) } else { asker.agrees(&question) }
    }

    /// Refuses what nobody is asked about: without this file the rest would be of no use.
    pub fn refuse_replacing(&self) -> Result<()> {
        if self.is_needed() && self.replaces() {
            let why = "something else is set there, which --yes does not replace: without --yes you are asked";
            return Err(config(format!("{}: {why}", self.path_shown())).into());
        }
        Ok(())
    }

    pub fn path_shown(&self) -> String {
        redact(&self.path.to_string_lossy())
    }

    /// The path, who may read it, and the text, or what would be another one; secrets are hidden.
    pub fn shown(&self) -> String {
        let lines: String = match (&self.before, self.nature) {
            (None, Nature::Secret) => format!("    {}\n", hidden(&self.text)),
            (Some(before), Nature::Secret) => format!("  - {}\n  + {}\n", hidden(before), hidden(&self.text)),
            (None, _) => self.text.lines().map(|line| format!("    {line}\n")).collect(),
            (Some(before), _) => difference(before, &self.text),
        };
        let what = match self.mode_before() {
            None => "new".to_owned(),
            Some(before) if before == self.mode() => "there already".to_owned(),
            Some(before) => format!("there already with mode {before:o}"),
        };
        let heading = format!("{} ({what}, mode {:o})", self.path_shown(), self.mode());
        format!("\n{}\n{lines}", heading.bold())
    }

    /// The mode of a file that is there stays, but that nobody else may read a secret.
    fn mode(&self) -> u32 {
        let is_secret = self.nature == Nature::Secret;
        let kept = self.mode_before().filter(|mode| !is_secret || mode & 0o007 == 0);
        kept.unwrap_or(if is_secret { 0o600 } else { 0o644 })
    }

    fn mode_before(&self) -> Option<u32> {
        self.path.symlink_metadata().ok().map(|found| found.mode() & 0o777)
    }

    /// Refuses a place where this user cannot write, or where another user could put something else in its place.
    pub fn refuse_unwritable(&self) -> Result<()> {
        if self.is_as_it_was() { Ok(()) } else { refuse_place(&self.path) }
    }

    /// Writes a new file beside it, and moves that to its place.
    pub fn write(&self) -> Result<()> {
        let refuse = |why: String| config(format!("{}: cannot write it: {why}", self.path_shown()));
        let failed = |error: &std::io::Error| refuse(files::error_text(error));
        self.refuse_unwritable()?;
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o755).create(directory).map_err(|error| failed(&error))?;
        let temporary = tempfile::Builder::new().prefix(".sweep-init-").tempfile_in(directory);
        let mut temporary = temporary.map_err(|error| failed(&error))?;
        let written = temporary
            .write_all(self.text.as_bytes())
            .and_then(|()| self.keep_owner(temporary.as_file()))
            // Whatever the umask says: a service's user reads settings, and nobody else a secret.
            .and_then(|()| temporary.as_file().set_permissions(Permissions::from_mode(self.mode())))
            .and_then(|()| temporary.as_file().sync_all());
        written.map_err(|error| failed(&error))?;
        self.refuse_changed()?;
        match self.is_new() {
            true => temporary.persist_noclobber(&self.path),
            false => temporary.persist(&self.path),
        }
        .map_err(|error| failed(&error.error))?;
        Ok(())
    }

    /// Gives a new file the owner and the group of the one in whose place it comes.
    fn keep_owner(&self, new: &File) -> std::io::Result<()> {
        let (Ok(before), now) = (self.path.symlink_metadata(), new.metadata()?) else { return Ok(()) };
        if (before.uid(), before.gid()) == (now.uid(), now.gid()) {
            return Ok(());
        }
        let (owner, group) = (before.uid(), before.gid());
        fchown(new, Some(owner), Some(group)).map_err(|error| {
            let why = files::error_text(&error);
            std::io::Error::other(format!("its owner ({owner}) and its group ({group}) cannot be kept: {why}"))
        })
    }

    /// What was shown is not what stands there any more.
    fn refuse_changed(&self) -> Result<(), Failure> {
        match read_before(&self.path) {
            Ok(now) if now == self.before => Ok(()),
            Ok(_) => Err(config(format!("{}: somebody else has written it meanwhile", self.path_shown()))),
            Err(error) => Err(config(format!("{error:#}"))),
        }
    }
}

/// Refuses a new file's place where this user cannot write, or where another user could put something else. Links to
/// directories are followed, if root or this user made them, and so are looked at from both of their ends.
pub fn refuse_place(path: &Path) -> Result<()> {
    let refuse = |at: &Path, why: &str| Err(config(format!("{}: {why}", at.display())).into());
    let standing = || path.ancestors().skip(1).filter(|above| above.symlink_metadata().is_ok());
    let above = standing().next().unwrap_or(Path::new("/"));
    if !above.is_dir() {
        return refuse(above, "is no directory, and a file is to be written below it");
    }
    let target = above.canonicalize().map_err(|error| config(format!("{}: {error}", above.display())))?;
    let mut all = standing().chain(target.ancestors());
    if let Some((at, why)) = all.find_map(|at| Some((at, files::refuse_shared_directory(at).err()?))) {
        return refuse(at, &why);
    }
    // Nobody writes to a file system that can only be read.
    let is_read_only = access(above, Access::WRITE_OK | Access::EXEC_OK).is_err();
    if is_read_only {
        let place = redact(&path.to_string_lossy());
        let why = format!("cannot be written to, and {place} is to be written there");
        return refuse(above, &format!("{why}: run it as root, or name another place by --to"));
    }
    Ok(())
}

/// A secret, as it may be shown: of a URL of a database all but its password.
fn hidden(text: &str) -> String {
    match text.trim() {
        "" => "(empty)".to_owned(),
        url if Url::parse(url).is_ok() => Url::without_secrets(url),
        _ => "***".to_owned(),
    }
}

/// A line of a person's file as it may be shown, with its indentation: secrets are hidden.
fn hidden_in(line: &str) -> String {
    let text = line.trim_start();
    format!("{}{}", &line[..line.len() - text.len()], redact(&without_secret(text)))
}

/// The lines that go and those that come, each beside two of those that stay around it.
fn difference(before: &str, after: &str) -> String {
    let lines = TextDiff::from_lines(before, after);
    let groups = lines.grouped_ops(2);
    let changes = groups.iter().flatten().flat_map(|part| lines.iter_changes(part));
    // What comes is no person's.
    let shown = |change: Change<&str>| match change.tag() {
        ChangeTag::Insert => format!("  + {}\n", change.value().trim_end()),
        tag => format!("  {tag} {}\n", hidden_in(change.value())),
    };
    changes.map(shown).collect()
}
