//! Notifications of what the watcher itself has queued, delivered by the watcher: no other process is needed for them.
//!
//! What others queued waits beside them and is delivered as well. Nothing here stops the watch.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use tracing::warn;

use crate::text::shown;

/// Before what could not be delivered is tried again; the outbox says when it is due.
const RETRY_EVERY: Duration = Duration::from_secs(60);

/// Delivers what is due, and says how many messages could not be.
pub type Deliver = dyn Fn() -> Result<u64> + Send + Sync;

#[derive(Clone)]
pub struct Alerts {
    /// None: there is nobody to notify.
    deliver: Option<Arc<Deliver>>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    due_at: Option<Instant>,
    is_delivering: bool,
}

impl Alerts {
    pub fn new(deliver: Option<Arc<Deliver>>) -> Alerts {
        Alerts { deliver, state: Arc::default() }
    }

    /// Something may have been queued.
    pub fn queued(&self) {
        if self.deliver.is_some() {
            self.state().due_at = Some(Instant::now());
        }
    }

    /// Delivers what is due, if anything is, on a thread of its own.
    pub fn deliver_due(&self) {
        if self.take_turn(Instant::now()) {
            let alerts = self.clone();
            thread::spawn(move || alerts.deliver());
        }
    }

    /// Delivers what is due before the end, which it delays by half a minute at most.
    pub fn finish(&self) {
        while self.state().is_delivering {
            thread::sleep(Duration::from_millis(20));
        }
        if self.take_turn(Instant::now()) {
            self.deliver();
        }
    }

    fn take_turn(&self, now: Instant) -> bool {
        let mut state = self.state();
        let is_due = !state.is_delivering && state.due_at.is_some_and(|at| at <= now);
        if is_due {
            *state = State { due_at: None, is_delivering: true };
        }
        is_due
    }

    fn deliver(&self) {
        let failed = self.deliver.as_ref().map_or(Ok(0), |deliver| deliver());
        if let Err(error) = &failed {
            warn!("{}", shown(&format!("{error:#}")));
        }
        let mut state = self.state();
        state.is_delivering = false;
        if failed.is_err() || failed.is_ok_and(|failed| 0 < failed) {
            state.due_at.get_or_insert(Instant::now() + RETRY_EVERY);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
