use rstest::rstest;

use super::*;
use crate::rules::{Decision, Policy, Reason, UnendedRuns, decide};

fn at(minutes: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).expect("a time") + TimeDelta::minutes(minutes)
}

/// In progress for two hours.
fn step() -> Step {
    let step = Step::new(Id("s".to_owned()), "in_progress", Some(at(-120)), at(-1));
    Step { title: "Pack".to_owned(), ..step }
}

fn begun(minutes: i64) -> Step {
    Step { started_at: Some(at(minutes)), ..step() }
}

fn with(position: i32, status: &str) -> Step {
    Step { id: Id(position.to_string()), position, status: status.to_owned(), ..step() }
}

fn stalled() -> StepFacts {
    let (id, name) = (Id("a".to_owned()), Some("Ada".to_owned()));
    StepFacts {
        step: step(),
        tenant: "acme".to_owned(),
        identifier: "Launch #1".to_owned(),
        plan_id: Id("p".to_owned()),
        plan_status: "executing".to_owned(),
        assignee: Assignee::Agent { id, name, status: Some("idle".to_owned()), obstacle: None },
        issue_id: None,
        runs: UnendedRuns::default(),
        pending_wake_since: None,
        pending_wake: None,
        history: History::never_tried(at(-120), at(0)),
        holders: None,
    }
}

#[rstest]
#[case::the_policys_threshold(30, None, 0)]
#[case::just_at_the_threshold(120, None, 0)]
#[case::its_own_threshold_wins(30, Some(180), 0)]
#[case::its_own_shorter_threshold_wins(180, Some(60), 0)]
fn a_step_is_stalled_when_in_progress_for_longer_than_its_threshold(
    #[case] policy: i64,
    #[case] own: Option<i64>,
    #[case] now: i64,
) {
    let step = Step { stalled_after: own.map(TimeDelta::minutes), ..step() };
    let expected = own.unwrap_or(policy) < 120;
    let found = detect_stalled_steps(std::slice::from_ref(&step), at(now), TimeDelta::minutes(policy));
    assert_eq!(!found.is_empty(), expected);
}

#[rstest]
#[case::started_long_ago_and_changed_since(Some(-120), -1, true)]
#[case::started_just_now_and_changed_long_ago(Some(-1), -120, false)]
#[case::without_a_start_and_changed_long_ago(None, -120, true)]
#[case::without_a_start_and_changed_just_now(None, -1, false)]
fn a_step_is_as_old_as_its_start_and_without_one_as_its_last_change(
    #[case] started: Option<i64>,
    #[case] updated: i64,
    #[case] expected: bool,
) {
    let step = Step::new(Id("s".to_owned()), "in_progress", started.map(at), at(updated));
    let found = detect_stalled_steps(std::slice::from_ref(&step), at(0), STEP_STALLED_AFTER);
    assert_eq!(found, if expected { vec![step.id.clone()] } else { vec![] });
    assert_eq!(is_plan_stalled("executing", &[step], at(0), STEP_STALLED_AFTER), expected);
}

#[rstest]
#[case::pending("pending")]
#[case::completed("completed")]
#[case::skipped("skipped")]
#[case::failed("failed")]
#[case::one_we_do_not_know("nonsense")]
fn a_step_that_is_not_in_progress_is_never_stalled(#[case] status: &str) {
    assert!(detect_stalled_steps(&[with(1, status)], at(0), TimeDelta::minutes(30)).is_empty());
}

#[rstest]
#[case::executing("executing", true)]
#[case::stalled("stalled", true)]
#[case::draft("draft", false)]
#[case::completed("completed", false)]
#[case::failed("failed", false)]
#[case::cancelled("cancelled", false)]
fn only_an_open_plan_can_be_stalled(#[case] status: &str, #[case] expected: bool) {
    assert_eq!(is_plan_stalled(status, &[step()], at(0), TimeDelta::minutes(30)), expected);
    let facts = StepFacts { plan_status: status.to_owned(), ..stalled() };
    assert_eq!(facts.diagnose(&Policy::default()).is_ok(), expected);
}

#[rstest]
#[case::a_run_works_on_it(StepFacts { runs: UnendedRuns::live(), ..stalled() }, Reason::LiveRun)]
#[case::a_wake_is_queued(StepFacts { pending_wake_since: Some(at(-5)), ..stalled() }, Reason::PendingWake)]
#[case::within_its_threshold(StepFacts { step: begun(-30), ..stalled() }, Reason::Recent)]
#[case::started_in_the_future(StepFacts { step: begun(600), ..stalled() }, Reason::Recent)]
fn a_step_on_which_something_is_under_way_is_left(#[case] facts: StepFacts, #[case] reason: Reason) {
    assert_eq!(decide(&facts, &Policy::default()).decision, Decision::Leave(reason));
}

#[test]
fn a_stalled_step_without_an_agent_is_escalated_at_once_and_only_once() {
    let nobodys = StepFacts { assignee: Assignee::Nobody, ..stalled() };
    assert_eq!(decide(&nobodys, &Policy::default()).decision, Decision::Escalate(Cause::NoAgent));
    let history = History { escalated: true, ..nobodys.history.clone() };
    let escalated = StepFacts { history, ..nobodys };
    assert_eq!(decide(&escalated, &Policy::default()).decision, Decision::Leave(Reason::Escalated));
}

#[test]
fn a_plans_status_shows_what_is_stored_what_it_should_be_and_how_far_it_is() {
    let steps = [
        with(1, "completed"),
        with(2, "skipped"),
        with(3, "in_progress"),
        with(4, "pending"),
        with(5, "pending"),
        with(6, "pending"),
    ];
    let status = PlanStatus::from_steps("executing", &steps, at(0), TimeDelta::minutes(30));
    let expected = PlanStatus {
        stored: "executing".to_owned(),
        derived: "stalled".to_owned(),
        stalled: true,
        progress_percent: 33,
        step_counts: StepCounts { total: 6, done: 2, in_progress: 1, stalled: 1 },
        current_step: Some((3, "Pack".to_owned())),
        stuck_seconds: Some(7200),
    };
    assert_eq!(status, expected);
}

#[rstest]
#[case::healed("stalled", "completed", "executing")]
#[case::finished("completed", "completed", "completed")]
fn a_plan_without_a_stalled_step_is_not_stalled(#[case] stored: &str, #[case] step: &str, #[case] derived: &str) {
    let status = PlanStatus::from_steps(stored, &[with(1, step)], at(0), TimeDelta::minutes(30));
    assert_eq!((status.derived.as_str(), status.stalled, status.stuck_seconds), (derived, false, None));
}

#[test]
fn a_plan_without_steps_has_made_no_progress() {
    let status = PlanStatus::from_steps("executing", &[], at(0), TimeDelta::minutes(30));
    assert_eq!((status.progress_percent, status.current_step, status.stalled), (0, None, false));
}
