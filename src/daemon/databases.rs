//! The databases of the daemon: looking at them, finding new ones, sweeping them, and what came of it.

use std::time::Duration;

use anyhow::{Error, Result};
use tracing::info;

use super::place::{Place, places};
use super::work::{BackgroundWork, Look};
use super::{Daemon, display};
use crate::conclusion::{Conclusion, Failure, conclusion_of};
use crate::cycle::conclusion_of_sweep;
use crate::store::connect::databases::Found;
use crate::store::connect::open::Url;
use crate::sweep::Summary;

impl Daemon {
    /// Looks whether these databases can be swept: at the start, and while they are away.
    pub(super) fn check(&mut self, is_meant: impl Fn(&Place) -> bool) {
        let (options, is_first) = (&self.resolved.options, !self.is_proven);
        let look = |place: &Place| Look {
            database: place.database().clone(),
            source: options.source(place.database()).filter(|_| is_first),
            is_away: place.outage.lasts(),
        };
        let looks: Vec<Look> = self.places.iter().filter(|place| is_meant(place)).map(look).collect();
        if !looks.is_empty() {
            self.work = Some(BackgroundWork::check(looks, options.cycle.sweep.timeouts));
        }
    }

    /// Looks at the one that has waited longest: the others get their turn before the next one that is silent.
    pub(super) fn retry(&mut self) {
        let waiting = self.places.iter().filter(|place| place.outage.lasts());
        if let Some(next) = waiting.min_by_key(|place| place.outage.retry_at()).map(|place| place.database().clone()) {
            self.check(|place| *place.database() == next);
        }
    }

    /// Sweeps all that the settings say: for each time of the schedule until now.
    pub(super) async fn sweep_all(&mut self) -> Result<()> {
        self.find();
        self.plan().await?;
        let cycle = self.resolved.options.cycle.clone();
        self.work = Some(match self.resolved.options.databases.only() {
            Some(_) => BackgroundWork::cycle(cycle),
            None => BackgroundWork::cycles(cycle, self.databases(), self.away()),
        });
        Ok(())
    }

    /// Sweeps those that could not be swept when the others were.
    async fn sweep_some(&mut self, databases: Vec<Url>) -> Result<()> {
        if databases.len() == self.places.len() {
            return self.sweep_all().await;
        }
        let mut meant = self.databases();
        meant.retain(|found| databases.contains(&found.url));
        let cycle = self.resolved.options.cycle.partial(self.places.len() - meant.len());
        self.work = Some(BackgroundWork::cycles(cycle, meant, Vec::new()));
        Ok(())
    }

    pub(super) fn databases(&self) -> Vec<Found> {
        self.places.iter().map(|place| place.found.clone()).collect()
    }

    /// Those that are asked now and then, and not at the schedule's times.
    fn away(&self) -> Vec<Url> {
        self.places.iter().filter(|place| place.outage.lasts()).map(|place| place.database().clone()).collect()
    }

    /// Looks for the databases anew: files may have come, and others gone.
    fn find(&mut self) {
        let before = self.databases();
        self.places = places(std::mem::take(&mut self.places), &self.resolved.options);
        let now = self.databases();
        let names = |these: &[Found], those: &[Found]| {
            let others: Vec<&Url> = those.iter().map(|found| &found.url).collect();
            let these = these.iter().filter(|found| !others.contains(&&found.url));
            let names = these.filter_map(|found| found.name.as_deref()).collect::<Vec<_>>();
            Some(names.join(", ")).filter(|names| !names.is_empty())
        };
        if let Some(new) = names(&now, &before) {
            info!("swept from now on: {new}");
        }
        if let Some(gone) = names(&before, &now) {
            info!("no longer swept, since it is gone: {gone}");
        }
    }

    pub(super) fn place(&mut self, database: &Url) -> Option<&mut Place> {
        self.places.iter_mut().find(|place| place.database() == database)
    }

    /// What is in order again is swept at once, and at the start if that is wanted. A daemon that each database refuses
    /// at the start has nothing to wait for, and ends.
    pub(super) async fn checked(&mut self, looked: Vec<(Url, Result<Duration>)>) -> Result<()> {
        let is_first = !self.is_proven;
        let (mut due, mut refused) = (Vec::new(), Vec::new());
        let all = self.places.len();
        for (database, grace) in looked {
            let options = self.resolved.options.clone();
            let Some(place) = self.place(&database) else { continue };
            match grace.and_then(|grace| place.in_order(grace, &options)) {
                Ok(was_away) => {
                    self.is_proven = true;
                    if was_away || is_first && options.at_start {
                        due.push(database);
                    }
                }
                Err(error) if is_first && conclusion_of(&error) != Conclusion::Unavailable => {
                    refused.push((database, error));
                }
                Err(error) => place.failed(&error),
            }
        }
        if refused.len() == all {
            return Err(self.refusal(refused));
        }
        refused.iter().for_each(|(database, error)| self.failed(database, error));
        if !self.is_stopping && !due.is_empty() {
            self.sweep_some(due).await?;
        }
        Ok(())
    }

    pub(super) fn swept(&mut self, swept: &[(Url, Result<Summary>)]) {
        let away = self.away();
        for (database, swept) in swept {
            let is_interrupted = conclusion_of_sweep(swept).is_interruption();
            match swept {
                Ok(summary) => {
                    self.is_proven = true;
                    self.place(database).into_iter().for_each(|place| place.swept(summary));
                }
                // It was not begun.
                Err(_) if is_interrupted || away.contains(database) => continue,
                Err(error) => self.failed(database, error),
            }
            self.shared.update(|state| {
                let counter = match (swept, is_interrupted) {
                    (Ok(_), true) => &mut state.counted.interrupted,
                    (Ok(_), false) => &mut state.counted.completed,
                    (Err(_), _) => &mut state.counted.failed,
                };
                *counter += 1;
            });
        }
        let done: Vec<&Summary> = swept.iter().filter_map(|(_, swept)| swept.as_ref().ok()).collect();
        self.last = Some(display::last(&done, swept.len()));
    }

    pub(super) fn failed(&mut self, database: &Url, error: &Error) {
        self.place(database).into_iter().for_each(|place| place.failed(error));
    }

    /// Why it cannot begin. The only database's reason says enough.
    fn refusal(&self, mut refused: Vec<(Url, Error)>) -> Error {
        if refused.len() == 1 {
            return refused.remove(0).1;
        }
        let gravest = Conclusion::gravest(refused.iter().map(|(_, error)| conclusion_of(error)));
        let name = |url: &Url| {
            let place = self.places.iter().find(|place| place.database() == url);
            place.and_then(|place| place.found.name.as_deref()).unwrap_or_default()
        };
        let each: Vec<String> = refused.iter().map(|(url, error)| format!("{}: {error:#}", name(url))).collect();
        Failure::new(gravest, each.join("; ")).into()
    }

    /// What those who ask are answered.
    pub(super) fn report_health(&self) {
        let databases = self.places.iter().map(Place::health).collect();
        let sweep = &self.resolved.options.cycle.sweep;
        self.shared.update(|state| {
            (state.databases, state.timeouts) = (databases, sweep.timeouts);
            (state.policy, state.host_url) = (sweep.policy.clone(), sweep.host_url.clone());
        });
    }
}
