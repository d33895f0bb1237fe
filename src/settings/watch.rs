//! What a watcher takes from its environment.

use std::io::{IsTerminal, stdout};
use std::path::PathBuf;

use anyhow::Result;
use chrono::TimeDelta;
use chrono_tz::Tz;

use super::environment::Environment;
use super::flags::IntervalFlag;
use crate::screen::event::VARIABLE;
use crate::supervisor::keeper::KeeperOptions;

impl Environment {
    /// How often a watcher looks, and the tenant of a session that it begins.
    pub fn watch(&self, interval: IntervalFlag, tenant: Option<String>) -> Result<(TimeDelta, Option<String>)> {
        let variables = self.variables()?;
        let IntervalFlag { watch_interval } = interval.or(&variables)?;
        let tenant = if tenant.is_some() { tenant } else { variables.tenant()? };
        Ok((watch_interval.unwrap_or(KeeperOptions::INTERVAL), tenant))
    }

    /// The zone of this machine, for times that name none.
    pub fn zone(&self) -> Tz {
        let name = self.get("TZ").map(|name| name.trim_start_matches(':').to_owned());
        let name = name.or_else(|| iana_time_zone::get_timezone().ok());
        name.and_then(|name| name.parse().ok()).unwrap_or(Tz::UTC)
    }

    /// Does the operator's terminal know titles and notifications? The console of Linux prints some of them.
    pub fn shows_sequences(&self) -> bool {
        stdout().is_terminal() && !matches!(self.get("TERM"), None | Some("dumb" | "linux"))
    }

    /// Where the watcher listens that started this process, if one did.
    pub fn watcher(&self) -> Option<PathBuf> {
        self.get(VARIABLE).map(PathBuf::from)
    }
}
