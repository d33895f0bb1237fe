//! What there is to report of an attempt that is over.

use diesel::result::Error;

use super::attempt::{Attempt, Examination, Lost, Step};
use crate::rules::Id;
use crate::store::db::errors;
use crate::store::{DbConnection, End, Subject};
use crate::sweep::context::ExamineContext;
use crate::sweep::describe::{describe, why_unreadable};
use crate::sweep::limits::Reservation;
use crate::sweep::outcome::{Examined, Fault, Outcome};

/// What there is to report of an attempt that is over, and whether the connection survived it.
pub fn conclude<'a, S: Subject>(
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
                false => because(outcome_of(&error), why_unreadable(db, S::KIND, &error)),
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

/// A subject about which nothing was written.
pub fn left(step: Step, decided: Examined, context: &ExamineContext) -> Examined {
    let (outcome, reason) = match step {
        Step::Decided | Step::Refused(_) | Step::Wanted | Step::Written | Step::Failed(_) => return decided,
        Step::Held | Step::AgentHeld => (Outcome::Busy, "somebody else has it in hand".to_owned()),
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
