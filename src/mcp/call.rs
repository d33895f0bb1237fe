//! What a tool is called with, besides its arguments.

use chrono::TimeDelta;

use crate::sweep::{Cancel, Options};

/// The options of the server: plain data.
#[derive(Clone, Debug)]
pub struct McpOptions {
    /// The database, the rules and the links; and what a dry run goes by.
    pub sweep: Options,
    /// When a step is stalled, as a plan's status has it; None: as the latest sweep had it.
    pub step_stalled_after: Option<TimeDelta>,
    /// Are the tools there that change something?
    pub allows_changes: bool,
    /// The person for whom changes are asked for.
    pub asker: String,
}

/// One call of a tool.
pub struct Call<'a> {
    pub options: &'a McpOptions,
    pub cancel: &'a Cancel,
    /// What the client calls itself.
    pub client: Option<&'a str>,
}

impl Call<'_> {
    /// Names who asks for a change: `ada by claude-code 2.1`.
    pub fn asker(&self) -> String {
        match self.client {
            Some(client) => format!("{} by {client}", self.options.asker),
            None => self.options.asker.clone(),
        }
    }
}
