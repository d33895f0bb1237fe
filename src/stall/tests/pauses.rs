//! A paused session has no clock.

use std::sync::atomic::Ordering::SeqCst;

use rstest::rstest;

use super::*;

#[rstest]
#[case::a_session_has_the_time_that_was_left(
    "45 pause 1000 resume 15 100",
    "1060.001 stalled, 1060.001 nudge 1/2, 1080.001 nudge 2/2, 1100.001 escalated after 2: Exhausted"
)]
#[case::the_delay_of_a_nudge_stands_still_as_well(
    "65 pause 100 resume 100",
    "60.001 stalled, 60.001 nudge 1/2, 180.001 nudge 2/2, 200.001 escalated after 2: Exhausted"
)]
#[case::pausing_twice_is_pausing_once_and_resuming_what_runs_is_nothing(
    "30 resume pause 100 pause 100 resume resume 10 resume 25",
    "260.001 stalled, 260.001 nudge 1/2"
)]
#[case::a_sign_of_life_in_a_pause_gives_a_whole_threshold_from_its_end(
    "50 pause 10 reset 1000 resume 70", "1120.001 stalled, 1120.001 nudge 1/2"
)]
#[case::a_nudge_in_a_pause_has_its_whole_delay_afterwards(
    "65 pause 100 nudge 100 resume 30",
    "60.001 stalled, 60.001 nudge 1/2, 285 nudge 2/2"
)]
#[tokio::test(start_paused = true)]
async fn a_pause_stops_the_clock(#[case] steps: &str, #[case] expected: &str) {
    assert_eq!(transcript_of(steps).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_recovery_in_a_pause_is_reported_when_it_ends() {
    let scene = Scene::new(config());
    scene.play("70 pause pause").await;
    scene.transcript().await;
    assert!(scene.session.is_stalled(), "as when it was paused");
    scene.play("5 reset").await;
    assert!(!scene.session.is_stalled());
    scene.pass(500.0).await;
    assert_eq!(scene.transcript().await, "");
    scene.session.resume();
    settle().await;
    let received = scene.received.lock().unwrap().remove(0);
    let silent_for = Duration::from_secs(70);
    assert_eq!(received, (575_000, StallEvent::SelfRecovered { session_id: id("one"), silent_for, attempts: 1 }));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_paused_or_healthy_is_not_checked() {
    let scene = Scene::new(config());
    let checks = || scene.session.checks.load(SeqCst);
    settle().await;
    assert_eq!(checks(), 1, "it was checked at the start");

    scene.play(&"1 reset ".repeat(60)).await;
    assert_eq!(checks(), 1, "a sign of life wakes nobody");
    scene.pass(59.0).await;
    assert_eq!(checks(), 2, "one check for each threshold");

    scene.play("pause 86400").await;
    assert_eq!(checks(), 3, "the timer that was set");
    scene.play(&"1 reset pause ".repeat(60)).await;
    assert_eq!(checks(), 3);

    scene.play("resume 61 pause").await;
    let stalled = checks();
    assert!(3 < stalled, "negative control");
    (0..60).for_each(|_| scene.session.reset());
    scene.pass(86_400.0).await;
    assert!(checks() <= stalled + 1, "a stalled one that is paused is not woken by signs of life");
}
