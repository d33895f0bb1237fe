//! When each event is sent, and that a paused session has no clock.

use std::sync::atomic::Ordering::SeqCst;

use rstest::rstest;

use super::*;
use crate::rules::Policy;

const DAY: f64 = 86_400.0;

#[tokio::test(start_paused = true)]
async fn a_silent_session_is_reported_nudged_twice_and_escalated_once() {
    let scene = Scene::new(config());
    scene.pass(60.0).await;
    assert_eq!(scene.transcript().await, "", "as long as its threshold is not longer");
    scene.pass(3600.0).await;
    assert_eq!(
        scene.transcript().await,
        "60.001 stalled, 60.001 nudge 1/2, 80.001 nudge 2/2, 100.001 escalated after 2: Exhausted"
    );
    scene.pass(10.0 * DAY).await;
    assert_eq!(scene.transcript().await, "", "once, whatever time passes");
}

#[rstest]
#[case::the_defaults(
    StallConfig::default(),
    "300.001 stalled, 300.001 nudge 1/2, 420.001 nudge 2/2, 540.001 escalated after 2: Exhausted"
)]
#[case::no_nudges(StallConfig { nudges_max: 0, ..config() }, "60.001 stalled, 60.001 escalated after 0: NotAllowed")]
#[case::one_nudge(StallConfig { nudges_max: 1, ..config() },
    "60.001 stalled, 60.001 nudge 1/1, 80.001 escalated after 1: Exhausted")]
#[case::no_delay(StallConfig { nudge_delay: Duration::ZERO, ..config() },
    "60.001 stalled, 60.001 nudge 1/2, 60.001 nudge 2/2, 60.001 escalated after 2: Exhausted")]
#[case::no_threshold(StallConfig { silent_after: Duration::ZERO, nudges_max: 0, ..config() },
    "0.001 stalled, 0.001 escalated after 0: NotAllowed")]
#[case::a_day_of_one_nudge(StallConfig { attempts_per_day_max: 1, ..config() },
    "60.001 stalled, 60.001 nudge 1/2, 80.001 escalated after 1: TooManyAttempts")]
#[case::a_day_of_none(StallConfig { attempts_per_day_max: 0, ..config() },
    "60.001 stalled, 60.001 escalated after 0: TooManyAttempts")]
#[case::between_two_ticks_of_the_timer(
    StallConfig { silent_after: Duration::from_micros(1500), nudges_max: 0, ..config() },
    "0.002 stalled, 0.002 escalated after 0: NotAllowed")]
#[case::for_ever(StallConfig { silent_after: Duration::MAX, ..config() }, "")]
#[case::a_delay_without_end(StallConfig { nudge_delay: Duration::MAX, ..config() },
    "60.001 stalled, 60.001 nudge 1/2")]
#[tokio::test(start_paused = true)]
async fn the_moments_follow_from_the_limits(#[case] config: StallConfig, #[case] expected: &str) {
    let scene = Scene::new(config);
    scene.pass(3600.0).await;
    assert_eq!(scene.transcript().await, expected);
}

#[tokio::test(start_paused = true)]
async fn an_event_carries_what_its_reader_needs() {
    let scene = Scene::new(StallConfig { nudge_message: "go on".into(), ..config() });
    scene.pass(100.5).await;
    scene.session.reset();
    settle().await;
    let received = scene.events();
    assert!(received.iter().all(|event| *event.session_id() == id("one")));
    let silent = Duration::from_millis;
    let nudge = |attempt, silent_for| StallEvent::AutoNudge {
        session_id: id("one"),
        attempt,
        attempts_max: 2,
        message: "go on".into(),
        silent_for,
    };
    let cause = Cause::Exhausted;
    let expected = [
        stalled(id("one"), silent(60_001)),
        nudge(1, silent(60_001)),
        nudge(2, silent(80_001)),
        StallEvent::Escalated { session_id: id("one"), cause, attempts: 2, silent_for: silent(100_001) },
        StallEvent::SelfRecovered { session_id: id("one"), silent_for: silent(100_500), attempts: 2 },
    ];
    assert_eq!(received, expected);
}

#[tokio::test(start_paused = true)]
async fn a_day_has_so_many_nudges_however_often_the_session_recovers() {
    let scene = Scene::new(StallConfig { attempts_per_day_max: 3, ..config() });
    let mut episodes = Vec::new();
    for _ in 0..10 {
        scene.pass(61.0).await;
        scene.session.reset();
        episodes.push(scene.transcript().await);
    }
    let count = |word| episodes.iter().filter(|events| events.contains(word)).count();
    assert_eq!([count("nudge 1/2"), count("TooManyAttempts"), count("stalled"), count("recovered")], [3, 3, 10, 10]);

    scene.pass(DAY - 610.0 + 60.0).await;
    assert_eq!(scene.transcript().await, "670.001 stalled", "nudges and escalations are spent");
    scene.pass(1.0).await;
    assert_eq!(scene.transcript().await, "86460.001 nudge 1/2", "a day after the first one");
}

#[tokio::test(start_paused = true)]
async fn an_escalation_that_the_day_forbids_comes_when_the_day_is_over() {
    let scene = Scene::new(StallConfig { nudges_max: 0, attempts_per_day_max: 1, ..config() });
    scene.pass(61.0).await;
    scene.session.reset();
    assert_eq!(scene.transcript().await, "60.001 stalled, 60.001 escalated after 0: NotAllowed, 61 recovered after 0");
    scene.pass(2.0 * DAY).await;
    assert_eq!(scene.transcript().await, "121.001 stalled, 86460.001 escalated after 0: NotAllowed");
}

#[test]
fn the_defaults_are_those_of_the_sweep() {
    assert_eq!(StallConfig::default().policy(), Policy::default());
    // Negative control: each limit of a detector reaches the policy.
    let base = StallConfig::default();
    let others = [
        StallConfig { silent_after: MINUTE, ..base.clone() },
        StallConfig { nudge_delay: MINUTE, ..base.clone() },
        StallConfig { nudges_max: 7, ..base.clone() },
        StallConfig { nudge_message: "hm".into(), ..base.clone() },
        StallConfig { attempts_per_day_max: 7, ..base },
    ];
    assert!(others.iter().all(|config| config.policy() != Policy::default()));
}

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
