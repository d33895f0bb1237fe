//! What a daemon goes by: plain data.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::Result;
use chrono::TimeDelta;

use crate::conclusion::config;
use crate::cycle::CycleOptions;
use crate::page::PageOptions;
use crate::schedule::Schedule;
use crate::store::connect::databases::{Databases, Named};
use crate::store::connect::listen::Source;
use crate::store::connect::open::Url;

/// Sweeps on a schedule.
#[derive(Clone, Debug)]
pub struct DaemonOptions {
    /// What is swept: patterns are matched anew each time.
    pub databases: Databases,
    /// How, with the first of them.
    pub cycle: CycleOptions,
    pub schedule: Schedule,
    /// A sweep begins later than scheduled by a random time below this.
    pub jitter: TimeDelta,
    pub at_start: bool,
    /// Where HTTP is served, if it is.
    pub http: Option<SocketAddr>,
    /// Serve the page there, and to whom.
    pub page: bool,
    pub page_options: PageOptions,
    /// Listen for runs that end; never, when issues are not swept.
    pub listen: bool,
    /// Where to listen; none: where it sweeps.
    pub listen_url: Option<Url>,
    /// How long after the end of a run its issue is swept; none: as long as its host needs to say what follows.
    pub listen_grace: Option<Duration>,
    /// Without progress for longer, a sweep hangs.
    pub hung_after: Duration,
}

impl DaemonOptions {
    /// The defaults, for a cycle.
    pub fn of(cycle: CycleOptions) -> DaemonOptions {
        let database = cycle.sweep.database.clone();
        DaemonOptions {
            databases: Databases { named: vec![Named::Database(database)], is_typed: false },
            cycle,
            schedule: Schedule::default(),
            jitter: TimeDelta::zero(),
            at_start: false,
            http: Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9464)),
            page: false,
            page_options: PageOptions::default(),
            listen: false,
            listen_url: None,
            listen_grace: None,
            hung_after: Duration::from_secs(300),
        }
    }

    /// What to listen to at this database, if anything: SQLite notifies of nothing.
    pub fn source(&self, database: &Url) -> Option<Source> {
        let (database, connection) = (database.clone(), self.listen_url.clone());
        (self.listen && matches!(database, Url::Postgres(..))).then_some(Source { database, connection })
    }

    /// Sooner after the end of a run than its host needs, a wake of ours would run beside what the host is about to
    /// queue.
    pub fn refuse_too_soon(&self, hosts: Duration) -> Result<()> {
        match self.listen_grace.filter(|ours| self.listen && *ours < hosts) {
            None => Ok(()),
            Some(ours) => Err(config(format!(
                "SWEEP_LISTEN_GRACE is {ours:?}: at least {hosts:?} is expected, since for so long after the end of a \
                 run this host queues what follows"
            ))
            .into()),
        }
    }
}
