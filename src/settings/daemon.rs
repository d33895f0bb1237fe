//! What a daemon goes by, from its flags and the environment.

use anyhow::Result;

use super::environment::Environment;
use super::flags::{DaemonFlags, SweepFlags};
use super::sweep::Settings;
use crate::conclusion::config;
use crate::daemon::DaemonOptions;
use crate::rules::Kind;
use crate::store::open::Url;
use crate::sweep::KindMode;

impl DaemonOptions {
    pub fn resolve(flags: DaemonFlags, environment: &Environment) -> Result<DaemonOptions> {
        let sweep = SweepFlags { scope: flags.scope, ..SweepFlags::default() };
        let Settings { cycle, output: _ } = Settings::resolve(sweep, environment)?;
        let mut options = DaemonOptions::of(cycle);
        flags.schedule.or(&environment.variables()?)?.apply(&mut options);
        let sweep = &options.cycle.sweep;
        if options.listen && matches!(sweep.database, Url::Sqlite(_)) {
            return Err(config("--listen: only PostgreSQL can notify of runs that end, this database is SQLite").into());
        }
        options.listen &= sweep.selection.kinds().contains(&Kind::Issue) && sweep.mode(Kind::Issue) != KindMode::Off;
        Ok(options)
    }
}
