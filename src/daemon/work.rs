//! What the daemon has in hand: at most one thing, on a thread of its own. So no two of its sweeps ever overlap.

use std::time::{Duration, Instant};

use anyhow::Result;
use chrono::{DateTime, Utc};
use tokio::task::{JoinHandle, spawn_blocking};

use super::clock;
use crate::conclusion::{Conclusion, conclusion_of};
use crate::cycle::{self, CycleOptions};
use crate::notify::{Delivered, deliver};
use crate::store::Access;
use crate::store::listen::{Source, run_end_grace};
use crate::sweep::{self, Cancel, Options, Progress, Summary};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Can the database be swept?
    Check,
    Sweep,
    /// A sweep of the issues of which a run has just ended.
    Reaction,
    /// Notifications that wait, between two sweeps.
    Deliver,
}

/// What became of it.
pub enum Done {
    /// How long its host needs after the end of a run.
    Checked(Result<Duration>),
    Swept(Result<Summary>),
    Reacted(Result<Summary>),
    Delivered(Result<Delivered>),
    /// A bug; it has said so on stderr.
    Panicked(Task),
}

pub struct BackgroundWork {
    pub task: Task,
    cancel: Cancel,
    progress: Progress,
    handle: JoinHandle<Done>,
    steps: usize,
    /// When it had made that many steps, as far as was looked.
    moved_at: Instant,
}

impl BackgroundWork {
    /// At the start also whether what it listens to is the same database. That one cannot be reached is no reason not
    /// to sweep.
    pub fn check(options: &Options, source: Option<Source>) -> BackgroundWork {
        let Options { database, timeouts, .. } = options.clone();
        let look = move || {
            let mut store = database.open(Access::Write)?;
            source.map_or(Ok(()), |source| source.refuse_another()).or_else(|error| match conclusion_of(&error) {
                Conclusion::Unavailable => Ok(()),
                _ => Err(error),
            })?;
            run_end_grace(&mut store.db, &timeouts).map_err(|error| database.explain(error))
        };
        BackgroundWork::begin(Task::Check, move |_, _| Done::Checked(look()))
    }

    pub fn cycle(options: CycleOptions) -> BackgroundWork {
        BackgroundWork::begin(Task::Sweep, move |cancel, progress| Done::Swept(cycle::run(&options, cancel, progress)))
    }

    /// The sweep alone: its notifications wait for a moment in which no run ends, not the other way round.
    pub fn reaction(options: Options) -> BackgroundWork {
        BackgroundWork::begin(Task::Reaction, move |cancel, progress| {
            Done::Reacted(sweep::run(&options, cancel, progress))
        })
    }

    /// Begins no message more at the time of the next sweep.
    pub fn deliver(options: &CycleOptions, until: Option<DateTime<Utc>>) -> BackgroundWork {
        let CycleOptions { sweep: Options { database, timeouts, .. }, notify, .. } = options.clone();
        BackgroundWork::begin(Task::Deliver, move |cancel, progress| {
            let is_over = || {
                progress.step();
                cancel.is_set() || until.is_some_and(|until| until <= clock::now())
            };
            Done::Delivered(deliver(&database, &timeouts, &notify, is_over))
        })
    }

    fn begin(task: Task, body: impl FnOnce(&Cancel, &mut Progress) -> Done + Send + 'static) -> BackgroundWork {
        let (cancel, progress) = (Cancel::default(), Progress::default());
        let (its_cancel, mut its_progress) = (cancel.clone(), progress.clone());
        let handle = spawn_blocking(move || body(&its_cancel, &mut its_progress));
        BackgroundWork { task, cancel, progress, handle, steps: 0, moved_at: Instant::now() }
    }

    /// Asks it to end after what is in hand.
    pub fn stop(&self) {
        self.cancel.set();
    }

    /// Waits for its end. It may be dropped and called again until then.
    pub async fn ended(&mut self) -> Done {
        (&mut self.handle).await.unwrap_or(Done::Panicked(self.task))
    }

    /// For how long it has not got on.
    pub fn silent_for(&mut self) -> Duration {
        let steps = self.progress.steps();
        if steps != self.steps {
            (self.steps, self.moved_at) = (steps, Instant::now());
        }
        self.moved_at.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_one_end_among_others() {
        let mut work = BackgroundWork::begin(Task::Sweep, |_, _| panic!("a bug"));
        assert!(matches!(work.ended().await, Done::Panicked(Task::Sweep)));
    }

    #[tokio::test]
    async fn steps_are_progress_and_time_alone_is_not() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut work = BackgroundWork::begin(Task::Check, move |_, progress| {
            for () in receiver {
                progress.step();
            }
            Done::Checked(Ok(Duration::ZERO))
        });
        let time = Duration::from_millis(50);
        std::thread::sleep(time);
        assert!(time <= work.silent_for());
        sender.send(()).expect("a thread");
        while time <= work.silent_for() {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(sender);
        assert!(matches!(work.ended().await, Done::Checked(Ok(_))));
    }
}
