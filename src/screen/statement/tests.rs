//! What is believed of an agent when its sources say different things, and when it can go on.

use rstest::rstest;

use super::*;

fn says(source: StatementSource, activity: Activity, question: &str) -> Statement {
    let (question, evidence) = (question.to_owned(), String::new());
    Statement { activity, kind: None, question, resumes: None, source, evidence }
}

fn after(seconds: u64, began: Instant) -> Instant {
    began + Duration::from_secs(seconds)
}

fn activity(tracker: &ActivityTracker) -> Option<Activity> {
    tracker.current().map(|known| known.statement.activity)
}

#[test]
fn what_the_screen_said_before_it_was_doubted_is_no_news() {
    let (mut tracker, began) = (ActivityTracker::default(), Instant::now());
    let idle = || Some(says(StatementSource::Screen, Activity::Idle, ""));
    tracker.set_screen(idle(), began);
    tracker.add(says(StatementSource::Event, Activity::Waiting, "rm -rf"), after(5, began));
    tracker.doubt_screen();
    assert_eq!(tracker.on_screen(), None);
    tracker.set_screen(idle(), after(60, began));
    assert_eq!(activity(&tracker), Some(Activity::Waiting));
    tracker.doubt_screen();
    tracker.set_screen(None, after(70, began));
    tracker.set_screen(idle(), after(80, began));
    assert_eq!(activity(&tracker), Some(Activity::Waiting), "it is drawn anew, and nobody has answered");
}

/// A hook or a notification has reported a question, and the composer that was on the screen before is there again.
#[test]
fn what_was_reported_is_a_question_until_somebody_has_answered() {
    let saw = |activity| Some(says(StatementSource::Screen, activity, "rm -rf"));
    let after_all = |screens: &[(u64, Option<Activity>)], is_keyed: bool| {
        let (mut tracker, began) = (ActivityTracker::default(), Instant::now());
        tracker.set_screen(saw(Activity::Idle), began);
        tracker.add(says(StatementSource::Sequence, Activity::Waiting, "rm -rf"), after(5, began));
        for (seconds, screen) in screens {
            tracker.set_screen(screen.and_then(saw), after(*seconds, began));
        }
        if is_keyed {
            tracker.keyed();
        }
        activity(&tracker)
    };
    let (asks, idle) = (Some(Activity::Waiting), Some(Activity::Idle));
    assert_eq!(after_all(&[(20, None), (21, idle)], false), asks, "an empty screen");
    assert_eq!(after_all(&[(20, Some(Activity::Working)), (21, idle)], false), asks, "a row that passes");
    assert_eq!(after_all(&[(20, asks), (21, idle)], false), idle, "the question was shown, and is gone");
    let works = |seconds| (seconds, Some(Activity::Working));
    assert_eq!(after_all(&[works(20), works(30), (31, idle)], false), idle, "the agent has worked");
    assert_eq!(after_all(&[works(1), works(12), (13, idle)], false), asks, "most of it before");
    assert_eq!(after_all(&[(20, None), (21, idle)], true), idle, "a person has typed");
}

#[test]
fn the_same_words_are_another_question_once_they_were_answered() {
    let (mut tracker, began) = (ActivityTracker::default(), Instant::now());
    let screen = |activity| Some(says(StatementSource::Screen, activity, ""));
    let asks = || says(StatementSource::Event, Activity::Waiting, "rm -rf");
    tracker.add(asks(), began);
    tracker.add(asks(), after(5, began));
    assert_eq!(tracker.current().map(|known| known.since), Some(began), "it is told twice");
    tracker.set_screen(screen(Activity::Waiting), after(6, began));
    tracker.set_screen(screen(Activity::Idle), after(30, began));
    assert_eq!(activity(&tracker), Some(Activity::Idle));
    tracker.add(asks(), after(60, began));
    tracker.set_screen(screen(Activity::Idle), after(70, began));
    assert_eq!(activity(&tracker), Some(Activity::Waiting));
    assert_eq!(tracker.current().map(|known| known.since), Some(after(60, began)));
}

/// A hook tells of the next question before the screen is looked at again.
#[test]
fn the_question_before_is_not_the_one_that_is_reported() {
    let (mut tracker, began) = (ActivityTracker::default(), Instant::now());
    tracker.set_screen(Some(says(StatementSource::Screen, Activity::Waiting, "mkdir")), began);
    tracker.add(says(StatementSource::Event, Activity::Waiting, "rm -rf"), after(5, began));
    tracker.set_screen(Some(says(StatementSource::Screen, Activity::Idle, "")), after(20, began));
    assert_eq!(activity(&tracker), Some(Activity::Waiting));
}

#[test]
fn a_title_that_stands_is_no_news() {
    let (mut tracker, began) = (ActivityTracker::default(), Instant::now());
    let title = || Some(says(StatementSource::Sequence, Activity::Idle, ""));
    tracker.set_title(title(), began);
    tracker.add(says(StatementSource::Sequence, Activity::Waiting, "rm -rf"), after(5, began));
    tracker.set_title(title(), after(20, began));
    assert_eq!(activity(&tracker), Some(Activity::Waiting));
    tracker.set_title(Some(says(StatementSource::Sequence, Activity::Working, "")), after(30, began));
    tracker.set_title(title(), after(40, began));
    assert_eq!(activity(&tracker), Some(Activity::Waiting), "a title answers nothing");
    tracker.add(says(StatementSource::Event, Activity::Working, ""), after(50, began));
    tracker.add(says(StatementSource::Event, Activity::Idle, ""), after(60, began));
    assert_eq!(activity(&tracker), Some(Activity::Idle), "the agent has gone on");
}

#[test]
fn a_question_of_the_title_is_over_when_the_title_changes() {
    let (mut tracker, began) = (ActivityTracker::default(), Instant::now());
    tracker.set_title(Some(says(StatementSource::Sequence, Activity::Waiting, "")), began);
    assert_eq!(activity(&tracker), Some(Activity::Waiting));
    tracker.set_title(Some(says(StatementSource::Sequence, Activity::Idle, "")), after(20, began));
    assert_eq!(activity(&tracker), Some(Activity::Idle));
}

#[test]
fn an_event_is_believed_until_the_screen_says_something_newer() {
    let (mut tracker, began) = (ActivityTracker::default(), Instant::now());
    tracker.set_screen(Some(says(StatementSource::Screen, Activity::Working, "")), began);
    tracker.add(says(StatementSource::Event, Activity::Waiting, "rm -rf"), after(5, began));
    assert_eq!(activity(&tracker), Some(Activity::Waiting), "the screen has been saying the other thing for longer");
    tracker.set_screen(Some(says(StatementSource::Screen, Activity::Idle, "")), after(6, began));
    assert_eq!(activity(&tracker), Some(Activity::Waiting), "about the same moment");
    tracker.set_screen(Some(says(StatementSource::Screen, Activity::Working, "")), after(30, began));
    assert_eq!(activity(&tracker), Some(Activity::Working), "somebody has answered");
}

#[test]
fn a_question_on_the_screen_is_a_question_whatever_the_agent_says() {
    let (mut tracker, began) = (ActivityTracker::default(), Instant::now());
    tracker.set_screen(Some(says(StatementSource::Screen, Activity::Waiting, "rm -rf")), began);
    tracker.add(says(StatementSource::Sequence, Activity::Idle, ""), after(1, began));
    tracker.add(says(StatementSource::Event, Activity::Working, ""), after(9, began));
    assert_eq!(activity(&tracker), Some(Activity::Waiting));
    tracker.set_screen(None, after(10, began));
    assert_eq!(activity(&tracker), Some(Activity::Working), "negative control");
}

#[test]
fn a_clock_in_a_question_makes_no_other_question() {
    let (mut tracker, began) = (ActivityTracker::default(), Instant::now());
    tracker.set_screen(Some(says(StatementSource::Screen, Activity::Waiting, "go on? (9s left)")), began);
    tracker.set_screen(Some(says(StatementSource::Screen, Activity::Waiting, "go on? (8s left)")), after(1, began));
    assert_eq!(tracker.current().map(|known| known.since), Some(began));
    tracker.set_screen(Some(says(StatementSource::Screen, Activity::Waiting, "remove it?")), after(9, began));
    assert_eq!(tracker.current().map(|known| known.since), Some(after(9, began)), "another question");
}

#[test]
fn a_question_that_is_painted_anew_is_one_question() {
    let (mut tracker, began) = (ActivityTracker::default(), Instant::now());
    assert!(!tracker.repaints_question(), "there is none");
    tracker.set_screen(Some(says(StatementSource::Screen, Activity::Waiting, "remove ./important?")), began);
    assert!(tracker.repaints_question());
    tracker.set_screen(Some(says(StatementSource::Screen, Activity::Waiting, "remove ./imp…")), after(60, began));
    assert_eq!(tracker.current().map(|known| known.since), Some(began));
    tracker.set_screen(Some(says(StatementSource::Screen, Activity::Waiting, "remove it?")), after(70, began));
    assert_eq!(tracker.current().map(|known| known.since), Some(after(70, began)), "another question");
}

#[test]
fn a_question_through_which_a_log_flows_is_one_question() {
    let (mut tracker, began) = (ActivityTracker::default(), Instant::now());
    for seconds in 0..30 {
        let question = format!("line {} of a log, go on?", ["one", "two", "three"][seconds as usize % 3]);
        tracker.set_screen(Some(says(StatementSource::Screen, Activity::Waiting, &question)), after(seconds, began));
        assert_eq!(tracker.current().map(|known| known.since), Some(began));
    }
}

#[test]
fn of_a_screen_that_nobody_knows_nothing_is_known() {
    let mut tracker = ActivityTracker::default();
    tracker.set_screen(None, Instant::now());
    assert_eq!(tracker.current(), None);
}

#[rstest]
#[case::later_today("3pm", Some("2026-11-22 14:00"))]
#[case::with_minutes("3:30 PM", Some("2026-11-22 14:30"))]
#[case::tomorrow("7am", Some("2026-11-23 06:00"))]
#[case::of_another_zone("3pm (America/New_York)", Some("2026-11-22 20:00"))]
#[case::utc("15:00 (UTC)", Some("2026-11-22 15:00"))]
#[case::in_a_while("in 2h 5m", Some("2026-11-22 14:05"))]
#[case::in_words("in 2 hours 30 minutes", Some("2026-11-22 14:30"))]
#[case::in_days("in 3 days", Some("2026-11-25 12:00"))]
#[case::too_far("in 300 days", None)]
#[case::no_time("soon", None)]
#[case::a_number("15", None)]
#[case::an_hour_that_there_is_not("27:00", None)]
#[case::a_zone_that_there_is_not("3pm (Mars/Base)", None)]
fn when_it_can_go_on(#[case] text: &str, #[case] expected: Option<&str>) {
    let said_at = Utc.with_ymd_and_hms(2026, 11, 22, 12, 0, 0).single().expect("a time");
    let at = resumes_at(text, said_at, chrono_tz::Europe::Berlin);
    assert_eq!(at.map(|at| at.format("%Y-%m-%d %H:%M").to_string()).as_deref(), expected);
}
