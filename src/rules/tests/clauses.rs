//! A definition as it is explained: its clauses are what decides, and nothing beside them.

use super::*;
use crate::rules::step::{Step, StepFacts};

pub fn stalled() -> StepFacts {
    StepFacts {
        step: Step {
            position: 2,
            title: "Pack".to_owned(),
            ..Step::new(Id("s".to_owned()), "in_progress", None, at(-60))
        },
        tenant: "acme".to_owned(),
        identifier: "Launch #2".to_owned(),
        plan_id: Id("p".to_owned()),
        plan_status: "executing".to_owned(),
        assignee: agent(Some("idle")),
        issue_id: None,
        runs: UnendedRuns::default(),
        pending_wake_since: None,
        pending_wake: None,
        history: history(),
        holders: None,
    }
}

fn clauses(facts: &impl Facts) -> Vec<Clause> {
    facts.definition(&Policy::default()).1
}

fn shown(facts: &impl Facts) -> Vec<String> {
    let mark = |clause: &Clause| if clause.failure.is_none() { '✓' } else { '✗' };
    clauses(facts).iter().map(|clause| format!("{} {}: {}", mark(clause), clause.demand, clause.found)).collect()
}

#[test]
fn every_clause_holds_for_a_subject_that_is_broken() {
    assert_eq!(
        shown(&orphan()),
        [
            "✓ it is in progress: in progress",
            "✓ no person has it: nobody",
            "✓ an agent is assigned: Ada (idle)",
            "✓ no run is live: none",
            "✓ no wake is pending: none",
            "✓ no wait is declared: none",
            "✓ its host is done with its last run: yes",
            "✓ its last run ended longer than 0.5s ago: none has ended",
            "✓ it is idle for longer than 2m: 1h, since 2027-01-15 07:00:00 UTC",
        ]
    );
    assert_eq!(
        shown(&stalled()),
        [
            "✓ it is in progress: in progress",
            "✓ its plan is executing or stalled: executing",
            "✓ no run is live: none",
            "✓ no wake is pending: none",
            "✓ it is in progress for longer than 30m: 1h, since 2027-01-15 07:00:00 UTC",
        ]
    );
}

#[rstest]
#[case::by_its_lease(
    UnendedRuns { lost: Some("run 01a22ef1 is lost: its lease has run out".to_owned()), ..UnendedRuns::default() },
    [
        "✓ its host is done with its last run: yes",
        "✓ a run of it is lost, so there is no grace: 1h, since 2027-01-15 07:00:00 UTC",
    ]
)]
#[case::by_its_silence(
    UnendedRuns { heard_of_at: Some(at(-61)), ..UnendedRuns::default() },
    [
        "✓ its host is done with its last run: yes",
        "✓ it is idle for longer than 2m: 1h, since 2027-01-15 07:00:00 UTC",
    ]
)]
fn of_a_run_that_is_lost_and_not_ended_no_end_is_spoken(#[case] runs: UnendedRuns, #[case] last: [&str; 2]) {
    let shown = shown(&IssueFacts { runs, ..orphan() });
    assert_eq!(shown[shown.len() - 2..], last);
}

#[rstest]
#[case::done(IssueFacts { status: "in_review".to_owned(), ..orphan() }, "✗ it is in progress: in review")]
#[case::a_person_has_it(IssueFacts { assigned_to_user: true, ..orphan() }, "✗ no person has it: a person")]
#[case::nobody_has_it(IssueFacts { assignee: Assignee::Nobody, ..orphan() }, "✗ an agent is assigned: nobody")]
#[case::a_run_is_live(IssueFacts { runs: UnendedRuns::live(), ..orphan() }, "✗ no run is live: one is")]
#[case::a_wake_is_queued(IssueFacts { pending_wake_since: Some(at(-5)), ..orphan() },
    "✗ no wake is pending: one, for 5m")]
#[case::its_wake_is_known(
    IssueFacts { pending_wake_since: Some(at(-5)), pending_wake: Some("wake 1a2b".to_owned()), ..orphan() },
    "✗ no wake is pending: one, for 5m: wake 1a2b"
)]
#[case::its_host_is_at_it(
    IssueFacts { host_plan: Some("its run is being finalized".to_owned()), ..orphan() },
    "✗ its host is done with its last run: its run is being finalized"
)]
#[case::its_host_has_more_time(
    IssueFacts { run_end_grace: TimeDelta::minutes(4), last_run_ended_at: Some(at(-3)), ..orphan() },
    "✗ its last run ended longer than 240s ago: 3m ago"
)]
#[case::it_waits(IssueFacts { declared_wait: Some("approval".to_owned()), ..orphan() },
    "✗ no wait is declared: approval")]
#[case::idle_for_just_the_grace(
    IssueFacts { history: History { idle_since: at(-2), ..history() }, ..orphan() },
    "✗ it is idle for longer than 2m: 2m, since 2027-01-15 07:58:00 UTC"
)]
#[case::touched_in_the_future(
    IssueFacts { history: History { idle_since: at(60), ..history() }, ..orphan() },
    "✗ it is idle for longer than 2m: its time lies in the future: 2027-01-15 09:00:00 UTC"
)]
fn a_clause_that_does_not_hold_is_marked_and_no_other(#[case] facts: IssueFacts, #[case] marked: &str) {
    let shown = shown(&facts);
    let failing: Vec<&String> = shown.iter().filter(|line| line.starts_with('✗')).collect();
    assert_eq!(failing, [marked]);
}

#[test]
fn a_steps_own_threshold_is_the_one_that_is_reported() {
    let own = Step { stalled_after: Some(TimeDelta::hours(4)), ..stalled().step };
    let shown = shown(&StepFacts { step: own, ..stalled() });
    assert_eq!(shown[4], "✗ it is in progress for longer than 4h: 1h, since 2027-01-15 07:00:00 UTC");
}

#[rstest]
#[case::nothing_was_tried(orphan(), "continue it with one wake (attempt 1 of 1)")]
#[case::it_was_tried(IssueFacts { history: tried_once(), ..orphan() }, "escalate it to a person: no attempt is left")]
#[case::its_agent_rests(IssueFacts { assignee: agent(Some("paused")), ..orphan() }, "skip it: Ada is paused")]
#[case::it_lives(IssueFacts { runs: UnendedRuns::live(), ..orphan() }, "leave it: a run is live")]
#[case::it_healed(
    IssueFacts { status: "done".to_owned(), history: tried_once(), ..orphan() },
    "record that it recovered: it is done"
)]
#[case::it_was_cancelled(
    IssueFacts { status: "cancelled".to_owned(), history: tried_once(), ..orphan() },
    "record that it was handed over: it is cancelled"
)]
#[case::too_early(
    IssueFacts { history: History { last_attempt_at: Some(at(-4)), ..history() }, ..orphan() },
    "wait until 2027-01-15 08:01:00 UTC: the last attempt was made, or ended, too short a time ago"
)]
fn a_decision_is_announced_in_words(#[case] facts: IssueFacts, #[case] words: &str) {
    assert_eq!(decision(&facts).announce(1), words);
}

proptest! {
    #[test]
    fn the_first_clause_that_does_not_hold_is_the_reason(facts in any_issue()) {
        let first = clauses(&facts).into_iter().find_map(|clause| clause.failure);
        let verdict = decide(&facts, &Policy::default());
        prop_assert_eq!(verdict.finding.is_none(), first.is_some());
        if let (Some(first), Decision::Leave(reason) | Decision::Recovered(reason) | Decision::HandedOver(reason)) =
            (first, verdict.decision)
        {
            prop_assert_eq!(reason, first);
        }
    }

    #[test]
    fn every_clause_and_every_decision_has_words(facts in any_issue()) {
        for Clause { demand, found, .. } in clauses(&facts) {
            prop_assert!(!demand.is_empty() && !found.is_empty());
        }
        let decision = decision(&facts);
        prop_assert!(!decision.announce(1).is_empty() && !decision.what_would_change_it().is_empty());
    }
}
