//! Waiting for what another process does.

use std::thread;
use std::time::{Duration, Instant};

/// Machines that run many tests are slow.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Polls until there is an answer.
#[track_caller]
pub fn wait_for<T>(what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = answer() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(10));
    }
}
