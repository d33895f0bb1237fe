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
    /// Who asks for changes, as the database keeps it [default: who is logged in]
    #[arg(long = "as", value_name = "NAME", value_parser = parse::non_empty)]
    pub asker: Option<String>,
    #[command(flatten)]
    pub links: LinkFlag,
    #[command(flatten)]
    pub policy: PolicyFlags,
}
