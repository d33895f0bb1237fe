//! What the daemon does about runs that end: the sweep's own transaction for that one issue, at once instead of at the
//! next time of the schedule.

use std::time::Duration;

use anyhow::Result;
use chrono::TimeDelta;
use tracing::{info, warn};

use super::listening::{Listening, News};
use super::work::{BackgroundWork, Task};
use super::{Daemon, DaemonOptions};
use crate::conclusion::config;
use crate::rules::Policy;
use crate::sweep::{Options, Selection, Summary};

impl Daemon {
    /// Listens as the settings say, at their database; who listens there already goes on.
    pub(super) fn listen(&mut self) -> Result<()> {
        let source = self.resolved.options.source();
        if self.listening.as_ref().map(|listening| &listening.source) != source.as_ref() {
            self.listening = source.map(Listening::start).transpose()?;
            self.shared.update(|state| state.counted.listening = false);
        }
        Ok(())
    }

    pub(super) fn receive(&mut self, news: News) {
        match news {
            News::Listening => {
                info!("listening for runs that end");
                self.note_disconnected(false);
            }
            News::Disconnected(why) => {
                if !self.note_disconnected(true) {
                    warn!("runs that end are not heard of, the schedule finds them: {why}");
                }
            }
            News::RunEnds(issues) => {
                self.shared.update(|state| state.counted.run_ends += issues.len() as u64);
                self.run_ends.note(issues);
                // A destination that does not answer takes its time.
                self.work.iter().filter(|work| work.task == Task::Deliver).for_each(BackgroundWork::stop);
            }
        }
    }

    /// How long after the end of a run its issue is swept, as soon as the database has said what its host needs: a
    /// little longer, since the clocks of both may differ.
    pub(super) fn reaction_grace(&self) -> Option<Duration> {
        let grace = self.resolved.options.listen_grace.unwrap_or(self.run_end_grace?);
        Some(grace + grace / 10)
    }

    /// Was it so before?
    fn note_disconnected(&mut self, is_disconnected: bool) -> bool {
        self.shared.update(|state| state.counted.listening = !is_disconnected);
        self.listening
            .as_mut()
            .is_some_and(|listening| std::mem::replace(&mut listening.is_disconnected, is_disconnected))
    }

    /// Looks at those that are due, as far as the bound for this minute allows.
    pub(super) fn react(&mut self) {
        let Some(grace) = self.reaction_grace() else { return };
        let due = self.run_ends.take_due(grace);
        // The picture may be false, or cannot be seen; the log has said so. The schedule looks again.
        let (Some(held), None) = (self.held_issues.clone(), &self.trouble) else { return };
        let sweep = self.resolved.options.cycle.sweep.clone();
        let allowed = self.run_ends.allowed(sweep.guard.as_ref());
        if allowed == Some(0) {
            return self.warn_of_overrun();
        }
        // Half the grace: whoever touches the issue meanwhile is at it, and the clocks of host and database may differ
        // a little.
        let grace = TimeDelta::from_std(grace / 2).unwrap_or_default();
        let policy = Policy { grace_after_run: Some(grace), ..sweep.policy.clone() };
        let limit = sweep.limit.into_iter().chain(allowed).min();
        self.work =
            Some(BackgroundWork::reaction(Options { selection: Selection::Issues(due), policy, limit, held, ..sweep }));
    }

    pub(super) fn reacted(&mut self, swept: &Summary) {
        let total = swept.total();
        self.run_ends.count(total.continued + total.escalated);
        if 0 < total.deferred {
            self.warn_of_overrun();
        }
    }

    fn warn_of_overrun(&mut self) {
        if self.run_ends.overrun() {
            warn!(
                "runs end in numbers and leave work stranded: what is more than the guard lets pass at once is left to \
                    the schedule"
            );
        }
    }
}

/// Sooner after the end of a run than its host needs, a wake of ours would run beside what the host is about to queue.
pub(super) fn refuse_too_soon(options: &DaemonOptions, hosts: Duration) -> Result<()> {
    match options.listen_grace.filter(|ours| options.listen && *ours < hosts) {
        None => Ok(()),
        Some(ours) => Err(config(format!(
            "SWEEP_LISTEN_GRACE is {ours:?}: at least {hosts:?} is expected, since for so long after the end of a run \
                this host queues what follows"
        ))
        .into()),
    }
}
