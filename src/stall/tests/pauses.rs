//! A paused session has no clock.

use std::sync::atomic::Ordering::SeqCst;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_paused_session_goes_on_with_the_time_that_was_left() {
    let scene = Scene::new(config());
    scene.pass(45.0).await;
    scene.session.pause();
    scene.pass(1000.0).await;
    scene.session.resume();
    scene.pass(15.0).await;
    assert_eq!(scene.said().await, "", "exactly its threshold");
    scene.pass(100.0).await;
    assert_eq!(
        scene.said().await,
        "1060.001 stalled, 1060.001 nudge 1/2, 1080.001 nudge 2/2, 1100.001 escalated after 2: Exhausted"
    );
}

#[tokio::test(start_paused = true)]
async fn the_delay_of_a_nudge_stands_still_as_well() {
    let scene = Scene::new(config());
    scene.pass(65.0).await;
    scene.session.pause();
    scene.pass(100.0).await;
    scene.session.resume();
    scene.pass(100.0).await;
    assert_eq!(
        scene.said().await,
        "60.001 stalled, 60.001 nudge 1/2, 180.001 nudge 2/2, 200.001 escalated after 2: Exhausted"
    );
}

#[tokio::test(start_paused = true)]
async fn pausing_twice_is_pausing_once_and_resuming_what_runs_is_nothing() {
    let scene = Scene::new(config());
    scene.pass(30.0).await;
    scene.session.resume();
    scene.session.pause();
    scene.pass(100.0).await;
    scene.session.pause();
    scene.pass(100.0).await;
    scene.session.resume();
    scene.session.resume();
    scene.pass(10.0).await;
    scene.session.resume();
    scene.pass(25.0).await;
    assert_eq!(scene.said().await, "260.001 stalled, 260.001 nudge 1/2", "30 s before the pause and 30 s after it");
}

#[tokio::test(start_paused = true)]
async fn a_sign_of_life_in_a_pause_gives_a_whole_threshold_from_its_end() {
    let scene = Scene::new(config());
    scene.pass(50.0).await;
    scene.session.pause();
    scene.pass(10.0).await;
    scene.session.reset();
    scene.pass(1000.0).await;
    scene.session.resume();
    scene.pass(70.0).await;
    assert_eq!(scene.said().await, "1120.001 stalled, 1120.001 nudge 1/2");
}

#[tokio::test(start_paused = true)]
async fn a_recovery_in_a_pause_is_told_when_it_ends() {
    let scene = Scene::new(config());
    scene.pass(70.0).await;
    scene.said().await;
    scene.session.pause();
    scene.session.pause();
    assert!(scene.session.is_stalled(), "as when it was paused");
    scene.pass(5.0).await;
    scene.session.reset();
    assert!(!scene.session.is_stalled());
    scene.pass(500.0).await;
    assert_eq!(scene.said().await, "");
    scene.session.resume();
    settle().await;
    let heard = scene.heard.lock().unwrap().remove(0);
    let silent_for = Duration::from_secs(70);
    assert_eq!(heard, (575_000, StallEvent::SelfRecovered { session_id: id("one"), silent_for, attempts: 1 }));
}

#[tokio::test(start_paused = true)]
async fn a_nudge_in_a_pause_has_its_whole_delay_afterwards() {
    let scene = Scene::new(config());
    scene.pass(65.0).await;
    scene.session.pause();
    scene.pass(100.0).await;
    scene.session.nudge_sent();
    scene.pass(100.0).await;
    scene.session.resume();
    scene.pass(30.0).await;
    assert_eq!(scene.said().await, "60.001 stalled, 60.001 nudge 1/2, 285 nudge 2/2");
}

#[tokio::test(start_paused = true)]
async fn nobody_looks_at_a_session_that_is_paused_or_healthy() {
    let scene = Scene::new(config());
    let looks = || scene.session.looks.load(SeqCst);
    settle().await;
    assert_eq!(looks(), 1, "it looked when it was started");

    for _ in 0..60 {
        scene.pass(1.0).await;
        scene.session.reset();
    }
    assert_eq!(looks(), 1, "a sign of life wakes nobody");
    scene.pass(59.0).await;
    assert_eq!(looks(), 2, "one look for each threshold");

    scene.session.pause();
    scene.pass(86_400.0).await;
    assert_eq!(looks(), 3, "the timer that was set");
    for _ in 0..60 {
        scene.pass(1.0).await;
        scene.session.reset();
        scene.session.pause();
    }
    assert_eq!(looks(), 3);

    scene.session.resume();
    scene.pass(61.0).await;
    scene.session.pause();
    let stalled = looks();
    assert!(3 < stalled, "negative control");
    (0..60).for_each(|_| scene.session.reset());
    scene.pass(86_400.0).await;
    assert!(looks() <= stalled + 1, "a stalled one that is paused is not woken by signs of life");
}
