//! `sweep`: one sweep.

mod printed;
mod question;

use anyhow::Result;

use super::terminal::is_interactive;
use crate::conclusion::Conclusion;
use crate::report::{Detail, Report};
use crate::settings::flags::SweepFlags;
use crate::settings::{Environment, Settings};
use crate::sweep::{Cancel, Selection};
use crate::telemetry::Loudness;
use printed::{sweep_and_print, with_progress};

pub fn run(flags: SweepFlags, loudness: Loudness, environment: &Environment) -> Result<Conclusion> {
    let asks = !flags.yes && !flags.dry_run && is_interactive();
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
    Ok(sweep_and_print(&cycle, report, &cancel)?.conclusion)
}
