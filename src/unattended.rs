//! A sweep and what goes with it when nobody watches: notifications, metrics, pings.

use std::io::Write;

use anyhow::Result;

use crate::settings::Settings;
use crate::sweep::signals::Stop;
use crate::sweep::{self, Swept};

/// Sweeps once, by hand or by the schedule; what follows the sweep never makes it fail.
pub fn sweep(settings: &Settings, stop: &Stop, out: &mut (dyn Write + Send)) -> Result<Swept> {
    sweep::run(settings, stop, out)
}

/// The same for the issues of which a run has just ended: the schedule's pings and metrics are no matter of theirs.
pub fn react(settings: &Settings, stop: &Stop) -> Result<Swept> {
    sweep::run(settings, stop, &mut std::io::sink())
}
