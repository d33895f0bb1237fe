//! The flags of the commands that are about named subjects.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Args, Command, Error, Subcommand};

use crate::parse::{self, EXEMPTS, KIND, Until};
use crate::store::work::exemptions::Exempts;

/// The name of a subject. Its kind may be left out: then the first word is its name.
#[derive(Debug, Args)]
pub struct SubjectName {
    /// session, issue, step; or at once what follows, if no two kinds have it
    #[arg(value_name = "KIND", value_parser = KindOrName, hide_possible_values = true)]
    pub kind: Option<String>,
    /// Its id, or what people call it: ACM-12, 'Release 2.4 #2'
    #[arg(value_name = "ID", value_parser = parse::non_empty)]
    pub name: Option<String>,
}

/// Completes as a kind, and takes any name.
#[derive(Clone)]
struct KindOrName;

impl TypedValueParser for KindOrName {
    type Value = String;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        parse::non_empty.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        KIND.possible_values()
    }
}

/// What is exempt.
#[derive(Debug, Args)]
pub struct ExemptName {
    /// session, issue, step; or agent, tenant: all that it has
    #[arg(value_name = "KIND", value_parser = EXEMPTS, hide_possible_values = true)]
    pub of: Exempts,
    /// Its id, or what people call it: ACM-12, 'Release 2.4 #2', Ada
    #[arg(value_name = "ID", value_parser = parse::non_empty)]
    pub name: String,
}

#[derive(Debug, Subcommand)]
pub enum ExemptCommand {
    /// Exempt a subject, an agent or a tenant; again: replace the reason and the end
    Add(ExemptFlags),
    /// List all exemptions, expired ones too
    List,
    /// End an exemption
    Remove(ExemptName),
}

#[derive(Debug, Args)]
pub struct ExemptFlags {
    #[command(flatten)]
    pub what: ExemptName,
    /// Why it is in progress on purpose
    #[arg(long, value_name = "TEXT", value_parser = parse::reason, allow_hyphen_values = true)]
    pub reason: String,
    /// When the exemption ends: 2d, 12h, 2026-12-24, 2026-12-24T18:00:00Z (UTC unless it says otherwise)
    /// [default: when it is removed]
    #[arg(long, value_name = "WHEN", value_parser = parse::until, allow_hyphen_values = true)]
    pub until: Option<Until>,
}

#[derive(Debug, Subcommand)]
pub enum QuarantineCommand {
    /// List what is in quarantine
    List,
    /// Have the next sweep examine it again
    Release(ReleaseFlags),
}

#[derive(Debug, Args)]
pub struct ReleaseFlags {
    #[command(flatten)]
    pub subject: SubjectName,
    /// Release everything
    #[arg(long, conflicts_with = "kind")]
    pub all: bool,
}
