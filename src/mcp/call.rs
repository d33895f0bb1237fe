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
