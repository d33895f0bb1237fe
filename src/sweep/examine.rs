//! One subject, one transaction: lock, facts, decide, write, commit. Only what facts that were read without a lock call for is
//! locked at all: a host that holds its own rows does not meet a sweep that would leave them as they are.

use diesel::QueryResult;
use diesel::result::Error;

use super::terms::Terms;
use super::unreadable::why;
use crate::report::{Examined, Outcome};
use crate::rules::{Assignee, Decision, History, Id, Verdict, decide};
use crate::store::ledger::{self, Action, Entry};
use crate::store::outbox::{self, Details, Event, Notice};
use crate::store::{Abort, Access, Db, DbConnection, Lock, Subject, errors};

/// The result for one subject, and whether the connection survived it.
pub struct Examination {
    pub examined: Examined,
    pub lost: Option<Lost>,
}

/// The connection is gone.
pub enum Lost {
    /// Before the commit: nothing was written.
    Connection,
    /// While the commit was under way: the ledger knows whether this row was written, and with it all the rest.
    Commit { entry_id: Id, intended: Outcome },
}

/// How far a transaction got.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Looked at and decided; there is nothing to write.
    Decided,
    /// Looked at without a lock; what is decided under the lock is to be written.
    Wanted,
    /// The subject, or a row that its recovery refers to, is in other hands.
    Held,
    Gone,
    /// The plan says something else.
    Changed,
    /// Its agent was woken often enough.
    Deferred,
    Writing,
}

/// Examines one subject: looks at it, and if something is to be written takes it up. A dry run only looks.
pub fn examine<S: Subject>(db: &mut DbConnection, id: &Id, terms: &Terms) -> Examination {
    let (looked, progress) = transact::<S>(db, id, terms, Access::ReadOnly);
    match progress {
        Progress::Wanted => transact::<S>(db, id, terms, Access::Write).0,
        _ => looked,
    }
}

/// One transaction about one subject: reads its facts, decides, and with `Access::Write` locks it before and writes.
fn transact<S: Subject>(db: &mut DbConnection, id: &Id, terms: &Terms, access: Access) -> (Examination, Progress) {
    // Made here, so that the ledger can be asked about it if the answer to the commit is lost.
    let entry_id = Id::generate();
    let (mut seen, mut progress) = (None, Progress::Gone);
    let result = db.in_repeated_transaction(access, &terms.timeouts, |db| {
        let lock = match access {
            Access::Write => S::lock(db, id)?,
            Access::ReadOnly => Lock::Everything,
        };
        let Some(facts) = S::read(db, id)? else { return Err(Error::RollbackTransaction) };
        let verdict = decide(&facts, terms.policy);
        let (facts, verdict) = seen.insert((facts, verdict));
        progress = match lock.covers(facts) {
            false => Progress::Held,
            true => advance(id, facts, verdict, terms, access),
        };
        match progress {
            Progress::Writing => carry_out(db, id, facts, verdict, &entry_id, terms),
            _ => Err(Error::RollbackTransaction),
        }
    });
    if let (Progress::Writing, Err(Abort::RolledBack(_) | Abort::Lost(_)), Some((facts, verdict))) =
        (progress, &result, &seen)
        && let Some(agent) = woken(facts, &verdict.decision)
    {
        terms.wakes.give_back(agent);
    }
    let decided = describe(id, seen.as_ref().map(|(facts, verdict)| (facts, verdict)), terms);
    let because = |outcome, reason: &str| Examined { outcome, reason: reason.to_owned(), ..decided.clone() };
    let (examined, lost) = match result {
        Ok(()) => (decided, None),
        Err(Abort::Unknown(error)) => {
            let lost = Lost::Commit { entry_id, intended: decided.outcome };
            (because(Outcome::Unknown, &errors::words(&error)), Some(lost))
        }
        Err(Abort::RolledBack(Error::RollbackTransaction)) => (told(progress, &decided, because, terms), None),
        Err(Abort::Lost(Error::RollbackTransaction)) => {
            (told(progress, &decided, because, terms), Some(Lost::Connection))
        }
        Err(Abort::RolledBack(error)) => {
            let failed = because(outcome_of(&error), &why::<S>(db, id, &error, terms));
            (Examined { outage: errors::is_outage(&error), ..failed }, None)
        }
        Err(Abort::Lost(error)) => {
            let failed = because(Outcome::Failed, &errors::words(&error));
            (Examined { outage: true, ..failed }, Some(Lost::Connection))
        }
    };
    (Examination { examined, lost }, progress)
}

/// How far a subject that is decided, and held, may go.
fn advance<S: Subject>(id: &Id, facts: &S, verdict: &Verdict, terms: &Terms, access: Access) -> Progress {
    if terms.plan.is_some_and(|plan| plan.change(&describe(id, Some((facts, verdict)), terms).shown()).is_some()) {
        return Progress::Changed;
    }
    let is_dry_run = terms.access == Access::ReadOnly;
    if !is_dry_run && !Outcome::of(&verdict.decision).is_change() {
        return Progress::Decided;
    }
    if !is_dry_run && access == Access::ReadOnly {
        return Progress::Wanted;
    }
    match woken(facts, &verdict.decision) {
        Some(agent) if !terms.wakes.take(agent) => Progress::Deferred,
        _ if is_dry_run => Progress::Decided,
        _ => Progress::Writing,
    }
}

/// The agent that this decision wakes.
fn woken<'a>(facts: &'a impl Subject, decision: &Decision) -> Option<&'a Id> {
    match decision {
        Decision::Continue { .. } => facts.assignee().id(),
        _ => None,
    }
}

/// A subject about which nothing was written.
fn told(
    progress: Progress,
    decided: &Examined,
    because: impl Fn(Outcome, &str) -> Examined,
    terms: &Terms,
) -> Examined {
    match progress {
        Progress::Decided | Progress::Wanted | Progress::Writing => decided.clone(),
        Progress::Held => because(Outcome::Busy, "somebody else has it in hand"),
        // The id as SQLite could show it finds nothing: its bytes are no UTF-8.
        Progress::Gone if decided.id.0.contains('\u{FFFD}') => because(Outcome::Unreadable, "its id is no UTF-8"),
        Progress::Gone if terms.plan.is_some() => because(Outcome::Changed, "it no longer exists"),
        Progress::Gone => because(Outcome::Healthy, "it no longer exists"),
        Progress::Changed => {
            let change = terms.plan.and_then(|plan| plan.change(&decided.clone().shown()));
            because(Outcome::Changed, &change.unwrap_or_default())
        }
        Progress::Deferred => {
            let wakes = terms.wakes.per_agent_max;
            let times = if wakes == 1 { "once".to_owned() } else { format!("{wakes} times") };
            because(Outcome::Deferred, &format!("its agent was woken or nudged {times} in this sweep"))
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

/// Writes what was decided.
fn carry_out<S: Subject>(
    db: &mut Db,
    id: &Id,
    facts: &S,
    verdict: &Verdict,
    entry_id: &Id,
    terms: &Terms,
) -> QueryResult<()> {
    let wake_id = Id::generate();
    let (action, attempt, wake_id, blocked_subject) = match &verdict.decision {
        Decision::Leave(_) | Decision::Skip(_) | Decision::Wait { .. } => return Ok(()),
        Decision::Continue { attempt: _, remedy } => {
            facts.resume(db, *remedy, &wake_id, terms.policy)?;
            (Action::Continue, facts.history().attempts_recorded() + 1, Some(&wake_id), false)
        }
        Decision::Escalate(cause) => {
            let blocked = facts.escalate(db, cause, terms.policy)?;
            (Action::Escalate, facts.history().attempts, None, blocked)
        }
        Decision::Recovered(_) => {
            facts.recover(db)?;
            (Action::Recover, facts.history().attempts, None, false)
        }
        Decision::HandedOver(_) => {
            facts.recover(db)?;
            (Action::HandOver, facts.history().attempts, None, false)
        }
        Decision::Abandon(_) => (Action::Abandon, facts.history().attempts, None, false),
    };
    let (sweep_id, reason) = (terms.sweep_id, verdict.decision.to_string());
    ledger::record(
        db,
        id,
        facts,
        &Entry { id: entry_id, sweep_id, action, reason, attempt, wake_id, blocked_subject },
    )?;
    let event = match action {
        // Whom a work is handed over to took it: there is nothing to tell.
        Action::Continue | Action::HandOver => return Ok(()),
        Action::Escalate => Event::escalation_of(S::KIND),
        Action::Recover => Event::Recovered,
        Action::Abandon => Event::Abandoned,
    };
    let (kind, details) = (S::KIND.name(), details(facts, verdict));
    outbox::queue(db, terms.queueing, &Notice { event, kind, subject_id: Some(id), sweep_id, details })
}

fn name_of(assignee: &Assignee) -> Option<String> {
    match assignee {
        Assignee::Agent { name, .. } => name.clone(),
        Assignee::Nobody => None,
    }
}

/// What people are told of a subject.
fn details(facts: &impl Subject, verdict: &Verdict) -> Details {
    let agent = name_of(facts.assignee());
    Details {
        identifier: facts.identifier().map(str::to_owned),
        title: Some(facts.title().to_owned()),
        tenant: Some(facts.tenant().to_owned()).filter(|tenant| !tenant.is_empty()),
        agent,
        finding: verdict.finding,
        reason: verdict.decision.to_string(),
        attempts: Some(facts.history().attempts),
        ..Details::default()
    }
}

/// The subject in the report, as if what was decided were carried out; with little to say if it could not be read.
fn describe<S: Subject>(id: &Id, seen: Option<(&S, &Verdict)>, terms: &Terms) -> Examined {
    let decision = seen.map(|(_, verdict)| &verdict.decision);
    let history = seen.map(|(facts, _)| facts.history());
    Examined {
        kind: S::KIND,
        id: id.clone(),
        identifier: seen.and_then(|(facts, _)| facts.identifier()).map(str::to_owned),
        tenant: seen.map(|(facts, _)| facts.tenant().to_owned()),
        finding: seen.and_then(|(_, verdict)| verdict.finding),
        decision: decision.map(Decision::name),
        reason: decision.map(Decision::to_string).unwrap_or_default(),
        attempt: match decision {
            Some(Decision::Continue { attempt, .. }) => Some(*attempt),
            _ => history.map(|history| history.attempts),
        },
        attempts_max: seen.map_or(0, |(_, verdict)| verdict.attempts_max),
        agent_id: seen.and_then(|(facts, _)| facts.assignee().id()).cloned(),
        agent_name: seen.and_then(|(facts, _)| name_of(facts.assignee())),
        idle_seconds: history.map(|history| history.idle_for().num_seconds().max(0)),
        outcome: decision.map_or(Outcome::Failed, Outcome::of),
        shadow: terms.shadow,
        outage: false,
        idle_since: history.map(|history| history.idle_since),
        ahead: history.and_then(History::ahead),
    }
}
