//! One subject, one transaction: lock, facts, decide, write, commit. Only what facts that were read without a lock call
//! for is locked at all: a host that holds its own rows does not meet a sweep that would leave them as they are.

mod attempt;
mod carry_out;
mod conclude;
pub mod look;

use super::context::ExamineContext;
use super::describe::describe;
use super::limits::Reservation;
use super::outcome::Outcome;
use crate::rules::request;
use crate::rules::{Decision, Id, Verdict, decide};
use crate::store::db::errors;
use crate::store::{Abort, Access, Db, DbConnection, End, Lock, Subject, read_alone, take_alone};
use attempt::{Attempt, Step};
pub use attempt::{Examination, Lost};
use carry_out::carry_out;
use conclude::conclude;

/// Examines one subject: looks at it, and if something is to be written takes it up. A dry run only looks.
pub fn examine<'a, S: Subject>(db: &mut DbConnection, id: &Id, context: &ExamineContext<'a>) -> Examination<'a> {
    look_alone::<S>(db, id, context)
        .or_else(|| transact::<S>(db, id, context, Access::Write))
        .expect("what is locked is written or left")
}

/// Looks at one subject without a lock. None: there is something to write.
pub fn look_alone<'a, S: Subject>(
    db: &mut DbConnection,
    id: &Id,
    context: &ExamineContext<'a>,
) -> Option<Examination<'a>> {
    transact::<S>(db, id, context, Access::ReadOnly)
}

/// One transaction about one subject: reads its facts, decides, and with `Access::Write` locks it before and writes.
/// None if there is something to write, and nothing is locked yet.
fn transact<'a, S: Subject>(
    db: &mut DbConnection,
    id: &Id,
    context: &ExamineContext<'a>,
    access: Access,
) -> Option<Examination<'a>> {
    let entry_id = Id::generate();
    let ran = db.in_repeated_transaction(access, &context.timeouts, |db| {
        let attempt = attempt::<S>(db, id, &entry_id, context, access, None);
        (attempt.finish(), attempt)
    });
    let (attempt, end) = match ran {
        Ok((Attempt { step: Step::Wanted, .. }, _)) => return None,
        Ok(ran) => ran,
        Err(abort) => Attempt::not_begun(abort),
    };
    Some(conclude::<S>(db, id, attempt, end, entry_id, context))
}

/// A subject that was taken up, in a transaction that has not ended.
pub struct TakenUp<'a, S> {
    id: Id,
    /// Made before, so that the ledger can be asked about it if the answer to the commit is lost.
    pub entry_id: Id,
    attempt: Attempt<'a, S>,
}

/// Takes up what a look called for: locks it, decides anew, and writes, in the transaction that has begun. `reserved`:
/// the wake that it is to take.
pub fn take_up<'a, S: Subject>(
    db: &mut DbConnection,
    id: Id,
    context: &ExamineContext<'a>,
    reserved: Option<Reservation<'a>>,
) -> TakenUp<'a, S> {
    let entry_id = Id::generate();
    let attempt = db.proceed(|db| {
        let attempt = attempt::<S>(db, &id, &entry_id, context, Access::Write, reserved);
        (attempt.finish(), attempt)
    });
    TakenUp { id, entry_id, attempt }
}

impl<'a, S: Subject> TakenUp<'a, S> {
    /// Its transaction could not begin.
    pub fn not_begun(id: Id, abort: Abort) -> (TakenUp<'a, S>, End) {
        let (attempt, end) = Attempt::not_begun(abort);
        (TakenUp { id, entry_id: Id::generate(), attempt }, end)
    }

    /// Was something written, about which nothing more needs to be asked once it is committed?
    pub fn is_written(&self) -> bool {
        self.attempt.step == Step::Written
    }

    /// May another worker have been in its way, which does the work of the same agent? It found him in other hands, or
    /// waited for a row for as long as it may.
    pub fn is_contended(&self) -> bool {
        match &self.attempt.step {
            Step::AgentHeld => true,
            Step::Failed(error) => errors::is_lock_timeout(error),
            _ => false,
        }
    }

    /// The wake that it did not take after all.
    pub fn into_wake(self) -> Option<Reservation<'a>> {
        self.attempt.wake
    }

    /// What there is to report of it, now that its transaction has ended.
    pub fn conclude(self, db: &mut DbConnection, end: End, context: &ExamineContext<'a>) -> Examination<'a> {
        conclude::<S>(db, &self.id, self.attempt, end, self.entry_id, context)
    }
}

/// Locks, reads, decides and writes, in a transaction.
fn attempt<'a, S: Subject>(
    db: &mut Db,
    id: &Id,
    entry_id: &Id,
    context: &ExamineContext<'a>,
    access: Access,
    reserved: Option<Reservation<'a>>,
) -> Attempt<'a, S> {
    let read = match access {
        Access::Write => take_alone(db, id, context.policy),
        Access::ReadOnly => read_alone(db, id, context.policy).map(|facts| (Lock::Everything, facts)),
    };
    let attempt = match read {
        Ok((lock, Some(facts))) => judge(&lock, facts, context, access, reserved),
        Ok((_, None)) => return Attempt { seen: None, step: Step::Gone, wake: None },
        Err(error) => return Attempt::failed(error),
    };
    let Attempt { seen: Some((facts, verdict)), step: Step::Written, wake } = attempt else { return attempt };
    let (seen, step) = match carry_out(db, id, &facts, &verdict, entry_id, context) {
        Ok(became) => (became.unwrap_or((facts, verdict)), Step::Written),
        Err(error) => ((facts, verdict), Step::Failed(error)),
    };
    Attempt { seen: Some(seen), step, wake }
}

/// Decides about a subject whose facts were read, and how far it may go.
fn judge<'a, S: Subject>(
    lock: &Lock,
    facts: S,
    context: &ExamineContext<'a>,
    access: Access,
    reserved: Option<Reservation<'a>>,
) -> Attempt<'a, S> {
    let judged = match context.asked {
        None => Ok(decide(&facts, context.policy)),
        Some(asked) => request::judge(asked.request, &facts, context.policy),
    };
    let verdict = match judged {
        Ok(verdict) => verdict,
        Err(refusal) => {
            let verdict = decide(&facts, context.policy);
            return Attempt { seen: Some((facts, verdict)), step: Step::Refused(refusal), wake: None };
        }
    };
    let (step, wake) = match lock.covers(&facts) {
        false if lock.covers_agent(&facts) => (Step::Held, None),
        false => (Step::AgentHeld, None),
        true => advance(&facts, &verdict, context, access, reserved),
    };
    Attempt { seen: Some((facts, verdict)), step, wake }
}

/// How far a subject that is decided, and held, may go; and the wake that it takes.
fn advance<'a, S: Subject>(
    facts: &S,
    verdict: &Verdict,
    context: &ExamineContext<'a>,
    access: Access,
    reserved: Option<Reservation<'a>>,
) -> (Step, Option<Reservation<'a>>) {
    let describe = || describe(facts.id(), Some((facts, verdict)), context).redacted();
    if let Some(change) = context.plan.and_then(|plan| plan.change(&describe())) {
        return (Step::Changed(change), None);
    }
    let is_dry_run = context.access == Access::ReadOnly;
    if !is_dry_run && context.asked.is_none() && !Outcome::of(&verdict.decision).is_change() {
        return (Step::Decided, None);
    }
    if !is_dry_run && access == Access::ReadOnly {
        return (Step::Wanted, None);
    }
    let wake = match woken(facts, &verdict.decision) {
        None => None,
        Some(agent) => {
            match reserved.filter(|wake| wake.is_for(agent)).map_or_else(|| context.wakes.reserve(agent), Ok) {
                Ok(wake) => Some(wake),
                Err(_) => return (Step::Deferred, None),
            }
        }
    };
    if is_dry_run {
        wake.into_iter().for_each(Reservation::keep);
        return (Step::Decided, None);
    }
    (Step::Written, wake)
}

/// The agent that this decision wakes.
fn woken<'a>(facts: &'a impl Subject, decision: &Decision) -> Option<&'a Id> {
    match decision {
        Decision::Continue { .. } => facts.assignee().id(),
        _ => None,
    }
}
