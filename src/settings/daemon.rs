//! What a daemon goes by, from its flags and the environment.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::Result;
use chrono::TimeDelta;
use chrono_tz::Tz;

use super::{Environment, Settings, pick};
use crate::cli::{DaemonFlags, SweepFlags};
use crate::conclusion::config;
use crate::daemon::DaemonOptions;
use crate::parse::{self, Http};
use crate::rules::Kind;
use crate::schedule::{CronPattern, Schedule};
use crate::store::open::Url;
use crate::sweep::KindMode;

const DEFAULT_SCHEDULE: &str = "*/5 * * * *";
const DEFAULT_HTTP: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9464);

impl DaemonOptions {
    pub fn resolve(flags: DaemonFlags, environment: &Environment) -> Result<DaemonOptions> {
        let variables = environment.variables()?;
        let sweep = SweepFlags { scope: flags.scope, ..SweepFlags::default() };
        let Settings { cycle, output: _ } = Settings::resolve(sweep, environment)?;
        let sweep = &cycle.sweep;
        macro_rules! setting {
            ($name:ident, $parse:path) => {
                pick(flags.$name, stringify!($name), &variables.$name, $parse)?
            };
        }
        let pattern = match setting!(schedule, CronPattern::parse) {
            Some(pattern) => pattern,
            None => CronPattern::parse(DEFAULT_SCHEDULE).map_err(anyhow::Error::msg)?,
        };
        let listen = setting!(listen, parse::switch).unwrap_or(false);
        if listen && matches!(sweep.database, Url::Sqlite(_)) {
            return Err(config("--listen: only PostgreSQL can tell of runs that end, this database is SQLite").into());
        }
        let sweeps_issues = sweep.selection.kinds().contains(&Kind::Issue) && sweep.mode(Kind::Issue) != KindMode::Off;
        let duration = |value: Option<TimeDelta>| value.and_then(|value| value.to_std().ok());
        Ok(DaemonOptions {
            cycle,
            schedule: Schedule { pattern, zone: setting!(timezone, parse::timezone).unwrap_or(Tz::UTC) },
            jitter: setting!(jitter, parse::duration).unwrap_or_default(),
            at_start: setting!(at_start, parse::switch).unwrap_or(false),
            http: setting!(http, parse::http).unwrap_or(Http::On(DEFAULT_HTTP)).address(),
            listen: listen && sweeps_issues,
            listen_grace: duration(setting!(listen_grace, parse::duration)),
            hung_after: duration(setting!(hung_after, parse::at_least_a_second)).unwrap_or(Duration::from_secs(300)),
        })
    }
}
