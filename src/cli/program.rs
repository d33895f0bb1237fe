//! The flags of the commands that are about the program itself.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::Shell;

use super::subjects::LayoutFlag;

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

#[derive(Debug, Args)]
pub struct DemoFlags {
    /// Make the database here, in a new file: sqlite://PATH [default: a temporary one]
    #[arg(short, long, value_name = "URL")]
    pub database: Vec<String>,
    /// Keep the database afterwards, as one that --database names always is
    #[arg(long)]
    pub keep: bool,
    /// Keep it as it is at the start, when nothing has been swept, or at the end: start, end [default: end]
    #[arg(long, value_name = "WHEN", value_enum, hide_possible_values = true)]
    pub at: Option<DemoAt>,
}

/// At which moment the demo's database is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DemoAt {
    Start,
    End,
}
