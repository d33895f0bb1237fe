//! What those who ask are answered: /healthz, /readyz and /metrics.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::metrics::DaemonState;
use crate::page::Viewed;
use crate::rules::Policy;
use crate::store::Timeouts;
use crate::store::connect::databases::Found;
use crate::store::hosts::links::HostUrl;

/// Of this process.
#[derive(Clone, Debug, Default)]
pub struct Health {
    pub databases: Vec<DatabaseHealth>,
    /// When the databases are asked for metrics, or for the page.
    pub timeouts: Timeouts,
    /// By which the page explains subjects.
    pub policy: Policy,
    pub host_url: Option<HostUrl>,
    pub is_stopping: bool,
    /// A sweep has made no progress for so long that it is taken to hang.
    pub hung_for: Option<Duration>,
    /// What /metrics says of this process. Whether the database answers, and a sweep hangs, stands above, and `metrics`
    /// fills it in.
    pub counted: DaemonState,
}

/// Of one database.
#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseHealth {
    pub found: Found,
    pub state: Database,
    pub is_listening: bool,
}

/// How it stood at the last sweep or look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Database {
    /// Not yet looked at.
    #[default]
    Unknown,
    Up,
    Gone,
    /// Rights, schema or settings are wrong.
    Refuses,
}

#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Health>>);

impl Shared {
    pub fn read(&self) -> Health {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn update(&self, change: impl FnOnce(&mut Health)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Health {
    /// What the page is about.
    pub fn viewed(self) -> Viewed {
        let Health { databases, policy, timeouts, host_url, .. } = self;
        Viewed { databases: databases.into_iter().map(|database| database.found).collect(), policy, timeouts, host_url }
    }

    /// Why it is not well.
    pub fn illness(&self) -> Option<String> {
        let hung_for = self.hung_for?.as_secs();
        Some(format!("a sweep has made no progress for {}", humantime::format_duration(Duration::from_secs(hung_for))))
    }

    /// Why its sweeps do not do what they should. No words of others: they may hold secrets.
    pub fn unreadiness(&self) -> Option<String> {
        if self.is_stopping {
            return Some("stopping".to_owned());
        }
        if self.databases.is_empty() {
            return Some("the database has not answered yet".to_owned());
        }
        let whys: Vec<String> = self.databases.iter().filter_map(DatabaseHealth::unreadiness).collect();
        if whys.is_empty() { self.illness() } else { Some(whys.join("\n")) }
    }
}

impl DatabaseHealth {
    fn unreadiness(&self) -> Option<String> {
        let why = match self.state {
            Database::Up => return None,
            Database::Unknown => "has not answered yet",
            Database::Gone => "is unavailable",
            Database::Refuses => "cannot be swept; the log says why",
        };
        let name = self.found.short_name.iter().map(|name| format!(" {name}")).collect::<String>();
        Some(format!("the database{name} {why}"))
    }
}
