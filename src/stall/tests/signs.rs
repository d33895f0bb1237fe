//! Signs of life and nudges, in every state of a session.

use rstest::rstest;

use super::*;

/// States of a session, and after how many seconds of silence it is in them.
const STATES: [(&str, f64); 4] = [("healthy", 30.0), ("nudged", 70.0), ("nudged twice", 90.0), ("escalated", 110.0)];

#[tokio::test(start_paused = true)]
async fn a_sign_of_life_in_any_state_begins_anew() {
    let recoveries = ["", "70 recovered after 1", "90 recovered after 2", "110 recovered after 2"];
    for ((state, seconds), recovery) in STATES.into_iter().zip(recoveries) {
        let scene = Scene::new(config());
        scene.pass(seconds).await;
        scene.transcript().await;
        assert_eq!(scene.session.is_stalled(), 60.0 < seconds, "{state}");
        scene.session.reset();
        assert!(!scene.session.is_stalled(), "{state}: at once, before its task has seen it");
        assert_eq!(scene.transcript().await, recovery, "{state}");
        scene.pass(60.0).await;
        assert_eq!(scene.transcript().await, "", "{state}: a whole threshold");
        scene.pass(0.001).await;
        let due = seconds + 60.001;
        assert_eq!(scene.transcript().await, format!("{due} stalled, {due} nudge 1/2"), "{state}: a new count");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_shows_life_is_never_reported() {
    let scene = Scene::new(config());
    scene.play(&"60 reset ".repeat(100)).await;
    assert_eq!(scene.transcript().await, "");
    scene.pass(60.001).await;
    assert_eq!(scene.transcript().await, "6060.001 stalled, 6060.001 nudge 1/2", "negative control");
}

#[rstest]
#[case::a_sign_of_life_in_the_moment_of_a_nudge_is_a_recovery(
    "60.001 reset",
    "60.001 stalled, 60.001 nudge 1/2, 60.001 recovered after 1"
)]
#[case::the_delay_of_a_nudge_runs_from_when_it_was_typed(
    "75 nudge 300",
    "60.001 stalled, 60.001 nudge 1/2, 95 nudge 2/2, 115 escalated after 2: Exhausted"
)]
#[case::a_nudge_before_the_last_sign_of_life_does_not_count(
    "10 nudge 10 reset 10 nudge 60", "80.001 stalled, 80.001 nudge 2/2"
)]
#[case::nudges_by_people_count_among_those_of_a_day(
    "10 nudge 10 reset 10 nudge 10 reset 10 nudge 10 reset 10 nudge 10 reset 61",
    "140.001 stalled, 140.001 escalated after 0: TooManyAttempts"
)]
#[case::a_nudge_after_a_recovery_that_is_not_sent_yet_belongs_to_the_new_episode(
    "70 reset nudge 61",
    "60.001 stalled, 60.001 nudge 1/2, 70 recovered after 1, 130.001 stalled, 130.001 nudge 2/2"
)]
#[case::a_nudge_that_was_not_asked_for_counts(
    "30 nudge 270",
    "60.001 stalled, 60.001 nudge 2/2, 80.001 escalated after 2: Exhausted"
)]
#[case::one_that_was_typed_a_moment_ago(
    "50 nudge 250",
    "60.001 stalled, 70 nudge 2/2, 90 escalated after 2: Exhausted"
)]
#[case::as_many_as_are_allowed("30 nudge nudge 270", "60.001 stalled, 60.001 escalated after 2: Exhausted")]
#[case::two_when_it_was_nudged(
    "70 nudge nudge 230",
    "60.001 stalled, 60.001 nudge 1/2, 90 escalated after 2: Exhausted"
)]
#[case::two_when_it_was_nudged_twice(
    "90 nudge nudge 210",
    "60.001 stalled, 60.001 nudge 1/2, 80.001 nudge 2/2, 110 escalated after 3: Exhausted"
)]
#[case::five_when_it_was_escalated(
    "110 nudge nudge nudge nudge nudge 190",
    "60.001 stalled, 60.001 nudge 1/2, 80.001 nudge 2/2, 100.001 escalated after 2: Exhausted"
)]
#[case::negative_control(
    "300",
    "60.001 stalled, 60.001 nudge 1/2, 80.001 nudge 2/2, 100.001 escalated after 2: Exhausted"
)]
#[tokio::test(start_paused = true)]
async fn nudges_and_signs_of_life_count_when_they_come(#[case] steps: &str, #[case] expected: &str) {
    assert_eq!(transcript_of(steps).await, expected);
}
