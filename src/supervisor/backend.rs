//! Where a watched process runs: what is reported of it to the event loop of its watch, and what the loop can do there.

use std::time::Instant;

use anyhow::Result;
use rustix::process::Signal;

use crate::rules::Id;
use crate::store::work::supervision::ClaimedCommand;

/// What the threads of a watch report to its event loop.
pub enum WatchEvent {
    /// The process has ended.
    Ended(ProcessEnd),
    /// The watcher has received this signal, from the operator or their terminal.
    Signal(i32),
    /// A command was claimed and must be carried out.
    Command(ClaimedCommand),
    /// The message of this command was not delivered; the reason is a phrase that follows “the session”.
    Undelivered(Id, String),
    /// People were notified that the session needs one of them, for this reason.
    Stuck(String),
    /// The session is still stuck, as these few words say.
    StillStuck(String),
    /// A session that was stuck is no longer stuck.
    Recovered,
    /// The process has ended, and the policy has it relaunched.
    AwaitsRelaunch,
    /// The row records this end, or that the operator stopped the watcher (none), and nothing follows from it.
    Settled(Option<ProcessEnd>),
    /// The session's row belongs to another watcher, or was deleted.
    TakenOver,
    /// The database cannot be used, for this reason.
    DatabaseLost(String),
    /// The database can be used again.
    DatabaseBack,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProcessEnd {
    pub at: Instant,
    /// None: it was ended by a signal, or its end was not seen.
    pub exit_code: Option<i32>,
    /// None: it ended by itself, or its end was not seen.
    pub signal: Option<i32>,
}

impl ProcessEnd {
    /// The exit code; after a signal that plus 128, as in a shell. None: nobody saw the end.
    pub fn code(&self) -> Option<i32> {
        self.exit_code.or(self.signal.map(|signal| 128 + signal))
    }
}

/// A pseudo-terminal of the watcher's own, or a tmux pane of the operator's. A pane's process and size are left alone,
/// its keys are not seen, and nobody keeps its output from being read.
pub trait Backend {
    /// True if the process outlives its watcher.
    fn outlives_watcher(&self) -> bool;
    /// Starts typing the message of a command, without control keys; false if there is no room for it.
    fn type_message(&self, message: String, command_id: Id) -> bool;
    /// Starts the command again where it ran before.
    fn relaunch(&mut self) -> Result<()>;
    /// Marks the terminal, outside of the agent's screen, since a person is needed for this reason.
    fn mark(&self, _reason: &str) {}
    /// Shows a few words on what is wrong, at each look while it lasts, where there is room for no more.
    fn mark_in_brief(&self, _words: &str) {}
    /// Takes the mark back.
    fn unmark(&self);
    /// Adopts the new size of the operator's window.
    fn resize(&self) {}
    /// True if the agent is blocked because nobody reads its output.
    fn is_blocked(&self) -> bool {
        false
    }
    /// When the operator last typed Ctrl-C or Ctrl-\.
    fn interrupted_at(&self) -> Option<Instant> {
        None
    }
    /// Sends a signal to the process and its children.
    fn kill(&self, _signal: Signal) {}
    /// Prints the sequences that could not be inserted into the agent's output so far.
    fn flush_inserts(&self) {}
}
