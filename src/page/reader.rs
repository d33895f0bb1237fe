//! Reading a database for those who ask: one reading at a time, however many ask. They share what is fresh.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use chrono::{DateTime, Utc};
use tokio::sync::{Mutex as AsyncMutex, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::Viewed;
use super::route::View;
use crate::conclusion::{Conclusion, conclusion_of};
use crate::report::explain::Explanation;
use crate::rules::Kind;
use crate::store::attention::{Attention, PageRequest, Scope, read_from};
use crate::store::open::Url;
use crate::store::rights::Purpose;
use crate::text::redact;

/// A connection lasts ten seconds: whoever waits for a database that does not answer still gets an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What was read so short a time ago is shown again.
const FRESH: Duration = Duration::from_secs(2);

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
}

/// The latest readings, the latest first.
#[derive(Default)]
struct Recent(VecDeque<(View, Instant, Reading)>);

impl Recent {
    fn find(&self, view: &View) -> Option<Reading> {
        let is_it = |(read, at, _): &&(View, Instant, Reading)| read == view && at.elapsed() < FRESH;
        self.0.iter().find(is_it).map(|(_, _, reading)| reading.clone())
    }

    fn keep(&mut self, view: View, reading: Reading) {
        self.0.retain(|(read, at, _)| *read != view && at.elapsed() < FRESH);
        self.0.truncate(KEPT - 1);
        self.0.push_front((view, Instant::now(), reading));
    }
}

impl Reader {
    /// What this view shows, read now or a moment ago.
    pub async fn read(&self, database: &Url, view: &View, viewed: &Viewed, turns: &Arc<Semaphore>) -> Reading {
        // Of the sweeps the same is shown as beside the work.
        let view = if *view == View::Sweeps { View::everything() } else { view.clone() };
        let read = timeout(PATIENCE, self.read_in_turn(database.clone(), view, viewed.clone(), turns)).await;
        read.unwrap_or_else(|_| {
            let why = format!("it has not answered within {} seconds", PATIENCE.as_secs());
            self.note(&Err(Trouble { conclusion: Conclusion::Unavailable, why }))
        })
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
            let _turn = turn;
            let reading = read(&database, &view, &viewed).map_err(|error| Trouble::of(&error));
            let reading = reader.note(&reading);
            recent.keep(view, reading.clone());
            reading
        });
        reading.await.unwrap_or_else(|_| {
            let why = "the reading ended by a panic, which is a bug of sweep's".to_owned();
            Err(Trouble { conclusion: Conclusion::Unavailable, why })
        })
    }

    fn note(&self, reading: &Reading) -> Reading {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match reading {
            Ok(Read::Work(attention)) => {
                *known = Known { read_at: Some(attention.observed_at), away_since: None };
            }
            Ok(Read::Subject(explanation)) => {
                *known = Known { read_at: Some(explanation.observed_at()), away_since: None };
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

fn read(database: &Url, view: &View, viewed: &Viewed) -> Result<Read> {
    let work = |scope: &Scope, after| {
        let page = PageRequest { after, limit: PageRequest::LIMIT };
        let read = read_from(database, scope, &page, viewed.host_url.as_ref(), &viewed.timeouts)?;
        Ok(Read::Work(Arc::new(read)))
    };
    match view {
        View::Work { scope, after } => work(scope, after.clone()),
        View::Sweeps => work(&Scope::default(), None),
        View::Subject(kind, name) => Ok(Read::Subject(Arc::new(explain(database, *kind, name, viewed)?))),
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
