//! Sessions of which the output is reported: a loop is a stall like silence.

use std::sync::atomic::Ordering::SeqCst;

use chrono::TimeDelta;
use rstest::rstest;

use super::episode::{Due, Episode, START, SessionView};
use super::watched::RecentOutput;
use super::*;
use crate::rules::Loop;

/// A line that differs for each number.
pub fn new_line(number: usize) -> String {
    let letter = |number: usize| char::from(b'a' + (number % 26) as u8);
    format!("wrote the page {}{}{}", letter(number / 676), letter(number / 26), letter(number))
}

#[rstest]
#[case::it_is_reported_nudged_twice_and_escalated_once(
    "loop*365",
    "65.001 stalled, Looping, 65.001 nudge 1/2, 85.001 nudge 2/2, 105.001 escalated after 2: Exhausted"
)]
#[case::it_is_the_same_stall_when_it_falls_silent_and_loops_again(
    "loop*70 300 loop 1 progress",
    "65.001 stalled, Looping, 65.001 nudge 1/2, 85.001 nudge 2/2, 105.001 escalated after 2: Exhausted, 371 recovered \
        after 2"
)]
#[case::its_clock_stands_still_in_a_pause_and_progress_in_one_is_reported_when_it_ends(
    "loop*35 pause loop*1000 resume loop*30 0.001 pause progress 100 resume",
    "1065.001 stalled, Looping, 1065.001 nudge 1/2, 1165.001 recovered after 1"
)]
#[tokio::test(start_paused = true)]
async fn a_loop_is_a_stall(#[case] steps: &str, #[case] expected: &str) {
    assert_eq!(transcript_of(steps).await, expected);
}

#[tokio::test(start_paused = true)]
async fn as_many_lines_of_which_no_two_are_the_same_are_no_stall() {
    let scene = Scene::new(config());
    scene.print(365, new_line).await;
    assert_eq!(scene.transcript().await, "");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_loops_between_signs_of_life_is_found_all_the_same() {
    let scene = Scene::new(config());
    scene.play(&"loop*1 reset ".repeat(70)).await;
    assert_eq!(scene.transcript().await, "65.001 stalled, Looping, 65.001 nudge 1/2");

    let scene = Scene::new(config());
    scene.play(&"1 reset ".repeat(70)).await;
    assert_eq!(scene.transcript().await, "", "negative control: signs of life alone are no loop");
}

#[tokio::test(start_paused = true)]
async fn progress_ends_a_loop_in_every_state_and_the_count_begins_anew() {
    let states = [("nudged", 70, 1), ("nudged twice", 90, 2), ("escalated", 110, 2)];
    for (state, seconds, nudges) in states {
        let scene = Scene::new(config());
        scene.print_loop(seconds).await;
        assert!(scene.session.is_stalled(), "{state}");
        scene.transcript().await;
        scene.print_loop(5).await;
        assert_eq!(scene.transcript().await, "", "{state}: more of the same is no recovery");
        scene.session.output("I try another port.");
        assert!(!scene.session.is_stalled(), "{state}: at once");
        // One odd line is no end of a loop that goes on.
        (0..50).for_each(|port| scene.session.output(&format!("port {port} is taken")));
        let at = seconds + 5;
        assert_eq!(scene.transcript().await, format!("{at} recovered after {nudges}"), "{state}");
        // Five of them are no loop yet.
        scene.print_loop(65).await;
        assert_eq!(scene.transcript().await, "", "{state}: a whole threshold");
        scene.pass(0.001).await;
        let due = (at + 65) as f64 + 0.001;
        assert_eq!(
            scene.transcript().await,
            format!("{due} stalled, Looping, {due} nudge 1/2"),
            "{state}: a new count"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_report_holds_the_lines_of_the_loop_and_the_recovery_its_length() {
    let scene = Scene::new(config());
    scene.print(100, |second| ["building", "it failed"][second % 2].to_owned()).await;
    scene.session.output("I ask for help.");
    settle().await;
    let received = scene.events();
    // The eighth line made it a loop; of the twenty last lines each is one of ten.
    let repeats = Loop { lines: vec!["it failed".to_owned(), "building".to_owned()], times: 10 };
    let silent_for = Duration::from_millis(60_001);
    let finding = Finding::Looping;
    let first = StallEvent::Stalled { session_id: id("one"), finding, repeats: Some(repeats), silent_for };
    assert_eq!(received[0], first);
    let silent_for = Duration::from_secs(100 - 7);
    assert_eq!(received[3], StallEvent::SelfRecovered { session_id: id("one"), silent_for, attempts: 2 });
}

#[tokio::test(start_paused = true)]
async fn a_session_that_prints_and_falls_silent_is_silent_also_when_it_looped_before() {
    for line in ["working", LOOP] {
        let scene = Scene::new(config());
        (0..8).for_each(|_| scene.session.output(line));
        scene.pass(61.0).await;
        assert_eq!(scene.transcript().await, "60.001 stalled, 60.001 nudge 1/2", "{line}");
        assert!(scene.session.is_stalled());
    }
}

#[tokio::test(start_paused = true)]
async fn a_silence_after_a_loop_is_ended_by_progress_and_only_interrupted_by_signs_of_life() {
    let scene = Scene::new(config());
    (0..8).for_each(|_| scene.session.output(LOOP));
    scene.session.output("something else");
    scene.pass(70.0).await;
    assert_eq!(scene.transcript().await, "60.001 stalled, 60.001 nudge 1/2");
    scene.session.reset();
    assert!(!scene.session.is_stalled());
    scene.pass(60.0).await;
    assert_eq!(scene.transcript().await, "", "the second nudge was not due while it showed signs of life");
    scene.pass(5.0).await;
    assert_eq!(scene.transcript().await, "130.001 nudge 2/2", "the same episode goes on");
    scene.session.output("and now something else");
    assert_eq!(scene.transcript().await, "135 recovered after 2");
}

/// A task may be late, on a machine that is busy.
#[test]
fn progress_counts_at_its_own_time_however_late_it_is_seen() {
    let at = |seconds| START + TimeDelta::seconds(seconds);
    let (session_id, config) = (id("one"), config());
    let look = |episode: &mut Episode, progressed_at, now| {
        let recent_output = vec![LOOP.to_owned(); 20];
        let view =
            SessionView { session_id: &session_id, config: &config, active_at: now, progressed_at, recent_output, now };
        let Due::Event(event) = episode.due(&view) else { panic!("nothing is due") };
        episode.record(&event, &view);
        described(&event)
    };
    let mut episode = Episode::default();
    assert_eq!(look(&mut episode, at(0), at(61)), "stalled, Looping");
    assert_eq!(look(&mut episode, at(0), at(61)), "nudge 1/2");
    assert_eq!(look(&mut episode, at(0), at(200)), "nudge 2/2", "negative control: there was no progress");
    assert_eq!(look(&mut episode, at(201), at(300)), "recovered after 2", "it has looped for long again since");
    assert_eq!(look(&mut episode, at(201), at(300)), "stalled, Looping");
}

#[tokio::test(start_paused = true)]
async fn a_loop_is_reported_in_time_when_its_latest_progress_was_long_ago() {
    let scene = Scene::new(config());
    (0..5).for_each(|_| scene.session.output(LOOP));
    scene.play(&"1 reset ".repeat(100)).await;
    assert_eq!(scene.transcript().await, "", "five lines are no loop, and it shows signs of life");
    scene.session.output(LOOP);
    assert_eq!(scene.transcript().await, "100 stalled, Looping, 100 nudge 1/2");
}

#[tokio::test(start_paused = true)]
async fn lines_wake_nobody_unless_a_loop_begins_or_ends_what_was_reported() {
    let scene = Scene::new(config());
    let checks = || scene.session.checks.load(SeqCst);
    scene.print(30, new_line).await;
    assert_eq!(checks(), 1, "it was checked at the start");
    scene.print_loop(29).await;
    assert_eq!(checks(), 2, "a loop began");
    scene.print_loop(41).await;
    assert_eq!(scene.transcript().await, "95.001 stalled, Looping, 95.001 nudge 1/2");
    let stalled = checks();
    scene.print_loop(10).await;
    assert_eq!(checks(), stalled, "the loop goes on");
    scene.session.output("something else");
    settle().await;
    assert!(stalled < checks(), "negative control");
}

#[tokio::test(start_paused = true)]
async fn blank_lines_are_signs_of_life_and_nothing_else() {
    let scene = Scene::new(config());
    for _ in 0..70 {
        scene.print_loop(1).await;
        scene.session.output("\n  \r\n");
        scene.session.output("");
    }
    assert_eq!(scene.transcript().await, "65.001 stalled, Looping, 65.001 nudge 1/2", "the loop is seen between them");

    let scene = Scene::new(config());
    scene.print(70, |_| "  ".to_owned()).await;
    assert_eq!(scene.transcript().await, "");
    scene.pass(61.0).await;
    assert_eq!(scene.transcript().await, "130.001 stalled, 130.001 nudge 1/2", "negative control");
}

#[tokio::test(start_paused = true)]
async fn the_registry_takes_output_by_id() {
    let (events, mut inbox) = mpsc::channel(64);
    let registry = DetectorRegistry::default();
    registry.spawn(StallDetector::new(id("one"), config()), events).expect("the first");
    for _ in 0..70 {
        sleep(MINUTE / 60).await;
        assert!(registry.output(&id("one"), LOOP) && !registry.output(&id("nobody"), LOOP));
    }
    assert!(matches!(inbox.try_recv(), Ok(StallEvent::Stalled { finding: Finding::Looping, .. })));
}

#[test]
fn the_last_lines_are_kept_and_of_long_ones_both_ends() {
    let mut output = RecentOutput::new(START);
    let text: String = (0..100).map(|number| format!("{} {}\n", new_line(number), "é".repeat(5000))).collect();
    output.add(&text, START);
    assert!(!output.is_looping, "they begin differently");
    output.add(&format!("{}\rdone", "é".repeat(5000)), START);
    let lines = output.lines.clone();
    assert_eq!(lines.len(), 20);
    assert!(lines.iter().all(|line| (1_800..1_820).contains(&line.len())));
    assert!(lines[18].starts_with(&new_line(99)) && lines[19].ends_with("\rdone"));
    output.add(&"one\n\ntwo\r\n".repeat(10), START);
    assert_eq!(output.lines, ["one", "two"].repeat(10), "oldest first");
}

#[test]
fn lines_that_come_together_are_judged_together() {
    let mut output = RecentOutput::new(START);
    let later = |seconds| START + TimeDelta::seconds(seconds);
    let mut loops_after = |text: &str, seconds| {
        output.add(text, later(seconds));
        (output.is_looping, output.progressed_at)
    };
    assert_eq!(loops_after("one", 1), (false, later(1)));
    assert_eq!(loops_after(&"no\n".repeat(5), 2), (false, later(2)), "no loop yet");
    assert_eq!(loops_after("no", 3), (true, later(2)));
    assert_eq!(loops_after("no", 4), (true, later(2)));
    assert_eq!(loops_after(&"yes\n".repeat(6), 5), (true, later(2)), "another loop");
    assert_eq!(loops_after("one", 6), (false, later(6)));
}
