//! When the next sweep is due: waits for one instant of the wall clock, so that a clock that is set and a machine that
//! slept are noticed.
//!
//! Each instant is one job of the scheduler: decisions.md#one-job-at-a-time.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_cron_scheduler::{Job, JobScheduler};
use tracing::info;
use uuid::Uuid;

use crate::rules::display::HumanDuration;
use crate::schedule::Schedule;

/// The time by this machine's clock, which a schedule is of by definition. What is stranded is decided by the
/// database's.
pub fn now() -> DateTime<Utc> {
    #[expect(clippy::disallowed_methods, reason = "a schedule is of this machine's clock")]
    let now = SystemTime::now();
    now.into()
}

pub struct Timer {
    scheduler: JobScheduler,
    /// The next time of the schedule, without the jitter.
    pub planned: Option<DateTime<Utc>>,
    /// When the next sweep is due, with the jitter.
    pub at: Option<DateTime<Utc>>,
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
        Ok(Timer { scheduler, planned: None, at: None, job: None, fired, firing })
    }

    /// Waits for the next time of the schedule, later by the jitter, though never as late as the time after it.
    pub async fn plan(&mut self, schedule: &Schedule, jitter: TimeDelta) -> Result<()> {
        let mut next = schedule.after(now());
        self.planned = next.next();
        let interval = self.planned.zip(next.next()).map_or(jitter, |(planned, following)| following - planned);
        self.at = self.planned.map(|planned| planned + random_delay(jitter, interval));
        if let Some(job) = self.job.take() {
            self.scheduler.remove(&job).await.context("planning the next sweep")?;
        }
        let Some(at) = self.at else { return Ok(()) };
        // The job's time is of whole seconds; a second too early is slept through.
        if let Ok(seconds @ 1..) = u64::try_from(at.timestamp() - now().timestamp() - 1) {
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

    /// Waits until the sweep is due. The future may be dropped and asked for again.
    pub async fn due(&mut self) {
        let Some(at) = self.at else { return std::future::pending().await };
        while let Some(job) = self.job {
            if self.firing.recv().await == Some(job) {
                self.job = None;
            }
        }
        // Never early, not by a part of a millisecond: the same time would be due once more.
        while let Some(left) = (at - now()).to_std().ok().filter(|left| !left.is_zero()) {
            tokio::time::sleep(left.min(Duration::from_secs(1))).await;
        }
    }

    /// How many times of the schedule have passed since the planned one: up to a thousand.
    pub fn missed(&self, schedule: &Schedule) -> usize {
        let now = now();
        let later = self.planned.into_iter().flat_map(|planned| schedule.after(planned));
        later.take_while(|at| *at <= now).take(MISSED_MAX).count()
    }

    /// True if the schedule has a time before the planned one: the clock was set back since.
    pub fn is_planned_too_late(&self, schedule: &Schedule) -> bool {
        schedule.next(now()).is_some_and(|next| Some(next) < self.planned)
    }
}

/// More are not counted.
const MISSED_MAX: usize = 1000;

/// Logs for how many times of the schedule the sweep that begins now makes up.
pub fn log_missed(missed: usize) {
    match missed {
        0 => {}
        1 => info!("1 more was due meanwhile: this sweep makes up for it"),
        MISSED_MAX.. => info!("a thousand sweeps and more were due meanwhile: this one makes up for them"),
        missed => info!("{missed} more were due meanwhile: this sweep makes up for it"),
    }
}

/// Logs the schedule with its next three times.
pub fn log_schedule(schedule: &Schedule, jitter: TimeDelta) {
    let shown = |at: DateTime<Utc>| at.with_timezone(&schedule.zone).format("%Y-%m-%d %H:%M:%S %Z").to_string();
    let next: Vec<String> = schedule.after(now()).take(3).map(shown).collect();
    let jitter = if jitter.is_zero() { String::new() } else { format!(", each up to {} later", HumanDuration(jitter)) };
    info!("schedule {schedule}, next: {}{jitter}", next.join(", "));
}

/// A random time below the jitter, and below the interval to the following sweep however long the jitter is.
fn random_delay(jitter: TimeDelta, interval: TimeDelta) -> TimeDelta {
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
