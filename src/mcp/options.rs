//! What the server goes by: plain data.

use chrono::TimeDelta;

use crate::sweep::Options;

/// What the server goes by.
#[derive(Clone, Debug)]
pub struct McpOptions {
    /// The database, the rules and the links; and what a dry run goes by.
    pub sweep: Options,
    /// When a step is stalled, as a plan's status has it; None: as the latest sweep had it.
    pub step_stalled_after: Option<TimeDelta>,
    /// Are the tools there that change something?
    pub allows_changes: bool,
    /// Who asks for what is changed.
    pub asker: String,
}
