//! `sweep`: one sweep.

use anyhow::Result;

use crate::cli::SweepFlags;
use crate::exit::Exit;
use crate::settings::{Environment, Settings};
use crate::sweep;
use crate::sweep::signals::Stop;

pub fn run(flags: SweepFlags, environment: &Environment) -> Result<Exit> {
    let settings = Settings::resolve(flags, environment)?;
    let stop = Stop::on_signals()?;
    sweep::run(&settings, &stop, &mut anstream::stdout())
}
