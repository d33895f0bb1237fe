//! Sweeps on a schedule, until it is asked to end.
//!
//! A sweep is due at each time of the schedule. The daemon has one thing in hand at a time: what becomes due meanwhile
//! is made up once, as soon as that is done, however often it was. While the database is away nothing is due: it is
//! asked now and then, and swept when it is back. Several databases are swept one after the other; one that is away
//! keeps none of the others waiting.
//!
//! ```text
//!            due ─┐
//!  signals, ticks ├→ one loop, one thread → one sweep, on a thread of its own → cycle → sweep
//!    asked again ─┘        └ state ← /healthz, /readyz, /metrics; the service manager
//! ```

mod http;
mod options;
mod place;
mod run_ends;
mod service_manager;
mod timer;
mod work;

use std::time::Duration;

use anyhow::{Context, Error, Result};
use tokio::sync::watch;
use tokio::time::{Instant, Interval};
use tracing::{debug, error, info, warn};

use crate::conclusion::{Conclusion, conclusion_of};
use crate::cycle::conclusion_of_sweep;
use crate::metrics::DaemonState;
use crate::page::Viewed;
use crate::rules::display::{HumanDuration, format_utc};
use crate::store::connect::open::Url;
use crate::sweep::{Options, Summary};
use crate::text::redact;
use http::Health;
pub use options::{DaemonOptions, Resolved};
pub use place::REACTED_TO;
use place::{Outage, Place, Places};
use run_ends::News;
use service_manager::{Demand, ServiceManager, Signals};
use timer::{Timer, log_schedule};
use work::{BackgroundWork, Done, Probe, Task, last_of};

/// Reads the settings again.
pub type Resolve = Box<dyn Fn() -> Result<Resolved>>;

/// Runs until a signal ends it, or until the first look at the database shows that it cannot be swept at all.
pub fn run(resolved: Resolved, again: Resolve) -> Result<Conclusion> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the daemon")?;
    let ended = runtime.block_on(async { Daemon::start(resolved, again).await?.run().await });
    // A look at a database that does not answer is not waited for.
    runtime.shutdown_background();
    ended
}

struct Daemon {
    resolved: Resolved,
    again: Resolve,
    signals: Signals,
    timer: Timer,
    work: Option<BackgroundWork>,
    places: Places,
    /// A database could be swept once: what is wrong later is waited for.
    is_proven: bool,
    is_stopping: bool,
    /// What the last sweep came to.
    last: Option<String>,
    /// Why the settings could not be read again: the old ones still hold.
    refused: Option<String>,
    /// What is counted, without what `publish` adds.
    counted: DaemonState,
    health: watch::Sender<Health>,
    service_manager: ServiceManager,
    ticks: Interval,
    idled_at: Instant,
}

enum DaemonEvent {
    Demand(Demand),
    Done(Box<Done>),
    /// The schedule's next time has come.
    Due,
    /// News of runs that end in this database.
    News(Url, News),
    /// What a run has ended of is to be looked at.
    React,
    /// A database that is away is to be asked again.
    Retry,
    Tick,
}

/// How often the daemon looks for what no event announces: clocks that were set, notifications that wait.
const IDLE: Duration = Duration::from_secs(10);

impl Daemon {
    async fn start(resolved: Resolved, again: Resolve) -> Result<Daemon> {
        let (signals, service_manager, options) = (Signals::listen()?, ServiceManager::new(), &resolved.options);
        let (health, healths) = watch::channel(Health::default());
        if let Some(address) = options.http {
            let page = options.page.then(|| options.page_options.clone());
            page.iter().try_for_each(|page| page.refuse_open(address))?;
            let address = http::serve(address, healths, page)?;
            info!("HTTP on {address}: /healthz, /readyz, /metrics{}", if options.page { ", the page" } else { "" });
        }
        let ticks = service_manager.ticks(options.hung_after());
        let mut places = Places(Vec::new());
        places.find(options);
        let mut daemon = Daemon {
            resolved,
            again,
            signals,
            timer: Timer::start().await?,
            work: None,
            places,
            is_proven: false,
            is_stopping: false,
            last: None,
            refused: None,
            counted: DaemonState::default(),
            health,
            service_manager,
            ticks,
            idled_at: Instant::now(),
        };
        daemon.plan().await?;
        daemon.begin_to_wait()?;
        daemon.check(|_| true);
        Ok(daemon)
    }

    /// Begins to wait for what the settings say, and tells the service manager.
    fn begin_to_wait(&mut self) -> Result<()> {
        let options = &self.resolved.options;
        log_schedule(&options.schedule, options.jitter);
        self.places.listen(options)?;
        self.service_manager.ready();
        Ok(())
    }

    async fn run(mut self) -> Result<Conclusion> {
        loop {
            self.publish();
            match self.next().await {
                DaemonEvent::Demand(Demand::Stop) => self.stop(),
                DaemonEvent::Demand(Demand::Reload) => self.reload().await?,
                DaemonEvent::Done(done) => self.done(*done).await?,
                DaemonEvent::Due => {
                    self.timer.log_missed(&self.resolved.options.schedule);
                    self.sweep_all().await?;
                }
                DaemonEvent::News(database, news) => self.receive(&database, news),
                DaemonEvent::React => self.react(),
                DaemonEvent::Retry => self.retry(),
                DaemonEvent::Tick => self.tick().await?,
            }
            if self.is_stopping && self.work.is_none() {
                info!("ended");
                return Ok(Conclusion::Done);
            }
        }
    }

    /// Waits for what comes next. Each of the futures may be dropped and asked for again.
    async fn next(&mut self) -> DaemonEvent {
        let is_idle = self.work.is_none() && !self.is_stopping;
        let (react_at, retry_at) = (self.places.react_at(), self.places.retry_at());
        let is_away = self.places.are_away();
        // In no order: each of them may be due again whenever the other one has ended.
        let due_or_retry = async {
            tokio::select! {
                () = self.timer.due(), if !is_away => DaemonEvent::Due,
                () = until(retry_at) => DaemonEvent::Retry,
            }
        };
        tokio::select! {
            biased;
            demand = self.signals.next() => DaemonEvent::Demand(demand),
            done = ended(&mut self.work) => DaemonEvent::Done(Box::new(done)),
            event = due_or_retry, if is_idle => event,
            (database, news) = self.places.next_news() => DaemonEvent::News(database, news),
            () = until(react_at), if is_idle => DaemonEvent::React,
            _ = self.ticks.tick() => DaemonEvent::Tick,
        }
    }

    /// Tells those who ask, and the service manager, how the daemon is.
    fn publish(&mut self) {
        let Options { policy, timeouts, host_url, .. } = self.resolved.options.cycle.sweep.clone();
        let databases = self.places.0.iter().map(Place::state).collect();
        let next_sweep_at = self.timer.at;
        self.health.send_replace(Health {
            daemon: DaemonState { databases, next_sweep_at, ..self.counted.clone() },
            is_stopping: self.is_stopping,
            viewed: Viewed { databases: self.places.found(), policy, timeouts, host_url },
        });
        let task = self.work.as_ref().map(|work| work.task);
        let now = match (self.is_stopping, self.places.are_away(), task) {
            (true, ..) => "stopping: waiting for what is in hand".to_owned(),
            (false, true, _) => "waiting for the database".to_owned(),
            (false, false, Some(Task::Sweep | Task::Reaction)) => "sweeping".to_owned(),
            (false, false, Some(Task::Check)) => "looking at the database".to_owned(),
            (false, false, None | Some(Task::Deliver)) => match next_sweep_at {
                Some(next) => format!("next sweep at {}", format_utc(next)),
                None => "no further sweep is due".to_owned(),
            },
        };
        let last = self.last.as_ref().map(|last| format!("; last: {last}")).unwrap_or_default();
        let refused = self.refused.as_ref().map(|why| format!("; reload refused, the old settings hold: {why}"));
        self.service_manager.report_status(format!("{now}{last}{}", refused.unwrap_or_default()));
    }

    async fn plan(&mut self) -> Result<()> {
        let options = &self.resolved.options;
        self.timer.plan(&options.schedule, options.jitter).await
    }

    /// Looks whether these databases can be swept: at the start, and while they are away.
    fn check(&mut self, is_meant: impl Fn(&Place) -> bool) {
        let options = &self.resolved.options;
        let probe = |place: &Place| Probe {
            database: place.found.url.clone(),
            source: options.source(&place.found.url).filter(|_| !self.is_proven),
            is_away: place.outage.lasts(),
        };
        let probes: Vec<Probe> = self.places.0.iter().filter(|place| is_meant(place)).map(probe).collect();
        if !probes.is_empty() {
            self.work = Some(BackgroundWork::check(probes, options.cycle.sweep.timeouts));
        }
    }

    /// Looks at the database that has waited longest: the others get their turn before the next one that is silent.
    fn retry(&mut self) {
        let next = self.places.retry_at();
        self.check(|place| next.is_some() && place.outage.retry_at() == next);
    }

    /// Sweeps all that the settings say: for each time of the schedule until now.
    async fn sweep_all(&mut self) -> Result<()> {
        let before = self.places.find(&self.resolved.options);
        self.places.log_changes(&before);
        self.plan().await?;
        let cycle = self.resolved.options.cycle.clone();
        self.work = Some(BackgroundWork::sweep(cycle, self.places.found(), self.places.urls(Outage::lasts)));
        Ok(())
    }

    /// Sweeps the databases that could not be swept when the others were.
    async fn sweep_some(&mut self, databases: &[Url]) -> Result<()> {
        let mut meant = self.places.found();
        let all = meant.len();
        if databases.len() == all {
            return self.sweep_all().await;
        }
        meant.retain(|found| databases.contains(&found.url));
        let cycle = self.resolved.options.cycle.partial(all - meant.len());
        self.work = Some(BackgroundWork::sweep(cycle, meant, Vec::new()));
        Ok(())
    }

    async fn done(&mut self, done: Done) -> Result<()> {
        self.work = None;
        self.note_hung(None);
        match done {
            Done::Checked(looked) => self.checked(looked).await?,
            Done::Swept(swept) => self.swept(&swept),
            Done::Reacted(database, swept) => match (*swept, self.places.at(&database)) {
                (Ok(swept), Some(place)) => place.reacted(&swept),
                (Err(error), Some(place)) => place.failed(&error),
                (_, None) => {}
            },
            Done::Delivered(delivered) => {
                // If the database is away, the next sweep says so.
                for error in delivered.iter().filter_map(|delivered| delivered.as_ref().err()) {
                    debug!("{}", redact(&format!("{error:#}")));
                }
            }
            // The next one may do better; that there was one is counted, and on stderr.
            Done::Panicked(Task::Sweep | Task::Reaction) => {
                self.counted.failed += 1;
                self.last = Some("failed".to_owned());
                error!("the sweep ended by a panic, which is a bug of sweep's; the next one is not affected");
            }
            Done::Panicked(Task::Deliver) => error!("delivering ended by a panic, which is a bug of sweep's"),
            Done::Panicked(Task::Check) => {
                for place in self.places.0.iter_mut().filter(|place| place.is_new() || place.outage.lasts()) {
                    place.outage.note_silence();
                }
                error!("the look at the database ended by a panic, which is a bug of sweep's; it is repeated");
            }
        }
        if self.work.is_none() && !self.is_stopping {
            self.check(|place| place.is_new() && !place.outage.lasts());
        }
        Ok(())
    }

    /// What is in order again is swept at once, and at the start if that is wanted. A daemon that each database refuses
    /// at the start has nothing to wait for, and ends.
    async fn checked(&mut self, looked: Vec<(Url, Result<Duration>)>) -> Result<()> {
        let is_first = !self.is_proven;
        let (mut due, mut refused) = (Vec::new(), Vec::new());
        for (database, grace) in looked {
            let Some(place) = self.places.at(&database) else { continue };
            match grace.map(|grace| place.in_order(grace)) {
                Ok(was_away) => {
                    self.is_proven = true;
                    if was_away || is_first && self.resolved.options.at_start {
                        due.push(database);
                    }
                }
                Err(error) if is_first && conclusion_of(&error) != Conclusion::Unavailable => {
                    refused.push((database, error));
                }
                Err(error) => place.failed(&error),
            }
        }
        if refused.len() == self.places.0.len() {
            return Err(self.places.refusal(refused));
        }
        refused.iter().for_each(|(database, error)| self.failed(database, error));
        self.places.listen(&self.resolved.options)?;
        if !self.is_stopping && !due.is_empty() {
            self.sweep_some(&due).await?;
        }
        Ok(())
    }

    fn swept(&mut self, swept: &[(Url, Result<Summary>)]) {
        let away = self.places.urls(Outage::lasts);
        for (database, swept) in swept {
            let is_interrupted = conclusion_of_sweep(swept).is_interruption();
            match swept {
                Ok(summary) => {
                    self.is_proven = true;
                    self.places.at(database).into_iter().for_each(|place| place.swept(summary));
                    let counter =
                        if is_interrupted { &mut self.counted.interrupted } else { &mut self.counted.completed };
                    *counter += 1;
                }
                // The sweep was not begun.
                Err(_) if is_interrupted || away.contains(database) => {}
                Err(error) => {
                    self.failed(database, error);
                    self.counted.failed += 1;
                }
            }
        }
        let done: Vec<&Summary> = swept.iter().filter_map(|(_, swept)| swept.as_ref().ok()).collect();
        self.last = Some(last_of(&done, swept.len()));
    }

    fn failed(&mut self, database: &Url, error: &Error) {
        self.places.at(database).into_iter().for_each(|place| place.failed(error));
    }

    fn receive(&mut self, database: &Url, news: News) {
        let Some(place) = self.places.at(database) else { return };
        let heard = place.receive(news);
        self.counted.run_ends += heard as u64;
        if let Some(work) = self.work.as_ref().filter(|work| 0 < heard && work.task == Task::Deliver) {
            // A destination that does not answer takes its time.
            work.cancel.set();
        }
    }

    /// Looks at the issues and steps that are due of one database.
    fn react(&mut self) {
        let (options, now) = (&self.resolved.options, Instant::now());
        let is_due = |place: &&mut Place| place.react_at().is_some_and(|at| at <= now);
        if let Some(place) = self.places.0.iter_mut().find(is_due) {
            let found = place.found.clone();
            self.work = place.reaction(options).map(|sweep| BackgroundWork::react(sweep, found));
        }
    }

    /// Begins no new sweep; the one in hand finishes what it has in hand. A look at a database is not waited for.
    fn stop(&mut self) {
        info!("asked to end{}", if self.work.is_some() { ": waiting for what is in hand" } else { "" });
        self.is_stopping = true;
        self.service_manager.stopping();
        self.work = self.work.take().filter(|work| work.task != Task::Check);
        self.work.iter().for_each(|work| work.cancel.set());
    }

    /// Reads the settings again. Wrong ones are no reason to end: the old ones stay.
    async fn reload(&mut self) -> Result<()> {
        if self.is_stopping {
            return Ok(());
        }
        self.service_manager.reloading();
        match (self.again)() {
            Err(error) => {
                let why = redact(&format!("{error:#}"));
                error!("the settings stay as they were: {why}");
                self.refused = Some(why);
                self.service_manager.ready();
                Ok(())
            }
            Ok(resolved) => self.take_over(resolved).await,
        }
    }

    /// Goes by these settings from now on.
    async fn take_over(&mut self, resolved: Resolved) -> Result<()> {
        self.refused = None;
        self.resolved.log_changes(&resolved);
        self.resolved = resolved;
        self.ticks = self.service_manager.ticks(self.resolved.options.hung_after());
        let is_moved = self.places.find(&self.resolved.options) != self.places.found();
        match self.work.as_ref().map(|work| work.task) {
            // What it looks at is swept no more.
            Some(Task::Check) if is_moved => self.check(|_| true),
            None => self.check(|place| place.is_new() || place.outage.lasts()),
            Some(_) => {}
        }
        self.plan().await?;
        self.begin_to_wait()
    }

    async fn tick(&mut self) -> Result<()> {
        let limit = self.resolved.options.hung_after();
        let silent_for = self.work.as_mut().map(BackgroundWork::silent_for);
        let hung_for = silent_for.filter(|silent| limit < *silent);
        self.note_hung(hung_for);
        // decisions.md#the-watchdog
        if hung_for.is_none() {
            self.service_manager.feed();
        }
        if self.work.is_none() && IDLE <= self.idled_at.elapsed() {
            self.idled_at = Instant::now();
            self.idle().await?;
        }
        Ok(())
    }

    fn note_hung(&mut self, hung_for: Option<Duration>) {
        match (self.counted.hung_for, hung_for) {
            (None, Some(time)) => {
                let time = HumanDuration(chrono::TimeDelta::from_std(time).unwrap_or_default());
                error!("the sweep in hand has made no progress for {time}");
            }
            (Some(_), None) => info!("the sweep that made no progress goes on, or has ended"),
            (None, None) | (Some(_), Some(_)) => {}
        }
        self.counted.hung_for = hung_for;
    }

    /// Between two sweeps delivers what waits. A clock that was set back would have it wait for what was planned by the
    /// wrong time.
    async fn idle(&mut self) -> Result<()> {
        if self.timer.is_planned_too_late(&self.resolved.options.schedule) {
            warn!("the clock was set back: the next sweep is planned anew");
            self.plan().await?;
        }
        let (cycle, databases) = (&self.resolved.options.cycle, self.places.urls(|outage| !outage.lasts()));
        if !databases.is_empty() && !cycle.notify.destinations().is_empty() {
            self.work = Some(BackgroundWork::deliver(cycle, databases, self.timer.planned));
        }
        Ok(())
    }
}

async fn ended(work: &mut Option<BackgroundWork>) -> Done {
    match work {
        Some(work) => work.ended().await,
        None => std::future::pending().await,
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
