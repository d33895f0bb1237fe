//! Sweeps on a schedule, until it is asked to end.
//!
//! A sweep is due at each time of the schedule. Of each database the daemon has one thing in hand at a time: what
//! becomes due meanwhile is made up once, as soon as that is done, however often it was. While a database is away
//! nothing of it is due: it is asked now and then, and swept when it is back. Several databases are swept at the same
//! time, and none waits for another one that is away or silent.
//!
//! ```text
//!            due ─┐
//!  signals, ticks ├→ one loop, one thread → for each database a sweep, on a thread of its own → cycle → sweep
//!    asked again ─┘        └ state ← /healthz, /readyz, /metrics; the service manager
//! ```

mod http;
mod options;
mod place;
mod round;
mod run_ends;
mod service_manager;
mod timer;
mod work;

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::sync::watch;
use tokio::time::{Instant, Interval};
use tracing::{debug, error, info, warn};

use crate::conclusion::{Conclusion, conclusion_of, unavailable};
use crate::cycle::{conclusion_of_sweep, of_database};
use crate::metrics::DaemonState;
use crate::page::Viewed;
use crate::rules::display::{HumanDuration, format_utc};
use crate::store::connect::databases::Found;
use crate::store::connect::open::Url;
use crate::sweep::{Options, Summary};
use crate::text::redact;
use http::Health;
pub use options::{DaemonOptions, Resolved};
pub use place::REACTED_TO;
use place::{Place, Places};
use round::SweepRound;
use run_ends::News;
use service_manager::{Demand, ServiceManager, Signals};
use timer::{Timer, log_missed, log_schedule};
use work::{BackgroundWork, Done, Task, Works, last_of};

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
    works: Works,
    places: Places,
    round: SweepRound,
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
    Done(Box<(BackgroundWork, Done)>),
    /// The schedule's next time has come.
    Due,
    /// News of runs that end in this database.
    News(Url, News),
    /// A database that is away is to be asked again, or what a run has ended of is to be looked at.
    Wake,
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
        let at_start = options.at_start;
        let mut daemon = Daemon {
            resolved,
            again,
            signals,
            timer: Timer::start().await?,
            works: Works::default(),
            places,
            round: SweepRound::Over,
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
        if at_start {
            daemon.set_due(0);
        }
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
            self.begin_what_waits();
            self.publish();
            match self.next().await {
                DaemonEvent::Demand(Demand::Stop) => self.stop(),
                DaemonEvent::Demand(Demand::Reload) => self.reload().await?,
                DaemonEvent::Done(done) => self.done(done.0, done.1)?,
                DaemonEvent::Due => self.due().await?,
                DaemonEvent::News(database, news) => self.receive(&database, news),
                DaemonEvent::Wake => {}
                DaemonEvent::Tick => self.tick().await?,
            }
            self.end_round();
            if self.is_stopping && self.works.0.is_empty() {
                info!("ended");
                return Ok(Conclusion::Done);
            }
        }
    }

    /// Waits for what comes next. Each of the futures may be dropped and asked for again.
    async fn next(&mut self) -> DaemonEvent {
        let wake_at = self.places.wake_at(|database| self.works.is_at(database));
        tokio::select! {
            biased;
            demand = self.signals.next() => DaemonEvent::Demand(demand),
            done = self.works.ended() => DaemonEvent::Done(Box::new(done)),
            () = self.timer.due(), if !self.is_stopping => DaemonEvent::Due,
            (database, news) = self.places.next_news() => DaemonEvent::News(database, news),
            () = until(wake_at), if !self.is_stopping && self.works.has_room() => DaemonEvent::Wake,
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
        let now = match next_sweep_at {
            _ if self.is_stopping => "stopping: waiting for what is in hand".to_owned(),
            _ if self.places.are_away() => "waiting for the database".to_owned(),
            _ if self.works.has(|task| matches!(task, Task::Sweep | Task::Reaction)) => "sweeping".to_owned(),
            _ if self.works.has(|task| task == Task::Check) => "looking at the database".to_owned(),
            Some(next) => format!("next sweep at {}", format_utc(next)),
            None => "no further sweep is due".to_owned(),
        };
        let last = self.last.as_ref().map(|last| format!("; last: {last}")).unwrap_or_default();
        let refused = self.refused.as_ref().map(|why| format!("; reload refused, the old settings hold: {why}"));
        self.service_manager.report_status(format!("{now}{last}{}", refused.unwrap_or_default()));
    }

    async fn plan(&mut self) -> Result<()> {
        let options = &self.resolved.options;
        self.timer.plan(&options.schedule, options.jitter).await
    }

    /// A sweep of all databases is due, and so many more were: those that are away are left out, and one that is swept
    /// now makes up for it.
    async fn due(&mut self) -> Result<()> {
        let missed = self.timer.missed(&self.resolved.options.schedule);
        let before = self.places.find(&self.resolved.options);
        self.places.log_changes(&before);
        self.plan().await?;
        if !self.places.are_away() {
            self.set_due(missed);
        }
        Ok(())
    }

    fn set_due(&mut self, missed: usize) {
        self.round.set_due(&mut self.places, &self.works);
        self.places.0.iter_mut().filter(|place| !place.outage.lasts()).for_each(|place| place.set_due(missed));
    }

    /// Begins what is to be done about databases of which nothing is in hand; what waits longest comes first.
    fn begin_what_waits(&mut self) {
        let Daemon { works, places, resolved, .. } = self;
        while !self.is_stopping {
            let (now, has_room) = (Instant::now(), works.has_room());
            let idle = places.0.iter_mut().filter(|place| !works.is_at(&place.found.url));
            let waiting = idle.filter_map(|place| Some((place.next_task(now)?, place)));
            let waiting = waiting.filter(|((_, task), _)| has_room || *task == Task::Deliver);
            let Some(((_, task), place)) = waiting.min_by_key(|((since, _), _)| *since) else { return };
            let (options, found) = (&resolved.options, place.found.clone());
            let cycle = &options.cycle;
            let work = match task {
                Task::Check => {
                    let source = options.source(&found.url).filter(|_| !self.is_proven);
                    Some(BackgroundWork::check(found, source, cycle.sweep.timeouts))
                }
                Task::Sweep => {
                    if self.round == SweepRound::Due {
                        self.round = SweepRound::Begun;
                        works.0.push(BackgroundWork::announce(cycle.clone(), None));
                    }
                    of_database(&found).in_scope(|| log_missed(place.take_due()));
                    Some(BackgroundWork::sweep(task, cycle.sweep_of(&found.url), found))
                }
                Task::Reaction => place.reaction(options).map(|sweep| BackgroundWork::sweep(task, sweep, found)),
                Task::Deliver | Task::Announce => {
                    place.is_to_deliver = false;
                    Some(BackgroundWork::deliver(cycle, found, self.timer.planned))
                }
            };
            works.0.extend(work);
        }
    }

    /// Says how a round has ended.
    fn end_round(&mut self) {
        let Some(swept) = self.round.end(&mut self.places, &self.works, self.is_stopping) else { return };
        let done: Vec<&Summary> = swept.iter().filter_map(|swept| swept.as_ref().ok()).collect();
        self.last = Some(last_of(&done, swept.len()));
        let ended = Some((self.places.found(), swept));
        let work = BackgroundWork::announce(self.resolved.options.cycle.clone(), ended);
        if self.is_stopping {
            work.cancel.set();
        }
        self.works.0.push(work);
    }

    fn done(&mut self, work: BackgroundWork, done: Done) -> Result<()> {
        let (task, Some(found)) = (work.task, work.found) else { return Ok(()) };
        match done {
            Done::Checked(grace) => self.checked(&found.url, grace)?,
            Done::Swept(swept) if task == Task::Sweep => self.swept(&found.url, *swept),
            Done::Swept(swept) => match (*swept, self.places.at(&found.url)) {
                (Ok(swept), Some(place)) => place.reacted(&swept),
                (Err(error), Some(place)) => place.failed(&error),
                (_, None) => {}
            },
            // If the database is away, the next sweep says so.
            Done::Delivered(Err(error)) => debug!("{}", redact(&format!("{error:#}"))),
            Done::Delivered(Ok(_)) | Done::Announced => {}
            Done::Panicked => self.panicked(task, &found),
        }
        Ok(())
    }

    fn panicked(&mut self, task: Task, found: &Found) {
        let bug = "ended by a panic, which is a bug of sweep's";
        match task {
            // The next one may do better; that there was one is counted, and on stderr.
            Task::Sweep | Task::Reaction => {
                self.counted.failed += 1;
                self.last = Some("failed".to_owned());
                let panicked = || Err(unavailable("ended by a panic").into());
                self.places.at(&found.url).into_iter().for_each(|place| place.swept = Some(panicked()));
                of_database(found).in_scope(|| error!("the sweep {bug}; the next one is not affected"));
            }
            Task::Check => {
                if let Some(place) = self.places.at(&found.url) {
                    place.outage.note_silence();
                }
                of_database(found).in_scope(|| error!("the look at the database {bug}; it is repeated"));
            }
            Task::Deliver | Task::Announce => error!("delivering {bug}"),
        }
    }

    /// What is in order again is swept at once. A daemon that each database refuses at the start has nothing to wait
    /// for, and ends.
    fn checked(&mut self, database: &Url, grace: Result<Duration>) -> Result<()> {
        let (is_only, is_first) = (self.places.0.len() == 1, !self.is_proven);
        let Some(place) = self.places.at(database) else { return Ok(()) };
        match grace {
            Ok(grace) => {
                let was_away = place.in_order(grace);
                self.is_proven = true;
                match was_away {
                    true if is_only => self.set_due(0),
                    true => place.set_due(0),
                    false => {}
                }
            }
            Err(error) if is_first && conclusion_of(&error) != Conclusion::Unavailable => place.refuses(error),
            Err(error) => place.failed(&error),
        }
        self.places.listen(&self.resolved.options)?;
        self.places.refusal().map_or(Ok(()), Err)
    }

    fn swept(&mut self, database: &Url, swept: Result<Summary>) {
        let is_interrupted = conclusion_of_sweep(&swept).is_interruption();
        match &swept {
            Ok(_) if is_interrupted => self.counted.interrupted += 1,
            Ok(_) => self.counted.completed += 1,
            Err(_) if is_interrupted => {}
            Err(_) => self.counted.failed += 1,
        }
        self.is_proven |= swept.is_ok();
        let Some(place) = self.places.at(database) else { return };
        match &swept {
            Ok(summary) => {
                place.swept(summary);
                place.is_to_deliver = summary.has_pending_notifications;
            }
            Err(_) if is_interrupted => {}
            Err(error) => place.failed(error),
        }
        place.swept = Some(swept);
    }

    fn receive(&mut self, database: &Url, news: News) {
        let Some(place) = self.places.at(database) else { return };
        let heard = place.receive(news);
        self.counted.run_ends += heard as u64;
        if let Some(work) = self.works.of(database).filter(|work| 0 < heard && work.task == Task::Deliver) {
            // A destination that does not answer takes its time.
            work.cancel.set();
        }
    }

    /// Begins no new sweep; those in hand finish what they have in hand. A look at a database is not waited for.
    fn stop(&mut self) {
        info!("asked to end{}", if self.works.0.is_empty() { "" } else { ": waiting for what is in hand" });
        self.is_stopping = true;
        self.service_manager.stopping();
        self.works.0.retain(|work| work.task != Task::Check);
        self.works.0.iter().for_each(|work| work.cancel.set());
        for place in &mut self.places.0 {
            place.take_due();
        }
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
        self.places.find(&self.resolved.options);
        self.places.0.iter_mut().for_each(|place| place.outage.retry());
        self.plan().await?;
        self.begin_to_wait()
    }

    async fn tick(&mut self) -> Result<()> {
        let limit = self.resolved.options.hung_after();
        let hung = self.works.most_silent().filter(|(silent, _)| limit < *silent);
        self.note_hung(hung.as_ref());
        // decisions.md#the-watchdog
        if hung.is_none() || 1 < self.places.0.len() {
            self.service_manager.feed();
        }
        if !self.is_stopping && IDLE <= self.idled_at.elapsed() {
            self.idled_at = Instant::now();
            self.idle().await?;
        }
        Ok(())
    }

    fn note_hung(&mut self, hung: Option<&(Duration, Found)>) {
        match (self.counted.hung_for, hung) {
            (None, Some((time, found))) => {
                let time = HumanDuration(chrono::TimeDelta::from_std(*time).unwrap_or_default());
                of_database(found).in_scope(|| error!("the sweep in hand has made no progress for {time}"));
            }
            (Some(_), None) => info!("the sweep that made no progress goes on, or has ended"),
            (None, None) | (Some(_), Some(_)) => {}
        }
        self.counted.hung_for = hung.map(|(time, _)| *time);
    }

    /// Delivers what waits, now and then. A clock that was set back would have it wait for what was planned by the
    /// wrong time.
    async fn idle(&mut self) -> Result<()> {
        if self.timer.is_planned_too_late(&self.resolved.options.schedule) {
            warn!("the clock was set back: the next sweep is planned anew");
            self.plan().await?;
        }
        if !self.resolved.options.cycle.notify.destinations().is_empty() {
            self.places.0.iter_mut().for_each(|place| place.is_to_deliver = true);
        }
        Ok(())
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
