//! Functions of texts in place of SQLite's own, which take as long as the length of one text times that of another: of
//! 1 MiB seconds, or an hour, and no clock ends a call.

use std::collections::HashSet;
use std::ffi::{CStr, c_int, c_uchar, c_void};
use std::slice::from_raw_parts;

use libsqlite3_sys as ffi;
use memchr::memmem;

type Function = unsafe extern "C" fn(*mut ffi::sqlite3_context, c_int, *mut *mut ffi::sqlite3_value);

const LEFT: usize = 1;
const RIGHT: usize = 2;

const TRIMS: [(&CStr, usize); 3] = [(c"ltrim", LEFT), (c"rtrim", RIGHT), (c"trim", LEFT | RIGHT)];

/// SAFETY: of a connection that is open. Returns SQLite's code for what went wrong.
pub unsafe fn replace(db: *mut ffi::sqlite3) -> c_int {
    const FLAGS: c_int = ffi::SQLITE_UTF8 | ffi::SQLITE_DETERMINISTIC | ffi::SQLITE_INNOCUOUS;
    let make = |name: &CStr, arguments: c_int, sides: usize, function: Option<Function>| {
        let sides = std::ptr::without_provenance_mut::<c_void>(sides);
        unsafe {
            ffi::sqlite3_create_function_v2(db, name.as_ptr(), arguments, FLAGS, sides, function, None, None, None)
        }
    };
    let trims = TRIMS.into_iter().map(|(name, sides)| make(name, 2, sides, Some(trim as Function)));
    let others = [
        make(c"instr", 2, 0, Some(place_of)),
        make(c"replace", 3, 0, Some(replace_all)),
        // Without a function, there is none of two texts: nobody misses it.
        make(c"unhex", 2, 0, None),
    ];
    let mut codes = trims.chain(others);
    codes.find(|code| *code != ffi::SQLITE_OK).unwrap_or(ffi::SQLITE_OK)
}

/// The bytes of the texts that SQLite calls a function with; `None` if one of them is null.
///
/// SAFETY: of as many values as SQLite has passed, for as long as the call lasts.
unsafe fn texts<'a, const N: usize>(values: *mut *mut ffi::sqlite3_value) -> Option<[&'a [u8]; N]> {
    let texts: [Option<&[u8]>; N] = std::array::from_fn(|place| unsafe {
        let value = *values.add(place);
        let text = ffi::sqlite3_value_text(value);
        let length = usize::try_from(ffi::sqlite3_value_bytes(value)).unwrap_or_default();
        (!text.is_null()).then(|| from_raw_parts(text, length))
    });
    texts.iter().all(Option::is_some).then(|| texts.map(Option::unwrap_or_default))
}

/// SAFETY: of the call that SQLite has begun. SQLite refuses a text that is too long.
unsafe fn answer(context: *mut ffi::sqlite3_context, text: &[u8]) {
    let length = ffi::sqlite3_uint64::try_from(text.len()).unwrap_or(ffi::sqlite3_uint64::MAX);
    let (text, encoding) = (text.as_ptr().cast(), ffi::SQLITE_UTF8 as c_uchar);
    unsafe { ffi::sqlite3_result_text64(context, text, length, ffi::SQLITE_TRANSIENT(), encoding) }
}

/// As SQLite's: of a null it is null.
unsafe extern "C" fn trim(context: *mut ffi::sqlite3_context, _count: c_int, values: *mut *mut ffi::sqlite3_value) {
    // SAFETY: SQLite passes two values.
    unsafe {
        let Some([text, of]) = texts(values) else { return };
        answer(context, without(text, of, ffi::sqlite3_user_data(context).addr()));
    }
}

/// As SQLite's: counted in characters, of two blobs in bytes, from 1 on; 0: nowhere.
unsafe extern "C" fn place_of(context: *mut ffi::sqlite3_context, _count: c_int, values: *mut *mut ffi::sqlite3_value) {
    // SAFETY: SQLite passes two values.
    unsafe {
        let are_blobs = [0, 1].map(|place| ffi::sqlite3_value_type(*values.add(place)) == ffi::SQLITE_BLOB);
        let Some([text, part]) = texts(values) else { return };
        let begins = |at: &usize| are_blobs == [true, true] || text.get(*at).is_none_or(|byte| !continues(*byte));
        let found = memmem::find_iter(text, part).find(begins);
        let place = found.map_or(0, |at| 1 + (1..=at).filter(begins).count());
        ffi::sqlite3_result_int(context, c_int::try_from(place).unwrap_or_default());
    }
}

/// As SQLite's: nothing is replaced for an empty text.
unsafe extern "C" fn replace_all(
    context: *mut ffi::sqlite3_context,
    _count: c_int,
    values: *mut *mut ffi::sqlite3_value,
) {
    // SAFETY: SQLite passes three values, and the connection that calls is open.
    unsafe {
        let Some([text, part, by]) = texts(values) else { return };
        if part.is_empty() {
            return answer(context, text);
        }
        let max = ffi::sqlite3_limit(ffi::sqlite3_context_db_handle(context), ffi::SQLITE_LIMIT_LENGTH, -1);
        let (mut replaced, mut rest) = (Vec::new(), 0);
        for at in memmem::find_iter(text, part) {
            replaced.extend(&text[rest..at]);
            replaced.extend(by);
            rest = at + part.len();
            if usize::try_from(max).is_ok_and(|max| max < replaced.len()) {
                return ffi::sqlite3_result_error_toobig(context);
            }
        }
        replaced.extend(&text[rest..]);
        answer(context, &replaced);
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
    text.chunk_by(|_, next| continues(*next))
}

/// Whether a byte of a text belongs to the character of the byte before.
fn continues(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}
