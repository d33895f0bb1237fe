//! The issues of which a run has just ended: when each is looked at, and how much may be done about them.
//!
//! Whoever ends a run may still be at it, so each is left alone for a moment. And the guard does not see them, as they
//! come one by one: when a host goes down, all its runs end. So no more is done about them in a minute than the guard
//! lets pass at once; the rest is left to the schedule, whose sweeps have the guard.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::rules::{Guard, Id};
use crate::store::connect::listen::HEARD_MAX;

const MINUTE: Duration = Duration::from_secs(60);

/// When nothing was left to the schedule for so long, the next time is news again.
const CALM: Duration = Duration::from_secs(60 * 60);

#[derive(Default)]
pub struct RunEndQueue {
    /// When the end of its run was heard of.
    issues: BTreeMap<Id, Instant>,
    /// What was continued or escalated lately.
    done: VecDeque<(Instant, u64)>,
    /// When something was last left to the schedule, since there was too much.
    overrun_at: Option<Instant>,
}

impl RunEndQueue {
    /// Runs of these have ended: they are due after the grace. A second end in that time is the same matter.
    pub fn note(&mut self, issues: BTreeSet<Id>) {
        let now = Instant::now();
        for issue in issues {
            if self.issues.len() < HEARD_MAX {
                self.issues.insert(issue, now);
            }
        }
    }

    /// When the first of them is due.
    pub fn due_at(&self, grace: Duration) -> Option<Instant> {
        self.issues.values().min().map(|heard| *heard + grace)
    }

    /// Takes those that are due.
    pub fn take_due(&mut self, grace: Duration) -> Vec<Id> {
        let is_due = |heard: &Instant| grace <= heard.elapsed();
        let due: Vec<Id> = self.issues.iter().filter(|(_, heard)| is_due(heard)).map(|(id, _)| id.clone()).collect();
        self.issues.retain(|_, heard| !is_due(heard));
        due
    }

    pub fn count(&mut self, done: u64) {
        if 0 < done {
            self.done.push_back((Instant::now(), done));
        }
    }

    /// How much may be done about them now; without a guard, as much as there is.
    pub fn allowed(&mut self, guard: Option<&Guard>) -> Option<u32> {
        while self.done.front().is_some_and(|(at, _)| MINUTE <= at.elapsed()) {
            self.done.pop_front();
        }
        let lately: u64 = self.done.iter().map(|(_, done)| done).sum();
        guard.map(|guard| guard.min.saturating_sub(u32::try_from(lately).unwrap_or(u32::MAX)))
    }

    /// There was more than may be done. Is that news?
    pub fn overrun(&mut self) -> bool {
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
        heard.note(ids(&["a", "b"]));
        advance(GRACE / 2).await;
        assert_eq!(heard.take_due(GRACE), []);
        heard.note(ids(&["a"]));
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
        heard.count(15);
        advance(MINUTE / 2).await;
        heard.count(10);
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
            news += u32::from(heard.overrun());
            advance(MINUTE).await;
        }
        assert_eq!(news, 1);
        advance(CALM).await;
        assert!(heard.overrun());
    }

    #[tokio::test(start_paused = true)]
    async fn a_storm_of_run_ends_takes_no_memory() {
        let mut heard = RunEndQueue::default();
        heard.note((0..10_000).map(|n| Id(n.to_string())).collect());
        advance(GRACE).await;
        assert_eq!(heard.take_due(GRACE).len(), HEARD_MAX);
    }
}
