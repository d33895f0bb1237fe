//! Runs that end: hearing of them, when the issue or the step of each is looked at, and how much may be done about
//! them. What is not heard is found by the schedule.
//!
//! A thread of its own listens: it waits for the database, and its connection may be lost at any time. Whoever ends a
//! run may still be at it, so its subject is left alone for a moment. And the guard does not see subjects that come one
//! by one: when a host goes down, all its runs end. So no more is done about them in a minute than the guard lets pass
//! at once; the rest is left to the schedule, whose sweeps have the guard.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use backon::{BackoffBuilder, ExponentialBuilder};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::Instant;

use crate::conclusion::{Conclusion, conclusion_of};
use crate::rules::{Guard, Id};
use crate::store::connect::listen::{HEARD_MAX, ListenMode, Listener, Source};
use crate::text::redact;

/// How soon the thread notices that nobody waits for its news any more.
const PATIENCE: Duration = Duration::from_secs(1);

/// A connection that is lost sooner did not work: else one that is cut every few seconds would be logged each time.
const A_WHILE: Duration = Duration::from_secs(60);

/// How often a database is tried that was not prepared for it, where nobody insists on it.
const SELDOM: Duration = Duration::from_secs(300);

/// How much news may wait to be taken.
const NEWS_MAX: usize = 8;

/// What the thread that listens has to say.
pub enum News {
    Listening,
    /// Runs of these issues and steps have ended.
    RunEnds(BTreeSet<Id>),
    /// The connection was lost, and why; it tries again.
    Disconnected(String),
}

/// Does the thread hear of runs that end?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hearing {
    /// The thread has only begun.
    Unknown,
    Connected,
    /// The connection was lost, and that was logged.
    Disconnected,
}

/// A thread that listens. It ends within a moment when this is dropped: nobody receives its news any more.
pub struct RunEndListener {
    pub source: Source,
    pub hearing: Hearing,
    /// The thread sends until nobody listens to it: there is always more to come.
    pub news: Receiver<News>,
}

impl RunEndListener {
    pub fn start(source: Source) -> Result<RunEndListener> {
        let (sender, news) = channel(NEWS_MAX);
        let its_source = source.clone();
        thread::Builder::new()
            .name("listen".to_owned())
            .spawn(move || listen(&its_source, &sender))
            .context("starting a thread")?;
        Ok(RunEndListener { source, hearing: Hearing::Unknown, news })
    }
}

/// After a connection that worked for a while, the next one is tried soon; after one that did not, later and later.
fn listen(source: &Source, news: &Sender<News>) {
    let delays =
        ExponentialBuilder::new().with_min_delay(Duration::from_secs(1)).with_max_delay(Duration::from_secs(60));
    let delays = delays.without_max_times().with_jitter();
    let mut delay = delays.build();
    while !news.is_closed() {
        let began = std::time::Instant::now();
        let listened = Listener::open(source).and_then(|mut listener| {
            let _ = news.blocking_send(News::Listening);
            pass_on(&mut listener, news)
        });
        let Err(error) = listened else { return };
        if A_WHILE < began.elapsed() {
            delay = delays.build();
        }
        let is_in_vain = source.listening == ListenMode::Auto && conclusion_of(&error) == Conclusion::Config;
        let _ = news.blocking_send(News::Disconnected(redact(&format!("{error:#}"))));
        rest(if is_in_vain { SELDOM } else { delay.next().unwrap_or(PATIENCE) }, news);
    }
}

fn pass_on(listener: &mut Listener, news: &Sender<News>) -> Result<()> {
    while !news.is_closed() {
        let ended = listener.wait(PATIENCE)?;
        if !ended.is_empty() {
            // While nobody takes the news, more is left to the schedule.
            let _ = news.try_send(News::RunEnds(ended));
        }
    }
    Ok(())
}

fn rest(time: Duration, news: &Sender<News>) {
    let naps = time.as_millis().div_ceil(PATIENCE.as_millis());
    for _ in 0..naps {
        if !news.is_closed() {
            thread::sleep(PATIENCE);
        }
    }
}

const MINUTE: Duration = Duration::from_secs(60);

/// After so long without an overrun, the next one is news again.
const CALM: Duration = Duration::from_secs(60 * 60);

/// The issues and steps that wait to be looked at, and what was done about such lately.
#[derive(Default)]
pub struct RunEndQueue {
    /// Each with the time at which the end of its run was heard of.
    subjects: BTreeMap<Id, Instant>,
    /// How many were continued or escalated, and when.
    done: VecDeque<(Instant, u64)>,
    /// When something was last left to the schedule, since there was too much.
    overrun_at: Option<Instant>,
}

impl RunEndQueue {
    /// Queues issues and steps of which a run has ended: they are due after the grace. A second end in that time is one
    /// matter with the first.
    pub fn queue(&mut self, subjects: BTreeSet<Id>) {
        let now = Instant::now();
        for subject in subjects {
            if self.subjects.len() < HEARD_MAX {
                self.subjects.insert(subject, now);
            }
        }
    }

    /// When the first of them is due.
    pub fn due_at(&self, grace: Duration) -> Option<Instant> {
        self.subjects.values().min().map(|heard| *heard + grace)
    }

    /// Takes those that are due.
    pub fn take_due(&mut self, grace: Duration) -> Vec<Id> {
        let is_due = |heard: &Instant| grace <= heard.elapsed();
        let due: Vec<Id> = self.subjects.iter().filter(|(_, heard)| is_due(heard)).map(|(id, _)| id.clone()).collect();
        self.subjects.retain(|_, heard| !is_due(heard));
        due
    }

    pub fn count_done(&mut self, done: u64) {
        if 0 < done {
            self.done.push_back((Instant::now(), done));
        }
    }

    /// How many may be continued or escalated now; none: as many as there are, since there is no guard.
    pub fn allowed(&mut self, guard: Option<&Guard>) -> Option<u32> {
        while self.done.front().is_some_and(|(at, _)| MINUTE <= at.elapsed()) {
            self.done.pop_front();
        }
        let lately: u64 = self.done.iter().map(|(_, done)| done).sum();
        guard.map(|guard| guard.min.saturating_sub(u32::try_from(lately).unwrap_or(u32::MAX)))
    }

    /// Notes that there was more to do than may be done; true if that is news.
    pub fn note_overrun(&mut self) -> bool {
        let is_news = self.overrun_at.is_none_or(|last| CALM <= last.elapsed());
        self.overrun_at = Some(Instant::now());
        is_news
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn ids(names: &[&str]) -> BTreeSet<Id> {
        names.iter().map(|name| Id((*name).to_owned())).collect()
    }

    const GRACE: Duration = Duration::from_millis(500);

    #[tokio::test(start_paused = true)]
    async fn an_issue_is_due_after_the_grace_of_its_last_run_end() {
        let mut heard = RunEndQueue::default();
        heard.queue(ids(&["a", "b"]));
        advance(GRACE / 2).await;
        assert_eq!(heard.take_due(GRACE), []);
        heard.queue(ids(&["a"]));
        advance(GRACE / 2).await;
        assert_eq!(heard.take_due(GRACE), [Id("b".to_owned())]);
        advance(GRACE / 2).await;
        assert_eq!(heard.take_due(GRACE), [Id("a".to_owned())]);
        assert_eq!(heard.due_at(GRACE), None);
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_is_done_in_a_minute_than_the_guard_lets_pass() {
        let (mut heard, guard) = (RunEndQueue::default(), Guard { min: 20, ..Guard::default() });
        assert_eq!(heard.allowed(Some(&guard)), Some(20));
        heard.count_done(15);
        advance(MINUTE / 2).await;
        heard.count_done(10);
        assert_eq!((heard.allowed(Some(&guard)), heard.allowed(None)), (Some(0), None));
        advance(MINUTE / 2).await;
        assert_eq!(heard.allowed(Some(&guard)), Some(10));
    }

    /// The bound frees a place every minute, and is used up again at once.
    #[tokio::test(start_paused = true)]
    async fn that_there_is_too_much_is_news_once_however_long_it_lasts() {
        let mut heard = RunEndQueue::default();
        let mut news = 0;
        for _ in 0..180 {
            news += u32::from(heard.note_overrun());
            advance(MINUTE).await;
        }
        assert_eq!(news, 1);
        advance(CALM).await;
        assert!(heard.note_overrun());
    }

    #[tokio::test(start_paused = true)]
    async fn a_storm_of_run_ends_takes_no_memory() {
        let mut heard = RunEndQueue::default();
        heard.queue((0..10_000).map(|n| Id(n.to_string())).collect());
        advance(GRACE).await;
        assert_eq!(heard.take_due(GRACE).len(), HEARD_MAX);
    }
}
