//! What the threads of a watch report to its event loop.

use super::record::End;
use crate::rules::Id;
use crate::store::work::supervision::ClaimedCommand;

pub enum WatchEvent {
    /// The process has ended.
    Ended(End),
    /// The watcher has received this signal, from the operator or their terminal.
    Signal(i32),
    /// A command was claimed and must be carried out.
    Command(ClaimedCommand),
    /// The message of this command was not delivered; the reason is a phrase that follows “the session”.
    Undelivered(Id, String),
    /// People were notified that the session needs one of them, for this reason.
    Stuck(String),
    /// A session that was stuck is no longer stuck.
    Recovered,
    /// The process has ended, and the policy has it relaunched.
    AwaitsRelaunch,
    /// The row records this end, or that the operator stopped the watcher (none), and nothing follows from it.
    Settled(Option<End>),
    /// The session's row belongs to another watcher, or was deleted.
    TakenOver,
    /// The database cannot be used, for this reason.
    DatabaseLost(String),
    /// The database can be used again.
    DatabaseBack,
}
