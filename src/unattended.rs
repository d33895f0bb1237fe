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
