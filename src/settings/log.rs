//! What is logged, how, and where to.

use anyhow::Result;

use super::environment::Environment;
use crate::parse::LogFormat;

impl Environment {
    /// The log filter, if it is set, and how logs are written.
    pub fn log(&self) -> Result<(Option<String>, LogFormat)> {
        let variables = self.variables()?;
        Ok((variables.log()?, variables.log_format()?.unwrap_or_default()))
    }

    /// The device and the inode of systemd's journal, when that is where a service's output goes.
    pub fn journal_stream(&self) -> Option<&str> {
        self.get("JOURNAL_STREAM")
    }
}
