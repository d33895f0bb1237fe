//! The stderr of C, to which libpq writes what a server says while a connection is made: notices and errors, in bytes
//! of the server's choice, before diesel takes them. What Rust prints goes elsewhere, past C's streams.

#![cfg_attr(all(target_os = "linux", target_env = "gnu"), allow(unsafe_code))]

/// Has the C libraries of this process print to nowhere. To be called first: before there is another thread.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn silence_stderr() {
    use std::ffi::{c_char, c_void};

    unsafe extern "C" {
        #[link_name = "stderr"]
        static mut STDERR: *mut c_void;
        fn fopen(path: *const c_char, mode: *const c_char) -> *mut c_void;
    }

    // SAFETY: both texts end with a NUL character, and what fopen gives is never closed.
    let nowhere = unsafe { fopen(c"/dev/null".as_ptr(), c"we".as_ptr()) };
    if !nowhere.is_null() {
        // SAFETY: of glibc, `stderr` is a variable to which a program may assign a stream, and no other thread that
        // could read it meanwhile runs yet.
        unsafe { STDERR = nowhere };
    }
}

/// Does nothing: in other C libraries than glibc, stderr may be a constant.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn silence_stderr() {}
