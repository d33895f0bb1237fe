//! A sweep whose report is printed.

use anyhow::Result;

use crate::conclusion::some_failed;
use crate::cycle::{self, CycleOptions};
use crate::report::Report;
use crate::sweep::{Cancel, Summary};
use crate::telemetry::Loudness;

/// With the line that moves, unless it is not wanted, or there is a log that moves by itself.
pub fn with_progress(report: Report, loudness: Loudness) -> Report {
    if loudness == Loudness::Usual { report.with_progress() } else { report }
}

/// Sweeps, and fails if the report could not be printed.
pub fn sweep_and_print(options: &CycleOptions, mut report: Report, cancel: &Cancel) -> Result<Summary> {
    let summary = cycle::run(options, cancel, &mut report)?;
    refuse_unwritten(report)?;
    Ok(summary)
}

pub fn refuse_unwritten(report: Report) -> Result<()> {
    Ok(report.written().map_err(|error| some_failed(format!("the report could not be written: {error}")))?)
}
