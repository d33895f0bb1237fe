use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::rules::issue::IssueFacts;
use crate::rules::step::{Step, StepFacts};
use crate::rules::{Assignee, Exemption, History, Id, OpenRecovery, UnendedRuns, Whose};

fn at(minutes: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).expect("a time") + TimeDelta::minutes(minutes)
}

fn agent(status: &str) -> Assignee {
    let (name, status) = (Some("Ada".to_owned()), Some(status.to_owned()));
    Assignee::Agent { id: Id("a".to_owned()), name, status, obstacle: None }
}

/// In progress, and idle since a moment ago.
fn issue() -> IssueFacts {
    IssueFacts {
        id: Id("i".to_owned()),
        tenant: "acme".to_owned(),
        identifier: None,
        title: "Mend the fence".to_owned(),
        status: "in_progress".to_owned(),
        assignee: agent("idle"),
        assigned_to_user: false,
        runs: UnendedRuns::default(),
        pending_wake_since: None,
        pending_wake: None,
        declared_wait: None,
        last_run_id: None,
        last_run_ended_at: None,
        last_run_end: None,
        host_plan: None,
        unreachable: None,
        run_end_grace: TimeDelta::seconds(15),
        unstarted: None,
        resume_advice: "set it to todo".to_owned(),
        resume_commands: None,
        history: History::never_tried(at(0), at(0)),
    }
}

fn step() -> StepFacts {
    StepFacts {
        step: Step {
            position: 2,
            title: "Pack".to_owned(),
            ..Step::new(Id("s".to_owned()), "in_progress", None, at(0))
        },
        tenant: "acme".to_owned(),
        identifier: "Launch #2".to_owned(),
        plan_id: Id("p".to_owned()),
        plan_status: "executing".to_owned(),
        assignee: agent("idle"),
        issue_id: None,
        runs: UnendedRuns::default(),
        pending_wake_since: None,
        pending_wake: None,
        history: History::never_tried(at(0), at(0)),
        holders: None,
    }
}

fn refusal(request: Request, facts: &impl Requested) -> Option<String> {
    judge(request, facts, &Policy::default()).err().map(|refusal| refusal.why)
}

#[test]
fn a_request_goes_on_without_patience_and_beyond_every_bound() {
    let spent = History {
        attempts: 9,
        attempts_last_day: 99,
        last_attempt_at: Some(at(0)),
        last_attempt_ended_at: Some(at(0)),
        escalated: true,
        escalations_last_day: 99,
        open: Some(OpenRecovery { id: Id("r".to_owned()), since: at(0) }),
        ..issue().history
    };
    let verdict = judge(Request::Wake, &IssueFacts { history: spent, ..issue() }, &Policy::default());
    let continued = Decision::Continue { attempt: 10, remedy: ContinueBy::Wake };
    assert_eq!(verdict.map(|verdict| verdict.decision), Ok(continued));
}

#[rstest]
#[case::done(IssueFacts { status: "done".to_owned(), ..issue() }, "it is done")]
#[case::a_persons(IssueFacts { assigned_to_user: true, ..issue() }, "a person has it")]
#[case::nobodys(IssueFacts { assignee: Assignee::Nobody, ..issue() }, "no agent is assigned")]
#[case::live(IssueFacts { runs: UnendedRuns::live(), ..issue() }, "a run is live")]
#[case::woken(IssueFacts { pending_wake_since: Some(at(-1)), ..issue() }, "a wake is queued")]
#[case::stuck(IssueFacts { pending_wake_since: Some(at(-90)), ..issue() }, "stuck wake: queued for 1h 30m")]
#[case::waiting(IssueFacts { declared_wait: Some("approval".to_owned()), ..issue() }, "it waits: approval")]
#[case::planned(IssueFacts { host_plan: Some("a retry".to_owned()), ..issue() },
    "its host is not done with its last run: a retry")]
#[case::just_ended(IssueFacts { last_run_ended_at: Some(at(0)), ..issue() },
    "its last run ended a moment ago, and its host may be about to say what follows")]
#[case::paused(IssueFacts { assignee: agent("paused"), ..issue() }, "Ada is paused")]
#[case::in_vain(IssueFacts { unreachable: Some("its project is archived".to_owned()), ..issue() },
    "its project is archived")]
fn what_would_be_wrong_now_is_refused(#[case] facts: IssueFacts, #[case] why: &str) {
    assert_eq!(refusal(Request::Wake, &facts).as_deref(), Some(why));
}

#[rstest]
#[case::its_own(Whose::Subject, "exempt: on purpose")]
#[case::its_agents(Whose::Agent, "its agent is exempt: on purpose")]
#[case::its_tenants(Whose::Tenant, "its tenant is exempt: on purpose")]
fn an_exemption_binds_who_asks_as_long_as_it_holds(#[case] whose: Whose, #[case] why: &str) {
    let exempt = |until| {
        let exemption = Exemption { whose, reason: "on purpose".to_owned(), until };
        IssueFacts { history: History { exemption: Some(exemption), ..issue().history }, ..issue() }
    };
    assert_eq!(refusal(Request::Wake, &exempt(None)).as_deref(), Some(why));
    assert_eq!(refusal(Request::Wake, &exempt(Some(at(1)))).as_deref(), Some(why));
    assert_eq!(refusal(Request::Wake, &exempt(Some(at(0)))), None);
}

#[test]
fn an_issue_to_do_is_woken_only_where_its_host_says_that_nothing_will_start_it() {
    let to_do = IssueFacts { status: "todo".to_owned(), ..issue() };
    assert_eq!(refusal(Request::Wake, &to_do).as_deref(), Some("it is todo"));
    let unstarted = IssueFacts { unstarted: Some("its wake was skipped".to_owned()), ..to_do };
    assert_eq!(refusal(Request::Wake, &unstarted), None);
    let waiting = IssueFacts { declared_wait: Some("approval".to_owned()), unstarted: None, ..unstarted };
    assert_eq!(refusal(Request::Wake, &waiting).as_deref(), Some("it waits: approval"));
}

/// What the host undoes if somebody tells it to is said last, so that nobody tells it in vain.
#[test]
fn the_hosts_own_commands_come_with_a_refusal_only_if_nothing_else_is_wrong() {
    let commands = |facts: &IssueFacts| {
        judge(Request::Wake, facts, &Policy::default()).err().and_then(|refusal| refusal.host_commands)
    };
    let held = IssueFacts {
        status: "blocked".to_owned(),
        unreachable: Some("its host forbids to start it".to_owned()),
        resume_commands: Some("[]".to_owned()),
        ..issue()
    };
    assert_eq!(commands(&held).as_deref(), Some("[]"));
    assert_eq!(refusal(Request::Wake, &held).as_deref(), Some("its host forbids to start it"));
    let exemption = Exemption { whose: Whose::Subject, reason: "on purpose".to_owned(), until: None };
    for wrong in [
        IssueFacts { assigned_to_user: true, ..held.clone() },
        IssueFacts { declared_wait: Some("approval".to_owned()), ..held.clone() },
        IssueFacts { assignee: agent("paused"), ..held.clone() },
        IssueFacts { history: History { exemption: Some(exemption), ..held.history.clone() }, ..held.clone() },
        IssueFacts { resume_commands: None, ..held.clone() },
    ] {
        assert_eq!(commands(&wrong), None, "{wrong:?}");
        assert!(refusal(Request::Wake, &wrong).is_some(), "{wrong:?}");
    }
}

#[test]
fn every_refusal_says_what_would_change_it() {
    let blocked = IssueFacts { status: "blocked".to_owned(), ..issue() };
    let refused = judge(Request::Wake, &blocked, &Policy::default()).expect_err("a refusal");
    assert_eq!(refused.what_would_change_it, "it is unblocked: set it to todo");
}

#[test]
fn a_step_is_given_up_while_a_wake_is_stuck_and_not_while_one_is_fresh() {
    let woken = |minutes| StepFacts { pending_wake_since: Some(at(minutes)), ..step() };
    for request in [Request::FailStep, Request::SkipStep] {
        assert_eq!(refusal(request, &woken(-1)).as_deref(), Some("a wake is queued"));
        assert_eq!(refusal(request, &woken(-90)), None);
    }
    assert_eq!(refusal(Request::Wake, &woken(-90)).as_deref(), Some("stuck wake: queued for 1h 30m"));
}

#[test]
fn each_request_has_a_name_and_kinds_of_its_own() {
    let names: Vec<&str> = Request::ALL.iter().map(|request| request.name()).collect();
    let expected = ["wake", "nudge", "relaunch", "heartbeat", "pause", "resume", "fail-step", "skip-step"];
    assert_eq!(names, expected);
    assert!(Request::ALL.iter().all(|request| !request.kinds().is_empty()));
}

proptest! {
    /// Whatever a sweep would do about an issue now, a person may have done: a request only adds to it.
    #[test]
    fn what_a_sweep_would_continue_a_person_may_wake(
        idle in 0i64..300, attempts in 0u32..4, live: bool, person: bool, wait: bool, paused: bool,
    ) {
        let history = History { attempts, idle_since: at(-idle), episode_began_at: at(-idle), ..issue().history };
        let facts = IssueFacts {
            runs: UnendedRuns { has_live_run: live, ..UnendedRuns::default() },
            assigned_to_user: person,
            declared_wait: wait.then(|| "approval".to_owned()),
            assignee: agent(if paused { "paused" } else { "idle" }),
            history,
            ..issue()
        };
        let by_sweep = matches!(decide(&facts, &Policy::default()).decision, Decision::Continue { .. });
        let by_person = refusal(Request::Wake, &facts).is_none();
        prop_assert!(by_person || !by_sweep);
        prop_assert_eq!(by_person, !live && !person && !wait && !paused);
    }
}
