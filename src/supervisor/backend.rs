//! Where a watched process runs, and what can be done to it there.

use std::time::Instant;

use rustix::process::Signal;

use super::terminal::Terminal;
use super::tmux::WatchedPane;
use crate::rules::Id;

pub enum Backend {
    /// A pseudo-terminal of the watcher's own, which ends with it.
    Terminal(Terminal),
    /// A tmux pane of the operator's, which outlives the watcher.
    Pane(WatchedPane),
}

impl Backend {
    /// Starts typing the message of a command, without control keys; false if there is no room for it.
    pub fn type_message(&self, message: String, command_id: &Id) -> bool {
        match self {
            Backend::Terminal(terminal) => terminal.keyboard.type_message(message, command_id.clone()),
            Backend::Pane(pane) => pane.type_message(message, command_id.clone()),
        }
    }

    /// Starts the command again where it ran before; false if that failed.
    pub fn relaunch(&mut self) -> bool {
        match self {
            Backend::Terminal(terminal) => terminal.relaunch().is_ok(),
            Backend::Pane(pane) => pane.relaunch(),
        }
    }

    /// Adopts the new size of the operator's window.
    pub fn resize(&self) {
        if let Backend::Terminal(terminal) = self {
            terminal.resize();
        }
    }

    /// Whether the agent is blocked because nobody reads its output.
    pub fn is_blocked(&self) -> bool {
        match self {
            Backend::Terminal(terminal) => terminal.output.is_blocked(),
            Backend::Pane(_) => false,
        }
    }

    /// When the operator last typed Ctrl-C or Ctrl-\; None in a pane, whose keys the watcher does not see.
    pub fn interrupted_at(&self) -> Option<Instant> {
        match self {
            Backend::Terminal(terminal) => terminal.keyboard.interrupted_at(),
            Backend::Pane(_) => None,
        }
    }

    /// Sends a signal to the process; a process in a pane is left alone.
    pub fn kill(&self, signal: Signal) {
        if let Backend::Terminal(terminal) = self {
            terminal.kill(signal);
        }
    }

    /// Marks the terminal or the pane, outside of the agent's screen, since a person is needed; None removes the mark.
    pub fn mark(&self, reason: Option<&str>) {
        match self {
            Backend::Terminal(terminal) => terminal.mark(reason),
            Backend::Pane(pane) => pane.mark(reason.is_some()),
        }
    }

    /// Prints the sequences that could not be inserted into the agent's output so far.
    pub fn flush_inserts(&self) {
        if let Backend::Terminal(terminal) = self {
            terminal.output.flush_inserts();
        }
    }
}
