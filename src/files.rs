//! Files that an operator names, and directories that sweep makes: what is not read, and who may look inside.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Settings and secrets are a few lines.
pub const SETTINGS_BYTES_MAX: u64 = 1 << 20;

/// A file as it was found.
pub struct FoundFile {
    pub bytes: Vec<u8>,
    /// Somebody who is neither its owner nor of this process's own group may change it.
    pub is_open_to_others: bool,
}

/// Reads a regular file of at most so many bytes. Nothing else is read: a pipe may never be written to, a device never
/// end.
pub fn read(path: &Path, bytes_max: u64) -> Result<FoundFile, String> {
    let (file, metadata) = open(path)?;
    found(file, &metadata, bytes_max)
}

/// Reads a file that nobody but root and this process's user can have written: settings, and secrets.
pub fn read_own(path: &Path, bytes_max: u64) -> Result<FoundFile, String> {
    let (file, metadata) = open(path)?;
    refuse_others(&metadata)?;
    found(file, &metadata, bytes_max)
}

/// May its owner alone read it, or is there none? Refuses one of another user.
pub fn is_private(path: &Path) -> Result<bool, String> {
    let Ok(metadata) = path.metadata() else { return Ok(true) };
    refuse_others(&metadata)?;
    Ok(metadata.mode() & 0o077 == 0)
}

/// May somebody who is neither its owner nor of this process's own group write to it?
pub fn is_writable_by_others(path: &Path) -> bool {
    let own_group = rustix::process::getegid().as_raw();
    path.metadata().is_ok_and(|found| is_open_to_others(found.mode(), found.gid(), own_group))
}

/// Refuses a directory, or a link to one, in which another user could put something else in the place of a file.
pub fn refuse_shared_directory(path: &Path) -> Result<(), String> {
    let found = path.symlink_metadata().map_err(|error| error_text(&error))?;
    refuse_others(&found)?;
    let own_group = rustix::process::getegid().as_raw();
    // In a sticky one, such as /tmp, nobody moves what is another's.
    let is_shared = is_open_to_others(found.mode(), found.gid(), own_group) && found.mode() & 0o1000 == 0;
    if is_shared && !found.is_symlink() {
        return Err("others may write to this directory: chmod go-w".to_owned());
    }
    Ok(())
}

/// A file's owner may write another text into the file tomorrow.
fn refuse_others(metadata: &Metadata) -> Result<(), String> {
    let (owner, this_user) = (metadata.uid(), rustix::process::geteuid());
    match owner == 0 || owner == this_user.as_raw() {
        true => Ok(()),
        false => Err(format!("it belongs to another user ({owner}), expected a file of root's or of this user's")),
    }
}

fn open(path: &Path) -> Result<(File, Metadata), String> {
    // Without NONBLOCK, opening a pipe waits for somebody who writes to it.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
    let file = opened.map_err(|error| error_text(&error))?;
    // The opened file is asked: at the path there may be something else by now.
    let metadata = file.metadata().map_err(|error| error_text(&error))?;
    if !metadata.is_file() {
        return Err(format!("{}, expected a regular file", kind_of(&metadata)));
    }
    Ok((file, metadata))
}

fn found(file: File, metadata: &Metadata, bytes_max: u64) -> Result<FoundFile, String> {
    let own_group = rustix::process::getegid().as_raw();
    Ok(FoundFile {
        bytes: read_at_most(file, bytes_max)?,
        is_open_to_others: is_open_to_others(metadata.mode(), metadata.gid(), own_group),
    })
}

/// Reads to the end, unless that is further away.
pub fn read_at_most(from: impl Read, bytes_max: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    from.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|error| error_text(&error))?;
    if bytes_max < bytes.len() as u64 {
        return Err(format!("is larger than {} MiB", bytes_max >> 20));
    }
    Ok(bytes)
}

/// Is there something that is no regular file?
pub fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.is_file())
}

/// What the operating system says, without its number.
pub fn error_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or(&text).to_owned()
}

/// Makes a directory, and those above it that are missing, for this user only.
pub fn make_private_directory(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn kind_of(metadata: &Metadata) -> &'static str {
    let kind = metadata.file_type();
    if kind.is_dir() {
        "Is a directory"
    } else if kind.is_fifo() {
        "Is a pipe"
    } else if kind.is_char_device() || kind.is_block_device() {
        "Is a device"
    } else {
        "Is no file"
    }
}

fn is_open_to_others(mode: u32, group: u32, own_group: u32) -> bool {
    let by_all = mode & 0o002 != 0;
    let by_group = mode & 0o020 != 0 && group != own_group;
    by_all || by_group
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{is_open_to_others, read_at_most};

    const OWN: u32 = 1000;
    const OTHER: u32 = 50;

    #[rstest]
    #[case::for_its_owner(0o600, OTHER, false)]
    #[case::for_all_to_read(0o644, OTHER, false)]
    #[case::for_the_own_group_to_write(0o664, OWN, false)]
    #[case::for_another_group_to_write(0o664, OTHER, true)]
    #[case::for_all_to_write(0o646, OWN, true)]
    fn a_file_is_open_to_others_when_they_may_write_it(#[case] mode: u32, #[case] group: u32, #[case] expected: bool) {
        assert_eq!(is_open_to_others(mode, group, OWN), expected);
    }

    #[test]
    fn as_much_as_is_allowed_is_read_and_one_byte_more_is_refused() {
        let mebibyte = vec![b'x'; 1 << 20];
        assert_eq!(read_at_most(&mebibyte[..], 1 << 20).expect("a mebibyte").len(), 1 << 20);
        let why = read_at_most(std::io::repeat(b'x'), 1 << 20).expect_err("no end");
        assert_eq!(why, "is larger than 1 MiB");
    }
}
