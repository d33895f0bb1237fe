//! One subject, one transaction: lock, facts, decide, write, commit. Only what facts that were read without a lock call
//! for is locked at all: a host that holds its own rows does not meet a sweep that would leave them as they are.

mod carry_out;
pub mod look;

use diesel::result::Error;

use super::context::ExamineContext;
use super::describe::{describe, why_unreadable};
use super::limits::Reservation;
use super::outcome::{Examined, Fault, Outcome};
use crate::rules::request::{self, Refusal};
use crate::rules::{Decision, Id, Verdict, decide};
use crate::store::{Abort, Access, Db, DbConnection, End, Finish, Lock, Subject, errors};
use carry_out::carry_out;

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
struct Attempt<'a, S> {
    /// None: it is gone, or could not be read.
    seen: Option<(S, Verdict)>,
    step: Step,
    /// The wake that it takes if it is written.
    wake: Option<Reservation<'a>>,
}

/// How far an attempt got.
#[derive(Debug, PartialEq)]
enum Step {
    /// Looked at and decided; there is nothing to write.
    Decided,
    /// What a person asked for would be wrong now.
    Refused(Refusal),
    /// Looked at without a lock; what is decided under the lock is to be written.
    Wanted,
    /// The subject, or a row that its recovery refers to, is in other hands.
    Held,
    Gone,
    /// The plan says something else: what.
    Changed(String),
    /// Its agent was woken often enough.
    Deferred,
    Written,
    /// By the database, while it was looked at or written.
    Failed(Error),
}

/// Examines one subject: looks at it, and if something is to be written takes it up. A dry run only looks.
pub fn examine<'a, S: Subject>(db: &mut DbConnection, id: &Id, context: &ExamineContext<'a>) -> Examination<'a> {
    transact::<S>(db, id, context, Access::ReadOnly, None).unwrap_or_else(|| take_up::<S>(db, id, context, None))
}

/// Locks what a look called for, and decides anew. `reserved`: the wake that it is to take.
pub fn take_up<'a, S: Subject>(
    db: &mut DbConnection,
    id: &Id,
    context: &ExamineContext<'a>,
    reserved: Option<Reservation<'a>>,
) -> Examination<'a> {
    transact::<S>(db, id, context, Access::Write, reserved).expect("what is locked is written or left")
}

/// One transaction about one subject: reads its facts, decides, and with `Access::Write` locks it before and writes.
/// None if there is something to write, and nothing is locked yet.
fn transact<'a, S: Subject>(
    db: &mut DbConnection,
    id: &Id,
    context: &ExamineContext<'a>,
    access: Access,
    reserved: Option<Reservation<'a>>,
) -> Option<Examination<'a>> {
    // Made here, so that the ledger can be asked about it if the answer to the commit is lost.
    let entry_id = Id::generate();
    let ran = db.in_repeated_transaction(access, &context.timeouts, |db| {
        let attempt = attempt::<S>(db, id, &entry_id, context, access, reserved);
        let finish = if attempt.step == Step::Written { Finish::Commit } else { Finish::RollBack };
        (finish, attempt)
    });
    let (attempt, end) = match ran {
        Ok((Attempt { step: Step::Wanted, .. }, _)) => return None,
        Ok(ran) => ran,
        Err(Abort::RolledBack(error) | Abort::Unknown(error)) => (Attempt::failed(error), End::RolledBack),
        Err(Abort::Lost(error)) => (Attempt::failed(error), End::Lost),
    };
    Some(conclude::<S>(db, id, attempt, end, entry_id, context))
}

impl<S> Attempt<'_, S> {
    fn failed(error: Error) -> Self {
        Attempt { seen: None, step: Step::Failed(error), wake: None }
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
        Access::Write => S::take(db, id),
        Access::ReadOnly => S::read(db, id).map(|facts| (Lock::Everything, facts)),
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
        false => (Step::Held, None),
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
        Some(agent) => match reserved.filter(|wake| wake.is_for(agent)).map_or_else(|| context.wakes.reserve(agent), Ok) {
            Ok(wake) => Some(wake),
            Err(_) => return (Step::Deferred, None),
        },
    };
    if is_dry_run {
        wake.into_iter().for_each(Reservation::keep);
        return (Step::Decided, None);
    }
    (Step::Written, wake)
}

/// What there is to report of an attempt that is over, and whether the connection survived it.
fn conclude<'a, S: Subject>(
    db: &mut DbConnection,
    id: &Id,
    Attempt { seen, step, wake }: Attempt<'a, S>,
    end: End,
    entry_id: Id,
    context: &ExamineContext<'a>,
) -> Examination<'a> {
    let seen = seen.as_ref().map(|(facts, verdict)| (facts, verdict));
    let decided = describe(id, seen, context);
    let because = |outcome, reason: String| Examined { outcome, reason, ..decided.clone() };
    let is_lost = matches!(end, End::Lost);
    let is_committed = step == Step::Written && matches!(end, End::Committed);
    let (examined, lost) = match (step, end) {
        (Step::Written, End::Unknown(error)) => {
            let lost = Lost::Commit { entry_id, intended: decided.outcome, wake };
            let examined = because(Outcome::Unknown, errors::error_chain(&error));
            return Examination { examined, refusal: None, is_committed: false, lost: Some(lost) };
        }
        (Step::Written, End::Committed) => {
            wake.into_iter().for_each(Reservation::keep);
            (decided, None)
        }
        (Step::Written, End::Refused(error)) | (Step::Failed(error), _) => {
            let failed = match is_lost {
                true => because(Outcome::Failed, errors::error_chain(&error)),
                false => because(outcome_of(&error), why_unreadable::<S>(db, id, &error, context)),
            };
            let fault = match is_lost || errors::is_outage(&error) {
                true => Fault::Outage,
                false if errors::is_denial(&error) => Fault::Rights,
                false => Fault::Own,
            };
            (Examined { fault, ..failed }, is_lost.then_some(Lost::Connection))
        }
        (Step::Refused(refusal), _) => {
            let lost = is_lost.then_some(Lost::Connection);
            return Examination { examined: decided, refusal: Some(refusal), is_committed, lost };
        }
        (step, _) => (left(step, decided, context), is_lost.then_some(Lost::Connection)),
    };
    Examination { examined, refusal: None, is_committed, lost }
}

/// The agent that this decision wakes.
fn woken<'a>(facts: &'a impl Subject, decision: &Decision) -> Option<&'a Id> {
    match decision {
        Decision::Continue { .. } => facts.assignee().id(),
        _ => None,
    }
}

/// A subject about which nothing was written.
fn left(step: Step, decided: Examined, context: &ExamineContext) -> Examined {
    let (outcome, reason) = match step {
        Step::Decided | Step::Refused(_) | Step::Wanted | Step::Written | Step::Failed(_) => return decided,
        Step::Held => (Outcome::Busy, "somebody else has it in hand".to_owned()),
        // The id as SQLite could show it finds nothing: its bytes are no UTF-8.
        Step::Gone if decided.id.0.contains('\u{FFFD}') => (Outcome::Unreadable, "its id is no UTF-8".to_owned()),
        Step::Gone if context.plan.is_some() => (Outcome::Changed, "it no longer exists".to_owned()),
        Step::Gone => (Outcome::Healthy, "it no longer exists".to_owned()),
        Step::Changed(change) => (Outcome::Changed, change),
        Step::Deferred => {
            let wakes = context.wakes.per_agent_max;
            let times = if wakes == 1 { "once".to_owned() } else { format!("{wakes} times") };
            (Outcome::Deferred, format!("its agent was woken or nudged {times} in this sweep"))
        }
    };
    Examined { outcome, reason, ..decided }
}

fn outcome_of(error: &Error) -> Outcome {
    match error {
        error if errors::is_undecodable(error) => Outcome::Unreadable,
        error if errors::is_contention(error) => Outcome::Busy,
        _ => Outcome::Failed,
    }
}
