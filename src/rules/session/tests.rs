use rstest::rstest;

use super::*;
use crate::rules::{Decision, Unavailable, decide};

mod model;
mod recoveries;

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).expect("a time") + TimeDelta::seconds(seconds)
}

/// Began an hour ago, quiet for ten minutes; its process runs.
fn session() -> Session {
    Session {
        id: Id("s".to_owned()),
        identifier: Some("fence".to_owned()),
        title: "mend the fence".to_owned(),
        status: "active".to_owned(),
        declared_wait: None,
        is_paused: false,
        started_at: at(-3600),
        active_at: at(-600),
        progressed_at: at(-600),
        reports_progress: true,
        ended: None,
        silent_after: None,
        recent_output: vec!["one".to_owned(), "two".to_owned()],
        takes_commands: true,
        takes_nudges: true,
        agent: None,
        pending_command_since: None,
    }
}

fn history() -> History {
    History { episode_began_at: at(-3600), ..History::never_tried(at(-600), at(0)) }
}

/// `attempts` made, the last one then.
fn tried(attempts: u32, seconds: i64) -> History {
    let open = Some(OpenRecovery { id: Id("r".to_owned()), since: at(seconds) });
    History { attempts, attempts_last_day: attempts, last_attempt_at: Some(at(seconds)), open, ..history() }
}

fn agent(status: &str) -> Assignee {
    let (name, status) = (Some("Ada".to_owned()), Some(status.to_owned()));
    Assignee::Agent { id: Id("a".to_owned()), name, status, obstacle: None }
}

fn issue(status: &str) -> LinkedIssue {
    LinkedIssue { id: Id("i".to_owned()), status: status.to_owned(), has_live_run: false, pending_wake_since: None }
}

fn facts_of(session: Session, issue: Option<LinkedIssue>, history: History) -> SessionFacts {
    SessionFacts::new(session, "acme".to_owned(), agent("idle"), issue, history)
}

fn facts(session: Session) -> SessionFacts {
    facts_of(session, None, history())
}

fn looping() -> Session {
    Session { recent_output: vec!["Error: refused".to_owned(); 8], active_at: at(-1), ..session() }
}

fn ended(exit_code: Option<i32>) -> Session {
    Session { ended: Some(Ended { at: at(-60), exit_code }), active_at: at(-60), ..session() }
}

fn progressed(seconds: i64) -> Session {
    Session { active_at: at(seconds), progressed_at: at(seconds), ..session() }
}

/// Since then.
fn doing(activity: Activity, seconds: i64) -> Option<AgentState> {
    let (kind, question) = (Some("permission".to_owned()), "rm -rf ./important".to_owned());
    Some(AgentState { activity, kind, question, since: at(seconds), evidence: String::new() })
}

/// It moves, and last did something new then.
fn moving(seconds: i64) -> Session {
    Session { active_at: at(-1), progressed_at: at(seconds), ..session() }
}

fn asks() -> Cause {
    Cause::Asks("asks for permission: “rm -rf ./important”".to_owned())
}

fn diagnosis(session: Session) -> Result<Finding, Reason> {
    facts(session).diagnose(&Policy::default())
}

fn decision(session: Session, history: History) -> Decision {
    decide(&facts_of(session, None, history), &Policy::default()).decision
}

fn nudge(attempt: u32) -> Decision {
    Decision::Continue { attempt, remedy: ContinueBy::Nudge }
}

#[rstest]
#[case::silent(session(), "silent 10m")]
#[case::silent_for_hours(Session { active_at: at(-9_000), ..session() }, "silent 2h")]
#[case::silent_since_long_before_all(Session { active_at: DateTime::<Utc>::MIN_UTC, ..session() }, "silent 999d")]
#[case::looping(looping(), "loop")]
#[case::without_progress(moving(-86_399), "no progress 23h")]
#[case::without_progress_since_long_before_all(
    Session { progressed_at: DateTime::<Utc>::MIN_UTC, ..moving(0) }, "no progress 999d")]
#[case::crashed(ended(Some(1)), "crashed")]
#[case::waiting(Session { agent: doing(Activity::Waiting, -60), ..session() }, "asks you")]
#[case::exhausted(Session { agent: doing(Activity::Exhausted, -60), ..session() }, "exhausted")]
fn what_is_wrong_fits_into_eighteen_columns(#[case] session: Session, #[case] words: &str) {
    let brief = facts(session).in_brief(&Policy::default());
    assert_eq!(brief, words);
    assert!(brief.is_ascii() && brief.len() <= 18, "{brief}");
}

#[rstest]
#[case("quota", "no quota")]
#[case("context", "no context")]
fn what_an_agent_has_run_out_of_is_said_in_brief(#[case] kind: &str, #[case] words: &str) {
    let agent = doing(Activity::Exhausted, -60).map(|agent| AgentState { kind: Some(kind.to_owned()), ..agent });
    assert_eq!(facts(Session { agent, ..session() }).in_brief(&Policy::default()), words);
}

#[rstest]
#[case::quiet_for_ten_minutes(session(), Ok(Finding::Silent))]
#[case::exactly_at_the_threshold(Session { active_at: at(-300), ..session() }, Err(Reason::Recent))]
#[case::just_past_it(Session { active_at: at(-301), ..session() }, Ok(Finding::Silent))]
#[case::its_own_longer_threshold(Session { silent_after: Some(TimeDelta::hours(1)), ..session() }, Err(Reason::Recent))]
#[case::its_own_shorter_threshold(
    Session { silent_after: Some(TimeDelta::seconds(10)), active_at: at(-11), ..session() }, Ok(Finding::Silent))]
#[case::a_sign_of_life_in_the_future(Session { active_at: at(60), ..session() }, Err(Reason::Recent))]
#[case::a_run_has_an_hour(Session { takes_commands: false, ..session() }, Err(Reason::Recent))]
#[case::a_run_that_is_silent_for_longer(
    Session { takes_commands: false, active_at: at(-3601), ..session() }, Ok(Finding::Silent))]
#[case::the_same_line_again_and_again(looping(), Ok(Finding::Looping))]
#[case::a_loop_that_fell_silent(Session { active_at: at(-600), ..looping() }, Ok(Finding::Silent))]
#[case::a_loop_for_a_moment(Session { progressed_at: at(-300), ..looping() }, Err(Reason::Recent))]
#[case::a_loop_for_long_enough(Session { progressed_at: at(-301), ..looping() }, Ok(Finding::Looping))]
#[case::a_loop_with_progress_in_the_future(Session { progressed_at: at(60), ..looping() }, Err(Reason::Recent))]
#[case::a_question_for_a_moment(Session { agent: doing(Activity::Waiting, -10), ..session() }, Err(Reason::Recent))]
#[case::a_question_for_longer(Session { agent: doing(Activity::Waiting, -11), ..session() }, Ok(Finding::Waiting))]
#[case::a_question_beside_a_spinner(Session { agent: doing(Activity::Waiting, -11), ..moving(-11) },
    Ok(Finding::Waiting))]
#[case::no_context_left(Session { agent: doing(Activity::Exhausted, -11), ..session() }, Ok(Finding::Waiting))]
#[case::a_question_of_a_process_that_ended(
    Session { agent: doing(Activity::Waiting, -90), ..ended(Some(1)) }, Ok(Finding::Crashed))]
#[case::at_work_and_silent(Session { agent: doing(Activity::Working, -600), ..session() }, Ok(Finding::Silent))]
#[case::motion_for_fifteen_minutes(moving(-900), Err(Reason::Recent))]
#[case::motion_for_longer(moving(-901), Ok(Finding::NoProgress))]
#[case::motion_of_which_nobody_reports_progress(
    Session { reports_progress: false, ..moving(-901) }, Err(Reason::Recent))]
#[case::a_run_that_moves(Session { takes_commands: false, ..moving(-901) }, Err(Reason::Recent))]
#[case::its_process_failed(ended(Some(1)), Ok(Finding::Crashed))]
#[case::its_process_was_killed(ended(None), Ok(Finding::Crashed))]
#[case::its_process_ended_well(ended(Some(0)), Err(Reason::EndedWell))]
#[case::it_looped_and_failed(Session { recent_output: looping().recent_output, ..ended(Some(1)) },
    Ok(Finding::Crashed))]
#[case::it_will_have_ended(
    Session { ended: Some(Ended { at: at(60), exit_code: Some(1) }), ..session() }, Err(Reason::Recent))]
fn what_is_wrong_with_a_session(#[case] session: Session, #[case] expected: Result<Finding, Reason>) {
    assert_eq!(diagnosis(session), expected);
}

#[rstest]
#[case::created("created")]
#[case::paused("paused")]
#[case::terminated("terminated")]
#[case::interrupted("interrupted")]
#[case::one_we_do_not_know("nonsense")]
fn a_session_that_is_not_active_is_left(#[case] status: &str) {
    for broken in [session(), looping(), ended(Some(1))] {
        let left = diagnosis(Session { status: status.to_owned(), ..broken });
        assert_eq!(left, Err(Reason::NotInProgress(status.to_owned())));
    }
}

#[test]
fn a_session_that_declares_a_wait_is_left() {
    for broken in [session(), looping(), ended(Some(1))] {
        let wait = "its stall detection is paused".to_owned();
        let left = diagnosis(Session { declared_wait: Some(wait.clone()), ..broken });
        assert_eq!(left, Err(Reason::DeclaredWait(wait)));
    }
}

#[rstest]
#[case::done("done", false)]
#[case::cancelled("cancelled", false)]
#[case::in_progress("in_progress", true)]
#[case::todo("todo", true)]
#[case::backlog("backlog", true)]
fn a_session_whose_issue_is_finished_is_left(#[case] status: &str, #[case] is_wrong: bool) {
    for broken in [session(), looping(), ended(Some(1))] {
        let found = facts_of(broken, Some(issue(status)), history()).diagnose(&Policy::default());
        assert_eq!(found.is_ok(), is_wrong, "{found:?}");
    }
}

/// Both never continue the same work; what only hangs is no continuation of an issue.
#[rstest]
#[case::a_run(LinkedIssue { has_live_run: true, ..issue("in_progress") }, Reason::LiveRun)]
#[case::a_wake(LinkedIssue { pending_wake_since: Some(at(-60)), ..issue("in_progress") }, Reason::PendingWake)]
fn a_crashed_session_whose_issue_is_continued_otherwise_is_left(#[case] issue: LinkedIssue, #[case] reason: Reason) {
    let found = |session| facts_of(session, Some(issue.clone()), history()).diagnose(&Policy::default());
    assert_eq!(found(ended(Some(1))), Err(reason));
    assert_eq!((found(session()), found(looping())), (Ok(Finding::Silent), Ok(Finding::Looping)));
}

#[rstest]
#[case::never_tried(session(), history(), nudge(1))]
#[case::tried_once(session(), tried(1, -300), nudge(2))]
#[case::tried_a_moment_ago(session(), tried(1, -119), Decision::Wait { until: at(1) })]
#[case::the_delay_has_just_passed(session(), tried(1, -120), nudge(2))]
#[case::tried_twice(session(), tried(2, -300), Decision::Escalate(Cause::Exhausted))]
#[case::the_second_nudge_has_its_delay_as_well(session(), tried(2, -119), Decision::Wait { until: at(1) })]
#[case::which_has_just_passed(session(), tried(2, -120), Decision::Escalate(Cause::Exhausted))]
#[case::escalated(session(), History { escalated: true, ..tried(0, -300) }, Decision::Leave(Reason::Escalated))]
#[case::a_days_nudges_are_used_up(
    session(), History { attempts_last_day: 4, ..history() }, Decision::Escalate(Cause::TooManyAttempts))]
#[case::a_loop_never_tried(looping(), history(), nudge(1))]
#[case::a_loop_tried_once_is_still_the_same_episode(looping(), tried(1, -300), nudge(2))]
#[case::a_loop_tried_twice(looping(), tried(2, -300), Decision::Escalate(Cause::Exhausted))]
#[case::a_crash(ended(Some(1)), history(), Decision::Escalate(Cause::Crashed("with exit code 1".to_owned())))]
#[case::a_crash_after_a_nudge(
    ended(Some(1)), tried(1, -61), Decision::Escalate(Cause::Crashed("with exit code 1".to_owned())))]
#[case::a_run_takes_no_commands(
    Session { takes_commands: false, active_at: at(-7200), ..session() }, history(),
    Decision::Escalate(Cause::NoChannel))]
#[case::a_question_is_never_typed_to(
    Session { agent: doing(Activity::Waiting, -60), ..session() }, history(), Decision::Escalate(asks()))]
#[case::nor_when_a_days_nudges_and_escalations_are_used_up(
    Session { agent: doing(Activity::Waiting, -60), ..session() },
    History { attempts_last_day: 4, escalations_last_day: 23, ..history() }, Decision::Escalate(asks()))]
#[case::but_not_without_bound(
    Session { agent: doing(Activity::Waiting, -60), ..session() },
    History { escalations_last_day: 24, ..history() }, Decision::Leave(Reason::Escalated))]
#[case::motion_is_never_typed_to(moving(-901), history(), Decision::Escalate(Cause::NoProgress))]
#[case::an_unknown_screen_is_never_typed_to(
    Session { takes_nudges: false, ..session() }, history(), Decision::Escalate(Cause::NotAtPrompt))]
#[case::nor_a_loop_at_work(
    Session { takes_nudges: false, ..looping() }, history(), Decision::Escalate(Cause::NotAtPrompt))]
#[case::one_that_was_nudged_has_its_delay(
    Session { takes_nudges: false, ..session() }, tried(1, -60), Decision::Wait { until: at(60) })]
#[case::a_command_on_its_way(
    Session { pending_command_since: Some(at(-120)), ..session() }, tried(1, -120),
    Decision::Leave(Reason::PendingCommand))]
#[case::a_command_that_nobody_takes(
    Session { pending_command_since: Some(at(-121)), ..session() }, tried(1, -121),
    Decision::Escalate(Cause::NotDelivered))]
fn what_is_done_about_a_session(#[case] session: Session, #[case] history: History, #[case] expected: Decision) {
    assert_eq!(decision(session, history), expected);
}

#[test]
fn a_session_of_nobody_is_nudged_and_one_of_a_paused_agent_is_skipped() {
    let decision = |assignee| {
        let facts = SessionFacts::new(session(), String::new(), assignee, None, history());
        decide(&facts, &Policy::default()).decision
    };
    assert_eq!(decision(Assignee::Nobody), nudge(1));
    for status in ["paused", "terminated", "pending_approval", "nonsense"] {
        let unavailable = Unavailable::Status { name: "Ada".to_owned(), status: status.to_owned() };
        assert_eq!(decision(agent(status)), Decision::Skip(unavailable));
    }
}

#[test]
fn the_comment_says_what_happened_and_holds_no_output() {
    let quote = |text: &str| format!("<{text}>");
    let comment_on =
        |session: Session| escalation_comment(&facts(session), &Cause::Exhausted, &Policy::default(), quote, None);
    let (silent, crashed, looped) = (comment_on(session()), comment_on(ended(Some(137))), comment_on(looping()));
    assert!(silent.contains("It showed no sign of life for 10m."), "{silent}");
    assert!(crashed.contains("It crashed with exit code 137 (signal 9), 1m ago."), "{crashed}");
    assert!(looped.contains("It repeats itself and made no progress for 10m."), "{looped}");
    assert!(!looped.contains("refused"), "{looped}");
    let moved = comment_on(moving(-1200));
    assert!(moved.contains("It moves, and did nothing new for 20m."), "{moved}");
}

#[test]
fn the_comment_of_a_question_quotes_it_and_says_whose_it_is() {
    let quote = |text: &str| format!("<{text}>");
    let session = Session { agent: doing(Activity::Waiting, -60), ..session() };
    let comment = escalation_comment(&facts(session), &asks(), &Policy::default(), quote, None);
    let comment_on = "Session <fence> of <Ada>, running <mend the fence>, asks for permission: <rm -rf ./important>.";
    assert!(comment.contains("waits for a person") && comment.contains(comment_on), "{comment}");
    assert!(!comment.contains("Tried"), "{comment}");
}

#[test]
fn the_comment_leads_to_the_page_of_its_session() {
    let quote = |text: &str| format!("<{text}>");
    let (cause, url) = (Cause::Exhausted, Some("https://board.example/7"));
    let comment = escalation_comment(&facts(session()), &cause, &Policy::default(), quote, url);
    assert!(comment.contains("Session [<fence>](https://board.example/7) of <Ada>, running <mend"), "{comment}");
}
