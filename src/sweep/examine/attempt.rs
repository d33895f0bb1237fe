//! One look at a subject, or one transaction about it: how far it got, and what there is to report of it.

use diesel::result::Error;

use crate::rules::request::Refusal;
use crate::rules::{Id, Verdict};
use crate::store::{Abort, End, Finish};
use crate::sweep::limits::Reservation;
use crate::sweep::outcome::{Examined, Outcome};

/// The result for one subject, and whether the connection survived it.
pub struct Examination<'a> {
    pub examined: Examined,
    /// Why what a person asked for was not done.
    pub refusal: Option<Refusal>,
    /// Something was written, and the database said that it is.
    pub is_committed: bool,
    pub lost: Option<Lost<'a>>,
}

/// The connection is gone.
pub enum Lost<'a> {
    /// Before the commit: nothing was written.
    Connection,
    /// While the commit was under way: the ledger knows whether this row was written, and with it all the rest.
    Commit { entry_id: Id, intended: Outcome, wake: Option<Reservation<'a>> },
}

/// One look at a subject, and how far it got.
pub struct Attempt<'a, S> {
    /// None: it is gone, or could not be read.
    pub seen: Option<(S, Verdict)>,
    pub step: Step,
    /// The wake that it takes if it is written.
    pub wake: Option<Reservation<'a>>,
}

/// How far an attempt got.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// Looked at and decided; there is nothing to write.
    Decided,
    /// What a person asked for would be wrong now.
    Refused(Refusal),
    /// Looked at without a lock; what is decided under the lock is to be written.
    Wanted,
    /// The subject, or a row that its recovery refers to, is in other hands.
    Held,
    /// Its agent is.
    AgentHeld,
    Gone,
    /// The plan says something else: what.
    Changed(String),
    /// Its agent was woken often enough.
    Deferred,
    Written,
    /// By the database, while it was looked at or written.
    Failed(Error),
}

impl<S> Attempt<'_, S> {
    pub fn failed(error: Error) -> Self {
        Attempt { seen: None, step: Step::Failed(error), wake: None }
    }

    pub fn not_begun(abort: Abort) -> (Self, End) {
        match abort {
            Abort::RolledBack(error) | Abort::Unknown(error) => (Attempt::failed(error), End::RolledBack),
            Abort::Lost(error) => (Attempt::failed(error), End::Lost),
        }
    }

    pub fn finish(&self) -> Finish {
        if self.step == Step::Written { Finish::Commit } else { Finish::RollBack }
    }
}
