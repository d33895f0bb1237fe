//! What is settled with the C library before anything else begins: where it prints, and where it looks names up.

#![cfg_attr(all(target_os = "linux", target_env = "gnu"), allow(unsafe_code))]

/// Has the C libraries of this process print to nowhere: libpq writes to C's stderr what a server says while a
/// connection is made, notices and errors, in bytes of the server's choice, before diesel takes them. What Rust prints
/// goes elsewhere, past C's streams. To be called first: before there is another thread.
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

/// Has names of hosts and users looked up in files and by DNS, whatever the machine's nsswitch.conf says. glibc loads
/// what that file names (mdns4, resolve, sss …) as libraries, which fit one release of glibc only: in a program with a
/// glibc of its own they fail or crash. Files and DNS are part of it. To be called first, as above.
#[cfg(all(target_os = "linux", target_env = "gnu", target_feature = "crt-static"))]
pub fn look_names_up_by_itself() {
    use std::ffi::{c_char, c_int};

    unsafe extern "C" {
        fn __nss_configure_lookup(database: *const c_char, services: *const c_char) -> c_int;
    }

    for (database, services) in
        [(c"hosts", c"files dns"), (c"passwd", c"files"), (c"group", c"files"), (c"services", c"files")]
    {
        // SAFETY: both texts end with a NUL character, glibc copies what it keeps of them, and no other thread runs.
        unsafe { __nss_configure_lookup(database.as_ptr(), services.as_ptr()) };
    }
}

/// Does nothing: the C library of the machine knows the machine's own ways.
#[cfg(not(all(target_os = "linux", target_env = "gnu", target_feature = "crt-static")))]
pub fn look_names_up_by_itself() {}
