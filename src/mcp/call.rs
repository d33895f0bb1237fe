//! One call of a tool.

use super::options::McpOptions;
use crate::sweep::Cancel;

/// What a tool is called with, besides its arguments.
pub struct Call<'a> {
    pub options: &'a McpOptions,
    pub cancel: &'a Cancel,
    /// What the client calls itself.
    pub client: Option<&'a str>,
}

impl Call<'_> {
    /// Who asks for a change: `ada by claude-code 2.1`.
    pub fn asker(&self) -> String {
        match self.client {
            Some(client) => format!("{} by {client}", self.options.asker),
            None => self.options.asker.clone(),
        }
    }
}
