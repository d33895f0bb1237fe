//! Reading a database for those who ask: at most two readings at a time, however many ask. They share what is fresh.
//! What needs a person is read in a lane of its own, which nothing else that is asked for can hold up.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use chrono::{DateTime, Utc};
use tokio::sync::{Mutex as AsyncMutex, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::debug;

use super::Viewed;
use super::lane::Lane;
use super::reading::{Read, Reading, Trouble};
use super::route::View;
use crate::conclusion::Conclusion;
use crate::report::explain::Explanation;
use crate::rules::Policy;
use crate::store::connect::databases::Found;
use crate::store::hosts::rights::Purpose;
use crate::store::read::attention::{KeptDays, PageRequest, Scope, read_with};
use crate::text::redact;

/// A connection lasts ten seconds: whoever waits for a database that does not answer still gets an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is known of a database while it is away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// When it was last read, by its own clock.
    pub read_at: Option<DateTime<Utc>>,
    /// Since when it could not be read.
    away_since: Option<Instant>,
    /// How long the last reading took that came to an end.
    took: Duration,
}

impl Known {
    pub fn away_for(&self) -> Option<Duration> {
        self.away_since.map(|since| since.elapsed())
    }
}

/// Of one database.
#[derive(Clone, Default)]
pub struct Reader {
    front: Lane,
    others: Lane,
    known: Arc<Mutex<Known>>,
    days: Arc<KeptDays>,
    /// Whoever holds it counts the days anew.
    counting: Arc<AsyncMutex<()>>,
}

impl Reader {
    /// What this view shows, read now or a moment ago.
    pub async fn read(&self, database: &Found, view: &View, viewed: &Viewed, turns: &Arc<Semaphore>) -> Reading {
        // Of the sweeps the same is shown as beside the work.
        let view = if *view == View::Sweeps { View::everything() } else { view.clone() };
        let lane = if view == View::everything() { &self.front } else { &self.others };
        let read = timeout(PATIENCE, self.read_in_turn(lane, database.clone(), view, viewed.clone(), turns)).await;
        read.unwrap_or_else(|_| self.silence(lane))
    }

    /// It may answer nothing, or there is that much to read, or others were first.
    fn silence(&self, lane: &Lane) -> Reading {
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
        self.note(&Err(Trouble { conclusion: Conclusion::Unavailable, why }), took)
    }

    pub fn known(&self) -> Known {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A reading that takes too long goes on without the one who asked for it, and nobody else begins another.
    async fn read_in_turn(
        &self,
        lane: &Lane,
        database: Found,
        view: View,
        viewed: Viewed,
        turns: &Arc<Semaphore>,
    ) -> Reading {
        let mut recent = Arc::clone(&lane.recent).lock_owned().await;
        let kept = recent.find(&view);
        if let Some(kept) = kept.iter().find(|kept| kept.is_fresh()) {
            return kept.reading.clone();
        }
        let (reader, lane, turn) = (self.clone(), lane.clone(), Arc::clone(turns).acquire_owned().await);
        let reading = spawn_blocking(move || {
            let (_turn, began) = (turn, Instant::now());
            let in_lane = lane.begin(began);
            // What took long to read is shown again, but never as if a database that is away were there.
            let reading = match kept.map(|kept| is_there(&database, &viewed).map(|()| kept.reading)) {
                Some(Ok(reading)) => reading,
                read_or_gone => {
                    let read = match read_or_gone {
                        Some(Err(error)) => Err(error),
                        _ => reader.read_now(&database, &view, &viewed),
                    };
                    let reading = reader.note(&read.map_err(|error| Trouble::of(&error)), began.elapsed());
                    recent.keep(view, reading.clone(), began.elapsed());
                    reading
                }
            };
            drop((in_lane, recent));
            reader.count_days(&database, &viewed);
            reading
        });
        reading.await.unwrap_or_else(|_| {
            let why = "the reading ended by a panic, which is a bug of sweep's".to_owned();
            Err(Trouble { conclusion: Conclusion::Unavailable, why })
        })
    }

    fn read_now(&self, database: &Found, view: &View, viewed: &Viewed) -> Result<Read> {
        let Viewed { timeouts, host_url, .. } = viewed;
        let work = |scope: &Scope, after| {
            let page = PageRequest { after, limit: PageRequest::LIMIT };
            let read = read_with(database, scope, &page, host_url.as_ref(), timeouts, &self.days)?;
            Ok(Read::Work(Arc::new(read)))
        };
        match view {
            View::Work { scope, after } => work(scope, after.clone()),
            View::Sweeps => work(&Scope::default(), None),
            View::Subject(kind, name) => {
                let (subject, host_url) = ((Some(*kind), name.as_str()), host_url.as_ref());
                let own = viewed.policy.clone();
                let policy = |watchers: Option<Policy>| watchers.unwrap_or(own);
                let read = Explanation::read(&database.url, subject, policy, host_url, timeouts)?;
                Ok(Read::Subject(Arc::new(read)))
            }
        }
    }

    /// After an answer, for those that follow.
    fn count_days(&self, database: &Found, viewed: &Viewed) {
        let Ok(turn) = Arc::clone(&self.counting).try_lock_owned() else { return };
        if self.days.are_due() {
            let (days, database, timeouts) = (Arc::clone(&self.days), database.url.clone(), viewed.timeouts);
            spawn_blocking(move || {
                let _turn = turn;
                if let Err(error) = days.refresh(&database, &timeouts) {
                    debug!("page: {}", redact(&format!("{error:#}")));
                }
            });
        }
    }

    fn note(&self, reading: &Reading, took: Duration) -> Reading {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match reading {
            Ok(Read::Work(attention)) => {
                *known = Known { read_at: Some(attention.observed_at), away_since: None, took };
            }
            Ok(Read::Subject(explanation)) => {
                *known = Known { read_at: Some(explanation.observed_at()), away_since: None, took: known.took };
            }
            Err(trouble) if trouble.is_of_the_database() => {
                known.away_since = Some(known.away_since.unwrap_or_else(Instant::now));
            }
            Err(_) => {}
        }
        reading.clone()
    }
}

/// Does the database answer?
fn is_there(database: &Found, viewed: &Viewed) -> Result<()> {
    database.url.ask(&viewed.timeouts, |url| url.open_to(Purpose::Show).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::lane::{FRESH, FRESH_MAX, Kept, SLOW};
    use crate::store::connect::open::Url;

    fn trouble(conclusion: Conclusion) -> Reading {
        Err(Trouble { conclusion, why: String::new() })
    }

    #[test]
    fn whoever_waits_for_others_is_not_shown_that_the_database_is_away() {
        let reader = Reader::default();
        let waited = reader.silence(&reader.others).expect_err("a trouble");
        assert_eq!((waited.conclusion, reader.known().away_for()), (Conclusion::Busy, None));
        assert!(waited.may_pass() && !waited.is_of_the_database());
        let slow = reader.others.begin(Instant::now().checked_sub(SLOW).expect("a time"));
        let silent = reader.silence(&reader.others).expect_err("a trouble");
        assert!(silent.is_of_the_database() && reader.known().away_for().is_some(), "{silent:?}");
        drop(slow);
        assert_eq!(reader.silence(&reader.others).expect_err("a trouble").conclusion, Conclusion::Busy);
    }

    #[tokio::test]
    async fn others_hold_up_no_front_page_and_what_was_slow_to_read_is_not_shown_when_the_database_is_away() {
        let reader = Reader::default();
        let _held = Arc::clone(&reader.others.recent).lock_owned().await;
        let (view, now) = (View::everything(), Instant::now());
        let read_at = now.checked_sub(FRESH).expect("a time");
        let reading = trouble(Conclusion::SomeFailed);
        let kept = Kept { view: view.clone(), read_at, until: now + FRESH_MAX, reading };
        reader.front.recent.lock().await.0.push_front(kept);
        let gone = Found::alone(Url::Sqlite("/nonexistent/acme.db".into()));
        let viewed =
            Viewed { databases: Vec::new(), policy: Default::default(), timeouts: Default::default(), host_url: None };
        let read = reader.read(&gone, &view, &viewed, &Arc::new(Semaphore::new(1))).await.expect_err("a trouble");
        assert!(read.is_of_the_database() && read.conclusion != Conclusion::Busy, "{read:?}");
    }
}
