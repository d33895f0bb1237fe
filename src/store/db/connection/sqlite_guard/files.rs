//! SQLite's way to files, as its own but for two kinds that are not opened:
//! - A journal may end with the name of another file, as that of a transaction over several databases does, and whoever
//!   takes back what the journal says would open that file and then delete it.
//! - Whoever opens a pipe waits for somebody who writes into it, and no clock ends that.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null;

use libsqlite3_sys as ffi;

use crate::files::is_special;

/// Guards the files of every connection of this process that is opened from now on.
pub fn guard() {
    // SAFETY: SQLite's own way to files lives as long as the process, and so does the copy of it, which is made known
    // only when it is whole. SQLite calls each function of the copy as it calls those of the original.
    unsafe {
        let copy = ffi::sqlite3_vfs { zName: c"sweep".as_ptr(), xOpen: Some(open_if_harmless), ..*original() };
        ffi::sqlite3_vfs_register(Box::into_raw(Box::new(copy)), 1);
    }
}

fn original() -> *mut ffi::sqlite3_vfs {
    // SAFETY: on each Unix SQLite has one of this name.
    unsafe { ffi::sqlite3_vfs_find(c"unix".as_ptr()) }
}

unsafe extern "C" fn open_if_harmless(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    opened: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes a file to be opened, and its name or null; without methods it is none that has to be
    // closed. The original, which was copied, has what opens files.
    unsafe {
        (*file).pMethods = null();
        match (*original()).xOpen {
            // SQLite asks for this one when it has taken back what the journal says, and deleted the journal.
            _ if flags & ffi::SQLITE_OPEN_SUPER_JOURNAL != 0 => ffi::SQLITE_PERM,
            _ if !name.is_null() && is_special(Path::new(OsStr::from_bytes(CStr::from_ptr(name).to_bytes()))) => {
                ffi::SQLITE_CANTOPEN
            }
            Some(open) => open(vfs, name, file, flags, opened),
            None => ffi::SQLITE_PERM,
        }
    }
}
