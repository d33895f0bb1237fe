//! Writes what was decided about one subject, or what a person asked for, and records it in the ledger.

use diesel::QueryResult;
use diesel::result::Error;

use crate::rules::request::{self, Request};
use crate::rules::{Decision, Id, Kind, Verdict};
use crate::store::work::ledger::{self, Action, Entry};
use crate::store::work::outbox::{self, Event, Notice};
use crate::store::{Db, Subject, Writes, read_alone};
use crate::sweep::context::ExamineContext;

/// Writes and records it. Where a person has the subject's own row changed: returns what the subject is then, which is
/// what was recorded.
pub fn carry_out<S: Subject>(
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
            let (facts, verdict) = write_row(db, id, facts, request, context)?;
            record(db, id, &facts, &verdict, entry_id, context)?;
            Ok(Some((facts, verdict)))
        }
    }
}

/// Writes the subject's own row as it was seen, and reads it anew.
fn write_row<S: Subject>(
    db: &mut Db,
    id: &Id,
    facts: &S,
    request: Request,
    context: &ExamineContext,
) -> QueryResult<(S, Verdict)> {
    facts.write(db, request)?;
    let facts: S = read_alone(db, id, context.policy)?.ok_or(Error::NotFound)?;
    let verdict = request::after(request, &facts, context.policy);
    Ok((facts, verdict))
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
    let mut settles = history.open.as_ref();
    let (action, attempt, wake_id, blocked_subject) = match &verdict.decision {
        Decision::Leave(_) | Decision::Skip(_) | Decision::Wait { .. } => return Ok(()),
        Decision::Continue { attempt: _, remedy } => {
            facts.resume(&mut writes, *remedy, &wake_id, context.policy)?;
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
        Decision::Abandon(_) => (Action::Abandon, history.attempts, None, false),
    };
    let (sweep_id, reason, requested_by) = (context.sweep_id, context.reason(verdict), context.asked.map(|it| &*it.by));
    entry = Entry { id: entry_id, sweep_id, action, reason, attempt, wake_id, requested_by, blocked_subject, settles };
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
