//! The daemon and what started it: the signals that it gets, and what a service manager is notified of (sd_notify):
//! ready, what is going on, that the process lives, reloading, stopping. Without NOTIFY_SOCKET nothing is sent.

use std::sync::Once;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Interval, MissedTickBehavior, interval};
use tracing::{debug, warn};

use crate::sweep::limits::{LISTENING, exit_in_any_case};

pub enum Demand {
    Stop,
    Reload,
}

/// SIGTERM and Ctrl-C: the first ends the daemon after the sweep in hand, the second at once.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Listens for signals from now on.
    pub fn listen() -> Result<Signals> {
        exit_in_any_case()?;
        Ok(Signals {
            terminate: signal(SignalKind::terminate()).context(LISTENING)?,
            interrupt: signal(SignalKind::interrupt()).context(LISTENING)?,
            hangup: signal(SignalKind::hangup()).context(LISTENING)?,
        })
    }

    pub async fn next(&mut self) -> Demand {
        tokio::select! {
            _ = self.terminate.recv() => Demand::Stop,
            _ = self.interrupt.recv() => Demand::Stop,
            _ = self.hangup.recv() => Demand::Reload,
        }
    }
}

pub struct ServiceManager {
    /// How often the watchdog is fed: in a quarter of its time.
    every: Option<Duration>,
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

    /// Ticks often enough to notice a sweep that hangs, and to feed the watchdog in time.
    pub fn ticks(&self, hung_after: Duration) -> Interval {
        let bounds = [Some(Duration::from_secs(1)), Some(hung_after / 4), self.every];
        let period = bounds.into_iter().flatten().min().unwrap_or_default().max(Duration::from_millis(20));
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        ticks
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

    /// Says in one line what is going on, if that is not what was said last.
    pub fn report_status(&mut self, status: String) {
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

/// Sends these states. A failure is logged once: a manager that receives nothing ends the daemon after a while, and
/// does not say why.
fn notify(states: &[NotifyState]) {
    static IS_LOGGED: Once = Once::new();
    if let Err(error) = sd_notify::notify(states) {
        IS_LOGGED.call_once(|| warn!("the service manager cannot be notified (NOTIFY_SOCKET): {error}"));
    }
}
