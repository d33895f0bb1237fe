//! What a daemon goes by: plain data, and what it was made of.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use chrono::TimeDelta;
use tracing::{info, warn};

use crate::cycle::CycleOptions;
use crate::page::PageOptions;
use crate::schedule::Schedule;
use crate::store::connect::databases::{Databases, Named};
use crate::store::connect::listen::{ListenMode, Source};
use crate::store::connect::open::Url;

/// The options of a daemon that sweeps on a schedule.
#[derive(Clone, Debug)]
pub struct DaemonOptions {
    /// The databases that are swept: patterns are matched anew each time.
    pub databases: Databases,
    /// How each of them is swept; the database in it is the first.
    pub cycle: CycleOptions,
    pub schedule: Schedule,
    /// A sweep begins later than scheduled by a random time below this.
    pub jitter: TimeDelta,
    pub at_start: bool,
    /// Where HTTP is served, if it is.
    pub http: Option<SocketAddr>,
    /// Is the page served there?
    pub page: bool,
    pub page_options: PageOptions,
    /// Listen for runs that end; off, when neither issues nor steps are swept.
    pub listen: ListenMode,
    /// Where to listen; none: where it sweeps.
    pub listen_url: Option<Url>,
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
            listen: ListenMode::default(),
            listen_url: None,
        }
    }

    /// What to listen to at this database, if anything.
    pub fn source(&self, database: &Url) -> Option<Source> {
        let connection = self.listen_url.clone().filter(|_| matches!(database, Url::Postgres(..)));
        let source = Source { database: database.clone(), connection, listening: self.listen };
        (self.listen != ListenMode::Off).then_some(source)
    }

    /// The time without progress after which a sweep is taken to hang. One statement is one step, so that a statement
    /// which takes as long as it may is none: ten of them are.
    pub fn hung_after(&self) -> Duration {
        10 * self.cycle.sweep.timeouts.statement.to_std().unwrap_or_default()
    }
}

/// Options, and the variables that they were made of, by name. Their values may be secrets.
pub struct Resolved {
    pub options: DaemonOptions,
    pub variables: BTreeMap<String, String>,
}

/// The settings that are read once, at the start.
const AT_START_ONLY: [&str; 8] = [
    "SWEEP_HTTP", "SWEEP_PAGE", "SWEEP_PAGE_HOST", "SWEEP_PAGE_PROXY", "SWEEP_PAGE_TOKEN", "SWEEP_PAGE_TOKEN_FILE",
    "SWEEP_LOG", "SWEEP_LOG_FORMAT",
];

impl Resolved {
    /// Logs which settings have another value in the new ones. Names alone: values may be secrets.
    pub fn log_changes(&self, new: &Resolved) {
        let changed = self.names_that_differ(new);
        let names = changed.join(", ");
        let what = if changed.is_empty() { "nothing changed".to_owned() } else { format!("changed: {names}") };
        info!("the settings were read again: {what}");
        let is_changed = |name: &&str| changed.iter().any(|changed| changed == name);
        let at_start_only: Vec<&str> = AT_START_ONLY.into_iter().filter(is_changed).collect();
        if !at_start_only.is_empty() {
            warn!("{} will change when the daemon is started again", at_start_only.join(", "));
        }
    }

    /// The database's value may come from a file that has another content now.
    fn names_that_differ(&self, new: &Resolved) -> Vec<String> {
        let (old_values, new_values) = (&self.variables, &new.variables);
        let names: BTreeSet<&String> = old_values.keys().chain(new_values.keys()).collect();
        let differing = names.into_iter().filter(|name| old_values.get(*name) != new_values.get(*name));
        let mut names: Vec<String> = differing.cloned().collect();
        let is_database = |name: &String| name.starts_with("DATABASE_URL") || name.starts_with("PG");
        if self.options.databases != new.options.databases && !names.iter().any(is_database) {
            names.push("the database".to_owned());
        }
        names
    }
}
