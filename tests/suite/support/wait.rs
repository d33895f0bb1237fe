//! Waits for other processes. A test that waits in vain fails, and its threads end with it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits: machines that run many tests are slow.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The longest pause between two tries.
const PAUSE_MAX: Duration = Duration::from_millis(10);

/// Polls until there is an answer, and returns it.
#[track_caller]
pub fn wait_for<T>(what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
    let (deadline, mut pause) = (Instant::now() + PATIENCE, Duration::from_millis(1));
    loop {
        if let Some(found) = answer() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        thread::sleep(pause);
        pause = PAUSE_MAX.min(pause * 2);
    }
}

/// Polls until a condition holds.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    wait_for(what, || is_so().then_some(()));
}

/// Sets a flag when it is dropped, by which the threads of a scope end, also when the test fails: the scope would wait
/// for them.
pub struct SetAtEnd<'a>(pub &'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
