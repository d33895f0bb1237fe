//! What a daemon goes by.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::Result;
use chrono::TimeDelta;
use chrono_tz::Tz;

use super::{Environment, Settings, pick};
use crate::cli::{DaemonFlags, Format, Http, SweepFlags};
use crate::exit::config;
use crate::parse;
use crate::report::heading::KindMode;
use crate::rules::Kind;
use crate::schedule::{Pattern, Schedule};
use crate::store::open::Url;

#[derive(Clone, Debug)]
pub struct DaemonSettings {
    /// Of each of its sweeps.
    pub sweep: Settings,
    pub schedule: Schedule,
    /// A sweep begins later than scheduled by a random time below this.
    pub jitter: TimeDelta,
    pub at_start: bool,
    pub http: Http,
    /// Hear of runs that end; never, when issues are not swept.
    pub listen: bool,
    /// How long after the end of a run its issue is swept; none: as long as its host needs to say what follows.
    pub listen_grace: Option<Duration>,
    /// Without progress for longer, a sweep hangs.
    pub hung_after: Duration,
}

const DEFAULT_SCHEDULE: &str = "*/5 * * * *";
const DEFAULT_HTTP: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9464);

impl DaemonSettings {
    pub fn resolve(flags: DaemonFlags, environment: &Environment) -> Result<DaemonSettings> {
        let variables = environment.variables()?;
        let sweep = Settings::resolve(SweepFlags { scope: flags.scope, ..SweepFlags::default() }, environment)?;
        macro_rules! setting {
            ($name:ident, $parse:path) => {
                pick(flags.$name, stringify!($name), &variables.$name, $parse)?
            };
        }
        let pattern = match setting!(schedule, Pattern::parse) {
            Some(pattern) => pattern,
            None => Pattern::parse(DEFAULT_SCHEDULE).map_err(anyhow::Error::msg)?,
        };
        let listen = setting!(listen, parse::switch).unwrap_or(false);
        if listen && matches!(sweep.database, Url::Sqlite(_)) {
            return Err(config("--listen: only PostgreSQL can tell of runs that end, this database is SQLite").into());
        }
        let sweeps_issues = sweep.selection.kinds().contains(&Kind::Issue) && sweep.mode(Kind::Issue) != KindMode::Off;
        let duration = |value: Option<TimeDelta>| value.and_then(|value| value.to_std().ok());
        Ok(DaemonSettings {
            // Nobody reads its reports; this format keeps none of their rows.
            sweep: Settings { output: Format::Ndjson, ..sweep },
            schedule: Schedule { pattern, zone: setting!(timezone, parse::timezone).unwrap_or(Tz::UTC) },
            jitter: setting!(jitter, parse::duration).unwrap_or_default(),
            at_start: setting!(at_start, parse::switch).unwrap_or(false),
            http: setting!(http, parse::http).unwrap_or(Http::On(DEFAULT_HTTP)),
            listen: listen && sweeps_issues,
            listen_grace: duration(setting!(listen_grace, parse::duration)),
            hung_after: duration(setting!(hung_after, parse::at_least_a_second)).unwrap_or(Duration::from_secs(300)),
        })
    }
}
