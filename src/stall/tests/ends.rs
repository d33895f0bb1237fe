//! How a detector ends: stopped, joined, dropped, or by a panic. None leaves a task behind.

use std::sync::Weak;

use tracing::span::{Attributes, Id as SpanId, Record};
use tracing::{Event, Metadata, Subscriber};

use super::*;

fn spawned() -> (StallDetectorHandle, Receiver<StallEvent>, Weak<Watched>) {
    let (session, inbox) = spawn(config(), 8);
    let watched = Arc::downgrade(&session.watched);
    (session, inbox, watched)
}

#[tokio::test(start_paused = true)]
async fn joining_stops_it_and_leaves_nothing() {
    for seconds in [0, 30, 70, 90, 110] {
        let (session, mut inbox, watched) = spawned();
        sleep(Duration::from_secs(seconds)).await;
        settle().await;
        assert_eq!(tasks(), 1, "negative control");
        assert_eq!(session.join().await.expect("no panic"), WatchOutcome::Delivered);
        assert_eq!((tasks(), watched.strong_count()), (0, 0), "after {seconds} s");
        while inbox.try_recv().is_ok() {}
        assert_eq!(inbox.recv().await, None, "its sender is gone");
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_the_handle_ends_the_task() {
    let (session, mut inbox, watched) = spawned();
    sleep(MINUTE / 2).await;
    drop(session);
    assert_eq!(inbox.recv().await, None);
    assert_eq!((tasks(), watched.strong_count()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_detector_that_waits_for_room_or_is_paused_ends_as_well() {
    let (events, mut inbox) = mpsc::channel(1);
    let full = StallDetector::new(id("full"), config()).spawn(events.clone());
    let paused = StallDetector::new(id("paused"), config()).spawn(events);
    paused.pause();
    sleep(2 * MINUTE).await;
    drop(paused);
    assert_eq!(full.join().await.expect("no panic"), WatchOutcome::Delivered);
    settle().await;
    assert_eq!(tasks(), 0);
    assert!(matches!(inbox.recv().await, Some(StallEvent::Stalled { .. })));
    assert_eq!(inbox.recv().await, None);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_once_it_is_stopped() {
    let (session, mut inbox, _) = spawned();
    sleep(MINUTE).await;
    session.stop();
    session.stop();
    sleep(10 * MINUTE).await;
    assert_eq!(inbox.recv().await, None);
    session.reset();
    session.nudge_sent();
    assert_eq!(session.join().await.expect("no panic"), WatchOutcome::Delivered);
}

#[tokio::test(start_paused = true)]
async fn what_outlives_the_handle_does_not_keep_the_task() {
    let (events, mut inbox) = mpsc::channel(8);
    let registry = DetectorRegistry::default();
    let kept = registry.spawn(StallDetector::new(id("one"), config()), events).expect("the first");
    drop(registry);
    assert_eq!(inbox.recv().await, None);
    assert_eq!((tasks(), Arc::strong_count(&kept)), (0, 1));
    kept.reset();
    kept.resume();
    kept.nudge_sent();
    assert!(!kept.is_stalled());
}

#[tokio::test(start_paused = true)]
async fn a_panic_reaches_whoever_joins() {
    let _guard = tracing::subscriber::set_default(PanicsAtWarnings);
    let (session, inbox, watched) = spawned();
    drop(inbox);
    sleep(10 * MINUTE).await;
    session.reset();
    assert!(!session.is_stalled(), "the handle does not panic");
    let error = session.join().await.expect_err("its task has panicked");
    assert_eq!(*error.into_panic().downcast::<&str>().expect("a word"), "a broken subscriber");
    assert_eq!((tasks(), watched.strong_count()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_one_is_reported_by_the_shutdown_of_all() {
    let _guard = tracing::subscriber::set_default(PanicsAtWarnings);
    let registry = DetectorRegistry::default();
    let ((open, _inbox), (closed, _)) = (mpsc::channel(8), mpsc::channel(8));
    registry.spawn(StallDetector::new(id("well"), config()), open).expect("the first");
    registry.spawn(StallDetector::new(id("broken"), config()), closed).expect("the first");
    sleep(10 * MINUTE).await;
    let outcomes = registry.shutdown().await;
    for (session_id, outcome) in outcomes {
        assert_eq!(outcome.is_err(), session_id == id("broken"), "{session_id:?}");
    }
    assert_eq!((tasks(), registry.len()), (0, 0));
}

/// A panic from outside: of a subscriber to the log, in the task's thread.
struct PanicsAtWarnings;

impl Subscriber for PanicsAtWarnings {
    fn enabled(&self, metadata: &Metadata) -> bool {
        *metadata.level() == tracing::Level::WARN
    }

    fn event(&self, _event: &Event) {
        std::panic::panic_any("a broken subscriber");
    }

    fn new_span(&self, _span: &Attributes) -> SpanId {
        SpanId::from_u64(1)
    }

    fn record(&self, _span: &SpanId, _values: &Record) {}

    fn record_follows_from(&self, _span: &SpanId, _follows: &SpanId) {}

    fn enter(&self, _span: &SpanId) {}

    fn exit(&self, _span: &SpanId) {}
}
