//! The guard of a connection to a SQLite file, which may come from anybody: SQLite runs the triggers and views in it.
//! Guarded, SQL reaches no other file, no setting of SQLite's that sweep does not need, and no function
//! with side effects; and a statement ends after its time, when its transaction has answered with more than fits into
//! memory, and before the stack does.
//! diesel offers none of this, and neither does a kept crate beside it: this module alone talks to SQLite itself, and
//! is the only `unsafe` code of sweep's.
#![expect(unsafe_code)]

#[cfg(test)]
mod tests;
mod texts;

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, OsStr, c_char, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use diesel::prelude::*;
use libsqlite3_sys as ffi;

use crate::files::is_special;
use crate::store::db::connection::Timeouts;

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
        guard_stack();
        // SAFETY: `guard_new_connection` has the signature of an entry point of SQLite's, and lives as long as the
        // process.
        unsafe { ffi::sqlite3_auto_extension(Some(guard_new_connection)) };
        guard_files();
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
        let nothing = null_mut::<c_int>();
        let trust = ffi::sqlite3_db_config(db, ffi::SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 as c_int, nothing);
        let defend = ffi::sqlite3_db_config(db, ffi::SQLITE_DBCONFIG_DEFENSIVE, 1 as c_int, nothing);
        let authorize = ffi::sqlite3_set_authorizer(db, Some(authorize), null_mut());
        let trace = ffi::sqlite3_trace_v2(db, (BEGINS | ANSWERS) as c_uint, Some(follow_statement), context);
        ffi::sqlite3_progress_handler(db, STEPS, Some(interrupts), context);
        let watched = watch(db, watched);
        let kept = MODULES.map(|name| name.map_or(null(), CStr::as_ptr));
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
    let allowance = unsafe { &*context.cast::<Allowance>() };
    allowance.looks.fetch_add(1, Ordering::Relaxed);
    c_int::from(allowance.overdue().is_some())
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

/// What each statement of a connection may cost.
#[derive(Debug)]
pub struct Allowance {
    /// How long it may take, in milliseconds, as all times below.
    time: AtomicU64,
    /// When the statement that runs now is interrupted, since `BEGAN`.
    ends_at: AtomicU64,
    /// How often SQLite has looked at the clock.
    looks: AtomicU64,
    /// Bytes of a text, and of a row that is written: SQLite looks at no clock while a function is called.
    pub text_max: c_int,
    /// Bytes of the answers within a transaction: a command keeps those to all of its questions.
    pub answer_max: i64,
    /// Bytes of the answers within the transaction that is under way, of what is kept.
    answer: AtomicI64,
    /// Bytes that SQLite may take for all connections of this process, beside what it holds when this one is opened:
    /// one that hangs in a call keeps what it has.
    pub heap_max: i64,
}

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Allowance {
    pub fn new(timeouts: Timeouts) -> Arc<Allowance> {
        let (time, ends_at, answer) = (AtomicU64::default(), AtomicU64::new(u64::MAX), AtomicI64::default());
        let (text_max, answer_max, heap_max) = (1 << 20, 64 << 20, 128 << 20);
        let looks = AtomicU64::default();
        let allowance = Allowance { time, ends_at, looks, text_max, answer_max, answer, heap_max };
        allowance.allow(timeouts);
        Arc::new(allowance)
    }

    /// Each statement from the next one on may take as long as this says.
    pub fn allow(&self, timeouts: Timeouts) {
        let time = u64::try_from(timeouts.statement_ms()).unwrap_or_default();
        self.time.store(time, Ordering::Relaxed);
    }

    pub fn start(&self) {
        self.ends_at.store(now().saturating_add(self.time.load(Ordering::Relaxed)), Ordering::Relaxed);
    }

    /// How many steps SQLite's machine has made on the connection, in hundreds that a statement has made whole.
    pub fn steps(&self) -> u64 {
        self.looks.load(Ordering::Relaxed) * STEPS.unsigned_abs() as u64
    }

    /// When the time of the latest statement was over, if it is.
    pub fn overdue(&self) -> Option<u64> {
        Some(self.ends_at.load(Ordering::Relaxed)).filter(|ends_at| *ends_at < now())
    }

    /// What was answered before counts no more.
    pub fn begin_transaction(&self) {
        self.answer.store(0, Ordering::Relaxed);
    }

    /// Another row of an answer: is it too much now?
    pub fn is_exceeded_by(self: Arc<Self>, bytes: i64) -> bool {
        let is_exceeded = self.answer_max - bytes < self.answer.fetch_add(bytes, Ordering::Relaxed);
        ANSWERED.set(Some((self, bytes)));
        is_exceeded
    }
}

/// In milliseconds since `BEGAN`.
fn now() -> u64 {
    u64::try_from(BEGAN.elapsed().as_millis()).unwrap_or(u64::MAX)
}

thread_local! {
    /// The latest row with which a connection has answered on this thread: its allowance, and the row's bytes.
    static ANSWERED: RefCell<Option<(Arc<Allowance>, i64)>> = const { RefCell::new(None) };
}

/// The latest row that was answered on this thread is not kept, and does not count.
pub fn forget_row() {
    if let Some((allowance, bytes)) = ANSWERED.take() {
        allowance.answer.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The watchdog ends a statement whose time is over while SQLite looks at no clock, as when it counts the rows of a
/// table: where the pages of a file name one page again and again, the count has no end.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

static WATCHED: Mutex<Vec<WatchedConnection>> = Mutex::new(Vec::new());

static IS_AWAKE: LazyLock<bool> = LazyLock::new(|| {
    let look = || loop {
        sleep(BETWEEN_LOOKS);
        watched().iter_mut().for_each(WatchedConnection::look);
    };
    Builder::new().name("sqlite-watchdog".to_owned()).spawn(look).is_ok()
});

/// A connection that is open, and what its statements may cost.
struct WatchedConnection {
    db: *mut ffi::sqlite3,
    allowance: Arc<Allowance>,
    /// When the time of the latest statement was over, if the last look found that statement running after it.
    overdue: Option<u64>,
}

// SAFETY: only this module uses the connection, while `WATCHED` is locked: every thread may call the functions of
// SQLite's that it calls.
unsafe impl Send for WatchedConnection {}

fn watched() -> MutexGuard<'static, Vec<WatchedConnection>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Watches a connection until it is closed.
///
/// # Safety
/// It must be open.
unsafe fn watch(db: *mut ffi::sqlite3, allowance: Arc<Allowance>) -> c_int {
    if !*IS_AWAKE {
        return ffi::SQLITE_NOMEM;
    }
    watched().push(WatchedConnection { db, allowance, overdue: None });
    // SAFETY: SQLite calls `forget` when the connection is closed, or at once if it cannot keep this.
    unsafe { ffi::sqlite3_set_clientdata(db, c"sweep's watchdog".as_ptr(), db.cast(), Some(forget)) }
}

unsafe extern "C" fn forget(db: *mut c_void) {
    watched().retain(|one| one.db != db.cast());
}

impl WatchedConnection {
    /// The time of a statement that only just begins may still be that of the one before: two looks must find it over.
    fn look(&mut self) {
        // SAFETY: the connection is open: when it closes, it is forgotten. SQLite holds this mutex while a statement
        // runs.
        unsafe {
            let overdue = self.allowance.overdue().filter(|_| {
                let mutex = ffi::sqlite3_db_mutex(self.db);
                let is_idle = ffi::sqlite3_mutex_try(mutex) == ffi::SQLITE_OK;
                if is_idle {
                    ffi::sqlite3_mutex_leave(mutex);
                }
                !is_idle
            });
            if overdue.is_some() && overdue == self.overdue {
                ffi::sqlite3_interrupt(self.db);
            }
            self.overdue = overdue;
        }
    }
}

/// From now on SQLite's way to files is its own but for two kinds that are not opened:
/// - A journal may end with the name of another file, as that of a transaction over several databases does, and whoever
///   takes back what the journal says would open that file and then delete it.
/// - Whoever opens a pipe waits for somebody who writes into it, and no clock ends that.
fn guard_files() {
    // SAFETY: SQLite's own way to files lives as long as the process, and so does the copy of it, which is made known
    // only when it is whole. SQLite calls each function of the copy as it calls those of the original.
    unsafe {
        let copy = ffi::sqlite3_vfs { zName: c"sweep".as_ptr(), xOpen: Some(open_if_harmless), ..*original_files() };
        ffi::sqlite3_vfs_register(Box::into_raw(Box::new(copy)), 1);
    }
}

fn original_files() -> *mut ffi::sqlite3_vfs {
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
        match (*original_files()).xOpen {
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

static ORIGINAL_MEMORY: OnceLock<(Allocate, Reallocate)> = OnceLock::new();

/// SQLite's memory is its own from now on, but for what is asked for deep in a thread's stack: that is refused. SQLite
/// goes into views that use views, as deep as a file has them, and a stack that overflows would end the process. A
/// statement that is refused memory, SQLite undoes, and reports. SQLite takes other memory only until it is first used
/// in a process.
fn guard_stack() {
    let mut methods = MaybeUninit::<ffi::sqlite3_mem_methods>::zeroed();
    // SAFETY: all of it may be zero. SQLite fills it with functions that live as long as the process, and keeps a copy
    // of it, in which two are replaced by functions of the same signatures.
    unsafe {
        ffi::sqlite3_config(ffi::SQLITE_CONFIG_GETMALLOC, methods.as_mut_ptr());
        let mut methods = methods.assume_init();
        let Some(original) = methods.xMalloc.zip(methods.xRealloc) else { return };
        ORIGINAL_MEMORY.get_or_init(|| original);
        methods.xMalloc = Some(allocate);
        methods.xRealloc = Some(reallocate);
        ffi::sqlite3_config(ffi::SQLITE_CONFIG_MALLOC, &raw const methods);
    }
}

fn original_memory() -> Option<&'static (Allocate, Reallocate)> {
    ORIGINAL_MEMORY.get().filter(|_| stacker::remaining_stack().is_none_or(is_enough))
}

fn is_enough(left: usize) -> bool {
    let most = MOST.get().max(left);
    MOST.set(most);
    most - most / SHARE <= left
}

unsafe extern "C" fn allocate(bytes: c_int) -> *mut c_void {
    // SAFETY: SQLite asks for as much as it would ask the original for.
    original_memory().map_or(null_mut(), |(allocate, _)| unsafe { allocate(bytes) })
}

unsafe extern "C" fn reallocate(memory: *mut c_void, bytes: c_int) -> *mut c_void {
    // SAFETY: the memory is of the original, and stays as it is where no more is given.
    original_memory().map_or(null_mut(), |(_, reallocate)| unsafe { reallocate(memory, bytes) })
}
