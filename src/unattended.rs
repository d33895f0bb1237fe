//! A sweep and what goes with it when nobody watches: notifications, metrics, pings.

use std::io::Write;

use anyhow::Result;

use crate::metrics;
use crate::settings::Settings;
use crate::sweep::signals::Stop;
use crate::sweep::{self, Swept};

/// Sweeps once, by hand or by the schedule; what follows the sweep never makes it fail.
pub fn sweep(settings: &Settings, stop: &Stop, out: &mut (dyn Write + Send)) -> Result<Swept> {
    let swept = sweep::run(settings, stop, out);
    if let Some(path) = settings.metrics_file.as_ref().filter(|_| !settings.dry_run) {
        metrics::publish(path, &settings.database, &settings.timeouts);
    }
    swept
}
