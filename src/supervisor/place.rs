//! Where a watched process runs, and what can be done to it there.

use std::time::Instant;

use rustix::process::Signal;

use super::terminal::Terminal;
use super::tmux::WatchedPane;
use crate::rules::Id;

pub enum Place {
    /// A terminal of the watcher's own, which ends with it.
    Terminal(Terminal),
    /// Somebody else's pane.
    Pane(WatchedPane),
}

impl Place {
    /// Types a message that brings no keys. Is it on its way?
    pub fn type_message(&self, message: String, command_id: &Id) -> bool {
        match self {
            Place::Terminal(terminal) => terminal.type_message(message, command_id.clone()),
            Place::Pane(pane) => pane.type_message(message, command_id.clone()),
        }
    }

    /// Starts the same command again, where it ran before. Did it start?
    pub fn start_again(&mut self) -> bool {
        match self {
            Place::Terminal(terminal) => terminal.start_again().is_ok(),
            Place::Pane(pane) => pane.start_again(),
        }
    }

    /// The operator's window has another size.
    pub fn resize(&self) {
        if let Place::Terminal(terminal) = self {
            terminal.resize();
        }
    }

    /// Does the agent wait for somebody who reads what it prints?
    pub fn is_held_up(&self) -> bool {
        match self {
            Place::Terminal(terminal) => terminal.is_held_up(),
            Place::Pane(_) => false,
        }
    }

    /// When the operator last typed Ctrl-C or Ctrl-\, where that can be known.
    pub fn interrupted_at(&self) -> Option<Instant> {
        match self {
            Place::Terminal(terminal) => terminal.interrupted_at(),
            Place::Pane(_) => None,
        }
    }

    /// A pane is left as it is.
    pub fn kill(&self, signal: Signal) {
        if let Place::Terminal(terminal) = self {
            terminal.kill(signal);
        }
    }

    /// Says, and not on the agent's screen, that a person is needed; none: no more.
    pub fn mark(&self, what: Option<&str>) {
        match self {
            Place::Terminal(terminal) => terminal.mark(what),
            Place::Pane(pane) => pane.mark(what.is_some()),
        }
    }

    /// Says what could not be said before.
    pub fn try_inserts(&self) {
        if let Place::Terminal(terminal) = self {
            terminal.try_inserts();
        }
    }
}
