//! `sweep man`: the manual pages, one for each command.

use anyhow::Result;
use clap::CommandFactory;
use clap_mangen::Man;

use super::say;
use crate::cli::{Cli, ManFlags};
use crate::exit::{Exit, some_failed};

pub fn run(flags: &ManFlags) -> Result<Exit> {
    match &flags.directory {
        None => {
            let mut page = Vec::new();
            let command = Cli::command().disable_help_subcommand(true);
            Man::new(command).render(&mut page).map_err(|error| some_failed(error.to_string()))?;
            say(&String::from_utf8_lossy(&page));
        }
        Some(directory) => {
            let written =
                std::fs::create_dir_all(directory).and_then(|()| clap_mangen::generate_to(Cli::command(), directory));
            written.map_err(|error| some_failed(format!("{}: {error}", directory.display())))?;
        }
    }
    Ok(Exit::Done)
}
