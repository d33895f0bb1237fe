//! `sweep host`: the control planes that sweep knows.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::subjects::LayoutFlag;
use crate::parse::{CHECK, HOST};
use crate::settings::flags::DatabaseFlag;
use crate::verify::Promise;

#[derive(Debug, Subcommand)]
pub enum HostCommand {
    /// List the hosts that are built in
    List(HostListFlags),
    /// Show what one of them is recognised by, reads and runs
    Show(HostShowFlags),
    /// Write the beginning of a folder that connects this database
    New(HostNewFlags),
    /// Try every promise on copies of a host's database, and print a certificate
    Verify(HostVerifyFlags),
}

/// Which host.
#[derive(Debug, Args)]
pub struct HostFlags {
    /// One that is built in: see `sweep host list`
    #[arg(value_name = "HOST", value_parser = HOST, hide_possible_values = true, required_unless_present = "host_dir",
          conflicts_with = "host_dir")]
    pub host: Option<&'static str>,
    /// The host in this directory
    #[arg(long, value_name = "DIRECTORY")]
    pub host_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct HostNewFlags {
    /// Where to write it: a directory that is not there, or is empty
    #[arg(value_name = "DIRECTORY")]
    pub directory: PathBuf,
    #[command(flatten)]
    pub database: DatabaseFlag,
    #[command(flatten)]
    pub layout: LayoutFlag,
}

#[derive(Debug, Args)]
pub struct HostVerifyFlags {
    #[command(flatten)]
    pub of: HostFlags,
    #[command(flatten)]
    pub database: DatabaseFlag,
    /// How much finished work the views are measured beside
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub rows: u32,
    /// Only this check, which is no certificate (repeatable): continuation, recovery, escalation, patience, candidates,
    /// rivals, locks, kills, footprint, cost, coverage, removal; the installation is always played, since the others
    /// need it
    #[arg(long = "check", value_name = "NAME", value_parser = CHECK, hide_possible_values = true)]
    pub checks: Vec<Promise>,
    #[command(flatten)]
    pub layout: LayoutFlag,
}

#[derive(Debug, Args)]
pub struct HostListFlags {
    #[command(flatten)]
    pub layout: LayoutFlag,
}

#[derive(Debug, Args)]
pub struct HostShowFlags {
    #[command(flatten)]
    pub of: HostFlags,
    /// Print the text of its files instead
    #[arg(long, conflicts_with = "output")]
    pub files: bool,
    #[command(flatten)]
    pub layout: LayoutFlag,
}
