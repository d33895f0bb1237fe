//! A subject that is looked at or taken up: how far it gets, and what there is to report of it.

use diesel::result::Error;

use crate::rules::request::Refusal;
use crate::rules::{Id, Verdict};
use crate::store::db::errors;
use crate::store::hosts::rights;
use crate::store::work::candidates::Candidate;
use crate::store::{Abort, DbConnection, Ending, Finish, Subject};
use crate::sweep::context::ExamineContext;
use crate::sweep::examined::{Examined, Fault, Outcome};
use crate::sweep::limits::{Full, Reservation, WakeBudget};

/// What comes next for a candidate that was looked at.
pub enum Prospect<'a> {
    /// Another shard's, which was not looked at.
    PassedOver,
    /// There is nothing to write.
    Report(Box<Examined>),
    /// There is something to write, or the candidate could not be looked at with the others.
    TakeUp(Box<Job<'a>>),
}

/// A subject that a worker is to take up.
pub struct Job<'a> {
    pub candidate: Candidate,
    /// Jobs with the same lock group lock the same rows, and go to one worker.
    pub lock_group: Id,
    /// What was decided without a lock. None: the worker looks at the subject first.
    pub decided: Option<Examined>,
    /// The agent that its continuation wakes.
    pub agent: Option<Id>,
    /// The wake that it is to take.
    pub wake: Option<Reservation<'a>>,
    pub company: Company,
}

/// The other workers of the sweep that may be at work while a subject is taken up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Company {
    #[default]
    Anybody,
    /// Workers with work of other agents: one worker does all work of this one.
    OtherAgents,
    Nobody,
}

impl<'a> Job<'a> {
    /// A candidate of which nothing is known yet.
    pub fn unseen(candidate: Candidate) -> Job<'a> {
        let lock_group = candidate.group.clone();
        Job { candidate, lock_group, decided: None, agent: None, wake: None, company: Company::Anybody }
    }

    /// Takes one of the wakes that are left for its agent, if it needs one and has none.
    pub fn reserve(&mut self, wakes: &'a WakeBudget) -> Result<(), Full> {
        if let (None, Some(agent)) = (&self.wake, &self.agent) {
            self.wake = Some(wakes.reserve(agent)?);
        }
        Ok(())
    }

    /// What there is to report if no wake is left for its agent.
    pub fn into_deferred(self, context: &ExamineContext) -> Option<Examined> {
        self.decided.map(|decided| leave(Stage::Deferred, decided, context))
    }
}

/// One look at a subject, or one transaction about it that has not ended.
pub struct Attempt<'a, S> {
    pub id: Id,
    /// The id of the row in the ledger, made before: the ledger can be asked about it if the reply to COMMIT is lost.
    pub entry_id: Id,
    /// None: the subject is gone, or could not be read.
    pub seen: Option<(S, Verdict)>,
    pub stage: Stage,
    /// The wake that it takes if it is written.
    pub wake: Option<Reservation<'a>>,
}

/// How far an attempt got.
#[derive(Debug, PartialEq)]
pub enum Stage {
    /// Its transaction could not begin.
    NotBegun,
    Gone,
    /// The subject, or a row that its recovery refers to, is in other hands.
    Held,
    /// Its agent is in other hands.
    AgentHeld,
    /// What a person asked for would be wrong now.
    Refused(Refusal),
    /// The plan says something else: what.
    Changed(String),
    /// Its agent was woken often enough.
    Deferred,
    /// Looked at and decided; there is nothing to write.
    Decided,
    /// Looked at without a lock; what is decided under the lock is to be written.
    Wanted,
    Written,
    /// The database refused to read or write it.
    Failed(Error),
}

/// The result for one subject, and whether the connection survived it.
pub struct Examination<'a> {
    pub examined: Examined,
    /// Why what a person asked for was not done.
    pub refusal: Option<Refusal>,
    /// Something was written, and the database said that it is.
    pub is_committed: bool,
    pub lost: Option<Lost<'a>>,
}

/// How the connection was lost.
pub enum Lost<'a> {
    /// Before the commit: nothing was written.
    Connection,
    /// While the commit was under way.
    Commit(UnknownCommit<'a>),
}

/// A commit whose reply was lost: the ledger knows whether its row was written, and with it all the rest.
pub struct UnknownCommit<'a> {
    pub entry_id: Id,
    /// What it has come to if it was made.
    pub intended: Outcome,
    pub wake: Option<Reservation<'a>>,
}

impl<'a, S: Subject> Attempt<'a, S> {
    /// An attempt that has not seen the subject.
    pub fn unseen(id: Id, stage: Stage) -> Attempt<'a, S> {
        Attempt { id, entry_id: Id::generate(), seen: None, stage, wake: None }
    }

    /// How its transaction is to end. decisions.md#only-what-changed-is-committed
    pub fn finish(&self) -> Finish {
        if self.stage == Stage::Written { Finish::Commit } else { Finish::RollBack }
    }

    /// What there is to report of it, now that its transaction has ended.
    pub fn conclude(self, db: &mut DbConnection, end: Ending, context: &ExamineContext<'a>) -> Examination<'a> {
        let Attempt { id, entry_id, seen, stage, wake } = self;
        let decided = context.describe(&id, seen.as_ref().map(|(facts, verdict)| (facts, verdict)));
        let is_lost = matches!(end, Err(Abort::Lost(_)));
        let lost = is_lost.then_some(Lost::Connection);
        let left = |examined| Examination { examined, refusal: None, is_committed: false, lost };
        match (stage, end) {
            (Stage::Written, Ok(())) => {
                wake.into_iter().for_each(Reservation::keep);
                Examination { is_committed: true, ..left(decided) }
            }
            (Stage::Written, Err(Abort::Unknown(error))) => {
                let commit = UnknownCommit { entry_id, intended: decided.outcome, wake };
                let examined = Examined { outcome: Outcome::Unknown, reason: errors::error_chain(&error), ..decided };
                Examination { lost: Some(Lost::Commit(commit)), ..left(examined) }
            }
            (
                Stage::Written | Stage::NotBegun,
                Err(Abort::RolledBack(error) | Abort::Lost(error) | Abort::Unknown(error)),
            )
            | (Stage::Failed(error), _) => left(fail::<S>(db, decided, &error, is_lost)),
            (Stage::Refused(refusal), _) => Examination { refusal: Some(refusal), ..left(decided) },
            (stage, _) => left(leave(stage, decided, context)),
        }
    }
}

/// What there is to report of a subject that could not be read or written.
fn fail<S: Subject>(db: &mut DbConnection, decided: Examined, error: &Error, is_lost: bool) -> Examined {
    let outcome = match error {
        _ if is_lost => Outcome::Failed,
        error if errors::is_undecodable(error) => Outcome::Unreadable,
        error if errors::is_contention(error) => Outcome::Busy,
        _ => Outcome::Failed,
    };
    let (fault, reason) = match errors::is_denial(error) {
        _ if is_lost => (Fault::Outage, errors::error_chain(error)),
        true => (Fault::Rights, rights::denial(Some(db), &errors::error_chain(error))),
        false if errors::is_outage(error) => (Fault::Outage, errors::of_row(S::KIND, error)),
        false => (Fault::Own, errors::of_row(S::KIND, error)),
    };
    Examined { outcome, reason, fault, ..decided }
}

/// What there is to report of a subject about which nothing was written.
pub fn leave(stage: Stage, decided: Examined, context: &ExamineContext) -> Examined {
    let (outcome, reason) = match stage {
        Stage::Decided | Stage::Refused(_) | Stage::Wanted | Stage::Written | Stage::NotBegun | Stage::Failed(_) => {
            return decided;
        }
        Stage::Held | Stage::AgentHeld => (Outcome::Busy, "somebody else has it in hand".to_owned()),
        // The id as SQLite could show it finds nothing: its bytes are no UTF-8.
        Stage::Gone if decided.id.0.contains('\u{FFFD}') => (Outcome::Unreadable, "its id is no UTF-8".to_owned()),
        Stage::Gone if context.plan.is_some() => (Outcome::Changed, "it no longer exists".to_owned()),
        Stage::Gone => (Outcome::Healthy, "it no longer exists".to_owned()),
        Stage::Changed(change) => (Outcome::Changed, change),
        Stage::Deferred => {
            let wakes = context.wakes.per_agent_max;
            let times = if wakes == 1 { "once".to_owned() } else { format!("{wakes} times") };
            (Outcome::Deferred, format!("its agent was woken or nudged {times} in this sweep"))
        }
    };
    Examined { outcome, reason, ..decided }
}
