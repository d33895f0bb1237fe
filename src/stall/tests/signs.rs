//! Signs of life and nudges, in every state of a session.

use super::*;

/// So many seconds of silence bring a new session there.
const STATES: [(&str, f64); 4] = [("healthy", 30.0), ("nudged", 70.0), ("nudged twice", 90.0), ("escalated", 110.0)];

#[tokio::test(start_paused = true)]
async fn a_sign_of_life_in_any_state_begins_anew() {
    let recoveries = ["", "70 recovered after 1", "90 recovered after 2", "110 recovered after 2"];
    for ((state, seconds), recovery) in STATES.into_iter().zip(recoveries) {
        let scene = Scene::new(config());
        scene.pass(seconds).await;
        scene.said().await;
        assert_eq!(scene.session.is_stalled(), 60.0 < seconds, "{state}");
        scene.session.reset();
        assert!(!scene.session.is_stalled(), "{state}: at once, before its task has seen it");
        assert_eq!(scene.said().await, recovery, "{state}");
        scene.pass(60.0).await;
        assert_eq!(scene.said().await, "", "{state}: a whole threshold");
        scene.pass(0.001).await;
        let due = seconds + 60.001;
        assert_eq!(scene.said().await, format!("{due} stalled, {due} nudge 1/2"), "{state}: a new count");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_shows_life_is_never_told() {
    let scene = Scene::new(config());
    for _ in 0..100 {
        scene.pass(60.0).await;
        scene.session.reset();
    }
    assert_eq!(scene.said().await, "");
    scene.pass(60.001).await;
    assert_eq!(scene.said().await, "6060.001 stalled, 6060.001 nudge 1/2", "negative control");
}

#[tokio::test(start_paused = true)]
async fn a_sign_of_life_in_the_moment_of_a_nudge_is_a_recovery() {
    let scene = Scene::new(config());
    scene.pass(60.001).await;
    scene.session.reset();
    assert_eq!(scene.said().await, "60.001 stalled, 60.001 nudge 1/2, 60.001 recovered after 1");
}

#[tokio::test(start_paused = true)]
async fn the_delay_of_a_nudge_runs_from_when_it_was_typed() {
    let scene = Scene::new(config());
    scene.pass(75.0).await;
    scene.session.nudge_sent();
    scene.pass(300.0).await;
    assert_eq!(
        scene.said().await,
        "60.001 stalled, 60.001 nudge 1/2, 95 nudge 2/2, 115 escalated after 2: Exhausted",
        "typed at 75 s; the second one nobody confirmed"
    );
}

#[tokio::test(start_paused = true)]
async fn a_nudge_that_nobody_asked_for_counts_in_every_state() {
    let nudged_in = async |seconds: f64, times: u32| {
        let scene = Scene::new(config());
        scene.pass(seconds).await;
        (0..times).for_each(|_| scene.session.nudge_sent());
        scene.pass(300.0 - seconds).await;
        scene.said().await
    };
    let (start, twice) = ("60.001 stalled, 60.001 nudge 1/2", "60.001 stalled, 60.001 nudge 1/2, 80.001 nudge 2/2");
    let unharmed = format!("{twice}, 100.001 escalated after 2: Exhausted");
    let cases = [
        ("healthy", 30.0, 1, "60.001 stalled, 60.001 nudge 2/2, 80.001 escalated after 2: Exhausted".to_owned()),
        ("a moment ago", 50.0, 1, "60.001 stalled, 70 nudge 2/2, 90 escalated after 2: Exhausted".to_owned()),
        ("as often as may be", 30.0, 2, "60.001 stalled, 60.001 escalated after 2: Exhausted".to_owned()),
        ("nudged", 70.0, 2, format!("{start}, 90 escalated after 2: Exhausted")),
        ("nudged twice", 90.0, 2, format!("{twice}, 110 escalated after 3: Exhausted")),
        ("escalated", 110.0, 5, unharmed.clone()),
        ("negative control", 110.0, 0, unharmed),
    ];
    for (state, seconds, times, expected) in cases {
        assert_eq!(nudged_in(seconds, times).await, expected, "{state}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_nudge_before_the_last_sign_of_life_does_not_count() {
    let scene = Scene::new(config());
    scene.pass(10.0).await;
    scene.session.nudge_sent();
    scene.pass(10.0).await;
    scene.session.reset();
    scene.pass(10.0).await;
    scene.session.nudge_sent();
    scene.pass(60.0).await;
    assert_eq!(scene.said().await, "80.001 stalled, 80.001 nudge 2/2", "only the second one is of this episode");
}

#[tokio::test(start_paused = true)]
async fn nudges_by_people_count_among_those_of_a_day() {
    let scene = Scene::new(config());
    for _ in 0..4 {
        scene.pass(10.0).await;
        scene.session.nudge_sent();
        scene.pass(10.0).await;
        scene.session.reset();
    }
    scene.pass(61.0).await;
    assert_eq!(scene.said().await, "140.001 stalled, 140.001 escalated after 0: TooManyAttempts");
}

#[tokio::test(start_paused = true)]
async fn a_nudge_after_a_recovery_that_is_not_yet_told_belongs_to_the_new_episode() {
    let scene = Scene::new(config());
    scene.pass(70.0).await;
    scene.session.reset();
    scene.session.nudge_sent();
    scene.pass(61.0).await;
    assert_eq!(
        scene.said().await,
        "60.001 stalled, 60.001 nudge 1/2, 70 recovered after 1, 130.001 stalled, 130.001 nudge 2/2"
    );
}
