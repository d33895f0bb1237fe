use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;
use rstest::rstest;

mod clauses;
mod handovers;

use super::issue::IssueFacts;
use super::*;

fn at(minutes: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).expect("a time") + TimeDelta::minutes(minutes)
}

fn agent(status: Option<&str>) -> Assignee {
    let name = status.map(|_| "Ada".to_owned());
    Assignee::Agent { id: Id("a".to_owned()), name, status: status.map(str::to_owned), obstacle: None }
}

fn open(minutes: i64) -> Option<OpenRecovery> {
    Some(OpenRecovery { id: Id("r".to_owned()), since: at(minutes) })
}

/// Began an hour ago, idle since, never tried.
fn history() -> History {
    History::never_tried(at(-60), at(0))
}

/// Broken in every clause: an orphan.
fn orphan() -> IssueFacts {
    IssueFacts {
        id: Id("i".to_owned()),
        tenant: "acme".to_owned(),
        identifier: None,
        title: "Mend the fence".to_owned(),
        status: "in_progress".to_owned(),
        assignee: agent(Some("idle")),
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
        run_end_grace: TimeDelta::milliseconds(500),
        unstarted: None,
        resume_advice: "set it to todo".to_owned(),
        resume_commands: None,
        history: history(),
    }
}

fn tried_once() -> History {
    History { attempts: 1, attempts_last_day: 1, last_attempt_at: Some(at(-30)), open: open(-30), ..history() }
}

fn decision(facts: &IssueFacts) -> Decision {
    decide(facts, &Policy::default()).decision
}

#[rstest]
#[case::paused(Some("paused"), None, Some(7))]
#[case::not_approved(Some("pending_approval"), None, Some(7))]
#[case::of_a_status_that_nobody_knows(Some("retired"), None, Some(7))]
#[case::held_by_an_obstacle(Some("idle"), Some("its project is paused"), Some(7))]
#[case::terminated(Some("terminated"), None, None)]
#[case::missing(None, None, None)]
fn no_work_stands_still_that_nobody_hears_of(
    #[case] status: Option<&str>,
    #[case] obstacle: Option<&str>,
    #[case] again_after_days: Option<i64>,
) {
    let assignee = |id: &str| Assignee::Agent {
        id: Id(id.to_owned()),
        name: Some("Ada".to_owned()),
        status: status.map(str::to_owned),
        obstacle: obstacle.map(str::to_owned),
    };
    // Idle for so long, and reported so long ago, if it was.
    let is_reported = |whose: &str, idle: i64, told: Option<(i64, Option<&str>)>| {
        let since = told.map(|(ago, _)| OpenRecovery { id: Id("r".to_owned()), since: at(-ago) });
        let lost_agent = told.and_then(|(_, lost)| lost).map(|id| Id(id.to_owned()));
        let history =
            History { abandoned: told.is_some(), lost_agent, open: since, ..History::never_tried(at(-idle), at(0)) };
        let facts = IssueFacts { assignee: assignee(whose), history, ..orphan() };
        matches!(decision(&facts), Decision::Abandon(_))
    };
    const DAY: i64 = 24 * 60;
    let first = if again_after_days.is_some() { DAY } else { 60 };
    assert!(!is_reported("a", first, None) && is_reported("a", first + 1, None));
    match again_after_days {
        Some(days) => {
            assert!(!is_reported("a", 9 * DAY, Some((days * DAY - 1, None))));
            assert!(is_reported("a", 9 * DAY, Some((days * DAY, None))));
        }
        None => {
            assert!(!is_reported("a", 900 * DAY, Some((899 * DAY, Some("a")))), "once for each agent");
            assert!(is_reported("b", 2 * DAY, Some((1, Some("a")))), "another one is lost");
            assert!(is_reported("a", 2 * DAY, Some((1, None))), "people knew that it was paused");
        }
    }
}

#[rstest]
#[case::done("done")]
#[case::blocked("blocked")]
#[case::todo("todo")]
#[case::one_we_do_not_know("on_fire")]
fn an_issue_that_is_not_in_progress_is_left(#[case] status: &str) {
    let facts = IssueFacts { status: status.to_owned(), ..orphan() };
    assert_eq!(decision(&facts), Decision::Leave(Reason::NotInProgress(status.to_owned())));
}

#[rstest]
#[case::a_person_has_it(IssueFacts { assigned_to_user: true, ..orphan() }, Reason::AssignedToUser)]
#[case::nobody_has_it(IssueFacts { assignee: Assignee::Nobody, ..orphan() }, Reason::NoAgentAssigned)]
#[case::a_run_is_live(IssueFacts { runs: UnendedRuns::live(), ..orphan() }, Reason::LiveRun)]
#[case::a_wake_is_queued(IssueFacts { pending_wake_since: Some(at(-59)), ..orphan() }, Reason::PendingWake)]
#[case::a_wake_is_stuck(
    IssueFacts { pending_wake_since: Some(at(-61)), ..orphan() },
    Reason::StuckWake(TimeDelta::minutes(61))
)]
#[case::it_waits(
    IssueFacts { declared_wait: Some("approval".to_owned()), ..orphan() },
    Reason::DeclaredWait("approval".to_owned())
)]
#[case::idle_for_just_the_grace(IssueFacts { history: History { idle_since: at(-2), ..history() }, ..orphan() },
    Reason::Recent)]
#[case::touched_in_the_future(IssueFacts { history: History { idle_since: at(900), ..history() }, ..orphan() },
    Reason::Recent)]
fn one_clause_of_the_definition_is_enough_to_be_left(#[case] facts: IssueFacts, #[case] reason: Reason) {
    assert_eq!(decision(&facts), Decision::Leave(reason));
}

#[rstest]
#[case::paused("paused", false)]
#[case::terminated("terminated", false)]
#[case::pending_approval("pending_approval", false)]
#[case::one_we_do_not_know("asleep", false)]
#[case::active("active", true)]
#[case::idle("idle", true)]
#[case::running("running", true)]
#[case::error("error", true)]
fn only_agents_that_can_work_are_woken(#[case] status: &str, #[case] woken: bool) {
    let decision = decision(&IssueFacts { assignee: agent(Some(status)), ..orphan() });
    assert_eq!(decision == Decision::Continue { attempt: 1, remedy: ContinueBy::Wake }, woken);
    assert_eq!(matches!(decision, Decision::Skip(Unavailable::Status { .. })), !woken);
}

#[test]
fn an_agent_that_does_not_exist_or_that_the_host_forbids_to_wake_is_skipped() {
    let missing = IssueFacts { assignee: agent(None), ..orphan() };
    assert_eq!(decision(&missing), Decision::Skip(Unavailable::NoSuchAgent));
    let obstacle = Some("its company is paused".to_owned());
    let forbidden = Assignee::Agent { id: Id("a".to_owned()), name: None, status: Some("idle".to_owned()), obstacle };
    let forbidden = decision(&IssueFacts { assignee: forbidden, ..orphan() });
    assert_eq!(forbidden, Decision::Skip(Unavailable::Obstacle("its company is paused".to_owned())));
}

#[test]
fn an_issue_whose_host_takes_no_wake_up_is_a_persons_at_once() {
    let why = "its environment was never released".to_owned();
    let facts = IssueFacts { unreachable: Some(why.clone()), ..orphan() };
    assert_eq!(decision(&facts), Decision::Escalate(Cause::WakesInVain(why.clone())));
    let nobodys = IssueFacts { assignee: agent(None), ..facts.clone() };
    assert_eq!(decision(&nobodys), Decision::Escalate(Cause::WakesInVain(why)));
    let paused = IssueFacts { assignee: agent(Some("paused")), ..facts };
    assert!(matches!(decision(&paused), Decision::Skip(_)));
}

#[rstest]
#[case::first_attempt(history(), Decision::Continue { attempt: 1, remedy: ContinueBy::Wake })]
#[case::attempts_used_up(tried_once(), Decision::Escalate(Cause::Exhausted))]
#[case::an_attempt_that_ended_a_moment_ago_may_still_be_followed(
    History { last_attempt_ended_at: Some(at(-4)), ..tried_once() },
    Decision::Wait { until: at(1) }
)]
#[case::an_attempt_that_ended_before_the_delay_is_not(
    History { last_attempt_ended_at: Some(at(-5)), ..tried_once() },
    Decision::Escalate(Cause::Exhausted)
)]
#[case::an_attempt_that_never_began_is_none(
    History { attempts: 0, attempts_unserved: 1, ..tried_once() },
    Decision::Continue { attempt: 1, remedy: ContinueBy::Wake }
)]
#[case::but_the_day_counts_every_wake(
    History { attempts: 0, attempts_unserved: 4, attempts_last_day: 4, ..tried_once() },
    Decision::Escalate(Cause::TooManyAttempts)
)]
#[case::a_person_was_notified(History { escalated: true, ..tried_once() }, Decision::Leave(Reason::Escalated))]
#[case::a_new_episode_but_a_full_day(
    History { attempts_last_day: 4, ..history() },
    Decision::Escalate(Cause::TooManyAttempts)
)]
#[case::a_new_episode_right_after_an_attempt(
    History { last_attempt_at: Some(at(-4)), ..history() },
    Decision::Wait { until: at(1) }
)]
#[case::the_delay_has_just_passed(History { last_attempt_at: Some(at(-5)), ..history() },
    Decision::Continue { attempt: 1, remedy: ContinueBy::Wake })]
fn an_orphan_is_continued_then_escalated(#[case] history: History, #[case] expected: Decision) {
    assert_eq!(decision(&IssueFacts { history, ..orphan() }), expected);
}

#[rstest]
#[case::done(IssueFacts { status: "done".to_owned(), ..orphan() }, true)]
#[case::blocked(IssueFacts { status: "blocked".to_owned(), ..orphan() }, true)]
#[case::given_to_a_person(IssueFacts { assigned_to_user: true, ..orphan() }, true)]
#[case::it_waits_now(IssueFacts { declared_wait: Some("review".to_owned()), ..orphan() }, true)]
#[case::only_our_wake_is_queued(IssueFacts { pending_wake_since: Some(at(-30)), ..orphan() }, false)]
#[case::only_our_continuation_runs(IssueFacts { runs: UnendedRuns::live(), ..orphan() }, false)]
#[case::still_orphaned(orphan(), false)]
fn an_attempt_is_closed_only_when_the_issue_healed(#[case] facts: IssueFacts, #[case] closed: bool) {
    let decision = decision(&IssueFacts { history: tried_once(), ..facts });
    assert_eq!(matches!(decision, Decision::Recovered(_) | Decision::HandedOver(_)), closed, "{decision:?}");
}

#[test]
fn a_run_that_was_started_after_the_attempt_and_not_by_it_is_a_recovery() {
    let history = History { episode_began_at: at(-10), attempts: 0, ..tried_once() };
    let facts = IssueFacts { runs: UnendedRuns::live(), history, ..orphan() };
    assert_eq!(decision(&facts), Decision::Recovered(Reason::LiveRun));
}

prop_compose! {
    fn any_history()(
        idle in -100_000i64..100_000, episode in -100_000i64..1, attempts in 0u32..6, extra in 0u32..6,
        last in proptest::option::of(-3_000i64..10), escalated: bool, open in proptest::option::of(-3_000i64..0),
    ) -> History {
        History {
            episode_began_at: at(episode),
            attempts,
            attempts_last_day: attempts + extra,
            last_attempt_at: last.map(at),
            escalated,
            open: open.map(|minutes| OpenRecovery { id: Id("r".to_owned()), since: at(minutes) }),
            ..History::never_tried(at(idle), at(0))
        }
    }
}

prop_compose! {
    fn any_issue()(
        status in "in_progress|done|blocked|nonsense", assigned: bool, user: bool,
        agent_status in proptest::option::of("idle|running|paused|terminated|nonsense"), live: bool,
        wake in proptest::option::of(-200i64..10), wait in proptest::option::of("approval"), history in any_history(),
    ) -> IssueFacts {
        IssueFacts {
            status,
            assignee: if assigned { agent(agent_status.as_deref()) } else { Assignee::Nobody },
            assigned_to_user: user,
            runs: UnendedRuns { has_live_run: live, ..UnendedRuns::default() },
            pending_wake_since: wake.map(at),
            pending_wake: None,
            declared_wait: wait,
            history,
            ..orphan()
        }
    }
}

proptest! {
    #[test]
    fn nothing_is_continued_when_its_attempts_are_spent(facts in any_issue(), max in 0u32..4, per_day in 0u32..6) {
        let policy = Policy { attempts_max: max, attempts_per_day_max: per_day, ..Policy::default() };
        if let Decision::Continue { attempt, .. } = decide(&facts, &policy).decision {
            prop_assert!(attempt <= max && facts.history.attempts_last_day < per_day);
        }
    }

    #[test]
    fn a_healthy_issue_is_never_touched(facts in any_issue()) {
        let healthy = facts.status != "in_progress" || facts.assigned_to_user || facts.runs.has_live_run
            || facts.pending_wake_since.is_some() || facts.declared_wait.is_some()
            || facts.assignee == Assignee::Nobody || facts.history.idle_for() <= TimeDelta::minutes(2);
        let verdict = decide(&facts, &Policy::default());
        let touched = matches!(verdict.decision, Decision::Continue { .. } | Decision::Escalate(_) | Decision::Skip(_));
        prop_assert_eq!(healthy, verdict.finding.is_none());
        prop_assert!(!(healthy && touched), "{:?}", verdict);
    }

    #[test]
    fn an_agent_that_cannot_work_is_never_woken_and_nobody_is_notified(facts in any_issue()) {
        let can = matches!(&facts.assignee,
            Assignee::Agent { status: Some(status), .. } if status == "idle" || status == "running");
        let decision = decide(&facts, &Policy::default()).decision;
        let acted = matches!(decision, Decision::Continue { .. } | Decision::Escalate(_));
        prop_assert!(can || !acted);
    }
}
