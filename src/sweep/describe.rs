//! What reports and notifications say of one subject.

use diesel::result::Error;

use super::context::ExamineContext;
use super::outcome::{Examined, Fault, Outcome};
use crate::rules::{Assignee, Decision, History, Id, Kind, Verdict};
use crate::store::db::errors;
use crate::store::hosts::rights;
use crate::store::work::outbox::Details;
use crate::store::{DbConnection, Subject};

fn name_of(assignee: &Assignee) -> Option<String> {
    match assignee {
        Assignee::Agent { name, .. } => name.clone(),
        Assignee::Nobody => None,
    }
}

/// What people are notified of about a subject.
pub fn details<S: Subject>(id: &Id, facts: &S, verdict: &Verdict, context: &ExamineContext) -> Details {
    let agent = name_of(facts.assignee());
    Details {
        identifier: facts.identifier().map(str::to_owned),
        title: Some(facts.title().to_owned()),
        tenant: Some(facts.tenant().to_owned()).filter(|tenant| !tenant.is_empty()),
        agent,
        finding: verdict.finding,
        reason: context.reason(verdict),
        attempts: Some(facts.history().attempts),
        url: context.links.to(&facts.page(id)),
        ..Details::default()
    }
}

/// The subject in the report, as if what was decided were carried out; with little to say if it could not be read.
pub fn describe<S: Subject>(id: &Id, seen: Option<(&S, &Verdict)>, context: &ExamineContext) -> Examined {
    let decision = seen.map(|(_, verdict)| &verdict.decision);
    let history = seen.map(|(facts, _)| facts.history());
    Examined {
        kind: S::KIND,
        id: id.clone(),
        identifier: seen.and_then(|(facts, _)| facts.identifier()).map(str::to_owned),
        tenant: seen.map(|(facts, _)| facts.tenant().to_owned()),
        url: seen.and_then(|(facts, _)| context.links.to(&facts.page(id))),
        finding: seen.and_then(|(_, verdict)| verdict.finding),
        decision: decision.map(Decision::name),
        reason: seen.map(|(_, verdict)| context.reason(verdict)).unwrap_or_default(),
        attempt: match decision {
            Some(Decision::Continue { attempt, .. }) => Some(*attempt),
            _ => history.map(|history| history.attempts),
        },
        attempts_max: seen.map_or(0, |(_, verdict)| verdict.attempts_max),
        agent_id: seen.and_then(|(facts, _)| facts.assignee().id()).cloned(),
        agent_name: seen.and_then(|(facts, _)| name_of(facts.assignee())),
        idle_seconds: history.map(|history| history.idle_for().num_seconds().max(0)),
        outcome: decision.map_or(Outcome::Failed, Outcome::of),
        shadow: context.shadow,
        fault: Fault::default(),
        idle_since: history.map(|history| history.idle_since),
        ahead: history.and_then(History::ahead),
    }
}

/// Why a subject could not be examined, in words that name what is wrong with its row, or what this role may not do.
pub fn why_unreadable(db: &mut DbConnection, kind: Kind, error: &Error) -> String {
    if errors::is_denial(error) {
        return rights::denial(Some(db), &errors::error_chain(error));
    }
    errors::of_row(kind, error)
}
