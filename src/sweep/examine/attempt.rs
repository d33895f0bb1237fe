//! A subject that is looked at or taken up: what it is examined with, how far it gets, and what there is to report of
//! it.

use diesel::result::Error;
use tracing::Span;

use crate::rules::request::{Asked, RequestRefusal};
use crate::rules::{Assignee, Decision, History, Id, Policy, Verdict};
use crate::store::db::errors;
use crate::store::hosts::links::Links;
use crate::store::hosts::rights;
use crate::store::work::candidates::{Candidate, Part, Shard};
use crate::store::work::outbox::{Details, Subscriptions};
use crate::store::{Abort, Access, DbConnection, Durable, Ending, Finish, Subject, Timeouts};
use crate::sweep::{Examined, Fault, Full, Outcome, Plan, Reservation, WakeBudget, logs};

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
    /// From the first write to the end of the transaction; none: nothing is written.
    pub span: Span,
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
    Refused(RequestRefusal),
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
    pub refusal: Option<RequestRefusal>,
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
        Attempt { id, entry_id: Id::generate(), seen: None, stage, wake: None, span: Span::none() }
    }

    /// How its transaction is to end. decisions.md#only-what-changed-is-committed
    pub fn finish(&self) -> Finish {
        if self.stage == Stage::Written { Finish::Commit } else { Finish::RollBack }
    }

    /// What there is to report of it, now that its transaction has ended.
    pub fn conclude(self, db: &mut DbConnection, end: Ending, context: &ExamineContext<'a>) -> Examination<'a> {
        let Attempt { id, entry_id, seen, stage, wake, span } = self;
        let decided = context.describe(&id, seen.as_ref().map(|(facts, verdict)| (facts, verdict)));
        let is_lost = matches!(end, Err(Abort::Lost(_)));
        let lost = is_lost.then_some(Lost::Connection);
        let left = |examined| Examination { examined, refusal: None, is_committed: false, lost };
        let recorded = (!span.is_disabled()).then(|| entry_id.clone());
        let examination = match (stage, end) {
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
        };
        if let Some(entry_id) = recorded {
            logs::fill_in(&span, &examination.examined, &entry_id);
        }
        examination
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

/// What the subjects of one kind are examined with.
#[derive(Clone, Copy, Debug)]
pub struct ExamineContext<'a> {
    pub sweep_id: &'a Id,
    pub access: Access,
    pub policy: &'a Policy,
    pub timeouts: Timeouts,
    pub durable: Durable,
    /// The part of the candidates that is examined: without what the guard holds back.
    pub part: Part<'a>,
    pub shard: Option<Shard>,
    /// What a person asks to be done, in place of what a sweep would do.
    pub asked: Option<&'a Asked>,
    /// Touch only what it says, if a fresh decision is the same.
    pub plan: Option<&'a Plan>,
    pub wakes: &'a WakeBudget,
    /// The people to be notified, and of what.
    pub subscriptions: &'a Subscriptions,
    /// Where the host's own pages are.
    pub links: &'a Links,
    /// A kind in shadow is only looked at, in a sweep that writes otherwise.
    pub shadow: bool,
}

impl<'a> ExamineContext<'a> {
    /// What one subject alone is examined with, if everything is written.
    pub fn of_one(
        sweep_id: &'a Id,
        policy: &'a Policy,
        timeouts: Timeouts,
        wakes: &'a WakeBudget,
        subscriptions: &'a Subscriptions,
        links: &'a Links,
    ) -> ExamineContext<'a> {
        ExamineContext {
            sweep_id,
            access: Access::Write,
            policy,
            timeouts,
            durable: Durable::Each,
            part: Part::whole(),
            shard: None,
            asked: None,
            plan: None,
            wakes,
            subscriptions,
            links,
            shadow: false,
        }
    }

    /// Why what was decided is done, or left.
    pub fn reason(&self, verdict: &Verdict) -> String {
        self.asked.map_or_else(|| verdict.reason(), Asked::to_string)
    }

    /// What people are notified of about a subject.
    pub fn details<S: Subject>(&self, id: &Id, facts: &S, verdict: &Verdict) -> Details {
        Details {
            identifier: facts.naming().identifier.map(str::to_owned),
            title: Some(facts.naming().title.to_owned()),
            tenant: Some(facts.naming().tenant.to_owned()).filter(|tenant| !tenant.is_empty()),
            agent: name_of(facts.assignee()),
            finding: verdict.finding,
            reason: self.reason(verdict),
            attempts: Some(facts.history().attempts),
            url: self.links.to(&facts.page(id)),
            ..Details::default()
        }
    }

    /// The subject in the report, as if what was decided were carried out; with little to say if it could not be read.
    pub fn describe<S: Subject>(&self, id: &Id, seen: Option<(&S, &Verdict)>) -> Examined {
        let decision = seen.map(|(_, verdict)| &verdict.decision);
        let history = seen.map(|(facts, _)| facts.history());
        Examined {
            kind: S::KIND,
            id: id.clone(),
            identifier: seen.and_then(|(facts, _)| facts.naming().identifier).map(str::to_owned),
            tenant: seen.map(|(facts, _)| facts.naming().tenant.to_owned()),
            url: seen.and_then(|(facts, _)| self.links.to(&facts.page(id))),
            finding: seen.and_then(|(_, verdict)| verdict.finding),
            decision: decision.map(Decision::name),
            reason: seen.map(|(_, verdict)| self.reason(verdict)).unwrap_or_default(),
            attempt: match decision {
                Some(Decision::Continue { attempt, .. }) => Some(*attempt),
                _ => history.map(|history| history.attempts),
            },
            attempts_max: seen.map_or(0, |(_, verdict)| verdict.attempts_max),
            agent_id: seen.and_then(|(facts, _)| facts.assignee().id()).cloned(),
            agent_name: seen.and_then(|(facts, _)| name_of(facts.assignee())),
            idle_seconds: history.map(|history| history.idle_for().num_seconds().max(0)),
            outcome: decision.map_or(Outcome::Failed, Outcome::of),
            shadow: self.shadow,
            fault: Fault::default(),
            idle_since: history.map(|history| history.idle_since),
            ahead: history.and_then(History::ahead),
        }
    }
}

fn name_of(assignee: &Assignee) -> Option<String> {
    match assignee {
        Assignee::Agent { name, .. } => name.clone(),
        Assignee::Nobody => None,
    }
}
