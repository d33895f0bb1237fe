//! Calls of the program `tmux`.

use std::io::Result;
use std::process::{Command, Output, Stdio};

#[derive(Clone, Debug)]
pub struct Client {
    /// The variables that no call inherits: the agent, which is the same user, could read them from the running call.
    pub withheld: Vec<String>,
}

impl Client {
    /// What tmux prints; None if it fails.
    pub fn ask(&self, arguments: &[&str]) -> Option<String> {
        let output = self.call(arguments).ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    pub fn call(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new("tmux");
        for name in &self.withheld {
            command.env_remove(name);
        }
        // The agent writes UTF-8, whatever the locale is here.
        command.arg("-u").args(arguments).stdin(Stdio::null()).output()
    }
}

/// A word as an argument: tmux takes a semicolon at its end for the end of the command.
pub fn escaped(word: &str) -> String {
    word.strip_suffix(';').map_or(word.to_owned(), |word| format!("{word}\\;"))
}

/// A word as a part of a command that is an argument itself.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
