//! One subject, one transaction: lock, facts, decide, write, commit. Only what facts that were read without a lock call
//! for is locked at all: a host that holds its own rows does not meet a sweep that would leave them as they are.

mod carry_out;

use diesel::result::Error;

use super::context::ExamineContext;
use super::describe::{describe, why_unreadable};
use super::outcome::{Examined, Fault, Outcome};
use crate::rules::request::{self, Refusal};
use crate::rules::{Decision, Id, Verdict, decide};
use crate::store::{Abort, Access, Db, DbConnection, End, Finish, Lock, Subject, errors};
use carry_out::carry_out;

/// The result for one subject, and whether the connection survived it.
pub struct Examination {
    pub examined: Examined,
    /// Why what a person asked for was not done.
    pub refusal: Option<Refusal>,
    /// Something was written, and the database said that it is.
    pub is_committed: bool,
    pub lost: Option<Lost>,
}

/// The connection is gone.
pub enum Lost {
    /// Before the commit: nothing was written.
    Connection,
    /// While the commit was under way: the ledger knows whether this row was written, and with it all the rest.
    Commit { entry_id: Id, intended: Outcome },
}

/// One look at a subject, and how far it got.
struct Attempt<S> {
    /// None: it is gone, or could not be read.
    seen: Option<(S, Verdict)>,
    step: Step,
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
pub fn examine<S: Subject>(db: &mut DbConnection, id: &Id, context: &ExamineContext) -> Examination {
    transact::<S>(db, id, context, Access::ReadOnly)
        .or_else(|| transact::<S>(db, id, context, Access::Write))
        .expect("what is locked is written or left")
}

/// One transaction about one subject: reads its facts, decides, and with `Access::Write` locks it before and writes.
/// None if there is something to write, and nothing is locked yet.
fn transact<S: Subject>(
    db: &mut DbConnection,
    id: &Id,
    context: &ExamineContext,
    access: Access,
) -> Option<Examination> {
    // Made here, so that the ledger can be asked about it if the answer to the commit is lost.
    let entry_id = Id::generate();
    let ran = db.in_repeated_transaction(access, &context.timeouts, |db| {
        let attempt = attempt::<S>(db, id, &entry_id, context, access);
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

impl<S> Attempt<S> {
    fn failed(error: Error) -> Attempt<S> {
        Attempt { seen: None, step: Step::Failed(error) }
    }
}

/// Locks, reads, decides and writes, in a transaction.
fn attempt<S: Subject>(db: &mut Db, id: &Id, entry_id: &Id, context: &ExamineContext, access: Access) -> Attempt<S> {
    let mut look = || {
        let lock = match access {
            Access::Write => S::lock(db, id)?,
            Access::ReadOnly => Lock::Everything,
        };
        Ok(S::read(db, id)?.map(|facts| (lock, facts)))
    };
    let (lock, facts) = match look() {
        Ok(Some(found)) => found,
        Ok(None) => return Attempt { seen: None, step: Step::Gone },
        Err(error) => return Attempt::failed(error),
    };
    let judged = match context.asked {
        None => Ok(decide(&facts, context.policy)),
        Some(asked) => request::judge(asked.request, &facts, context.policy),
    };
    let verdict = match judged {
        Ok(verdict) => verdict,
        Err(refusal) => {
            let verdict = decide(&facts, context.policy);
            return Attempt { seen: Some((facts, verdict)), step: Step::Refused(refusal) };
        }
    };
    let step = match lock.covers(&facts) {
        false => Step::Held,
        true => advance(id, &facts, &verdict, context, access),
    };
    if step != Step::Written {
        return Attempt { seen: Some((facts, verdict)), step };
    }
    match carry_out(db, id, &facts, &verdict, entry_id, context) {
        Ok(became) => Attempt { seen: Some(became.unwrap_or((facts, verdict))), step: Step::Written },
        Err(error) => Attempt { seen: Some((facts, verdict)), step: Step::Failed(error) },
    }
}

/// How far a subject that is decided, and held, may go.
fn advance<S: Subject>(id: &Id, facts: &S, verdict: &Verdict, context: &ExamineContext, access: Access) -> Step {
    let changed = context.plan.and_then(|plan| plan.change(&describe(id, Some((facts, verdict)), context).redacted()));
    if let Some(change) = changed {
        return Step::Changed(change);
    }
    let is_dry_run = context.access == Access::ReadOnly;
    if !is_dry_run && context.asked.is_none() && !Outcome::of(&verdict.decision).is_change() {
        return Step::Decided;
    }
    if !is_dry_run && access == Access::ReadOnly {
        return Step::Wanted;
    }
    match woken(facts, &verdict.decision) {
        Some(agent) if !context.wakes.take(agent) => Step::Deferred,
        _ if is_dry_run => Step::Decided,
        _ => Step::Written,
    }
}

/// What there is to report of an attempt that is over, and whether the connection survived it.
fn conclude<S: Subject>(
    db: &mut DbConnection,
    id: &Id,
    Attempt { seen, step }: Attempt<S>,
    end: End,
    entry_id: Id,
    context: &ExamineContext,
) -> Examination {
    let seen = seen.as_ref().map(|(facts, verdict)| (facts, verdict));
    let decided = describe(id, seen, context);
    let because = |outcome, reason: String| Examined { outcome, reason, ..decided.clone() };
    let is_lost = matches!(end, End::Lost);
    let is_committed = step == Step::Written && matches!(end, End::Committed);
    let (examined, lost) = match (step, end) {
        (Step::Written, End::Unknown(error)) => {
            let lost = Lost::Commit { entry_id, intended: decided.outcome };
            let examined = because(Outcome::Unknown, errors::error_chain(&error));
            return Examination { examined, refusal: None, is_committed: false, lost: Some(lost) };
        }
        (Step::Written, End::Committed) => (decided, None),
        (Step::Written, End::Refused(error)) | (Step::Failed(error), _) => {
            if let Some(agent) = seen.and_then(|(facts, verdict)| woken(facts, &verdict.decision)) {
                context.wakes.give_back(agent);
            }
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
        (step, _) => (left(step, &decided, because, context), is_lost.then_some(Lost::Connection)),
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
fn left(
    step: Step,
    decided: &Examined,
    because: impl Fn(Outcome, String) -> Examined,
    context: &ExamineContext,
) -> Examined {
    match step {
        Step::Decided | Step::Refused(_) | Step::Wanted | Step::Written | Step::Failed(_) => decided.clone(),
        Step::Held => because(Outcome::Busy, "somebody else has it in hand".to_owned()),
        // The id as SQLite could show it finds nothing: its bytes are no UTF-8.
        Step::Gone if decided.id.0.contains('\u{FFFD}') => {
            because(Outcome::Unreadable, "its id is no UTF-8".to_owned())
        }
        Step::Gone if context.plan.is_some() => because(Outcome::Changed, "it no longer exists".to_owned()),
        Step::Gone => because(Outcome::Healthy, "it no longer exists".to_owned()),
        Step::Changed(change) => because(Outcome::Changed, change),
        Step::Deferred => {
            let wakes = context.wakes.per_agent_max;
            let times = if wakes == 1 { "once".to_owned() } else { format!("{wakes} times") };
            because(Outcome::Deferred, format!("its agent was woken or nudged {times} in this sweep"))
        }
    }
}

fn outcome_of(error: &Error) -> Outcome {
    match error {
        error if errors::is_undecodable(error) => Outcome::Unreadable,
        error if errors::is_contention(error) => Outcome::Busy,
        _ => Outcome::Failed,
    }
}
