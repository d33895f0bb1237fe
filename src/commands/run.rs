//! `sweep`: one sweep.

use anyhow::Result;

use crate::cli::SweepFlags;
use crate::exit::Exit;
use crate::settings::{Environment, Settings};
use crate::sweep::signals::Stop;
use crate::unattended;

pub fn run(flags: SweepFlags, environment: &Environment) -> Result<Exit> {
    let settings = Settings::resolve(flags, environment)?;
    let stop = Stop::on_signals()?;
    Ok(unattended::sweep(&settings, &stop, &mut anstream::stdout())?.exit)
}
