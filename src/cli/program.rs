//! The flags of the commands that are about the program itself.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::LayoutFlag;

#[derive(Debug, Args)]
pub struct ConfigFlags {
    #[command(flatten)]
    pub layout: LayoutFlag,
}

#[derive(Debug, Args)]
pub struct CompletionsFlags {
    /// bash, elvish, fish, powershell, zsh
    #[arg(value_name = "SHELL", value_enum, hide_possible_values = true)]
    pub shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManFlags {
    /// Write a page for each command into this directory [default: print the main page]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
}
