//! Calls of the program tmux.

use std::io::Result;
use std::process::{Command, Output, Stdio};

#[derive(Clone, Debug)]
pub struct Client {
    /// The variables that no call inherits: while it runs, the agent could read them, which is the same user.
    pub withheld: Vec<String>,
}

impl Client {
    /// What tmux answers; None if it refuses.
    pub fn ask(&self, arguments: &[&str]) -> Option<String> {
        let output = self.call(arguments).ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    pub fn call(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new("tmux");
        for name in &self.withheld {
            command.env_remove(name);
        }
        // Whatever the locale is here, the agent writes UTF-8.
        command.arg("-u").args(arguments).stdin(Stdio::null()).output()
    }
}
