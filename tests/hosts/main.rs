//! sweep beside the real servers of its hosts: whatever no schema tells, and only a running server shows. README.md
//! says how to play these tests.

mod database;
mod http;
mod paperclip;
mod prefect;
mod processes;
mod program;

use std::thread;
use std::time::{Duration, Instant};

/// Reads a variable that `make test-hosts` sets.
#[expect(clippy::disallowed_methods, reason = "a test's own variable, no setting of sweep's")]
fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run these tests by `make test-hosts`"))
}

/// Polls until there is an answer, and returns it.
#[track_caller]
fn wait_for<T>(what: &str, patience: Duration, mut answer: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(found) = answer() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not within {patience:?}");
        thread::sleep(Duration::from_millis(200));
    }
}

const fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}
