//! `sweep`: one sweep, of one database or of several.

mod printed;
mod question;

use anyhow::Result;

use super::terminal::is_interactive;
use crate::conclusion::{Conclusion, usage};
use crate::report::{Detail, Format, Report};
use crate::settings::resolve::SweepFlags;
use crate::settings::{Environment, Settings};
use crate::sweep::{Cancel, Selection};
use crate::telemetry::Loudness;
use printed::{sweep_and_print, sweep_each_and_print, with_progress};

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
        return sweep_each_and_print(&cycle, &databases.find(), report.of_several(), &cancel);
    }
    // A person who applies a plan has seen it.
    let is_shown = matches!(cycle.sweep.selection, Selection::Plan(_));
    if asks && !is_shown {
        return question::run(&cycle, report, loudness, &cancel);
    }
    Ok(sweep_and_print(&cycle, report, &cancel)?.conclusion)
}
