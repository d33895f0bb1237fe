//! Functions of two texts in place of SQLite's own, which take as long as the length of the one times that of the
//! other: of 1 MiB an hour, and no clock ends a call. instr() and replace() do so as well, in seconds.

use std::collections::HashSet;
use std::ffi::{CStr, c_int, c_void};
use std::slice::from_raw_parts;

use libsqlite3_sys as ffi;

type Function = unsafe extern "C" fn(*mut ffi::sqlite3_context, c_int, *mut *mut ffi::sqlite3_value);

const LEFT: usize = 1;
const RIGHT: usize = 2;

const TRIMS: [(&CStr, usize); 3] = [(c"ltrim", LEFT), (c"rtrim", RIGHT), (c"trim", LEFT | RIGHT)];

/// SAFETY: of a connection that is open. Returns SQLite's code for what went wrong.
pub unsafe fn replace(db: *mut ffi::sqlite3) -> c_int {
    const FLAGS: c_int = ffi::SQLITE_UTF8 | ffi::SQLITE_DETERMINISTIC | ffi::SQLITE_INNOCUOUS;
    let make = |name: &CStr, sides: usize, function: Option<Function>| {
        let sides = std::ptr::without_provenance_mut::<c_void>(sides);
        unsafe { ffi::sqlite3_create_function_v2(db, name.as_ptr(), 2, FLAGS, sides, function, None, None, None) }
    };
    let trims = TRIMS.into_iter().map(|(name, sides)| make(name, sides, Some(trim as Function)));
    // Without a function, there is none of two texts: nobody misses it.
    let mut codes = trims.chain([make(c"unhex", 0, None)]);
    codes.find(|code| *code != ffi::SQLITE_OK).unwrap_or(ffi::SQLITE_OK)
}

/// As SQLite's: of a null it is null.
unsafe extern "C" fn trim(context: *mut ffi::sqlite3_context, _count: c_int, values: *mut *mut ffi::sqlite3_value) {
    // SAFETY: SQLite passes two values, and the text of each stays as it is during the call.
    unsafe {
        let text = |place| {
            let value = *values.add(place);
            let text = ffi::sqlite3_value_text(value);
            let length = usize::try_from(ffi::sqlite3_value_bytes(value)).unwrap_or_default();
            (!text.is_null()).then(|| from_raw_parts(text, length))
        };
        let (Some(text), Some(of)) = (text(0), text(1)) else { return };
        let trimmed = without(text, of, ffi::sqlite3_user_data(context).addr());
        let length = c_int::try_from(trimmed.len()).unwrap_or_default();
        ffi::sqlite3_result_text(context, trimmed.as_ptr().cast(), length, ffi::SQLITE_TRANSIENT());
    }
}

fn without<'a>(text: &'a [u8], of: &[u8], sides: usize) -> &'a [u8] {
    let of: HashSet<&[u8]> = characters(of).collect();
    let bytes = |character: &[u8]| of.contains(character).then_some(character.len());
    let left: usize = characters(text).map_while(bytes).take_while(|_| sides & LEFT != 0).sum();
    let rest = &text[left..];
    let right: usize = characters(rest).rev().map_while(bytes).take_while(|_| sides & RIGHT != 0).sum();
    &rest[..rest.len() - right]
}

fn characters(text: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    text.chunk_by(|_, next| next & 0b1100_0000 == 0b1000_0000)
}
