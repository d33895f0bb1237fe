//! `sweep`: one sweep, of one database or of several.
//!
//! At a terminal, what would be done is shown, and done when the answer is yes. What is then done is what was shown:
//! each subject only if a fresh decision about it is the same.

use anyhow::{Context, Result};

use super::terminal::{is_confirmed, is_interactive, prompt};
use crate::conclusion::{Conclusion, some_failed, usage};
use crate::cycle::{self, CycleOptions, conclusion_of_sweep, logged, sweep_apart};
use crate::report::several::Reports;
use crate::report::{Detail, Format, Report};
use crate::rules::display::counted;
use crate::settings::{Environment, Settings, SweepFlags};
use crate::sweep::plan::Plan;
use crate::sweep::{Cancel, Options, Selection, Summary};
use crate::telemetry::Loudness;

pub fn run(flags: SweepFlags, format: Format, loudness: Loudness, environment: &Environment) -> Result<Conclusion> {
    let asks = !flags.yes && !flags.dry_run && is_interactive();
    let Settings { databases, cycle } = Settings::resolve(flags, environment)?;
    let detail = if loudness == Loudness::Quiet { Detail::Summary } else { Detail::Table };
    let mut out = anstream::stdout();
    let report = Report::new(format, detail, &mut out);
    let is_one = databases.only().is_some();
    if asks && !is_one {
        return Err(usage("sweep asks about one database: for several, add --yes, or --dry-run to look").into());
    }
    let cancel = Cancel::on_signals()?;
    let report = with_progress(report, loudness, &cancel);
    if !is_one {
        let databases = databases.find();
        let reports = Reports::of(report, databases.len());
        let swept = cycle::run_each(&cycle, &databases, &cancel, &reports);
        refuse_unwritten(reports.written())?;
        let swept = databases.iter().zip(swept).map(|(database, swept)| logged(database, swept));
        return Ok(Conclusion::gravest(swept.map(|swept| conclusion_of_sweep(&swept))));
    }
    // A person who applies a plan has seen it.
    let is_shown = matches!(cycle.sweep.selection, Selection::Plan(_));
    if !asks || is_shown {
        return Ok(sweep_and_print(&cycle, report, &cancel)?.conclusion);
    }
    let (shown, plan) = show(&cycle, loudness, &cancel)?;
    if cancel.is_set() || plan.order.is_empty() {
        return Ok(shown);
    }
    let subjects = counted(plan.order.len() as i64, "subject", "subjects");
    if is_confirmed(&format!("Do this, for {subjects}?"), &cancel) {
        let sweep = Options { selection: Selection::Plan(Box::new(plan)), ..cycle.sweep.clone() };
        let done = sweep_and_print(&CycleOptions { sweep, ..cycle }, report, &cancel)?;
        return Ok(both(shown, done.conclusion));
    }
    prompt(if cancel.is_set() { "Interrupted. Nothing was written.\n" } else { "Nothing was written.\n" });
    Ok(cancel.conclusion().unwrap_or(Conclusion::SomeFailed))
}

/// Adds the line that moves, unless it is not wanted, or there is a log that moves by itself.
fn with_progress<'a>(report: Report<'a>, loudness: Loudness, cancel: &Cancel) -> Report<'a> {
    if loudness == Loudness::Usual { report.with_progress(cancel) } else { report }
}

/// Sweeps, and fails if the report could not be printed, or not all kinds could be swept.
fn sweep_and_print(options: &CycleOptions, mut report: Report, cancel: &Cancel) -> Result<Summary> {
    let summary = cycle::run(options, cancel, &mut report)?;
    refuse_unwritten(report.written())?;
    summary.failure().map_or(Ok(summary), |failure| Err(failure.into()))
}

fn refuse_unwritten(written: std::io::Result<()>) -> Result<()> {
    Ok(written.map_err(|error| some_failed(format!("the report could not be written: {error}")))?)
}

/// A dry run on stderr: what it shows, whole, is the plan.
fn show(options: &CycleOptions, loudness: Loudness, cancel: &Cancel) -> Result<(Conclusion, Plan)> {
    let mut out = anstream::stderr();
    let mut report = with_progress(Report::new(Format::Table, Detail::Whole, &mut out), loudness, cancel);
    let summary = sweep_apart(&Options { dry_run: true, ..options.sweep.clone() }, cancel, &mut report)?;
    let plan = report.plan(&summary).context("a dry run has no plan")?;
    refuse_unwritten(report.written())?;
    Ok((summary.conclusion, plan))
}

/// What was left by the guard, or could not be read, is no part of a plan: that it was so is still to be printed.
fn both(shown: Conclusion, done: Conclusion) -> Conclusion {
    match (shown, done) {
        (Conclusion::Guarded | Conclusion::SomeFailed, Conclusion::Done | Conclusion::Changed) => shown,
        (_, done) => done,
    }
}
