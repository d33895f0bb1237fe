//! At a terminal: what would be done is shown, and done when the answer is yes. What is then done is what was shown:
//! each subject only if a fresh decision about it is the same.

use anyhow::{Context, Result};

use super::printed::{refuse_unwritten, sweep_and_print, with_progress};
use crate::commands::terminal::{is_confirmed, prompt};
use crate::conclusion::Conclusion;
use crate::cycle::{CycleOptions, sweep_apart};
use crate::report::{Detail, Format, Report};
use crate::sweep::plan::Plan;
use crate::sweep::{Cancel, Options, Selection};
use crate::telemetry::Loudness;

/// `report`: of what is done then.
pub fn run(options: &CycleOptions, report: Report, loudness: Loudness, cancel: &Cancel) -> Result<Conclusion> {
    let (shown, plan) = show(options, loudness, cancel)?;
    if cancel.is_set() || plan.order.is_empty() {
        return Ok(shown);
    }
    match is_wanted(&plan, cancel) {
        true => {
            let sweep = Options { selection: Selection::Plan(Box::new(plan)), ..options.sweep.clone() };
            let done = sweep_and_print(&CycleOptions { sweep, ..options.clone() }, report, cancel)?;
            Ok(both(shown, done.conclusion))
        }
        false => {
            prompt(if cancel.is_set() { "Interrupted. Nothing was written.\n" } else { "Nothing was written.\n" });
            Ok(cancel.conclusion().unwrap_or(Conclusion::SomeFailed))
        }
    }
}

/// A dry run on stderr: what it shows, whole, is the plan.
fn show(options: &CycleOptions, loudness: Loudness, cancel: &Cancel) -> Result<(Conclusion, Plan)> {
    let mut out = anstream::stderr();
    let mut report = with_progress(Report::new(Format::Table, Detail::Whole, &mut out), loudness, cancel);
    let options = Options { dry_run: true, ..options.sweep.clone() };
    let summary = sweep_apart(&options, cancel, &mut report)?;
    let plan = report.plan(&summary).context("a dry run has no plan")?;
    refuse_unwritten(report)?;
    Ok((summary.conclusion, plan))
}

/// What was left by the guard, or could not be read, is no part of a plan: that it was so is still to be printed.
fn both(shown: Conclusion, done: Conclusion) -> Conclusion {
    match (shown, done) {
        (Conclusion::Guarded | Conclusion::SomeFailed, Conclusion::Done | Conclusion::Changed) => shown,
        (_, done) => done,
    }
}

fn is_wanted(plan: &Plan, cancel: &Cancel) -> bool {
    let subjects = match plan.order.len() {
        1 => "1 subject".to_owned(),
        n => format!("{n} subjects"),
    };
    is_confirmed(&format!("Do this, for {subjects}?"), cancel)
}
