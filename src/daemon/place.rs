//! What the daemon knows of each database: whether it is there, what ends of runs were heard of, and what went wrong.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use anyhow::{Error, Result};
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use chrono::TimeDelta;
use tokio::time::Instant;
use tracing::{debug, error, info, warn};

use super::options::DaemonOptions;
use super::run_ends::{Hearing, News, RunEndListener, RunEndQueue};
use super::work::Task;
use crate::conclusion::{Conclusion, Failure, conclusion_of};
use crate::cycle::of_database;
use crate::metrics::{Condition, DatabaseState};
use crate::rules::display::{HumanDuration, counted};
use crate::rules::{Kind, Policy};
use crate::store::connect::databases::Found;
use crate::store::connect::listen::ListenMode;
use crate::store::connect::open::Url;
use crate::store::work::candidates::Portion;
use crate::sweep::{Options, Selection, Summary};
use crate::text::redact;

/// The kinds whose work goes on as soon as a run of it has ended.
pub const REACTED_TO: [Kind; 2] = [Kind::Issue, Kind::Step];

/// The databases that are swept: never none.
pub struct Places(pub Vec<Place>);

impl Places {
    /// Looks for the databases that the options name: files may have come, and others gone. A place that is known stays
    /// what it is. Returns what was there before.
    pub fn find(&mut self, options: &DaemonOptions) -> Vec<Found> {
        let before = self.found();
        let known = &mut self.0;
        // Only what a database is called for everybody depends on the others.
        let is_same = |place: &Place, found: &Found| (&place.found.name, &place.found.url) == (&found.name, &found.url);
        let mut take = |found: Found| match known.iter().position(|place| is_same(place, &found)) {
            Some(at) => Place { found, ..known.swap_remove(at) },
            None => Place::new(found),
        };
        self.0 = options.databases.find().into_iter().map(&mut take).collect();
        before
    }

    /// Logs which databases have come since, and which have gone.
    pub fn log_changes(&self, before: &[Found]) {
        let names = |these: &[Found], those: &[Found]| {
            let is_new = |found: &&Found| those.iter().all(|other| other.url != found.url);
            let names: Vec<&str> = these.iter().filter(is_new).filter_map(|found| found.name.as_deref()).collect();
            Some(names.join(", ")).filter(|names| !names.is_empty())
        };
        let now = self.found();
        if let Some(new) = names(&now, before) {
            info!("swept from now on: {new}");
        }
        if let Some(gone) = names(before, &now) {
            info!("no longer swept, since it is gone: {gone}");
        }
    }

    pub fn found(&self) -> Vec<Found> {
        self.0.iter().map(|place| place.found.clone()).collect()
    }

    pub fn at(&mut self, database: &Url) -> Option<&mut Place> {
        self.0.iter_mut().find(|place| place.found.url == *database)
    }

    /// True if there is nothing that could be swept.
    pub fn are_away(&self) -> bool {
        self.0.iter().all(|place| place.outage.lasts())
    }

    /// When a database of which nothing is in hand is to be asked again, or the first issue or step of it is due of
    /// which a run has ended.
    pub fn wake_at(&self, is_in_hand: impl Fn(&Url) -> bool) -> Option<Instant> {
        let idle = self.0.iter().filter(|place| !is_in_hand(&place.found.url));
        idle.filter_map(|place| place.outage.retry_at().or(place.react_at())).min()
    }

    /// The next news of runs that end, and of which database they are. The future may be dropped and asked for again.
    pub async fn next_news(&mut self) -> (Url, News) {
        poll_fn(|context| {
            for place in &mut self.0 {
                let news = place.listening.as_mut().map(|listening| listening.news.poll_recv(context));
                if let Some(Poll::Ready(Some(news))) = news {
                    return Poll::Ready((place.found.url.clone(), news));
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Listens as the options say, at each database that was found in order once; a thread that listens there already
    /// goes on.
    pub fn listen(&mut self, options: &DaemonOptions) -> Result<()> {
        for place in self.0.iter_mut().filter(|place| place.run_end_grace.is_some()) {
            let source = options.source(&place.found.url);
            if place.listening.as_ref().map(|listening| &listening.source) != source.as_ref() {
                place.listening = source.map(RunEndListener::start).transpose()?;
            }
        }
        Ok(())
    }

    /// When each database was looked at for the first time: why the daemon cannot begin, if each refuses it. What some
    /// refuse is waited for. The only database's reason says enough.
    pub fn refusal(&mut self) -> Option<Error> {
        let is_unseen = |place: &Place| place.condition == Condition::Unknown && place.refusal.is_none();
        if self.0.iter().any(is_unseen) {
            return None;
        }
        if !self.0.iter().all(|place| place.refusal.is_some()) {
            let refused = self.0.iter_mut().filter_map(|place| place.refusal.take().map(|why| (place, why)));
            refused.for_each(|(place, why)| place.failed(&why));
            return None;
        }
        let refused = self.0.iter_mut().filter_map(|place| Some((&place.found.name, place.refusal.take()?)));
        let mut refused: Vec<(&Option<String>, Error)> = refused.collect();
        if refused.len() == 1 {
            return Some(refused.remove(0).1);
        }
        let gravest = Conclusion::gravest(refused.iter().map(|(_, error)| conclusion_of(error)));
        let each = refused.iter().map(|(name, error)| format!("{}: {error:#}", name.as_deref().unwrap_or_default()));
        let each: Vec<String> = each.collect();
        Some(Failure::new(gravest, each.join("; ")).into())
    }
}

/// One database.
pub struct Place {
    pub found: Found,
    pub condition: Condition,
    pub outage: Outage,
    /// None: nobody wants it.
    pub listening: Option<RunEndListener>,
    run_ends: RunEndQueue,
    /// How long the host needs after the end of a run; none: the database has not been asked yet.
    pub run_end_grace: Option<Duration>,
    /// What the guard held back in the last sweep of the kinds that are reacted to; none: all of one of them.
    held: Option<Vec<Portion>>,
    /// What went wrong the last time, so that it is said once.
    trouble: Option<String>,
    /// Since when a sweep by the schedule is due, and how many more were due since.
    due: Option<(Instant, usize)>,
    /// How it was swept since this round of sweeps began.
    pub swept: Option<Result<Summary>>,
    /// Notifications may wait to be delivered.
    pub is_to_deliver: bool,
    /// Why it refused at the first look, while the others are looked at: if all do, the daemon ends.
    refusal: Option<Error>,
}

impl Place {
    fn new(found: Found) -> Place {
        Place {
            found,
            condition: Condition::Unknown,
            outage: Outage::none(),
            listening: None,
            run_ends: RunEndQueue::default(),
            run_end_grace: None,
            held: Some(Vec::new()),
            trouble: None,
            due: None,
            swept: None,
            is_to_deliver: false,
            refusal: None,
        }
    }

    /// A sweep by the schedule is due, and so many more were.
    pub fn set_due(&mut self, missed: usize) {
        let (since, before) = self.due.map_or((Instant::now(), 0), |(since, before)| (since, before + 1));
        self.due = Some((since, before + missed));
    }

    pub fn is_due(&self) -> bool {
        self.due.is_some()
    }

    /// The sweep that is due begins, or is not worth it: returns how many more were due.
    pub fn take_due(&mut self) -> usize {
        self.due.take().map_or(0, |(_, missed)| missed)
    }

    /// What is to be done now, and since when it waits.
    pub fn next_task(&self, now: Instant) -> Option<(Instant, Task)> {
        if self.outage.lasts() {
            return self.outage.retry_at().filter(|at| *at <= now).map(|at| (at, Task::Check));
        }
        match (self.refusal.is_some(), self.condition, self.due) {
            (true, ..) => None,
            (false, Condition::Unknown, _) => Some((self.outage.retry_at, Task::Check)),
            (false, _, Some((since, _))) => Some((since, Task::Sweep)),
            (false, _, None) if self.is_new() => Some((self.outage.retry_at, Task::Check)),
            (false, _, None) => match self.react_at().filter(|at| *at <= now) {
                Some(at) => Some((at, Task::Reaction)),
                None => self.is_to_deliver.then_some((now, Task::Deliver)),
            },
        }
    }

    /// Logs so that the lines name the database, if there are several.
    fn log<T>(&self, log: impl FnOnce() -> T) -> T {
        of_database(&self.found).in_scope(log)
    }

    /// What /readyz, /metrics and the page say of the database.
    pub fn state(&self) -> DatabaseState {
        let is_listening = self.listening.as_ref().is_some_and(|listening| listening.hearing == Hearing::Connected);
        DatabaseState { found: self.found.clone(), condition: self.condition, is_listening }
    }

    /// True if the database was never looked at, or has not said yet what has to be known of it to listen.
    pub fn is_new(&self) -> bool {
        let has_not_said = self.run_end_grace.is_none();
        self.condition == Condition::Unknown || (has_not_said && self.condition == Condition::Up)
    }

    /// How long after the end of a run its subject is swept, as soon as the database has said what its host needs: a
    /// little longer, since the clocks of both may differ.
    fn reaction_grace(&self) -> Option<Duration> {
        let grace = self.run_end_grace?;
        Some(grace + grace / 10)
    }

    /// When the first issue or step is due of which a run has ended.
    pub fn react_at(&self) -> Option<Instant> {
        self.reaction_grace().filter(|_| !self.outage.lasts()).and_then(|grace| self.run_ends.due_at(grace))
    }

    /// The sweep of the subjects that are due, as far as the bound for this minute allows: the sweep's own transaction,
    /// at once instead of at the next time of the schedule. None: the schedule looks at them.
    pub fn reaction(&mut self, options: &DaemonOptions) -> Option<Options> {
        let grace = self.reaction_grace()?;
        let due = self.run_ends.take_due(grace);
        // The picture may be false, or cannot be seen; the log has said so. The schedule looks again.
        let (Some(held), None) = (self.held.clone(), &self.trouble) else { return None };
        let sweep = options.cycle.sweep.clone();
        let allowed = self.run_ends.allowed(sweep.guard.as_ref());
        if allowed == Some(0) {
            self.warn_of_overrun();
            return None;
        }
        // Half the grace: whoever touches an issue meanwhile is at it, and the clocks of host and database may differ
        // a little.
        let grace = TimeDelta::from_std(grace / 2).unwrap_or_default();
        let policy = Policy { grace_after_run: Some(grace), ..sweep.policy.clone() };
        let limit = sweep.limit.into_iter().chain(allowed).min();
        let kinds = sweep.selection.kinds().into_iter().filter(|kind| REACTED_TO.contains(kind)).collect();
        let (database, selection) = (self.found.url.clone(), Selection::Candidates(kinds, due));
        Some(Options { database, selection, policy, limit, held, ..sweep })
    }

    /// Takes what the reaction did into account.
    pub fn reacted(&mut self, swept: &Summary) {
        let total = swept.total();
        self.run_ends.count_done(total.continued + total.escalated);
        if 0 < total.deferred {
            self.warn_of_overrun();
        }
    }

    fn warn_of_overrun(&mut self) {
        if self.run_ends.note_overrun() {
            self.log(|| {
                warn!(
                    "runs end in numbers and leave work stranded: what is more than the guard lets pass at once is \
                     left to the schedule"
                );
            });
        }
    }

    /// Takes news of runs that end; returns of how many issues and steps a run has ended.
    pub fn receive(&mut self, news: News) -> usize {
        match news {
            News::Listening => {
                self.log(|| info!("listening for runs that end"));
                self.set_hearing(Hearing::Connected);
            }
            News::Disconnected(why) => {
                let before = self.set_hearing(Hearing::Disconnected);
                let is_wanted = self.listening.as_ref().is_some_and(|it| it.source.listening == ListenMode::On);
                let what = format!("runs that end are not heard of, the schedule finds them: {why}");
                match before {
                    Some(Hearing::Disconnected) => {}
                    Some(Hearing::Unknown) if !is_wanted => self.log(|| info!("{what}")),
                    Some(Hearing::Unknown | Hearing::Connected) | None => self.log(|| warn!("{what}")),
                }
            }
            News::RunEnds(subjects) => {
                let heard = subjects.len();
                self.run_ends.queue(subjects);
                return heard;
            }
        }
        0
    }

    /// Sets whether runs that end are heard of, and returns what held before.
    fn set_hearing(&mut self, hearing: Hearing) -> Option<Hearing> {
        self.listening.as_mut().map(|listening| std::mem::replace(&mut listening.hearing, hearing))
    }

    /// Notes that the database can be swept, and what its host needs after the end of a run; true if it was away.
    pub fn in_order(&mut self, run_end_grace: Duration) -> bool {
        self.run_end_grace = Some(run_end_grace);
        self.is_back()
    }

    /// Notes that the database answers; true if it was away.
    fn is_back(&mut self) -> bool {
        (self.condition, self.trouble) = (Condition::Up, None);
        let lasted = self.outage.end();
        if let Some((time, tries)) = lasted {
            let time = HumanDuration(TimeDelta::from_std(time).unwrap_or_default());
            self.log(|| info!("the database is back after {time}, {}", counted(tries.into(), "try", "tries")));
        }
        lasted.is_some()
    }

    /// Takes what a sweep of the database came to into account.
    pub fn swept(&mut self, swept: &Summary) {
        self.is_back();
        self.outage.forget();
        let held: Option<Vec<_>> = REACTED_TO.into_iter().map(|kind| swept.held_back(kind)).collect();
        self.held = held.map(|held| held.concat());
    }

    /// The database refuses to be looked at, and none could be swept until now.
    pub fn refuses(&mut self, why: Error) {
        self.take_due();
        self.refusal = Some(why);
    }

    /// Waits for a database that is away. What else is wrong is said once, and the next sweep tries again.
    pub fn failed(&mut self, error: &Error) {
        let why = redact(&format!("{error:#}"));
        if conclusion_of(error) == Conclusion::Unavailable {
            self.condition = Condition::Gone;
            self.take_due();
            return match self.outage.note_silence() {
                true => self.log(|| error!("the database is unavailable, waiting: {why}")),
                false => self.log(|| debug!("the database is still unavailable: {why}")),
            };
        }
        self.outage.end();
        self.condition = Condition::Refuses;
        if self.trouble.as_ref() == Some(&why) {
            self.log(|| debug!("still: {why}"));
        } else {
            self.log(|| error!("no sweep: {why}"));
            self.trouble = Some(why);
        }
    }
}

/// A database that is away: for how long, how often it was asked since, and when it is asked next.
pub struct Outage {
    /// None: the database is there.
    since: Option<Instant>,
    tries: u32,
    retry_at: Instant,
    delays: ExponentialBackoff,
}

/// The delays between two tries: 1 s, 2 s, 4 s, … 30 s, and up to twice as much, so that not all sweepers ask at once.
fn delays() -> ExponentialBackoff {
    let delays =
        ExponentialBuilder::new().with_min_delay(Duration::from_secs(1)).with_max_delay(Duration::from_secs(30));
    delays.with_factor(2.0).without_max_times().with_jitter().build()
}

impl Outage {
    pub fn none() -> Outage {
        Outage { since: None, tries: 0, retry_at: Instant::now(), delays: delays() }
    }

    /// Notes that the database did not answer; true if it did before.
    pub fn note_silence(&mut self) -> bool {
        let now = Instant::now();
        let is_news = self.since.is_none();
        self.tries = if is_news { 0 } else { self.tries + 1 };
        self.since.get_or_insert(now);
        self.retry_at = now + self.delays.next().unwrap_or(Duration::from_secs(60));
        is_news
    }

    pub fn lasts(&self) -> bool {
        self.since.is_some()
    }

    /// Ends the outage, since the database answered; returns how long it lasted and at which try it was over. The next
    /// outage begins with the delays that this one had come to, until a sweep has gone well: a database that comes and
    /// goes is not logged every second.
    pub fn end(&mut self) -> Option<(Duration, u32)> {
        self.since.take().map(|since| (since.elapsed(), self.tries + 1))
    }

    /// Has the database asked at once.
    pub fn retry(&mut self) {
        self.retry_at = Instant::now();
    }

    /// Begins the delays of the next outage anew.
    pub fn forget(&mut self) {
        self.delays = delays();
    }

    /// When the database is asked next; none: it is there.
    pub fn retry_at(&self) -> Option<Instant> {
        self.since.map(|_| self.retry_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn next_try(outage: &Outage) {
        tokio::time::sleep_until(outage.retry_at().expect("an outage")).await;
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_news_once_and_asked_ever_more_seldom_but_every_minute() {
        let mut outage = Outage::none();
        let mut waits = Vec::new();
        for n in 0..20 {
            assert_eq!(outage.note_silence(), n == 0);
            let before = Instant::now();
            next_try(&outage).await;
            waits.push(before.elapsed());
        }
        let second = Duration::from_secs(1);
        assert!((second..=2 * second).contains(&waits[0]), "{waits:?}");
        assert!(waits[10..].iter().all(|wait| (30 * second..=61 * second).contains(wait)), "{waits:?}");
        assert_eq!(outage.end(), Some((waits.iter().sum(), 20)));
        assert!(!outage.lasts() && outage.end().is_none());
    }

    /// The database connects, and each sweep fails.
    #[tokio::test(start_paused = true)]
    async fn a_database_that_comes_and_goes_is_logged_ever_more_seldom_until_a_sweep_goes_well() {
        let mut outage = Outage::none();
        let began = Instant::now();
        for _ in 0..10 {
            assert!(outage.note_silence());
            next_try(&outage).await;
            outage.end();
        }
        assert!(Duration::from_secs(120) < began.elapsed(), "{:?}", began.elapsed());
        outage.forget();
        outage.note_silence();
        let before = Instant::now();
        next_try(&outage).await;
        assert!(before.elapsed() <= Duration::from_secs(2));
    }
}
