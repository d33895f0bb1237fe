//! The flags of `sweep mcp`.

use clap::Args;

use crate::parse;
use crate::settings::flags::{DatabaseFlag, LinkFlag, PolicyFlags};

#[derive(Debug, Args)]
pub struct McpFlags {
    #[command(flatten)]
    pub database: DatabaseFlag,
    /// Offer the tools that change something as well; without it, it reads only
    #[arg(long)]
    pub allow_changes: bool,
    /// Who asks for changes, as the ledger is to name him, beside the client [default: your login]
    #[arg(long = "as", value_name = "NAME", value_parser = parse::person, allow_hyphen_values = true)]
    pub asker: Option<String>,
    #[command(flatten)]
    pub links: LinkFlag,
    #[command(flatten)]
    pub policy: PolicyFlags,
}
