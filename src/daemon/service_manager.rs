//! What the service manager is notified of (sd_notify): ready, what is going on, that the process lives, reloading,
//! stopping.
//!
//! Without NOTIFY_SOCKET nothing is sent.

use std::sync::Once;
use std::time::{Duration, Instant};

use sd_notify::NotifyState;
use tracing::{debug, warn};

pub struct ServiceManager {
    /// How often the watchdog is fed: in a quarter of its time.
    pub every: Option<Duration>,
    fed_at: Option<Instant>,
    status: String,
}

impl ServiceManager {
    pub fn new() -> ServiceManager {
        ServiceManager {
            every: sd_notify::watchdog_enabled().map(|time| time / 4),
            fed_at: None,
            status: String::new(),
        }
    }

    pub fn ready(&self) {
        notify(&[NotifyState::Ready]);
    }

    pub fn reloading(&self) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => notify(&[NotifyState::Reloading, now]),
            Err(error) => debug!("the monotonic clock: {error}"),
        }
    }

    pub fn stopping(&self) {
        notify(&[NotifyState::Stopping]);
    }

    /// One line, when it is another one.
    pub fn status(&mut self, status: String) {
        if status != self.status {
            notify(&[NotifyState::Status(&status)]);
            self.status = status;
        }
    }

    /// Feeds the watchdog when it is time.
    pub fn feed(&mut self) {
        let is_due = |every| self.fed_at.is_none_or(|at: Instant| every <= at.elapsed());
        if self.every.is_some_and(is_due) {
            self.fed_at = Some(Instant::now());
            notify(&[NotifyState::Watchdog]);
        }
    }
}

/// That it could not is logged once: a manager that receives nothing ends the daemon after a while, and does not say
/// why.
fn notify(states: &[NotifyState]) {
    static IS_LOGGED: Once = Once::new();
    if let Err(error) = sd_notify::notify(states) {
        IS_LOGGED.call_once(|| warn!("the service manager cannot be notified (NOTIFY_SOCKET): {error}"));
    }
}
