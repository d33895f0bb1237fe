//! Reading a database for those who ask: at most two readings at a time, however many ask. They share what is fresh.
//! What needs a person is read in a lane of its own, which nothing else that is asked for can hold up.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use anyhow::Result;
use chrono::{DateTime, Utc};
use tokio::sync::{Mutex as AsyncMutex, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::Viewed;
use super::route::View;
use super::shown::age;
use crate::conclusion::{Conclusion, conclusion_of};
use crate::report::explain::Explanation;
use crate::rules::Policy;
use crate::store::connect::databases::Found;
use crate::store::hosts::rights::Purpose;
use crate::store::read::overview::{Attention, Cursor, Overview, OverviewRequest, PageRequest, Scope};
use crate::store::read::plan::{PlanList, PlanReport};
use crate::store::read::work_list::WorkList;
use crate::text::redact;

/// How long somebody who asks waits. A connection lasts ten seconds: for a database that does not answer there still is
/// an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What has been read for so long is slow, or never comes to an end.
const SLOW: Duration = Duration::from_millis(2500);

/// What was read so short a time ago is shown again; what took long to read, for so many times as long, while the
/// database answers at all.
const FRESH: Duration = Duration::from_secs(2);
const FRESH_TIMES: u32 = 4;
const FRESH_MAX: Duration = Duration::from_secs(60);

/// How many readings of a lane are kept for those who ask at the same time.
const KEPT: usize = 8;

/// What was read of a database.
#[derive(Clone, Debug)]
pub enum ReadView {
    Work(Arc<Overview<Attention>>),
    Subject(Arc<Explanation>),
    List(Arc<WorkList>),
    Plan(Arc<PlanReport>),
    Plans(Arc<PlanList>),
}

impl ReadView {
    /// When it was read, by the database's clock.
    fn observed_at(&self) -> DateTime<Utc> {
        match self {
            ReadView::Work(overview) => overview.observed_at,
            ReadView::Subject(explanation) => explanation.observed_at(),
            ReadView::List(list) => list.observed_at,
            ReadView::Plan(plan) => plan.observed_at,
            ReadView::Plans(plans) => plans.observed_at,
        }
    }
}

/// Why nothing could be read, as it may be shown.
#[derive(Clone, Debug)]
pub struct Trouble {
    pub conclusion: Conclusion,
    pub why: String,
}

pub type ViewResult = Result<ReadView, Trouble>;

impl Trouble {
    pub fn of(error: &anyhow::Error) -> Trouble {
        Trouble { conclusion: conclusion_of(error), why: redact(&format!("{error:#}")) }
    }

    /// True if the question may be answered when it is asked again.
    pub fn may_pass(&self) -> bool {
        self.is_of_the_database() || self.conclusion == Conclusion::Busy
    }

    /// False if the question was wrong, or one row is, or others were first.
    pub fn is_of_the_database(&self) -> bool {
        !matches!(self.conclusion, Conclusion::Usage | Conclusion::SomeFailed | Conclusion::Busy)
    }
}

/// What is known of a database while it is away.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastKnown {
    /// When it was last read, by its own clock.
    pub read_at: Option<DateTime<Utc>>,
    /// Since when it could not be read.
    away_since: Option<Instant>,
    /// How long the last reading of the work took that came to an end.
    took: Duration,
}

impl LastKnown {
    /// Since when the database could not be read, as far as this process knows.
    pub fn away_in_words(&self) -> String {
        let Some(away_since) = self.away_since else { return String::new() };
        format!("It has been unreadable for {}.", age(i64::try_from(away_since.elapsed().as_secs()).ok()))
    }
}

/// Serialises the readings of one database, and keeps the latest.
#[derive(Clone, Default)]
struct Lane {
    /// The latest readings, the latest first. The task that holds them reads.
    kept: Arc<AsyncMutex<VecDeque<KeptView>>>,
    /// Since when somebody reads; gone when nobody does.
    reading: Arc<Mutex<Weak<Instant>>>,
}

#[derive(Clone)]
struct KeptView {
    view: View,
    read_at: Instant,
    /// Until then it is shown again.
    until: Instant,
    reading: ViewResult,
}

/// Keeps a reading. What went wrong is tried again soon, however long it took.
fn keep(kept: &mut VecDeque<KeptView>, view: View, reading: ViewResult, took: Duration) {
    let read_at = Instant::now();
    kept.retain(|one| one.view != view && read_at < one.until);
    kept.truncate(KEPT - 1);
    let fresh = if reading.is_ok() { (FRESH_TIMES * took).clamp(FRESH, FRESH_MAX) } else { FRESH };
    kept.push_front(KeptView { view, read_at, until: read_at + fresh, reading });
}

impl Lane {
    /// True if what is read now has been read for long.
    fn is_slow(&self) -> bool {
        let reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        reading.is_some_and(|began| SLOW <= began.elapsed())
    }

    /// Says that somebody reads until the returned time is dropped, however the reading ends.
    fn begin(&self, now: Instant) -> Arc<Instant> {
        let began = Arc::new(now);
        *self.reading.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&began);
        began
    }
}

/// Reads one database.
#[derive(Clone, Default)]
pub struct Reader {
    front: Lane,
    others: Lane,
    known: Arc<Mutex<LastKnown>>,
}

impl Reader {
    /// What this view shows, read now or a moment ago.
    pub async fn read(&self, database: &Found, view: &View, viewed: &Viewed, turns: &Arc<Semaphore>) -> ViewResult {
        // The sweeps are read with the work, as they stand beside it.
        let view = if *view == View::Sweeps { View::everything() } else { view.clone() };
        let lane = if view == View::everything() { &self.front } else { &self.others };
        let read = timeout(PATIENCE, self.read_in_turn(lane, (database.clone(), view, viewed.clone()), turns)).await;
        read.unwrap_or_else(|_| self.silence(lane))
    }

    /// Why there was no answer in time: the database may answer nothing, or there is that much to read, or others were
    /// first.
    fn silence(&self, lane: &Lane) -> ViewResult {
        let (patience, took) = (PATIENCE.as_secs(), self.known().took);
        if !lane.is_slow() {
            let why = format!("others are shown what they asked for: it was not its turn within {patience} seconds");
            return Err(Trouble { conclusion: Conclusion::Busy, why });
        }
        let why = match took {
            long if PATIENCE <= long => format!(
                "reading it took {} seconds the last time, and goes on: it will be shown here when it is done",
                long.as_secs()
            ),
            _ => format!("it has not answered within {patience} seconds"),
        };
        self.learn(Err(Trouble { conclusion: Conclusion::Unavailable, why }), took)
    }

    pub fn known(&self) -> LastKnown {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads when nobody else does. A reading that takes too long goes on without the one who asked for it, and nobody
    /// else begins another.
    async fn read_in_turn(
        &self,
        lane: &Lane,
        (database, view, viewed): (Found, View, Viewed),
        turns: &Arc<Semaphore>,
    ) -> ViewResult {
        let mut kept = Arc::clone(&lane.kept).lock_owned().await;
        let known = kept.iter().find(|one| one.view == view && Instant::now() < one.until).cloned();
        if let Some(known) = known.iter().find(|known| known.read_at.elapsed() < FRESH) {
            return known.reading.clone();
        }
        let (reader, lane, turn) = (self.clone(), lane.clone(), Arc::clone(turns).acquire_owned().await);
        let reading = spawn_blocking(move || {
            let (_turn, began) = (turn, lane.begin(Instant::now()));
            // What took long to read is shown again, but never as if a database that is away were there.
            let is_there = || database.url.ask(&viewed.timeouts, |url| url.open_to(Purpose::Show).map(drop));
            let gone = known.as_ref().and_then(|_| is_there().err());
            let reading = match (known, gone) {
                (Some(known), None) => known.reading,
                (_, gone) => {
                    let read = gone.map_or_else(|| reader.read_now(&database, &view, &viewed), Err);
                    let reading = reader.learn(read.map_err(|error| Trouble::of(&error)), began.elapsed());
                    keep(&mut kept, view, reading.clone(), began.elapsed());
                    reading
                }
            };
            drop((began, kept));
            reading
        });
        reading.await.unwrap_or_else(|_| {
            let why = "the reading ended by a panic, which is a bug of sweep's".to_owned();
            Err(Trouble { conclusion: Conclusion::Unavailable, why })
        })
    }

    fn read_now(&self, database: &Found, view: &View, viewed: &Viewed) -> Result<ReadView> {
        let Viewed { timeouts, host_url, .. } = viewed;
        let page = |after: &Option<Cursor>| PageRequest { after: after.clone(), limit: PageRequest::LIMIT };
        let work = |scope: &Scope, page| {
            let request = OverviewRequest { scope: scope.clone(), page, host_url: host_url.clone() };
            Ok(ReadView::Work(Arc::new(Overview::read_from(database, &request, timeouts)?)))
        };
        match view {
            View::Work { scope, after } => work(scope, page(after)),
            View::Sweeps => work(&Scope::default(), PageRequest::FIRST),
            View::List { filter, after } => {
                let read = WorkList::read_from(database, filter, &page(after), host_url.as_ref(), timeouts)?;
                Ok(ReadView::List(Arc::new(read)))
            }
            View::Plan(name, window) => {
                let named = (name.as_str(), *window);
                let read = PlanReport::read_window(&database.url, named, None, host_url.as_ref(), timeouts)?;
                Ok(ReadView::Plan(Arc::new(read)))
            }
            View::Plans { name, after } => {
                let read = PlanList::read_from(&database.url, (name.as_deref(), after.as_deref()), timeouts)?;
                Ok(ReadView::Plans(Arc::new(read)))
            }
            View::Subject(kind, name) => {
                let (subject, host_url) = ((Some(*kind), name.as_str()), host_url.as_ref());
                let own = viewed.policy.clone();
                let policy = |watchers: Option<Policy>| watchers.unwrap_or(own);
                let read = Explanation::read(&database.url, subject, policy, host_url, timeouts)?;
                Ok(ReadView::Subject(Arc::new(read)))
            }
        }
    }

    /// Learns from a reading whether the database is there, and returns it.
    fn learn(&self, reading: ViewResult, took: Duration) -> ViewResult {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match &reading {
            Ok(read) => {
                let took = if matches!(read, ReadView::Work(_)) { took } else { known.took };
                *known = LastKnown { read_at: Some(read.observed_at()), away_since: None, took };
            }
            Err(trouble) if trouble.is_of_the_database() => {
                known.away_since = Some(known.away_since.unwrap_or_else(Instant::now));
            }
            Err(_) => {}
        }
        reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::connect::open::Url;

    fn trouble(conclusion: Conclusion) -> ViewResult {
        Err(Trouble { conclusion, why: String::new() })
    }

    #[test]
    fn whoever_waits_for_others_is_not_shown_that_the_database_is_away() {
        let reader = Reader::default();
        let waited = reader.silence(&reader.others).expect_err("a trouble");
        assert_eq!((waited.conclusion, reader.known().away_since), (Conclusion::Busy, None));
        assert!(waited.may_pass() && !waited.is_of_the_database());
        let slow = reader.others.begin(Instant::now().checked_sub(SLOW).expect("a time"));
        let silent = reader.silence(&reader.others).expect_err("a trouble");
        assert!(silent.is_of_the_database() && reader.known().away_since.is_some(), "{silent:?}");
        drop(slow);
        assert_eq!(reader.silence(&reader.others).expect_err("a trouble").conclusion, Conclusion::Busy);
    }

    #[tokio::test]
    async fn others_hold_up_no_front_page_and_what_was_slow_to_read_is_not_shown_when_the_database_is_away() {
        let reader = Reader::default();
        let _held = Arc::clone(&reader.others.kept).lock_owned().await;
        let (view, now) = (View::everything(), Instant::now());
        let read_at = now.checked_sub(FRESH).expect("a time");
        let reading = trouble(Conclusion::SomeFailed);
        let kept = KeptView { view: view.clone(), read_at, until: now + FRESH_MAX, reading };
        reader.front.kept.lock().await.push_front(kept);
        let gone = Found::alone(Url::Sqlite("/nonexistent/acme.db".into()));
        let viewed =
            Viewed { databases: Vec::new(), policy: Default::default(), timeouts: Default::default(), host_url: None };
        let read = reader.read(&gone, &view, &viewed, &Arc::new(Semaphore::new(1))).await.expect_err("a trouble");
        assert!(read.is_of_the_database() && read.conclusion != Conclusion::Busy, "{read:?}");
    }

    #[test]
    fn what_went_wrong_is_tried_again_soon_however_long_it_took() {
        let mut kept = VecDeque::new();
        keep(&mut kept, View::everything(), trouble(Conclusion::Unavailable), FRESH_MAX);
        assert!(kept[0].until <= kept[0].read_at + FRESH);
    }
}
