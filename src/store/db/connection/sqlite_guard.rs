//! The guard of a connection to a SQLite file, which may come from anybody: SQLite runs the triggers and views in it.
//! Guarded, SQL reaches no other file, no setting of SQLite's that sweep does not need, and no function
//! with side effects; and a statement ends after its time, when its transaction has answered with more than fits into
//! memory, and before the stack does.
//! diesel offers none of this, and neither does a kept crate beside it: this module alone talks to SQLite itself, and
//! is the only `unsafe` code of sweep's.
#![expect(unsafe_code)]

mod allowance;
mod files;
mod stack;
#[cfg(test)]
mod tests;
mod texts;
mod watchdog;

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Once};

pub use allowance::{Allowance, forget_row};
use diesel::prelude::*;
use libsqlite3_sys as ffi;

/// The pragmas that sweep uses, and those that SQLite's own functions and indexes ask.
const PRAGMAS: [&str; 10] = [
    "busy_timeout", "data_version", "database_list", "foreign_keys", "journal_mode", "page_count", "page_size",
    "query_only", "table_info", "wal_autocheckpoint",
];

/// The functions of SQLite's and diesel's that SQLite does not call innocuous: some do more than compute.
const FUNCTIONS_WITH_EFFECTS: [&str; 15] = [
    "bm25", "diesel_manage_updated_at", "fts3_tokenizer", "fts5", "fts5_get_locale", "highlight", "load_extension",
    "match", "matchinfo", "offsets", "optimize", "rtreecheck", "rtreedepth", "rtreenode", "snippet",
];

/// Functions that take as long as the square of their texts' length, or longer: of 1 MiB an hour, and no clock ends a
/// call.
const SLOW_FUNCTIONS: [&str; 2] = ["json_patch", "jsonb_patch"];

/// The limits of a connection: no other database, triggers that do not call one another for ever, and no pattern of
/// LIKE or GLOB that takes long to compare with a long text.
const LIMITS: [(c_int, c_int); 5] = [
    (ffi::SQLITE_LIMIT_ATTACHED, 0),
    (ffi::SQLITE_LIMIT_EXPR_DEPTH, 100),
    (ffi::SQLITE_LIMIT_TRIGGER_DEPTH, 50),
    (ffi::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100),
    // SQLite looks at the clock where its machine may jump, so that a row of many calls has no look.
    (ffi::SQLITE_LIMIT_VDBE_OP, 11_000),
];

/// The virtual tables that SQLite itself may have: text search, which boards use, and JSON. A search in others, such as
/// an R-tree of any shape, may be one call that never ends.
const MODULES: [Option<&CStr>; 4] = [Some(c"fts5"), Some(c"json_each"), Some(c"json_tree"), None];

/// Steps of SQLite's machine between two looks at the clock: each may be a call that takes milliseconds.
const STEPS: c_int = 100;

thread_local! {
    /// The allowance of the connection that this thread is opening.
    static OPENING: RefCell<Option<Arc<Allowance>>> = const { RefCell::new(None) };
}

/// Opens a file, by its URI, as a guarded connection.
pub fn open(uri: &str, allowance: &Arc<Allowance>) -> ConnectionResult<SqliteConnection> {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        stack::guard();
        // SAFETY: `guard_new_connection` has the signature of an entry point of SQLite's, and lives as long as the
        // process.
        unsafe { ffi::sqlite3_auto_extension(Some(guard_new_connection)) };
        files::guard();
    });
    OPENING.set(Some(Arc::clone(allowance)));
    let opened = SqliteConnection::establish(uri);
    let is_guarded = OPENING.take().is_none();
    match opened {
        Ok(_) if !is_guarded => Err(ConnectionError::BadConnection("SQLite did not accept the guard".to_owned())),
        opened => opened,
    }
}

/// Called by SQLite for each connection of this process that it has opened. The guard takes the allowance, and so says
/// that the connection is guarded.
unsafe extern "C" fn guard_new_connection(
    db: *mut ffi::sqlite3,
    _error: *mut *mut c_char,
    _api: *const ffi::sqlite3_api_routines,
) -> c_int {
    let Some(allowance) = OPENING.take() else { return ffi::SQLITE_OK };
    let (text_max, heap_max) = (allowance.text_max, allowance.heap_max);
    let watched = Arc::clone(&allowance);
    let context = Arc::into_raw(allowance).cast_mut().cast::<c_void>();
    // SAFETY: SQLite passes a connection that is open. It calls `drop_allowance` when the connection is closed, or at
    // once if it cannot keep the allowance, and none of the other functions after that: each of them only borrows it.
    unsafe {
        let kept = ffi::sqlite3_set_clientdata(db, c"sweep".as_ptr(), context, Some(drop_allowance));
        if kept != ffi::SQLITE_OK {
            return kept;
        }
        for (limit, value) in LIMITS {
            ffi::sqlite3_limit(db, limit, value);
        }
        ffi::sqlite3_limit(db, ffi::SQLITE_LIMIT_LENGTH, text_max);
        ffi::sqlite3_hard_heap_limit64(ffi::sqlite3_memory_used() + heap_max);
        let nothing = std::ptr::null_mut::<c_int>();
        let trust = ffi::sqlite3_db_config(db, ffi::SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 as c_int, nothing);
        let defend = ffi::sqlite3_db_config(db, ffi::SQLITE_DBCONFIG_DEFENSIVE, 1 as c_int, nothing);
        let authorize = ffi::sqlite3_set_authorizer(db, Some(authorize), std::ptr::null_mut());
        let trace = ffi::sqlite3_trace_v2(db, (BEGINS | ANSWERS) as c_uint, Some(follow_statement), context);
        ffi::sqlite3_progress_handler(db, STEPS, Some(interrupts), context);
        let watched = watchdog::watch(db, watched);
        let kept = MODULES.map(|name| name.map_or(std::ptr::null(), CStr::as_ptr));
        let modules = ffi::sqlite3_drop_modules(db, kept.as_ptr().cast_mut());
        [trust, defend, authorize, trace, watched, modules, texts::replace(db)]
            .into_iter()
            .find(|code| *code != ffi::SQLITE_OK)
            .unwrap_or(ffi::SQLITE_OK)
    }
}

unsafe extern "C" fn drop_allowance(context: *mut c_void) {
    // SAFETY: the pointer that `guard_new_connection` made of an Arc, which SQLite gives back once.
    drop(unsafe { Arc::from_raw(context.cast::<Allowance>()) });
}

const BEGINS: c_int = ffi::SQLITE_TRACE_STMT as c_int;
const ANSWERS: c_int = ffi::SQLITE_TRACE_ROW as c_int;

/// A statement begins, or a trigger of one: only the first begins the time anew. Or it answers with a row.
unsafe extern "C" fn follow_statement(
    event: c_uint,
    context: *mut c_void,
    statement: *mut c_void,
    text: *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes the statement that runs, and the allowance, of which the connection has an Arc as long as
    // it lives, and this function one more.
    unsafe {
        Arc::increment_strong_count(context.cast::<Allowance>());
        let allowance = Arc::from_raw(context.cast::<Allowance>());
        let statement = statement.cast::<ffi::sqlite3_stmt>();
        if event == ANSWERS as c_uint {
            if allowance.is_exceeded_by(bytes_of_row(statement)) {
                ffi::sqlite3_interrupt(ffi::sqlite3_db_handle(statement));
            }
        } else if ffi::sqlite3_sql(statement).cast::<c_void>() == text.cast_const() {
            allowance.start();
            // No transaction is under way, and this may be the statement that begins one.
            if ffi::sqlite3_get_autocommit(ffi::sqlite3_db_handle(statement)) != 0 {
                allowance.begin_transaction();
            }
        }
    }
    0
}

/// What a column of an answer costs, beside the text in it.
const COLUMN_BYTES: i64 = 32;

/// SAFETY: of a statement that has answered with a row.
unsafe fn bytes_of_row(statement: *mut ffi::sqlite3_stmt) -> i64 {
    let bytes = |column| unsafe {
        match ffi::sqlite3_column_type(statement, column) {
            ffi::SQLITE_TEXT | ffi::SQLITE_BLOB => i64::from(ffi::sqlite3_column_bytes(statement, column)),
            _ => 0,
        }
    };
    (0..unsafe { ffi::sqlite3_data_count(statement) }).map(|column| COLUMN_BYTES + bytes(column)).sum()
}

/// Must the statement that runs end now?
unsafe extern "C" fn interrupts(context: *mut c_void) -> c_int {
    // SAFETY: the allowance lives as long as the connection.
    c_int::from(unsafe { (*context.cast::<Allowance>()).overdue() }.is_some())
}

/// May a statement, or a trigger or view of the file, do this?
unsafe extern "C" fn authorize(
    _context: *mut c_void,
    action: c_int,
    first: *const c_char,
    second: *const c_char,
    _database: *const c_char,
    _by: *const c_char,
) -> c_int {
    // SAFETY: each is null or a text that ends in a NUL and outlives this call.
    let text = |text: *const c_char| (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
    if is_allowed(action, text(first), text(second)) { ffi::SQLITE_OK } else { ffi::SQLITE_DENY }
}

fn is_allowed(action: c_int, first: Option<&CStr>, second: Option<&CStr>) -> bool {
    let is_among = |names: &[&str], text: Option<&CStr>| {
        text.is_some_and(|text| names.iter().any(|name| text.to_bytes().eq_ignore_ascii_case(name.as_bytes())))
    };
    match action {
        // VACUUM INTO attaches the file that it makes.
        ffi::SQLITE_ATTACH | ffi::SQLITE_DETACH | ffi::SQLITE_CREATE_VTABLE | ffi::SQLITE_DROP_VTABLE => false,
        ffi::SQLITE_PRAGMA => is_among(&PRAGMAS, first),
        ffi::SQLITE_FUNCTION => !is_among(&FUNCTIONS_WITH_EFFECTS, second) && !is_among(&SLOW_FUNCTIONS, second),
        // What is left stays within the file.
        _ => true,
    }
}
