//! `sweep`: one sweep.

mod question;

use std::io::{IsTerminal, stderr, stdin};

use anyhow::Result;

use crate::conclusion::{Conclusion, some_failed};
use crate::cycle::{self, CycleOptions};
use crate::report::{Detail, Report};
use crate::settings::flags::SweepFlags;
use crate::settings::{Environment, Settings};
use crate::sweep::{Cancel, Selection, Summary};
use crate::telemetry::Loudness;

pub fn run(flags: SweepFlags, loudness: Loudness, environment: &Environment) -> Result<Conclusion> {
    let asks = !flags.yes && !flags.dry_run && is_somebody_there();
    let Settings { cycle, output } = Settings::resolve(flags, environment)?;
    let detail = if loudness == Loudness::Quiet { Detail::Summary } else { Detail::Table };
    let mut out = anstream::stdout();
    let report = Report::new(output, detail, &mut out);
    let report = with_progress(report, loudness);
    let cancel = Cancel::on_signals()?;
    // Whoever applies a plan has seen it.
    let is_shown = matches!(cycle.sweep.selection, Selection::Plan(_));
    if asks && !is_shown {
        return question::run(&cycle, report, loudness, &cancel);
    }
    Ok(printed(&cycle, report, &cancel)?.conclusion)
}

/// With the line that moves, unless it is not wanted, or there is a log that moves by itself.
fn with_progress(report: Report, loudness: Loudness) -> Report {
    if loudness == Loudness::Usual { report.with_progress() } else { report }
}

/// Sweeps, and fails if the report could not be printed.
fn printed(options: &CycleOptions, mut report: Report, cancel: &Cancel) -> Result<Summary> {
    let summary = cycle::run(options, cancel, &mut report)?;
    refuse_unwritten(report)?;
    Ok(summary)
}

fn refuse_unwritten(report: Report) -> Result<()> {
    Ok(report.written().map_err(|error| some_failed(format!("the report could not be written: {error}")))?)
}

/// Somebody who reads the question on stderr and can answer it. Where the report on stdout goes is no matter.
fn is_somebody_there() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}
