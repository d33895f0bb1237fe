//! What the daemon knows of one database. There is one of these, or one for each of several.

use std::time::Duration;

use anyhow::{Error, Result};
use tokio::time::Instant;
use tracing::{debug, error, info};

use super::health::{Database, DatabaseHealth};
use super::listening::{Hearing, Listening};
use super::options::DaemonOptions;
use super::outage::Outage;
use super::run_ends::RunEndQueue;
use crate::conclusion::{Conclusion, conclusion_of};
use crate::cycle::of_database;
use crate::rules::Kind;
use crate::store::connect::databases::Found;
use crate::store::connect::open::Url;
use crate::store::work::candidates::Portion;
use crate::sweep::Summary;
use crate::text::redact;

pub struct Place {
    pub found: Found,
    pub state: Database,
    pub outage: Outage,
    /// None: it was not asked for.
    pub listening: Option<Listening>,
    pub run_ends: RunEndQueue,
    /// How long its host needs after the end of a run; none: the database has not been asked yet.
    pub run_end_grace: Option<Duration>,
    /// What the guard held back of the issues in the last sweep; none: all of them.
    pub held_issues: Option<Vec<Portion>>,
    /// What went wrong the last time, so that it is said once.
    pub trouble: Option<String>,
}

impl Place {
    pub fn new(found: Found) -> Place {
        Place {
            found,
            state: Database::Unknown,
            outage: Outage::none(),
            listening: None,
            run_ends: RunEndQueue::default(),
            run_end_grace: None,
            held_issues: Some(Vec::new()),
            trouble: None,
        }
    }

    pub fn database(&self) -> &Url {
        &self.found.url
    }

    /// Log lines of it name it, if there are several.
    pub fn log<T>(&self, log: impl FnOnce() -> T) -> T {
        of_database(&self.found).in_scope(log)
    }

    pub fn health(&self) -> DatabaseHealth {
        let is_listening = self.listening.as_ref().is_some_and(|listening| listening.hearing == Hearing::Connected);
        DatabaseHealth { found: self.found.clone(), state: self.state, is_listening }
    }

    /// Was it never looked at, or is not known yet what its listener has to know?
    pub fn is_new(&self) -> bool {
        let is_unheard = self.listening.is_some() && self.run_end_grace.is_none();
        self.state == Database::Unknown || (is_unheard && self.state == Database::Up)
    }

    /// How long after the end of a run its issue is swept, as soon as the database has said what its host needs: a
    /// little longer, since the clocks of both may differ.
    pub fn reaction_grace(&self, options: &DaemonOptions) -> Option<Duration> {
        let grace = options.listen_grace.unwrap_or(self.run_end_grace?);
        Some(grace + grace / 10)
    }

    /// When the first issue is due of which a run has ended.
    pub fn react_at(&self, options: &DaemonOptions) -> Option<Instant> {
        self.reaction_grace(options).filter(|_| !self.outage.lasts()).and_then(|grace| self.run_ends.due_at(grace))
    }

    /// It can be swept, and its host needs so long after the end of a run. Was it away?
    pub fn in_order(&mut self, run_end_grace: Duration, options: &DaemonOptions) -> Result<bool> {
        options.refuse_too_soon(run_end_grace)?;
        self.run_end_grace = Some(run_end_grace);
        self.is_back();
        Ok(self.outage_ends())
    }

    fn is_back(&mut self) {
        (self.state, self.trouble) = (Database::Up, None);
    }

    fn outage_ends(&mut self) -> bool {
        let was_away = self.outage.end();
        if let Some(lasted) = &was_away {
            self.log(|| info!("the database is back after {lasted}"));
        }
        was_away.is_some()
    }

    pub fn swept(&mut self, swept: &Summary) {
        self.is_back();
        self.outage_ends();
        self.outage.forget();
        self.held_issues = swept.held_back(Kind::Issue);
    }

    /// A database that is away is waited for. What else is wrong is said once, and the next sweep tries again.
    pub fn failed(&mut self, error: &Error) {
        let why = redact(&format!("{error:#}"));
        if conclusion_of(error) == Conclusion::Unavailable {
            self.state = Database::Gone;
            return match self.outage.note() {
                true => self.log(|| error!("the database is unavailable, waiting: {why}")),
                false => self.log(|| debug!("the database is still unavailable: {why}")),
            };
        }
        self.outage.end();
        self.state = Database::Refuses;
        if self.trouble.as_ref() == Some(&why) {
            self.log(|| debug!("still: {why}"));
        } else {
            self.log(|| error!("no sweep: {why}"));
            self.trouble = Some(why);
        }
    }
}

/// The places of these databases. One that is known stays what it is.
pub fn places(mut known: Vec<Place>, options: &DaemonOptions) -> Vec<Place> {
    // Only what it is called for everybody depends on the others.
    let is_same = |place: &Place, found: &Found| (&place.found.name, &place.found.url) == (&found.name, &found.url);
    let mut take = |found: Found| match known.iter().position(|place| is_same(place, &found)) {
        Some(at) => Place { found, ..known.swap_remove(at) },
        None => Place::new(found),
    };
    options.databases.find().into_iter().map(&mut take).collect()
}
