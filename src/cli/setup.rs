//! The flags of `sweep init`: what a person may say beforehand of a setup.

use std::path::PathBuf;

use clap::Args;

use crate::parse::{Choice, HOST, NOTIFIED, SWITCH};
use crate::store::work::outbox::Destination;

#[derive(Debug, Args)]
pub struct InitFlags {
    /// The host whose database it is, as `sweep host list` calls it [default: as detected]
    #[arg(long, value_parser = HOST, hide_possible_values = true)]
    pub host: Option<&'static str>,
    /// It is the database of the host in this directory, which docs/hosts.md describes
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "host")]
    pub host_dir: Option<PathBuf>,
    /// Decide and report only, at first: on, off [default: on, or as the settings have it that are there]
    #[arg(long, value_name = "SWITCH", value_parser = SWITCH, hide_possible_values = true)]
    pub shadow: Option<bool>,
    /// Notify people here: slack, teams, email, pagerduty, webhook, none [default: where SWEEP_…_URL say]
    #[arg(long, value_name = "WHO", value_parser = NOTIFIED, hide_possible_values = true)]
    pub notify: Option<Notified>,
    /// What runs sweeps: systemd, cronjob (Kubernetes), helm, none [default: systemd where it can be, else none]
    #[arg(long, value_name = "WHAT", value_parser = RUN_BY, hide_possible_values = true)]
    pub run_by: Option<RunBy>,
    /// Where the files go: for systemd the root directory, else a folder of their own [default: /, or ./sweep]
    #[arg(long, value_name = "DIRECTORY")]
    pub to: Option<PathBuf>,
    /// Take each default and do what is shown, without asking
    #[arg(short, long)]
    pub yes: bool,
}

/// What runs sweeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum RunBy {
    /// A timer of systemd's.
    Systemd,
    /// A CronJob of Kubernetes.
    Cronjob,
    /// The chart, with these values.
    Helm,
    /// Something else, or nobody.
    None,
}

/// The destination at which people are notified; none: nobody is.
pub type Notified = Option<Destination>;

const RUN_BY: Choice<RunBy> = Choice::all();

impl RunBy {
    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn read(word: &str) -> Result<RunBy, String> {
        RUN_BY.parse(word)
    }
}
