//! Sweeps on a schedule, until it is asked to end.
//!
//! A sweep is due at each time of the schedule. It has one thing in hand at a time: what becomes due meanwhile is made
//! up once, as soon as that is done, however often it was. While the database is away nothing is due: it is asked now
//! and then, and swept when it is back. Several databases are swept one after the other; one that is away keeps none of
//! the others waiting.
//!
//! ```text
//!            due ─┐
//!  signals, ticks ├→ one loop, one thread → one sweep, on a thread of its own → cycle → sweep
//!    asked again ─┘        └ state ← /healthz, /readyz, /metrics; the service manager
//! ```

mod clock;
mod databases;
mod display;
mod handlers;
mod health;
mod http;
mod listening;
mod metrics;
mod options;
mod outage;
mod place;
mod reaction;
mod run_ends;
mod service_manager;
mod signals;
mod timer;
mod work;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};
use tracing::info;

use crate::conclusion::Conclusion;
use crate::store::connect::open::Url;
use health::Shared;
use listening::News;
pub use options::DaemonOptions;
use place::Place;
use service_manager::ServiceManager;
use signals::{Asked, Signals};
use timer::Timer;
use work::{BackgroundWork, Done};

/// Options, and what they were made of: the names and values of what is set, which may be secrets.
pub struct Resolved {
    pub options: DaemonOptions,
    pub variables: BTreeMap<String, String>,
}

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
    /// The next time of the schedule, without the jitter.
    planned: Option<DateTime<Utc>>,
    work: Option<BackgroundWork>,
    /// What is swept: never nothing.
    places: Vec<Place>,
    /// A database could be swept once: what is wrong later is waited for.
    is_proven: bool,
    is_stopping: bool,
    /// What the last sweep came to.
    last: Option<String>,
    /// Why the settings could not be read again: the old ones still hold.
    refused: Option<String>,
    shared: Shared,
    service_manager: ServiceManager,
    ticks: Interval,
    idled_at: Instant,
}

enum Event {
    Asked(Asked),
    Done(Box<Done>),
    /// The schedule's next time has come.
    Due,
    /// News of runs that end in this database.
    News(Url, News),
    /// An issue of which a run has ended is to be looked at.
    React,
    /// A database that is away is to be asked again.
    Retry,
    Tick,
}

/// How often it looks for what no event announces: clocks that were set, notifications that wait.
const IDLE: Duration = Duration::from_secs(10);

impl Daemon {
    async fn start(resolved: Resolved, again: Resolve) -> Result<Daemon> {
        let (signals, shared, service_manager) = (Signals::listen()?, Shared::default(), ServiceManager::new());
        let options = &resolved.options;
        if let Some(address) = options.http {
            let page = options.page.then(|| options.page_options.clone());
            page.iter().try_for_each(|page| page.refuse_open(address))?;
            let address = http::serve(address, shared.clone(), page)?;
            info!("HTTP on {address}: /healthz, /readyz, /metrics{}", if options.page { ", the page" } else { "" });
        }
        let ticks = ticks(options, &service_manager);
        let timer = Timer::start().await?;
        let places = place::places(Vec::new(), options);
        let mut daemon = Daemon {
            resolved,
            again,
            signals,
            timer,
            planned: None,
            work: None,
            places,
            is_proven: false,
            is_stopping: false,
            last: None,
            refused: None,
            shared,
            service_manager,
            ticks,
            idled_at: Instant::now(),
        };
        daemon.plan().await?;
        daemon.log_schedule();
        daemon.listen()?;
        daemon.service_manager.ready();
        daemon.check(|_| true);
        Ok(daemon)
    }

    async fn run(mut self) -> Result<Conclusion> {
        loop {
            self.report_status();
            self.report_health();
            match self.next().await {
                Event::Asked(Asked::Stop) => self.stop(),
                Event::Asked(Asked::Reload) => self.reload().await?,
                Event::Done(done) => self.done(*done).await?,
                Event::Due => self.due().await?,
                Event::News(database, news) => self.receive(&database, news),
                Event::React => self.react(),
                Event::Retry => self.retry(),
                Event::Tick => self.tick().await?,
            }
            if self.is_stopping && self.work.is_none() {
                info!("ended");
                return Ok(Conclusion::Done);
            }
        }
    }

    /// Each of these may be dropped and asked again.
    async fn next(&mut self) -> Event {
        let is_idle = self.work.is_none() && !self.is_stopping;
        let options = &self.resolved.options;
        let react_at = self.places.iter().filter_map(|place| place.react_at(options)).min();
        let retry_at = self.places.iter().filter_map(|place| place.outage.retry_at()).min();
        let is_away = self.is_away();
        // In no order: each of them may be due again whenever the other one has ended.
        let due_or_retry = async {
            tokio::select! {
                () = self.timer.due(), if !is_away => Event::Due,
                () = until(retry_at) => Event::Retry,
            }
        };
        tokio::select! {
            biased;
            asked = self.signals.next() => Event::Asked(asked),
            done = ended(&mut self.work) => Event::Done(Box::new(done)),
            event = due_or_retry, if is_idle => event,
            (database, news) = next_news(&mut self.places) => Event::News(database, news),
            () = until(react_at), if is_idle => Event::React,
            _ = self.ticks.tick() => Event::Tick,
        }
    }

    /// Is there nothing that could be swept?
    fn is_away(&self) -> bool {
        self.places.iter().all(|place| place.outage.lasts())
    }
}

async fn ended(work: &mut Option<BackgroundWork>) -> Done {
    match work {
        Some(work) => work.ended().await,
        None => std::future::pending().await,
    }
}

async fn next_news(places: &mut [Place]) -> (Url, News) {
    poll_fn(|context| {
        for place in places.iter_mut() {
            if let Some(Poll::Ready(news)) = place.listening.as_mut().map(|listening| listening.poll(context)) {
                return Poll::Ready((place.database().clone(), news));
            }
        }
        Poll::Pending
    })
    .await
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Often enough to notice a sweep that hangs, and to feed the watchdog in time.
fn ticks(options: &DaemonOptions, service_manager: &ServiceManager) -> Interval {
    let bounds = [Some(Duration::from_secs(1)), Some(options.hung_after / 4), service_manager.every];
    let period = bounds.into_iter().flatten().min().unwrap_or_default().max(Duration::from_millis(20));
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    ticks
}
