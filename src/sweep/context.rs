//! What a sweep examines its subjects with, and what its reports and notifications say of each.

use super::examined::{Examined, Fault, Outcome};
use super::limits::WakeBudget;
use super::plan::Plan;
use crate::rules::request::Asked;
use crate::rules::{Assignee, Decision, History, Id, Policy, Verdict};
use crate::store::hosts::links::Links;
use crate::store::work::candidates::{Part, Shard};
use crate::store::work::outbox::{Details, Subscriptions};
use crate::store::{Access, Durable, Subject, Timeouts};

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
        self.asked.map_or_else(|| verdict.decision.to_string(), Asked::to_string)
    }

    /// What people are notified of about a subject.
    pub fn details<S: Subject>(&self, id: &Id, facts: &S, verdict: &Verdict) -> Details {
        Details {
            identifier: facts.identifier().map(str::to_owned),
            title: Some(facts.title().to_owned()),
            tenant: Some(facts.tenant().to_owned()).filter(|tenant| !tenant.is_empty()),
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
            identifier: seen.and_then(|(facts, _)| facts.identifier()).map(str::to_owned),
            tenant: seen.map(|(facts, _)| facts.tenant().to_owned()),
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
