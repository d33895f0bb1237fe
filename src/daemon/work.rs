//! What the daemon has in hand: at most one thing, on a thread of its own. So no two of its sweeps ever overlap.

use std::time::{Duration, Instant};

use anyhow::Result;
use chrono::{DateTime, Utc};
use tokio::task::{JoinHandle, spawn_blocking};

use super::timer;
use crate::conclusion::{Conclusion, conclusion_of};
use crate::cycle::{self, CycleOptions, of_database, sweep_apart};
use crate::notify::{Delivered, deliver};
use crate::report::told;
use crate::store::connect::databases::Found;
use crate::store::connect::listen::{ListenMode, Source, refuse_silence, run_end_grace};
use crate::store::connect::open::patience::Patience;
use crate::store::connect::open::{Store, Url};
use crate::store::{Access, Timeouts};
use crate::sweep::{Cancel, Options, Progress, Summary, Tally};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Can the database be swept?
    Check,
    Sweep,
    /// A sweep of the issues and steps of which a run has just ended.
    Reaction,
    /// Notifications that wait, between two sweeps.
    Deliver,
}

/// What became of a task, for each database.
pub enum Done {
    /// How long each host needs after the end of a run.
    Checked(Vec<(Url, Result<Duration>)>),
    Swept(Vec<(Url, Result<Summary>)>),
    Reacted(Url, Box<Result<Summary>>),
    Delivered(Vec<Result<Delivered>>),
    /// A bug, which stderr has said.
    Panicked(Task),
}

/// A database to look at.
pub struct Probe {
    pub database: Url,
    /// What is listened to, which has to be this database: looked at when the daemon starts.
    pub source: Option<Source>,
    /// The database did not answer before.
    pub is_away: bool,
}

/// How long a database that is away may keep the others waiting, each time when it is asked whether it is back.
const AWAY: Duration = Duration::from_secs(5);

/// How long a database may keep the others waiting at the first look: its URL may say that connecting has all the time
/// there is.
const FIRST: Duration = Duration::from_secs(30);

/// How long the host needs after the end of a run, if the database can be swept.
fn run_end_grace_of(database: &Url, source: Option<&Source>, timeouts: &Timeouts) -> Result<Duration> {
    let mut store = database.open(Access::Write)?;
    let Store { db, host, .. } = &mut store;
    if source.is_some_and(|source| source.listening == ListenMode::On) {
        db.look(|db| refuse_silence(db, host)).map_err(|error| database.explain(error))?;
    }
    match source.map_or(Ok(()), Source::refuse_another) {
        // A listening connection that cannot be had is no reason to leave out the sweep.
        Err(error) if conclusion_of(&error) != Conclusion::Unavailable => return Err(error),
        Ok(()) | Err(_) => {}
    }
    run_end_grace(db, timeouts).map_err(|error| database.explain(error))
}

/// What the daemon has in hand, on a thread of its own.
pub struct BackgroundWork {
    pub task: Task,
    /// Asks the work to end after what is in hand.
    pub cancel: Cancel,
    progress: Progress,
    handle: JoinHandle<Done>,
    steps: usize,
    /// When that many steps were first seen.
    moved_at: Instant,
}

impl BackgroundWork {
    /// Looks whether these databases can be swept.
    pub fn check(probes: Vec<Probe>, timeouts: Timeouts) -> BackgroundWork {
        BackgroundWork::begin(Task::Check, move |_, progress| {
            let look = |Probe { database, source, is_away }: Probe| {
                progress.step();
                let patience = database.patience(timeouts.question()).min(if is_away { AWAY } else { FIRST });
                let ask = move |database: &Url| run_end_grace_of(database, source.as_ref(), &timeouts);
                let grace = database.ask_within(Patience::of(patience), ask);
                (database, grace)
            };
            Done::Checked(probes.into_iter().map(look).collect())
        })
    }

    /// Sweeps these databases, but for those that are `away`.
    pub fn sweep(options: CycleOptions, databases: Vec<Found>, away: Vec<Url>) -> BackgroundWork {
        BackgroundWork::begin(Task::Sweep, move |cancel, progress| {
            let swept = cycle::run_each(&options, &databases, &away, cancel, progress);
            Done::Swept(databases.into_iter().map(|found| found.url).zip(swept).collect())
        })
    }

    /// Sweeps the issues and steps of which a run has just ended. Notifications wait for a moment in which no run ends,
    /// not the other way round.
    pub fn react(options: Options, database: Found) -> BackgroundWork {
        BackgroundWork::begin(Task::Reaction, move |cancel, progress| {
            let swept = of_database(&database).in_scope(|| sweep_apart(&options, cancel, progress));
            Done::Reacted(database.url, Box::new(swept))
        })
    }

    /// Delivers what waits in these databases; begins no message more at the time of the next sweep.
    pub fn deliver(options: &CycleOptions, databases: Vec<Url>, until: Option<DateTime<Utc>>) -> BackgroundWork {
        let CycleOptions { sweep: Options { timeouts, .. }, notify, .. } = options.clone();
        BackgroundWork::begin(Task::Deliver, move |cancel, progress| {
            let (cancel, progress) = (cancel.clone(), progress.clone());
            let is_over = move || {
                progress.step();
                cancel.is_set() || until.is_some_and(|until| until <= timer::now())
            };
            let deliver = |database| deliver(database, &timeouts, &notify, is_over.clone());
            Done::Delivered(databases.iter().map(deliver).collect())
        })
    }

    fn begin(task: Task, body: impl FnOnce(&Cancel, &mut Progress) -> Done + Send + 'static) -> BackgroundWork {
        let (cancel, progress) = (Cancel::default(), Progress::default());
        let (its_cancel, mut its_progress) = (cancel.clone(), progress.clone());
        let handle = spawn_blocking(move || body(&its_cancel, &mut its_progress));
        BackgroundWork { task, cancel, progress, handle, steps: 0, moved_at: Instant::now() }
    }

    /// Waits for the end of the work. The future may be dropped and asked for again until then.
    pub async fn ended(&mut self) -> Done {
        (&mut self.handle).await.unwrap_or(Done::Panicked(self.task))
    }

    /// For how long the work has made no progress.
    pub fn silent_for(&mut self) -> Duration {
        let steps = self.progress.steps();
        if steps != self.steps {
            (self.steps, self.moved_at) = (steps, Instant::now());
        }
        self.moved_at.elapsed()
    }
}

/// What the sweeps of so many databases came to, for the status.
pub fn last_of(swept: &[&Summary], databases: usize) -> String {
    let total = swept.iter().fold(Tally::default(), |total, summary| total.plus(summary.total()));
    let mut parts: Vec<String> = told(total).map(|(outcome, n)| format!("{n} {outcome}")).collect();
    match databases - swept.len() {
        0 => {}
        _ if databases == 1 => return "failed".to_owned(),
        failed => parts.push(format!("{failed} of {databases} databases failed")),
    }
    if swept.iter().any(|summary| summary.conclusion == Conclusion::Guarded) {
        parts.push("the guard held a kind back".to_owned());
    }
    if parts.is_empty() { "nothing to do".to_owned() } else { parts.join(", ") }
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
            Done::Checked(Vec::new())
        });
        let time = Duration::from_millis(50);
        std::thread::sleep(time);
        assert!(time <= work.silent_for());
        sender.send(()).expect("a thread");
        while time <= work.silent_for() {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(sender);
        assert!(matches!(work.ended().await, Done::Checked(_)));
    }
}
