//! One subject, one transaction: lock, facts, decide, write, commit. Only what facts that were read without a lock call
//! for is locked at all: a host that holds its own rows does not meet a sweep that would leave them as they are.
//!
//! From top to bottom: a look without a lock; a subject that is taken up; what is decided about it, and how far it may
//! go; a commit whose reply was lost; and what is written and recorded. What is reported stands in `attempt`.

pub mod attempt;

use diesel::QueryResult;
use diesel::result::Error;
use tracing::Span;

use super::{Examined, Outcome, Reservation, logs};
use crate::rules::{ContinueBy, Decision, Id, Kind, Verdict, decide, request};
use crate::store::connect::settle::ask_until_known;
use crate::store::work::candidates::Candidate;
use crate::store::work::ledger::{self, Action, LedgerEntry};
use crate::store::work::outbox::{self, Event, Notice};
use crate::store::{Access, Db, DbConnection, Durable, Ending, Lock, Subject, Writes, read_alone, take_alone};
use attempt::{Attempt, Examination, ExamineContext, Job, Prospect, Stage, UnknownCommit, leave};

/// What comes next for a candidate, by its facts as they were read without a lock.
pub fn look_at<'a, S: Subject>(candidate: Candidate, facts: Option<S>, context: &ExamineContext<'a>) -> Prospect<'a> {
    let Some(facts) = facts else { return Prospect::TakeUp(Box::new(Job::unseen(candidate))) };
    let Attempt { id, seen, stage, .. } = judge(None, facts, context, None);
    let decided = context.describe(&id, seen.as_ref().map(|(facts, verdict)| (facts, verdict)));
    match (stage, seen) {
        (Stage::Wanted, Some((facts, verdict))) => Prospect::TakeUp(Box::new(Job {
            lock_group: facts.lock_group().clone(),
            agent: woken(&facts, &verdict.decision).cloned(),
            decided: Some(decided),
            ..Job::unseen(candidate)
        })),
        (stage, _) => Prospect::Report(Box::new(leave(stage, decided, context))),
    }
}

/// Examines one subject: looks at it, and if something is to be written takes it up. A dry run only looks.
pub fn examine<'a, S: Subject>(db: &mut DbConnection, id: &Id, context: &ExamineContext<'a>) -> Examination<'a> {
    look_alone::<S>(db, id, context).unwrap_or_else(|| {
        let (attempt, end) = transact::<S>(db, id, context, Access::Write);
        attempt.conclude(db, end, context)
    })
}

/// Looks at one subject without a lock. None: there is something to write.
pub fn look_alone<'a, S: Subject>(
    db: &mut DbConnection,
    id: &Id,
    context: &ExamineContext<'a>,
) -> Option<Examination<'a>> {
    let (attempt, end) = transact::<S>(db, id, context, Access::ReadOnly);
    (attempt.stage != Stage::Wanted).then(|| attempt.conclude(db, end, context))
}

/// Makes one attempt in a transaction of its own.
fn transact<'a, S: Subject>(
    db: &mut DbConnection,
    id: &Id,
    context: &ExamineContext<'a>,
    access: Access,
) -> (Attempt<'a, S>, Ending) {
    match db.begin_next(access, &context.timeouts, Durable::Each, false) {
        (_, Err(abort)) => (Attempt::unseen(id.clone(), Stage::NotBegun), Err(abort)),
        (_, Ok(())) => {
            let attempt: Attempt<S> = take_up(db, id.clone(), context, access, None);
            let end = db.end().unwrap_or(Ok(()));
            match &attempt.stage {
                Stage::Failed(error) if db.stops_preparing_after(error) => transact(db, id, context, access),
                _ => (attempt, end),
            }
        }
    }
}

/// Takes up a subject in the transaction that has begun: locks it, reads its facts, decides, and writes. Without
/// `Access::Write` it is only looked at. `reserved`: the wake that it is to take.
pub fn take_up<'a, S: Subject>(
    db: &mut DbConnection,
    id: Id,
    context: &ExamineContext<'a>,
    access: Access,
    reserved: Option<Reservation<'a>>,
) -> Attempt<'a, S> {
    db.proceed(|db| {
        let read = match access {
            Access::Write => take_alone(db, &id, context.policy).map(|(lock, facts)| (Some(lock), facts)),
            Access::ReadOnly => read_alone(db, &id, context.policy).map(|facts| (None, facts)),
        };
        let mut attempt = match read {
            Ok((lock, Some(facts))) => Attempt { id, ..judge(lock.as_ref(), facts, context, reserved) },
            Ok((_, None)) => Attempt::unseen(id, Stage::Gone),
            Err(error) => Attempt::unseen(id, Stage::Failed(error)),
        };
        if let (Stage::Written, Some((facts, verdict))) = (&attempt.stage, &attempt.seen) {
            attempt.span = logs::span_of_subject();
            match carry_out(db, &attempt.id, facts, verdict, &attempt.entry_id, context) {
                Ok(None) => {}
                Ok(became) => attempt.seen = became,
                Err(error) => attempt.stage = Stage::Failed(error),
            }
        }
        (attempt.finish(), attempt)
    })
}

/// Decides about a subject whose facts were read, and how far it may go. `lock`: none of a subject that is only looked
/// at.
fn judge<'a, S: Subject>(
    lock: Option<&Lock>,
    facts: S,
    context: &ExamineContext<'a>,
    reserved: Option<Reservation<'a>>,
) -> Attempt<'a, S> {
    let judged = match context.asked {
        None => Ok(decide(&facts, context.policy)),
        Some(asked) => request::judge(asked.request, &facts, context.policy),
    };
    let (verdict, stage, wake) = match judged {
        Err(refusal) => (decide(&facts, context.policy), Stage::Refused(refusal), None),
        Ok(verdict) => {
            let (stage, wake) = advance(lock, &facts, &verdict, context, reserved);
            (verdict, stage, wake)
        }
    };
    Attempt {
        id: facts.id().clone(),
        entry_id: Id::generate(),
        seen: Some((facts, verdict)),
        stage,
        wake,
        span: Span::none(),
    }
}

/// How far a subject may go about which this was decided, and the wake that it takes.
fn advance<'a, S: Subject>(
    lock: Option<&Lock>,
    facts: &S,
    verdict: &Verdict,
    context: &ExamineContext<'a>,
    reserved: Option<Reservation<'a>>,
) -> (Stage, Option<Reservation<'a>>) {
    if let Some(lock) = lock.filter(|lock| !lock.covers(facts)) {
        return (if lock.covers_agent(facts) { Stage::Held } else { Stage::AgentHeld }, None);
    }
    let describe = || context.describe(facts.id(), Some((facts, verdict))).redacted();
    if let Some(change) = context.plan.and_then(|plan| plan.change(&describe())) {
        return (Stage::Changed(change), None);
    }
    let is_dry_run = context.access == Access::ReadOnly;
    if !is_dry_run && context.asked.is_none() && !Outcome::of(&verdict.decision).is_change() {
        return (Stage::Decided, None);
    }
    if !is_dry_run && lock.is_none() {
        return (Stage::Wanted, None);
    }
    let wake = match woken(facts, &verdict.decision) {
        None => None,
        Some(agent) => {
            match reserved.filter(|wake| wake.is_for(agent)).map_or_else(|| context.wakes.reserve(agent), Ok) {
                Ok(wake) => Some(wake),
                Err(_) => return (Stage::Deferred, None),
            }
        }
    };
    if is_dry_run {
        wake.into_iter().for_each(Reservation::keep);
        return (Stage::Decided, None);
    }
    (Stage::Written, wake)
}

/// The agent that this decision wakes.
fn woken<'a>(facts: &'a impl Subject, decision: &Decision) -> Option<&'a Id> {
    match decision {
        Decision::Continue { .. } => facts.assignee().id(),
        _ => None,
    }
}

/// Settles a commit whose reply was lost, on a new connection. While the subject is locked its transaction may still be
/// under way; once it is not, the ledger knows.
pub fn settle<S: Subject>(
    db: &mut DbConnection,
    unknown: Examined,
    commit: UnknownCommit,
    context: &ExamineContext,
) -> Examined {
    let UnknownCommit { entry_id, intended, wake } = commit;
    let ask = |db: &mut Db| -> QueryResult<_> {
        if ledger::contains(db, &entry_id)? {
            return Ok(Some(true));
        }
        match S::take(db, &unknown.id)? {
            (Lock::Nothing, Some(_)) => Ok(None),
            (Lock::Everything | Lock::Rows { .. }, _) | (Lock::Nothing, None) => {
                ledger::contains(db, &entry_id).map(Some)
            }
        }
    };
    // Until the server notices that a client is gone, what it locked stays locked.
    let known = ask_until_known(|| match db.in_transaction(Access::Write, &context.timeouts, ask) {
        Ok(None) => None,
        known => Some(known.ok().flatten()),
    });
    let is_made = known.flatten();
    // What may have been queued counts.
    if is_made != Some(false) {
        wake.into_iter().for_each(Reservation::keep);
    }
    match is_made {
        // Another connection's commit is seen before it is on disk.
        Some(true) if db.flush(&context.timeouts).is_err() => unknown,
        Some(true) => {
            Examined { outcome: intended, reason: "its commit was confirmed by the ledger".to_owned(), ..unknown }
        }
        Some(false) => {
            Examined { outcome: Outcome::Failed, reason: format!("not committed: {}", unknown.reason), ..unknown }
        }
        None => unknown,
    }
}

/// Writes what was decided about one subject, or what a person asked for, and records it. Where a person has the
/// subject's own row changed: returns what the subject is then, which is what was recorded.
fn carry_out<S: Subject>(
    db: &mut Db,
    id: &Id,
    facts: &S,
    verdict: &Verdict,
    entry_id: &Id,
    context: &ExamineContext,
) -> QueryResult<Option<(S, Verdict)>> {
    match context.asked.map(|asked| asked.request).filter(|request| request.remedy().is_none()) {
        None => record(db, id, facts, verdict, entry_id, context).map(|()| None),
        Some(request) => {
            // As it was seen; and then it is read anew.
            facts.write(db, request)?;
            let facts: S = read_alone(db, id, context.policy)?.ok_or(Error::NotFound)?;
            let verdict = request::after(request, &facts, context.policy);
            record(db, id, &facts, &verdict, entry_id, context)?;
            Ok(Some((facts, verdict)))
        }
    }
}

/// Writes what was decided, one row of the ledger, and what people are notified of.
fn record<S: Subject>(
    db: &mut Db,
    id: &Id,
    facts: &S,
    verdict: &Verdict,
    entry_id: &Id,
    context: &ExamineContext,
) -> QueryResult<()> {
    let (wake_id, history) = (Id::generate(), facts.history());
    // What is written borrows from them.
    let (entry, notice);
    let mut writes = Writes::default();
    let (mut settles, mut lost_agent) = (history.open.as_ref(), false);
    let (action, attempt, wake_id, blocked_subject) = match &verdict.decision {
        Decision::Leave(_) | Decision::Skip(_) | Decision::Wait { .. } => return Ok(()),
        Decision::Continue { attempt: _, remedy } => {
            let nudge = (*remedy != ContinueBy::Relaunch).then_some(context.policy.nudge_message.as_str());
            facts.resume(&mut writes, &wake_id, nudge)?;
            (Action::Continue, history.attempts_recorded() + 1, Some(&wake_id), false)
        }
        Decision::Escalate(cause) => {
            let blocked = facts.escalate(&mut writes, cause, context.policy, context.links);
            (Action::Escalate, history.attempts, None, blocked)
        }
        decision @ (Decision::Recovered(_) | Decision::HandedOver(_)) => {
            match S::KIND == Kind::Step && facts.withholds_recovery(context.policy).is_some() {
                // Never by a sweep: a person gave a step up whose plan has another one that is stalled. What is open
                // keeps the plan in sight.
                true => settles = None,
                false => facts.recover(&mut writes),
            }
            let recovered = matches!(decision, Decision::Recovered(_));
            (if recovered { Action::Recover } else { Action::HandOver }, history.attempts, None, false)
        }
        Decision::Abandon(why) => {
            lost_agent = why.is_a_loss();
            if lost_agent {
                facts.report_loss(&mut writes, why);
            }
            (Action::Abandon, history.attempts, None, false)
        }
    };
    let (sweep_id, reason, requested_by) = (context.sweep_id, context.reason(verdict), context.asked.map(|it| &*it.by));
    entry = LedgerEntry {
        id: entry_id,
        sweep_id,
        action,
        reason,
        attempt,
        wake_id,
        requested_by,
        blocked_subject,
        lost_agent,
        settles,
    };
    ledger::record(&mut writes, facts, &entry);
    let event = match action {
        // What is handed over, somebody took: there is nothing to report. Nor is there of what was not open.
        Action::Continue | Action::HandOver => None,
        Action::Recover => settles.map(|_| Event::Recovered),
        Action::Escalate => Some(Event::escalation_of(S::KIND)),
        Action::Abandon => Some(Event::Abandoned),
    };
    notice = event.map(|event| {
        let (kind, details) = (S::KIND.name(), context.details(id, facts, verdict));
        Notice { event, kind, subject_id: Some(id), sweep_id, details }
    });
    if let Some(notice) = &notice {
        outbox::write(&mut writes, context.subscriptions, notice);
    }
    writes.execute(db)
}
