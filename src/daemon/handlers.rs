//! What the daemon does at each event.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Result;
use tracing::{debug, error, info, warn};

use super::place::{Place, places};
use super::timer::random_delay;
use super::work::{BackgroundWork, Done, Task};
use super::{Daemon, IDLE, Resolved, clock, display, ticks};
use crate::store::connect::open::Url;
use crate::text::redact;

/// What is read once, at the start.
const AT_START_ONLY: [&str; 8] = [
    "SWEEP_HTTP", "SWEEP_PAGE", "SWEEP_PAGE_HOST", "SWEEP_PAGE_PROXY", "SWEEP_PAGE_TOKEN", "SWEEP_PAGE_TOKEN_FILE",
    "SWEEP_LOG", "SWEEP_LOG_FORMAT",
];

impl Daemon {
    /// The schedule's time has come, or was missed while something else was in hand.
    pub(super) async fn due(&mut self) -> Result<()> {
        let now = clock::now();
        let later = self.planned.into_iter().flat_map(|planned| self.resolved.options.schedule.after(planned));
        match later.take_while(|at| *at <= now).take(1000).count() {
            0 => {}
            1000 => info!("a thousand sweeps and more were due meanwhile: this one makes up for them"),
            missed => info!("{missed} more {} due meanwhile: this sweep makes up for it", display::was_or_were(missed)),
        }
        self.sweep_all().await
    }

    /// Sets the timer for the next time of the schedule, later by the jitter, though never as late as the time after
    /// it.
    pub(super) async fn plan(&mut self) -> Result<()> {
        let options = &self.resolved.options;
        let mut next = options.schedule.after(clock::now());
        self.planned = next.next();
        let interval = self.planned.zip(next.next()).map_or(options.jitter, |(planned, following)| following - planned);
        let at = self.planned.map(|planned| planned + random_delay(options.jitter, interval));
        self.shared.update(|state| state.counted.next_sweep_at = at);
        self.timer.set(at).await
    }

    pub(super) async fn done(&mut self, done: Done) -> Result<()> {
        self.work = None;
        self.note_hung(None);
        match done {
            Done::Checked(looked) => self.checked(looked).await?,
            Done::Swept(swept) => self.swept(&swept),
            Done::Reacted(database, swept) => match *swept {
                Ok(swept) => self.reacted(&database, &swept),
                Err(error) => self.failed(&database, &error),
            },
            Done::Delivered(delivered) => {
                // If the database is away, the next sweep says so.
                for error in delivered.iter().filter_map(|delivered| delivered.as_ref().err()) {
                    debug!("{}", redact(&format!("{error:#}")));
                }
            }
            // The next one may do better; that there was one is counted, and on stderr.
            Done::Panicked(Task::Sweep | Task::Reaction) => {
                self.count_failed();
                error!("the sweep ended by a panic, which is a bug of sweep's; the next one is not affected");
            }
            Done::Panicked(Task::Deliver) => error!("delivering ended by a panic, which is a bug of sweep's"),
            Done::Panicked(Task::Check) => {
                for place in self.places.iter_mut().filter(|place| place.is_new() || place.outage.lasts()) {
                    place.outage.note();
                }
                error!("the look at the database ended by a panic, which is a bug of sweep's; it is repeated");
            }
        }
        if self.work.is_none() && !self.is_stopping {
            self.check(|place| place.is_new() && !place.outage.lasts());
        }
        Ok(())
    }

    fn count_failed(&mut self) {
        self.shared.update(|state| state.counted.failed += 1);
        self.last = Some("failed".to_owned());
    }

    /// No new sweep; the one in hand finishes what it has in hand. A look at the database is not waited for.
    pub(super) fn stop(&mut self) {
        info!("asked to end{}", if self.work.is_some() { ": waiting for what is in hand" } else { "" });
        self.is_stopping = true;
        self.shared.update(|state| state.is_stopping = true);
        self.service_manager.stopping();
        self.work = self.work.take().filter(|work| work.task != Task::Check);
        if let Some(work) = &self.work {
            work.stop();
        }
    }

    /// Reads the settings again. Wrong ones are no reason to end: the old ones stay.
    pub(super) async fn reload(&mut self) -> Result<()> {
        if self.is_stopping {
            return Ok(());
        }
        self.service_manager.reloading();
        let graces: Vec<Duration> = self.places.iter().filter_map(|place| place.run_end_grace).collect();
        let fits = |resolved: &Resolved| graces.iter().try_for_each(|hosts| resolved.options.refuse_too_soon(*hosts));
        match (self.again)().and_then(|resolved| fits(&resolved).map(|()| resolved)) {
            Err(error) => {
                let why = redact(&format!("{error:#}"));
                error!("the settings stay as they were: {why}");
                self.refused = Some(why);
            }
            Ok(resolved) => {
                self.refused = None;
                let changed = self.changed(&resolved);
                let at_start_only: Vec<&str> =
                    AT_START_ONLY.into_iter().filter(|name| changed.iter().any(|changed| changed == name)).collect();
                info!("the settings were read again: {}", display::changes(&changed));
                if !at_start_only.is_empty() {
                    warn!("{} will change when the daemon is started again", at_start_only.join(", "));
                }
                self.resolved = resolved;
                self.ticks = ticks(&self.resolved.options, &self.service_manager);
                let before = self.databases();
                self.places = places(std::mem::take(&mut self.places), &self.resolved.options);
                let is_moved = before != self.databases();
                match self.work.as_ref().map(|work| work.task) {
                    // What it looks at is swept no more.
                    Some(Task::Check) if is_moved => self.check(|_| true),
                    None => self.check(|place| place.is_new() || place.outage.lasts()),
                    Some(_) => {}
                }
                self.plan().await?;
                self.log_schedule();
                self.listen()?;
            }
        }
        self.service_manager.ready();
        Ok(())
    }

    /// Names alone: values may be secrets. The database's may come from a file that has another content now.
    fn changed(&self, new: &Resolved) -> Vec<String> {
        let mut names = differing(&self.resolved.variables, &new.variables);
        let is_database = |name: &String| name.starts_with("DATABASE_URL") || name.starts_with("PG");
        if self.resolved.options.databases != new.options.databases && !names.iter().any(is_database) {
            names.push("the database".to_owned());
        }
        names
    }

    pub(super) async fn tick(&mut self) -> Result<()> {
        let limit = self.resolved.options.hung_after;
        let silent_for = self.work.as_mut().map(BackgroundWork::silent_for);
        let hung_for = silent_for.filter(|silent| limit < *silent);
        self.note_hung(hung_for);
        if hung_for.is_none() {
            self.service_manager.feed();
        }
        if self.work.is_none() && IDLE <= self.idled_at.elapsed() {
            self.idled_at = tokio::time::Instant::now();
            self.idle().await?;
        }
        Ok(())
    }

    fn note_hung(&mut self, hung_for: Option<Duration>) {
        let was = self.shared.read().hung_for.is_some();
        match (was, hung_for) {
            (false, Some(time)) => error!("the sweep in hand has made no progress for {}", display::spoken(time)),
            (true, None) => info!("the sweep that made no progress goes on, or has ended"),
            (false, None) | (true, Some(_)) => {}
        }
        self.shared.update(|state| state.hung_for = hung_for);
    }

    /// Between two sweeps: what waits is delivered. A clock that was set back would have it wait for what was planned
    /// by the wrong time.
    async fn idle(&mut self) -> Result<()> {
        let earlier = self.resolved.options.schedule.next(clock::now()).filter(|next| Some(*next) < self.planned);
        if earlier.is_some() {
            warn!("the clock was set back: the next sweep is planned anew");
            self.plan().await?;
        }
        let cycle = &self.resolved.options.cycle;
        let is_there = |place: &&Place| !place.outage.lasts();
        let databases: Vec<Url> = self.places.iter().filter(is_there).map(|place| place.database().clone()).collect();
        if !databases.is_empty() && !cycle.notify.destinations().is_empty() {
            self.work = Some(BackgroundWork::deliver(cycle, databases, self.planned));
        }
        Ok(())
    }
}

/// The names of what is set in one and not in the other, or to another value.
fn differing(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> Vec<String> {
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    names.into_iter().filter(|name| one.get(*name) != other.get(*name)).cloned().collect()
}
