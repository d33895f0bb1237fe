//! What has recovered, and what is handed over to its host or to a person.

use super::clauses::stalled;
use super::step::{Step, StepFacts};
use super::*;

/// The issue after one attempt.
fn became(facts: IssueFacts) -> Decision {
    decision(&IssueFacts { history: tried_once(), ..facts })
}

#[rstest]
#[case::done("done", true)]
#[case::in_review("in_review", true)]
#[case::its_host_takes_it_up_again("todo", true)]
#[case::cancelled("cancelled", false)]
#[case::blocked("blocked", false)]
#[case::put_off("backlog", false)]
#[case::a_status_that_nobody_knows("on_fire", false)]
fn an_issue_recovers_only_by_a_status_that_goes_on_or_is_finished(#[case] status: &str, #[case] recovered: bool) {
    let reason = Reason::NotInProgress(status.to_owned());
    let expected = if recovered { Decision::Recovered(reason) } else { Decision::HandedOver(reason) };
    assert_eq!(became(IssueFacts { status: status.to_owned(), ..orphan() }), expected);
}

#[rstest]
#[case::a_person_has_it(IssueFacts { assigned_to_user: true, ..orphan() }, Reason::AssignedToUser)]
#[case::nobody_has_it(IssueFacts { assignee: Assignee::Nobody, ..orphan() }, Reason::NoAgentAssigned)]
#[case::it_waits(
    IssueFacts { declared_wait: Some("the host's own recovery is active".to_owned()), ..orphan() },
    Reason::DeclaredWait("the host's own recovery is active".to_owned())
)]
fn an_issue_that_others_took_or_hold_back_is_handed_over(#[case] facts: IssueFacts, #[case] reason: Reason) {
    assert_eq!(became(facts), Decision::HandedOver(reason));
}

#[test]
fn an_issue_that_showed_a_sign_of_life_in_a_new_episode_has_recovered() {
    let history = History { episode_began_at: at(-10), idle_since: at(-1), attempts: 0, ..tried_once() };
    assert_eq!(decision(&IssueFacts { history, ..orphan() }), Decision::Recovered(Reason::Recent));
}

#[rstest]
#[case::completed("completed", "executing", true)]
#[case::skipped("skipped", "executing", true)]
#[case::to_be_done_again("pending", "executing", true)]
#[case::failed("failed", "executing", false)]
#[case::a_status_that_nobody_knows("on_fire", "executing", false)]
#[case::its_plan_is_completed("in_progress", "completed", true)]
#[case::its_plan_is_cancelled("in_progress", "cancelled", false)]
#[case::its_plan_failed("in_progress", "failed", false)]
#[case::its_plan_is_a_draft_again("in_progress", "draft", false)]
fn a_step_recovers_only_by_a_status_that_goes_on_or_is_finished(
    #[case] status: &str,
    #[case] plan: &str,
    #[case] recovered: bool,
) {
    let step = Step { status: status.to_owned(), ..stalled().step };
    let facts = StepFacts { step, plan_status: plan.to_owned(), history: tried_once(), ..stalled() };
    let decision = decide(&facts, &Policy::default()).decision;
    assert_eq!(matches!(decision, Decision::Recovered(_)), recovered, "{decision:?}");
    assert_eq!(matches!(decision, Decision::HandedOver(_)), !recovered, "{decision:?}");
}

proptest! {
    #[test]
    fn what_is_not_open_in_the_ledger_neither_recovers_nor_is_handed_over(facts in any_issue()) {
        let facts = IssueFacts { history: History { open: None, ..facts.history }, ..facts };
        let decision = decision(&facts);
        prop_assert!(!matches!(decision, Decision::Recovered(_) | Decision::HandedOver(_)), "{:?}", decision);
    }
}
