//! Ends a statement whose time is over while SQLite looks at no clock, as when it counts the rows of a table: where the
//! pages of a file name one page again and again, the count has no end.

use std::ffi::{c_int, c_void};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, sleep};
use std::time::Duration;

use libsqlite3_sys as ffi;

use super::allowance::Allowance;

const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

static WATCHED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());

static IS_AWAKE: LazyLock<bool> = LazyLock::new(|| {
    let look = || loop {
        sleep(BETWEEN_LOOKS);
        watched().iter_mut().for_each(Watched::look);
    };
    Builder::new().name("sqlite-watchdog".to_owned()).spawn(look).is_ok()
});

/// A connection that is open, and what its statements may cost.
struct Watched {
    db: *mut ffi::sqlite3,
    allowance: Arc<Allowance>,
    /// When the time of the latest statement was over, if the last look found that statement running after it.
    overdue: Option<u64>,
}

// SAFETY: only this module uses the connection, while `WATCHED` is locked: every thread may call the functions of
// SQLite's that it calls.
unsafe impl Send for Watched {}

fn watched() -> MutexGuard<'static, Vec<Watched>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Watches a connection until it is closed.
///
/// # Safety
/// It must be open.
pub unsafe fn watch(db: *mut ffi::sqlite3, allowance: Arc<Allowance>) -> c_int {
    if !*IS_AWAKE {
        return ffi::SQLITE_NOMEM;
    }
    watched().push(Watched { db, allowance, overdue: None });
    // SAFETY: SQLite calls `forget` when the connection is closed, or at once if it cannot keep this.
    unsafe { ffi::sqlite3_set_clientdata(db, c"sweep's watchdog".as_ptr(), db.cast(), Some(forget)) }
}

unsafe extern "C" fn forget(db: *mut c_void) {
    watched().retain(|one| one.db != db.cast());
}

impl Watched {
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
