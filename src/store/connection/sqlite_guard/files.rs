//! SQLite's way to files, as its own but for one: a journal may end with the name of another file, as that of a
//! transaction over several databases does, and whoever takes back what the journal says would open that file and then
//! delete it.

use std::ffi::{c_char, c_int};
use std::ptr::null;

use libsqlite3_sys as ffi;

/// Guards the files of every connection of this process that is opened from now on.
pub fn guard() {
    // SAFETY: SQLite's own way to files lives as long as the process, and so does the copy of it, which is made known
    // only when it is whole. SQLite calls each function of the copy as it calls those of the original.
    unsafe {
        let copy = ffi::sqlite3_vfs { zName: c"sweep".as_ptr(), xOpen: Some(open_unless_named), ..*original() };
        ffi::sqlite3_vfs_register(Box::into_raw(Box::new(copy)), 1);
    }
}

fn original() -> *mut ffi::sqlite3_vfs {
    // SAFETY: on each Unix SQLite has one of this name.
    unsafe { ffi::sqlite3_vfs_find(c"unix".as_ptr()) }
}

/// SQLite asks for the other file when it has taken back what the journal says, and deleted the journal.
unsafe extern "C" fn open_unless_named(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    opened: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes a file to be opened; without methods it is none that has to be closed. The original, which
    // was copied, has what opens files.
    unsafe {
        (*file).pMethods = null();
        match (*original()).xOpen {
            Some(open) if flags & ffi::SQLITE_OPEN_SUPER_JOURNAL == 0 => open(vfs, name, file, flags, opened),
            _ => ffi::SQLITE_PERM,
        }
    }
}
