//! git's index, as far as the paths and the contents of the tracked files: the versions 2, 3 and 4 of the file, with
//! hashes of 20 bytes or of 32.
//!
//! The index says nowhere how long its hashes are: it is read as if they were short, and if that fails as if they were
//! long. Whatever is not as git writes it is refused as a whole.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

/// The hash of a file's content, shortened.
pub type Blob = [u8; 20];

/// The fields of an entry before its hash: times, device, inode, mode, owner and size.
const STATE_BYTES: usize = 40;

/// Bits of an entry's flags: that it has further flags; its stage in a merge; the length of its path, or as much of the
/// length as fits.
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const LENGTH: u16 = 0x0fff;

/// Bytes of all paths: in the version 4 a small index could have long ones.
const PATHS_MAX: usize = 4 << 20;

/// The path and the content of each file of an index, sorted by path; None if it is no index.
pub fn parse(bytes: &[u8]) -> Option<Vec<(Vec<u8>, Blob)>> {
    [20, 32].into_iter().find_map(|hash_bytes| parse_with(bytes, hash_bytes))
}

fn parse_with(bytes: &[u8], hash_bytes: usize) -> Option<Vec<(Vec<u8>, Blob)>> {
    let (header, mut rest) = bytes.split_at_checked(12)?;
    let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (version, entries) = (number(4), number(8));
    if !header.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let (mut found, mut path, mut paths_bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..entries {
        let entry = rest;
        let (hash, flags) = (rest.get(STATE_BYTES..)?.get(..hash_bytes)?, rest.get(STATE_BYTES + hash_bytes..)?);
        let (flags, behind) = flags.split_first_chunk::<2>()?;
        let flags = u16::from_be_bytes(*flags);
        rest = behind.get(if flags & EXTENDED != 0 { 2 } else { 0 }..)?;
        if version == 4 {
            // The path is that of the entry before, with some bytes at its end replaced.
            let replaced = variable_length(&mut rest)?;
            path.truncate(path.len().checked_sub(replaced)?);
        } else {
            path.clear();
        }
        let end = rest.iter().position(|byte| *byte == 0)?;
        path.extend_from_slice(&rest[..end]);
        rest = &rest[end + 1..];
        if version < 4 {
            // Each entry is filled up to a multiple of eight bytes.
            let padding = (entry.len() - rest.len()).next_multiple_of(8) - (entry.len() - rest.len());
            rest = rest.get(padding..)?;
        }
        paths_bytes += path.len();
        if path.len().min(LENGTH.into()) != usize::from(flags & LENGTH) || PATHS_MAX < paths_bytes {
            return None;
        }
        let blob = hash[..20].try_into().ok()?;
        if flags & STAGE == 0 && is_inside(&path) {
            found.push((path.clone(), blob));
        }
    }
    // The hash of the whole, and extensions before it.
    (hash_bytes <= rest.len() && found.is_sorted_by(|one, other| one.0 < other.0)).then_some(found)
}

/// Whether a path leads to something in the work tree: not out of it, and not into git's own directory.
fn is_inside(path: &[u8]) -> bool {
    let path = Path::new(OsStr::from_bytes(path));
    !path.as_os_str().is_empty()
        && path.components().all(|part| matches!(part, Component::Normal(name) if name != ".git"))
}

/// A number of seven bits in each byte, the highest first, as git writes offsets.
fn variable_length(rest: &mut &[u8]) -> Option<usize> {
    let mut number = 0_usize;
    loop {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        number = number.checked_mul(128)? + usize::from(byte & 127);
        if byte & 128 == 0 {
            return Some(number);
        }
        number = number.checked_add(1)?;
    }
}
