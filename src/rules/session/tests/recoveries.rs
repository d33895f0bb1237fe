//! What ends an episode, and what a relaunch has to prove.

use super::*;

#[rstest]
#[case::it_answered_the_nudge(progressed(-30), tried(1, -60), Decision::Recovered(Reason::Recent))]
#[case::it_only_moved_after_the_nudge(Session { active_at: at(-30), ..session() }, tried(1, -60),
    Decision::Leave(Reason::Recent))]
#[case::it_moved_and_nobody_reports_its_progress(
    Session { active_at: at(-30), reports_progress: false, ..session() }, tried(1, -60),
    Decision::Recovered(Reason::Recent))]
#[case::it_has_not_answered_yet(
    Session { active_at: at(-61), silent_after: Some(TimeDelta::minutes(2)), ..session() }, tried(1, -60),
    Decision::Leave(Reason::Recent))]
#[case::it_answered_after_the_escalation(
    progressed(-30), History { escalated: true, ..tried(0, -60) }, Decision::Recovered(Reason::Recent))]
#[case::its_question_is_gone(
    Session { agent: doing(Activity::Working, -30), ..progressed(-30) }, History { escalated: true, ..tried(0, -60) },
    Decision::Recovered(Reason::Recent))]
#[case::its_question_is_the_same(
    Session { agent: doing(Activity::Waiting, -90), ..progressed(-90) }, History { escalated: true, ..tried(0, -60) },
    Decision::Leave(Reason::Escalated))]
#[case::another_question_is_news(
    Session { agent: doing(Activity::Waiting, -30), ..progressed(-30) }, History { escalated: true, ..tried(0, -60) },
    Decision::Escalate(asks()))]
#[case::it_answered_and_fell_silent_again(Session { active_at: at(-600), ..session() }, tried(2, -900), nudge(1))]
#[case::the_loop_goes_on(looping(), History { escalated: true, ..tried(0, -60) }, Decision::Leave(Reason::Escalated))]
#[case::the_loop_was_broken(
    Session { recent_output: session().recent_output, progressed_at: at(-1), ..looping() }, tried(1, -60),
    Decision::Recovered(Reason::Recent))]
#[case::it_was_closed(
    Session { status: "terminated".to_owned(), ..ended(Some(1)) }, tried(0, -60),
    Decision::Recovered(Reason::NotInProgress("terminated".to_owned())))]
fn what_counts_as_a_recovery(#[case] session: Session, #[case] history: History, #[case] expected: Decision) {
    assert_eq!(decision(session, history), expected);
}

#[rstest]
#[case::it_is_over("terminated", true)]
#[case::a_run_that_succeeded("succeeded", true)]
#[case::to_be_started_anew("created", true)]
#[case::a_run_that_is_queued_again("queued", true)]
#[case::a_run_that_its_host_tries_again("scheduled_retry", true)]
#[case::stopped_on_purpose("interrupted", false)]
#[case::paused("paused", false)]
#[case::a_run_that_failed("failed", false)]
#[case::a_run_that_was_cancelled("cancelled", false)]
#[case::a_run_that_took_too_long("timed_out", false)]
#[case::one_we_do_not_know("nonsense", false)]
fn a_session_recovers_only_by_a_status_that_goes_on_or_is_finished(#[case] status: &str, #[case] recovered: bool) {
    let reason = Reason::NotInProgress(status.to_owned());
    let expected = if recovered { Decision::Recovered(reason) } else { Decision::HandedOver(reason) };
    let session = Session { status: status.to_owned(), ..ended(Some(1)) };
    assert_eq!(decision(session, tried(0, -60)), expected);
}

#[test]
fn a_session_that_ended_well_has_recovered_and_one_that_waits_is_handed_over() {
    assert_eq!(decision(ended(Some(0)), tried(1, -60)), Decision::Recovered(Reason::EndedWell));
    let wait = "its stall detection is paused".to_owned();
    let waiting = Session { declared_wait: Some(wait.clone()), ..session() };
    assert_eq!(decision(waiting, tried(1, -60)), Decision::HandedOver(Reason::DeclaredWait(wait)));
}

#[rstest]
#[case::done("done", true)]
#[case::cancelled("cancelled", false)]
fn with_its_issue_a_session_is_finished_or_handed_over(#[case] status: &str, #[case] recovered: bool) {
    let decision = decide(&facts_of(session(), Some(issue(status)), tried(1, -60)), &Policy::default()).decision;
    let reason = Reason::IssueFinished(status.to_owned());
    assert_eq!(decision, if recovered { Decision::Recovered(reason) } else { Decision::HandedOver(reason) });
}

#[rstest]
#[case::it_crashed(ended(Some(1)), history(), Decision::Continue { attempt: 1, remedy: ContinueBy::Relaunch })]
#[case::it_crashed_as_soon_as_it_was_started(
    Session { started_at: at(-100), active_at: at(-60), ..ended(Some(1)) }, tried(1, -120),
    Decision::Escalate(Cause::Exhausted))]
#[case::it_crashed_at_once_and_a_person_is_notified_at_once(
    Session { started_at: at(-20), active_at: at(-15), ..ended(Some(1)) }, tried(1, -30),
    Decision::Escalate(Cause::Exhausted))]
#[case::it_is_not_up_yet(ended(Some(1)), tried(1, -30), Decision::Wait { until: at(90) })]
#[case::it_never_came_up(
    Session { active_at: at(-200), ended: Some(Ended { at: at(-200), exit_code: Some(1) }), ..session() },
    tried(1, -120),
    Decision::Escalate(Cause::Exhausted))]
#[case::it_worked_for_a_while_before(
    Session { started_at: at(-400), progressed_at: at(-60), ..ended(Some(1)) }, tried(1, -500),
    Decision::Continue { attempt: 1, remedy: ContinueBy::Relaunch })]
#[case::it_has_just_been_started(
    Session { started_at: at(-100), active_at: at(0), ..session() }, tried(1, -120), Decision::Leave(Reason::Recent))]
#[case::it_has_worked_for_long_enough(
    Session { started_at: at(-301), ..progressed(0) }, tried(1, -400), Decision::Recovered(Reason::Recent))]
fn what_is_done_when_relaunching_is_on(#[case] session: Session, #[case] history: History, #[case] expected: Decision) {
    let policy = Policy { auto_relaunch: true, ..Policy::default() };
    assert_eq!(decide(&facts_of(session, None, history), &policy).decision, expected);
}
