//! A sweep whose report is printed.

use anyhow::Result;

use crate::conclusion::{Conclusion, some_failed};
use crate::cycle::{self, CycleOptions, conclusion_of_sweep, logged};
use crate::report::Report;
use crate::store::connect::databases::Found;
use crate::sweep::{Cancel, Summary};
use crate::telemetry::Loudness;

/// With the line that moves, unless it is not wanted, or there is a log that moves by itself.
pub fn with_progress<'a>(report: Report<'a>, loudness: Loudness, cancel: &Cancel) -> Report<'a> {
    if loudness == Loudness::Usual { report.with_progress(cancel) } else { report }
}

/// Sweeps, and fails if the report could not be printed, or not all kinds could be swept.
pub fn sweep_and_print(options: &CycleOptions, mut report: Report, cancel: &Cancel) -> Result<Summary> {
    let summary = cycle::run(options, cancel, &mut report)?;
    refuse_unwritten(report)?;
    summary.failure().map_or(Ok(summary), |failure| Err(failure.into()))
}

/// Sweeps several databases.
pub fn sweep_each_and_print(
    options: &CycleOptions,
    databases: &[Found],
    mut report: Report,
    cancel: &Cancel,
) -> Result<Conclusion> {
    let swept = cycle::run_each(options, databases, &[], cancel, &mut report);
    refuse_unwritten(report)?;
    let swept = databases.iter().zip(swept).map(|(database, swept)| logged(database, swept));
    Ok(Conclusion::gravest(swept.map(|swept| conclusion_of_sweep(&swept))))
}

pub fn refuse_unwritten(report: Report) -> Result<()> {
    Ok(report.written().map_err(|error| some_failed(format!("the report could not be written: {error}")))?)
}
