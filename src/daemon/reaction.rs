//! What the daemon does about runs that end: the sweep's own transaction for that one issue, at once instead of at the
//! next time of the schedule.

use anyhow::Result;
use chrono::TimeDelta;
use tokio::time::Instant;
use tracing::{info, warn};

use super::Daemon;
use super::listening::{Hearing, Listening, News};
use super::place::Place;
use super::work::{BackgroundWork, Task};
use crate::cycle::of_database;
use crate::rules::Policy;
use crate::store::connect::open::Url;
use crate::sweep::{Options, Selection, Summary};

impl Daemon {
    /// Listens as the settings say, at each database; who listens there already goes on.
    pub(super) fn listen(&mut self) -> Result<()> {
        for place in &mut self.places {
            let source = self.resolved.options.source(place.database());
            if place.listening.as_ref().map(|listening| &listening.source) != source.as_ref() {
                place.listening = source.map(Listening::start).transpose()?;
            }
        }
        Ok(())
    }

    pub(super) fn receive(&mut self, database: &Url, news: News) {
        let Some(place) = self.place(database) else { return };
        match news {
            News::Listening => {
                place.log(|| info!("listening for runs that end"));
                place.hears(Hearing::Connected);
            }
            News::Disconnected(why) => {
                if place.hears(Hearing::Disconnected) != Some(Hearing::Disconnected) {
                    place.log(|| warn!("runs that end are not heard of, the schedule finds them: {why}"));
                }
            }
            News::RunEnds(issues) => {
                let heard = issues.len() as u64;
                place.run_ends.note(issues);
                self.shared.update(|state| state.counted.run_ends += heard);
                // A destination that does not answer takes its time.
                self.work.iter().filter(|work| work.task == Task::Deliver).for_each(BackgroundWork::stop);
            }
        }
    }

    /// Looks at those that are due, as far as the bound for this minute allows.
    pub(super) fn react(&mut self) {
        let (options, now) = (&self.resolved.options, Instant::now());
        let is_due = |place: &&mut Place| place.react_at(options).is_some_and(|at| at <= now);
        let Some(place) = self.places.iter_mut().find(is_due) else { return };
        let Some(grace) = place.reaction_grace(options) else { return };
        let due = place.run_ends.take_due(grace);
        // The picture may be false, or cannot be seen; the log has said so. The schedule looks again.
        let (Some(held), None) = (place.held_issues.clone(), &place.trouble) else { return };
        let sweep = options.cycle.sweep.clone();
        let allowed = place.run_ends.allowed(sweep.guard.as_ref());
        if allowed == Some(0) {
            return warn_of_overrun(place);
        }
        // Half the grace: whoever touches the issue meanwhile is at it, and the clocks of host and database may differ
        // a little.
        let grace = TimeDelta::from_std(grace / 2).unwrap_or_default();
        let policy = Policy { grace_after_run: Some(grace), ..sweep.policy.clone() };
        let limit = sweep.limit.into_iter().chain(allowed).min();
        let (database, selection) = (place.database().clone(), Selection::Issues(due));
        let span = of_database(&place.found);
        self.work = Some(BackgroundWork::reaction(Options { database, selection, policy, limit, held, ..sweep }, span));
    }

    pub(super) fn reacted(&mut self, database: &Url, swept: &Summary) {
        let total = swept.total();
        let Some(place) = self.place(database) else { return };
        place.run_ends.count(total.continued + total.escalated);
        if 0 < total.deferred {
            warn_of_overrun(place);
        }
    }
}

impl Place {
    /// How it was before.
    fn hears(&mut self, hearing: Hearing) -> Option<Hearing> {
        self.listening.as_mut().map(|listening| std::mem::replace(&mut listening.hearing, hearing))
    }
}

fn warn_of_overrun(place: &mut Place) {
    if place.run_ends.overrun() {
        place.log(|| {
            warn!(
                "runs end in numbers and leave work stranded: what is more than the guard lets pass at once is left to \
                 the schedule"
            );
        });
    }
}
