//! SQLite's memory, as its own, but for what is asked for deep in the stack: that is refused. SQLite goes into views
//! that use views, as deep as a file has them, and a stack that overflows would end the process. A statement that is
//! refused memory, SQLite undoes, and reports.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::OnceLock;

use libsqlite3_sys as ffi;

/// Into so much of a thread's stack, as a divisor, SQLite may go and ask for memory. It makes an expression out of many
/// views with some three hundred bytes of the stack for each level, and goes through that with up to three times as
/// much and without asking.
const SHARE: usize = 4;

thread_local! {
    /// Bytes of this thread's stack that were left when SQLite was shallowest.
    static MOST: Cell<usize> = const { Cell::new(0) };
}

type Allocate = unsafe extern "C" fn(c_int) -> *mut c_void;
type Reallocate = unsafe extern "C" fn(*mut c_void, c_int) -> *mut c_void;

static ORIGINAL: OnceLock<(Allocate, Reallocate)> = OnceLock::new();

/// Guards the stack of each thread. SQLite takes other memory only until it is first used in a process.
pub fn guard() {
    let mut methods = MaybeUninit::<ffi::sqlite3_mem_methods>::zeroed();
    // SAFETY: all of it may be zero. SQLite fills it with functions that live as long as the process, and keeps a copy
    // of it, in which two are replaced by functions of the same signatures.
    unsafe {
        ffi::sqlite3_config(ffi::SQLITE_CONFIG_GETMALLOC, methods.as_mut_ptr());
        let mut methods = methods.assume_init();
        let Some(original) = methods.xMalloc.zip(methods.xRealloc) else { return };
        ORIGINAL.get_or_init(|| original);
        methods.xMalloc = Some(allocate);
        methods.xRealloc = Some(reallocate);
        ffi::sqlite3_config(ffi::SQLITE_CONFIG_MALLOC, &raw const methods);
    }
}

fn original() -> Option<&'static (Allocate, Reallocate)> {
    ORIGINAL.get().filter(|_| stacker::remaining_stack().is_none_or(is_enough))
}

fn is_enough(left: usize) -> bool {
    let most = MOST.get().max(left);
    MOST.set(most);
    most - most / SHARE <= left
}

unsafe extern "C" fn allocate(bytes: c_int) -> *mut c_void {
    // SAFETY: SQLite asks for as much as it would ask the original for.
    original().map_or(null_mut(), |(allocate, _)| unsafe { allocate(bytes) })
}

unsafe extern "C" fn reallocate(memory: *mut c_void, bytes: c_int) -> *mut c_void {
    // SAFETY: the memory is of the original, and stays as it is where no more is given.
    original().map_or(null_mut(), |(_, reallocate)| unsafe { reallocate(memory, bytes) })
}
