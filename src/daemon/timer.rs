//! Waits for one instant of the wall clock, so that a clock that is set and a machine that slept are noticed.
//!
//! Each instant is one job of the scheduler, and the next one is planned when it is over. The scheduler's own repeated
//! jobs would overlap, outlive its end, and keep the offset that their zone had when they were made.

use std::time::Duration;

use anyhow::{Context, Result};
use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_cron_scheduler::{Job, JobScheduler};
use uuid::Uuid;

use super::clock;

pub struct Timer {
    scheduler: JobScheduler,
    at: Option<DateTime<Utc>>,
    /// The job that will announce that it is near; none: it is, or there is nothing to wait for.
    job: Option<Uuid>,
    fired: UnboundedSender<Uuid>,
    firing: UnboundedReceiver<Uuid>,
}

impl Timer {
    pub async fn start() -> Result<Timer> {
        let scheduler = JobScheduler::new().await.context("starting the scheduler")?;
        scheduler.start().await.context("starting the scheduler")?;
        let (fired, firing) = unbounded_channel();
        Ok(Timer { scheduler, at: None, job: None, fired, firing })
    }

    /// Waits for this instant, and for no other any more.
    pub async fn set(&mut self, at: Option<DateTime<Utc>>) -> Result<()> {
        if let Some(job) = self.job.take() {
            self.scheduler.remove(&job).await.context("planning the next sweep")?;
        }
        self.at = at;
        let Some(at) = at else { return Ok(()) };
        // The job's time is of whole seconds; a second too early is slept through.
        if let Ok(seconds @ 1..) = u64::try_from(at.timestamp() - clock::now().timestamp() - 1) {
            let fired = self.fired.clone();
            let job = Job::new_one_shot_async(Duration::from_secs(seconds), move |id, _| {
                let fired = fired.clone();
                Box::pin(async move {
                    let _ = fired.send(id);
                })
            });
            let job = job.context("planning the next sweep")?;
            self.job = Some(self.scheduler.add(job).await.context("planning the next sweep")?);
        }
        Ok(())
    }

    /// Until the instant has come. It may be dropped and called again.
    pub async fn due(&mut self) {
        let Some(at) = self.at else { return std::future::pending().await };
        while let Some(job) = self.job {
            if self.firing.recv().await == Some(job) {
                self.job = None;
            }
        }
        // Never early, not by a part of a millisecond: the same time would be due once more.
        while let Some(left) = (at - clock::now()).to_std().ok().filter(|left| !left.is_zero()) {
            tokio::time::sleep(left.min(Duration::from_secs(1))).await;
        }
    }
}

/// A random time below the jitter, and below the interval to the following sweep however long the jitter is.
pub fn random_delay(jitter: TimeDelta, interval: TimeDelta) -> TimeDelta {
    let bound = jitter.min(interval).num_milliseconds();
    if 0 < bound { TimeDelta::milliseconds(fastrand::i64(0..bound)) } else { TimeDelta::zero() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jitter_moves_a_sweep_within_its_interval_however_long_it_is() {
        let (second, hour) = (TimeDelta::seconds(1), TimeDelta::hours(1));
        for (jitter, interval) in [(hour, second), (second, hour)] {
            let delays: Vec<TimeDelta> = (0..1000).map(|_| random_delay(jitter, interval)).collect();
            assert!(delays.iter().all(|delay| (TimeDelta::zero()..second).contains(delay)), "{delays:?}");
            assert!(delays.iter().any(|delay| second / 2 < *delay), "it is moved at all");
        }
        assert_eq!(random_delay(TimeDelta::zero(), second), TimeDelta::zero());
    }
}
