//! Delivers the notifications that the watcher itself queues, so that no other process is needed for them.
//!
//! Whatever else waits in the outbox is delivered as well. A delivery that fails does not stop the watch.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use tracing::warn;

use crate::text::redact;

/// The pause before a failed delivery is tried again; the outbox decides what is due by then.
const RETRY_EVERY: Duration = Duration::from_secs(60);

/// Delivers what is due, and returns how many messages failed.
pub type Deliver = dyn Fn() -> Result<u64> + Send + Sync;

/// The watcher's deliveries: at most one at a time.
#[derive(Clone)]
pub struct Alerts {
    /// None: no destination is configured.
    deliver: Option<Arc<Deliver>>,
    state: Arc<Mutex<DeliveryState>>,
}

#[derive(Default)]
struct DeliveryState {
    due_at: Option<Instant>,
    is_delivering: bool,
}

impl Alerts {
    pub fn new(deliver: Option<Arc<Deliver>>) -> Alerts {
        Alerts { deliver, state: Arc::default() }
    }

    /// Notifications may have been queued: the next delivery is due now.
    pub fn queued(&self) {
        if self.deliver.is_some() {
            self.state().due_at = Some(Instant::now());
        }
    }

    /// Delivers on a thread of its own, if a delivery is due.
    pub fn deliver_due(&self) {
        if self.take_turn(Instant::now()) {
            let alerts = self.clone();
            thread::spawn(move || alerts.deliver());
        }
    }

    /// Delivers what is due before the watch ends, which delays the end by a minute at most.
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
            *state = DeliveryState { due_at: None, is_delivering: true };
        }
        is_due
    }

    fn deliver(&self) {
        let failed = self.deliver.as_ref().map_or(Ok(0), |deliver| deliver());
        if let Err(error) = &failed {
            warn!("{}", redact(&format!("{error:#}")));
        }
        let mut state = self.state();
        state.is_delivering = false;
        if failed.is_err() || failed.is_ok_and(|failed| 0 < failed) {
            state.due_at.get_or_insert(Instant::now() + RETRY_EVERY);
        }
    }

    fn state(&self) -> MutexGuard<'_, DeliveryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
