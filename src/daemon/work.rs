//! What the daemon has in hand: of each database at most one thing, on a thread of its own. So no two of its sweeps of
//! one database ever overlap, and none waits for another database.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use anyhow::Result;
use chrono::{DateTime, Utc};
use tokio::task::{JoinHandle, spawn_blocking};

use super::timer;
use crate::conclusion::{Conclusion, conclusion_of};
use crate::cycle::{self, AT_ONCE, CycleOptions, of_database, sweep_apart};
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
    /// Pings and metrics, before and after a round of sweeps.
    Announce,
}

/// What became of a task.
pub enum Done {
    /// How long the host needs after the end of a run.
    Checked(Result<Duration>),
    Swept(Box<Result<Summary>>),
    Delivered(Result<Delivered>),
    /// The dead-man's switch was told.
    Announced,
    /// A bug, which stderr has said.
    Panicked,
}

/// How long a database is waited for when it is looked at: its URL may say that connecting has all the time there is.
const LOOK_MAX: Duration = Duration::from_secs(30);

/// After how long without progress work takes the place of no other any more: its database may be silent.
const GIVES_WAY: Duration = Duration::from_secs(5);

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

/// Something that the daemon has in hand, on a thread of its own.
pub struct BackgroundWork {
    pub task: Task,
    /// None: it is about no database.
    pub found: Option<Found>,
    /// Asks the work to end after what is in hand.
    pub cancel: Cancel,
    progress: Progress,
    handle: JoinHandle<Done>,
    steps: usize,
    /// When that many steps were first seen.
    moved_at: Instant,
}

impl BackgroundWork {
    /// Looks whether this database can be swept. `source`: what is listened to, which has to be this database: looked
    /// at when the daemon starts.
    pub fn check(found: Found, source: Option<Source>, timeouts: Timeouts) -> BackgroundWork {
        let database = found.url.clone();
        BackgroundWork::begin(Task::Check, Some(found), move |_, progress| {
            progress.step();
            let patience = Patience::of(database.patience(timeouts.question()).min(LOOK_MAX));
            let ask = move |database: &Url| run_end_grace_of(database, source.as_ref(), &timeouts);
            Done::Checked(database.ask_within(patience, ask))
        })
    }

    /// Sweeps this database, or the issues and steps of it of which a run has just ended.
    pub fn sweep(task: Task, options: Options, found: Found) -> BackgroundWork {
        let span = of_database(&found);
        BackgroundWork::begin(task, Some(found), move |cancel, progress| {
            Done::Swept(Box::new(span.in_scope(|| sweep_apart(&options, cancel, progress))))
        })
    }

    /// Delivers what waits in this database; begins no message more at the time of the next sweep.
    pub fn deliver(options: &CycleOptions, found: Found, until: Option<DateTime<Utc>>) -> BackgroundWork {
        let CycleOptions { sweep: Options { timeouts, .. }, notify, .. } = options.clone();
        let database = found.url.clone();
        BackgroundWork::begin(Task::Deliver, Some(found), move |cancel, progress| {
            let (cancel, progress) = (cancel.clone(), progress.clone());
            let is_over = move || {
                progress.step();
                cancel.is_set() || until.is_some_and(|until| until <= timer::now())
            };
            Done::Delivered(deliver(&database, &timeouts, &notify, is_over))
        })
    }

    /// Says that a round of sweeps begins, or how it ended.
    pub fn announce(options: CycleOptions, ended: Option<(Vec<Found>, Vec<Result<Summary>>)>) -> BackgroundWork {
        BackgroundWork::begin(Task::Announce, None, move |cancel, _| {
            match &ended {
                None => cycle::begin(&options),
                Some((databases, swept)) => cycle::announce(&options, databases, swept, cancel, false),
            }
            Done::Announced
        })
    }

    fn begin(
        task: Task,
        found: Option<Found>,
        body: impl FnOnce(&Cancel, &mut Progress) -> Done + Send + 'static,
    ) -> BackgroundWork {
        let (cancel, progress) = (Cancel::default(), Progress::default());
        let (its_cancel, mut its_progress) = (cancel.clone(), progress.clone());
        let handle = spawn_blocking(move || body(&its_cancel, &mut its_progress));
        BackgroundWork { task, found, cancel, progress, handle, steps: 0, moved_at: Instant::now() }
    }

    /// Does it ask much of a database, as far as is known?
    fn is_busy(&mut self) -> bool {
        matches!(self.task, Task::Check | Task::Sweep | Task::Reaction) && self.silent_for() < GIVES_WAY
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

/// All that is in hand.
#[derive(Default)]
pub struct Works(pub Vec<BackgroundWork>);

impl Works {
    /// Waits for the end of one of them, which is in hand no longer then. The future may be dropped and asked for
    /// again.
    pub async fn ended(&mut self) -> (BackgroundWork, Done) {
        poll_fn(|context| {
            for place in 0..self.0.len() {
                if let Poll::Ready(done) = Pin::new(&mut self.0[place].handle).poll(context) {
                    return Poll::Ready((self.0.remove(place), done.unwrap_or(Done::Panicked)));
                }
            }
            Poll::Pending
        })
        .await
    }

    /// What is in hand of this database.
    pub fn of(&self, database: &Url) -> Option<&BackgroundWork> {
        self.0.iter().find(|work| work.found.as_ref().is_some_and(|found| found.url == *database))
    }

    /// Is anything in hand of this database, also as another user?
    pub fn is_at(&self, database: &Url) -> bool {
        let name = database.name();
        self.0.iter().any(|work| work.found.as_ref().is_some_and(|found| found.url.name() == name))
    }

    pub fn has(&self, is_meant: impl Fn(Task) -> bool) -> bool {
        self.0.iter().any(|work| is_meant(work.task))
    }

    /// May one more database be asked for much at the same time?
    pub fn has_room(&mut self) -> bool {
        self.0.iter_mut().filter_map(|work| work.is_busy().then_some(())).count() < AT_ONCE
    }

    /// What has made no progress for the longest time, of what is about a database.
    pub fn most_silent(&mut self) -> Option<(Duration, Found)> {
        let silent = self.0.iter_mut().filter_map(|work| Some((work.silent_for(), work.found.clone()?)));
        silent.max_by_key(|(silent_for, _)| *silent_for)
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
        let mut works = Works(vec![BackgroundWork::begin(Task::Sweep, None, |_, _| panic!("a bug"))]);
        assert!(matches!(works.ended().await, (BackgroundWork { task: Task::Sweep, .. }, Done::Panicked)));
        assert!(works.0.is_empty());
    }

    #[tokio::test]
    async fn steps_are_progress_and_time_alone_is_not() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut work = BackgroundWork::begin(Task::Announce, None, move |_, progress| {
            for () in receiver {
                progress.step();
            }
            Done::Announced
        });
        let time = Duration::from_millis(50);
        std::thread::sleep(time);
        assert!(time <= work.silent_for());
        sender.send(()).expect("a thread");
        while time <= work.silent_for() {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(sender);
        assert!(matches!(Works(vec![work]).ended().await, (_, Done::Announced)));
    }

    /// The control: without progress they make room soon.
    #[tokio::test]
    async fn only_so_many_are_asked_at_once_and_one_that_is_silent_takes_no_place() {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let receiver = std::sync::Arc::new(std::sync::Mutex::new(receiver));
        let wait = |task| {
            let receiver = receiver.clone();
            BackgroundWork::begin(task, None, move |_, _| {
                drop(receiver.lock().map(|receiver| receiver.recv()));
                Done::Announced
            })
        };
        let mut works = Works((1..AT_ONCE).map(|_| wait(Task::Sweep)).chain([wait(Task::Deliver)]).collect());
        assert!(works.has_room());
        works.0.push(wait(Task::Reaction));
        assert!(!works.has_room());
        works.0[0].moved_at -= GIVES_WAY;
        assert!(works.has_room());
        drop(sender);
    }
}
