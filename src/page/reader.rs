//! Reading a database for those who ask: one reading at a time, however many ask. They share what is fresh.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use chrono::{DateTime, Utc};
use tokio::sync::{Mutex as AsyncMutex, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::debug;

use super::Viewed;
use super::route::View;
use crate::conclusion::{Conclusion, conclusion_of};
use crate::report::explain::Explanation;
use crate::rules::Kind;
use crate::store::attention::{Attention, KeptDays, PageRequest, Scope, read_with};
use crate::store::open::Url;
use crate::store::rights::Purpose;
use crate::text::redact;

/// A connection lasts ten seconds: whoever waits for a database that does not answer still gets an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What was read so short a time ago is shown again; what took long to read, for so many times as long.
const FRESH: Duration = Duration::from_secs(2);
const FRESH_TIMES: u32 = 4;
const FRESH_MAX: Duration = Duration::from_secs(60);

/// So many readings are kept for those who ask at the same time.
const KEPT: usize = 8;

/// What was read.
#[derive(Clone, Debug)]
pub enum Read {
    Work(Arc<Attention>),
    Subject(Arc<Explanation>),
}

/// Why nothing could be read, as it may be shown.
#[derive(Clone, Debug)]
pub struct Trouble {
    pub conclusion: Conclusion,
    pub why: String,
}

pub type Reading = Result<Read, Trouble>;

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
    /// Whoever holds it reads.
    recent: Arc<AsyncMutex<Recent>>,
    known: Arc<Mutex<Known>>,
    days: Arc<KeptDays>,
    /// Whoever holds it counts the days anew.
    counting: Arc<AsyncMutex<()>>,
}

/// The latest readings, the latest first.
#[derive(Default)]
struct Recent(VecDeque<Kept>);

struct Kept {
    view: View,
    /// Until then it is shown again.
    until: Instant,
    reading: Reading,
}

impl Recent {
    fn find(&self, view: &View) -> Option<Reading> {
        let is_it = |kept: &&Kept| kept.view == *view && Instant::now() < kept.until;
        self.0.iter().find(is_it).map(|kept| kept.reading.clone())
    }

    fn keep(&mut self, view: View, reading: Reading, took: Duration) {
        let now = Instant::now();
        self.0.retain(|kept| kept.view != view && now < kept.until);
        self.0.truncate(KEPT - 1);
        let until = now + (FRESH_TIMES * took).clamp(FRESH, FRESH_MAX);
        self.0.push_front(Kept { view, until, reading });
    }
}

impl Reader {
    /// What this view shows, read now or a moment ago.
    pub async fn read(&self, database: &Url, view: &View, viewed: &Viewed, turns: &Arc<Semaphore>) -> Reading {
        // Of the sweeps the same is shown as beside the work.
        let view = if *view == View::Sweeps { View::everything() } else { view.clone() };
        let read = timeout(PATIENCE, self.read_in_turn(database.clone(), view, viewed.clone(), turns)).await;
        read.unwrap_or_else(|_| self.silence())
    }

    /// It may answer nothing, or there is that much to read.
    fn silence(&self) -> Reading {
        let (patience, took) = (PATIENCE.as_secs(), self.known().took);
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
    async fn read_in_turn(&self, database: Url, view: View, viewed: Viewed, turns: &Arc<Semaphore>) -> Reading {
        let mut recent = Arc::clone(&self.recent).lock_owned().await;
        if let Some(reading) = recent.find(&view) {
            return reading;
        }
        let (reader, turn) = (self.clone(), Arc::clone(turns).acquire_owned().await);
        let reading = spawn_blocking(move || {
            let (_turn, began) = (turn, Instant::now());
            let reading = reader.read_now(&database, &view, &viewed).map_err(|error| Trouble::of(&error));
            let (took, reading) = (began.elapsed(), reader.note(&reading, began.elapsed()));
            recent.keep(view, reading.clone(), took);
            drop(recent);
            reader.count_days(&database, &viewed);
            reading
        });
        reading.await.unwrap_or_else(|_| {
            let why = "the reading ended by a panic, which is a bug of sweep's".to_owned();
            Err(Trouble { conclusion: Conclusion::Unavailable, why })
        })
    }

    fn read_now(&self, database: &Url, view: &View, viewed: &Viewed) -> Result<Read> {
        let Viewed { timeouts, host_url, .. } = viewed;
        let work = |scope: &Scope, after| {
            let page = PageRequest { after, limit: PageRequest::LIMIT };
            let read = read_with(database, scope, &page, host_url.as_ref(), timeouts, &self.days)?;
            Ok(Read::Work(Arc::new(read)))
        };
        match view {
            View::Work { scope, after } => work(scope, after.clone()),
            View::Sweeps => work(&Scope::default(), None),
            View::Subject(kind, name) => Ok(Read::Subject(Arc::new(explain(database, *kind, name, viewed)?))),
        }
    }

    /// After an answer, for those that follow.
    fn count_days(&self, database: &Url, viewed: &Viewed) {
        let Ok(turn) = Arc::clone(&self.counting).try_lock_owned() else { return };
        if self.days.are_due() {
            let (days, database, timeouts) = (Arc::clone(&self.days), database.clone(), viewed.timeouts);
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

impl Trouble {
    fn of(error: &anyhow::Error) -> Trouble {
        Trouble { conclusion: conclusion_of(error), why: redact(&format!("{error:#}")) }
    }

    /// Else the question was wrong, or one row is.
    pub fn is_of_the_database(&self) -> bool {
        match self.conclusion {
            Conclusion::Usage | Conclusion::SomeFailed => false,
            Conclusion::Done
            | Conclusion::Changed
            | Conclusion::Guarded
            | Conclusion::Unavailable
            | Conclusion::Busy
            | Conclusion::Config
            | Conclusion::NotFound
            | Conclusion::Interrupted
            | Conclusion::Terminated => true,
        }
    }
}

fn explain(database: &Url, kind: Kind, name: &str, viewed: &Viewed) -> Result<Explanation> {
    let mut store = database.open_to(Purpose::Explain)?;
    store.refuse_unprovided(kind)?;
    let links = store.host.links(viewed.host_url.as_ref());
    let read = store.db.in_transaction(Purpose::Explain.access(), &viewed.timeouts, |db| {
        Explanation::read(db, kind, name, &viewed.policy, &links)
    });
    read.map_err(|abort| database.explain(abort.into()))
}
