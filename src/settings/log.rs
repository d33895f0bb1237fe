//! What is logged, how, and where to.

use anyhow::Result;

use super::environment::{Environment, malformed};

impl Environment {
    /// The log filter, if it is set, and whether logs are JSON.
    pub fn log(&self) -> Result<(Option<String>, bool)> {
        let variables = self.variables()?;
        let json = match variables.log_format.as_deref() {
            None | Some("text") => false,
            Some("json") => true,
            Some(other) => return Err(malformed("log_format", other, "expected text or json").into()),
        };
        Ok((variables.log, json))
    }

    /// The device and the inode of systemd's journal, when that is where a service's output goes.
    pub fn journal_stream(&self) -> Option<&str> {
        self.get("JOURNAL_STREAM")
    }
}
