//! Sweeps on a schedule, until it is asked to end.
//!
//! A sweep is due at each time of the schedule. It has one thing in hand at a time: what becomes due meanwhile is made
//! up once, as soon as that is done, however often it was. While the database is away nothing is due: it is asked now
//! and then, and swept when it is back.
//!
//! ```text
//!            due ─┐
//!  signals, ticks ├→ one loop, one thread → one sweep, on a thread of its own → cycle → sweep
//!    asked again ─┘        └ state ← /healthz, /readyz, /metrics; the service manager
//! ```

mod clock;
mod display;
mod handlers;
mod health;
mod http;
mod listening;
mod metrics;
mod options;
mod outage;
mod reaction;
mod run_ends;
mod service_manager;
mod signals;
mod timer;
mod work;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};
use tracing::info;

use crate::conclusion::Conclusion;
use crate::store::candidates::Portion;
use health::Shared;
use listening::{Listening, News};
pub use options::DaemonOptions;
use outage::Outage;
use run_ends::RunEndQueue;
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
    outage: Outage,
    /// None: it was not asked for.
    listening: Option<Listening>,
    run_ends: RunEndQueue,
    /// How long its host needs after the end of a run; none: the database has not been asked yet.
    run_end_grace: Option<Duration>,
    /// What the guard held back of the issues in the last sweep; none: all of them.
    held_issues: Option<Vec<Portion>>,
    /// The database could be swept once: what is wrong later is waited for.
    is_proven: bool,
    is_stopping: bool,
    /// What went wrong the last time, so that it is said once.
    trouble: Option<String>,
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
    /// News of runs that end.
    News(News),
    /// An issue of which a run has ended is to be looked at.
    React,
    /// The database is to be asked again.
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
            let address = http::serve(address, shared.clone())?;
            info!("HTTP on {address}: /healthz, /readyz, /metrics");
        }
        let ticks = ticks(options, &service_manager);
        let timer = Timer::start().await?;
        let mut daemon = Daemon {
            resolved,
            again,
            signals,
            timer,
            planned: None,
            work: None,
            outage: Outage::none(),
            listening: None,
            run_ends: RunEndQueue::default(),
            run_end_grace: None,
            held_issues: Some(Vec::new()),
            is_proven: false,
            is_stopping: false,
            trouble: None,
            last: None,
            refused: None,
            shared,
            service_manager,
            ticks,
            idled_at: Instant::now(),
        };
        daemon.plan().await?;
        daemon.log_schedule();
        daemon.log_source();
        daemon.listen()?;
        daemon.service_manager.ready();
        daemon.check_now();
        Ok(daemon)
    }

    async fn run(mut self) -> Result<Conclusion> {
        loop {
            self.report_status();
            match self.next().await {
                Event::Asked(Asked::Stop) => self.stop(),
                Event::Asked(Asked::Reload) => self.reload().await?,
                Event::Done(done) => self.done(*done).await?,
                Event::Due => self.due().await?,
                Event::News(news) => self.receive(news),
                Event::React => self.react(),
                Event::Retry => self.check_now(),
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
        let is_away = self.outage.lasts();
        let react_at = self.reaction_grace().and_then(|grace| self.run_ends.due_at(grace));
        tokio::select! {
            biased;
            asked = self.signals.next() => Event::Asked(asked),
            done = ended(&mut self.work) => Event::Done(Box::new(done)),
            () = self.timer.due(), if is_idle && !is_away => Event::Due,
            news = next_news(&mut self.listening) => Event::News(news),
            () = until(react_at), if is_idle && !is_away => Event::React,
            () = self.outage.next_try(), if is_idle && is_away => Event::Retry,
            _ = self.ticks.tick() => Event::Tick,
        }
    }
}

async fn ended(work: &mut Option<BackgroundWork>) -> Done {
    match work {
        Some(work) => work.ended().await,
        None => std::future::pending().await,
    }
}

async fn next_news(listening: &mut Option<Listening>) -> News {
    match listening {
        Some(listening) => listening.next().await,
        None => std::future::pending().await,
    }
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
