//! `sweep`: one sweep.

mod question;

use std::io::{IsTerminal, stderr, stdin};

use anyhow::Result;

use crate::cli::SweepFlags;
use crate::exit::Exit;
use crate::report::table::Detail;
use crate::settings::{Environment, Selection, Settings};
use crate::sweep::signals::Stop;
use crate::telemetry::Loudness;
use crate::unattended;

pub fn run(flags: SweepFlags, loudness: Loudness, environment: &Environment) -> Result<Exit> {
    let asks = !flags.yes && !flags.dry_run && is_somebody_there();
    let detail = if loudness == Loudness::Quiet { Detail::Summary } else { Detail::Table };
    let settings = Settings {
        detail,
        // What is logged more of moves by itself.
        shows_progress: loudness == Loudness::Usual,
        ..Settings::resolve(flags, environment)?
    };
    let stop = Stop::on_signals()?;
    // Whoever applies a plan has seen it.
    let is_shown = matches!(settings.selection, Selection::Plan(_));
    if asks && !is_shown {
        return question::run(&settings, &stop);
    }
    Ok(unattended::sweep(&settings, &stop, &mut anstream::stdout())?.exit)
}

/// Somebody who reads the question on stderr and can answer it. Where the report on stdout goes is no matter.
fn is_somebody_there() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}
