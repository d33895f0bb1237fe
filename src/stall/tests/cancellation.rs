//! A token that is cancelled stops the detectors that were given it, and no others.

use super::*;

/// A detector of the session `one` with a token.
fn spawn_until_cancelled() -> (StallDetectorHandle, Receiver<StallEvent>, CancellationToken) {
    let ((events, inbox), token) = (mpsc::channel(8), CancellationToken::new());
    (StallDetector::new(id("one"), config()).spawn_until(events, token.clone()), inbox, token)
}

/// States of a session, and after how many seconds of silence it is in them.
const STATES: [(&str, u64); 4] = [("new", 0), ("healthy", 30), ("nudged", 70), ("escalated", 110)];

#[tokio::test(start_paused = true)]
async fn a_cancelled_detector_sends_nothing_more_and_leaves_no_task() {
    for (state, seconds) in STATES {
        let (session, mut inbox, token) = spawn_until_cancelled();
        sleep(Duration::from_secs(seconds)).await;
        settle().await;
        assert_eq!(tasks(), 1, "{state}: negative control");
        token.cancel();
        settle().await;
        assert_eq!(tasks(), 0, "{state}: without a join");
        while inbox.try_recv().is_ok() {}
        sleep(10 * MINUTE).await;
        assert_eq!(inbox.recv().await, None, "{state}: its sender is gone");
        session.reset();
        session.output("still there");
        assert_eq!(session.join().await.expect("no panic"), WatchOutcome::Delivered, "{state}");
    }
}

#[tokio::test(start_paused = true)]
async fn until_its_token_is_cancelled_a_detector_is_like_any_other() {
    let (session, mut inbox, token) = spawn_until_cancelled();
    sleep(10 * MINUTE).await;
    session.reset();
    let mut received = Vec::new();
    while received.len() < 5 {
        received.push(described(&inbox.recv().await.expect("an event")));
    }
    assert_eq!(received, ["stalled", "nudge 1/2", "nudge 2/2", "escalated after 2: Exhausted", "recovered after 2"]);
    drop(session);
    assert_eq!(inbox.recv().await, None, "it ends with its handle as well");
    assert!(!token.is_cancelled() && tasks() == 0);
}

#[tokio::test(start_paused = true)]
async fn a_detector_that_waits_for_room_or_is_paused_is_cancelled_as_well() {
    let ((events, mut inbox), token) = (mpsc::channel(1), CancellationToken::new());
    let full = StallDetector::new(id("full"), config()).spawn_until(events.clone(), token.clone());
    let paused = StallDetector::new(id("paused"), config()).spawn_until(events, token.clone());
    paused.pause();
    sleep(2 * MINUTE).await;
    token.cancel();
    paused.resume();
    assert!(matches!(inbox.recv().await, Some(StallEvent::Stalled { .. })), "it was sent before");
    assert_eq!((inbox.recv().await, tasks()), (None, 0), "room came too late");
    for session in [full, paused] {
        assert_eq!(session.join().await.expect("no panic"), WatchOutcome::Delivered);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_due_when_the_token_is_cancelled_is_not_sent() {
    for is_cancelled in [true, false] {
        let (session, mut inbox, token) = spawn_until_cancelled();
        settle().await;
        tokio::time::advance(2 * MINUTE).await;
        // Its timer is over, and its task has not run.
        if is_cancelled {
            token.cancel();
        }
        let event = inbox.recv().await;
        assert_eq!(event.is_none(), is_cancelled);
        drop(session);
    }
}

#[tokio::test(start_paused = true)]
async fn with_a_token_that_is_cancelled_already_it_ends_at_once() {
    let ((events, mut inbox), token) = (mpsc::channel(8), CancellationToken::new());
    token.cancel();
    let session = StallDetector::new(id("one"), config()).spawn_until(events, token);
    assert_eq!(inbox.recv().await, None);
    assert_eq!(session.join().await.expect("no panic"), WatchOutcome::Delivered);
}

#[tokio::test(start_paused = true)]
async fn an_undelivered_escalation_is_the_outcome_of_a_cancelled_detector() {
    let (session, inbox, token) = spawn_until_cancelled();
    drop(inbox);
    sleep(10 * MINUTE).await;
    token.cancel();
    assert!(matches!(session.join().await, Ok(WatchOutcome::Undelivered(StallEvent::Escalated { .. }))));
}

#[tokio::test(start_paused = true)]
async fn a_token_stops_its_registry_and_no_other() {
    let ((events, mut inbox), token) = (mpsc::channel(64), CancellationToken::new());
    let (cancelled, other) = (DetectorRegistry::with_token(token.clone()), DetectorRegistry::default());
    for registry in [&cancelled, &other] {
        for name in ["one", "two"] {
            registry.spawn(StallDetector::new(id(name), config()), events.clone()).expect("the first");
        }
    }
    token.cancel();
    settle().await;
    assert_eq!(tasks(), 2, "those of the other one");
    cancelled.spawn(StallDetector::new(id("late"), config()), events.clone()).expect("the first");
    settle().await;
    assert_eq!((tasks(), cancelled.len()), (2, 3), "the late one ended at once");

    sleep(MINUTE + MINUTE / 60).await;
    let mut received = 0;
    while inbox.try_recv().is_ok() {
        received += 1;
    }
    assert_eq!(received, 4, "two stalls and two nudges, of the other one");
    let outcomes = cancelled.shutdown().await;
    assert!(outcomes.iter().all(|(_, outcome)| *outcome.as_ref().expect("no panic") == WatchOutcome::Delivered));
    assert_eq!((outcomes.len(), other.shutdown().await.len(), tasks()), (3, 2, 0));
}
