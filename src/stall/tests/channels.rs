//! Readers that are slow, late or gone.

use std::io::Write;

use tracing::subscriber::DefaultGuard;

use super::*;

/// A detector, and a channel with room for one event.
fn narrow(config: StallConfig) -> (StallDetectorHandle, Receiver<StallEvent>) {
    spawn(config, 1)
}

/// Receives one event after another, as soon as each is there.
async fn read(inbox: &mut Receiver<StallEvent>) -> String {
    let mut read = Vec::new();
    settle().await;
    while let Ok(event) = inbox.try_recv() {
        read.push(described(&event));
        settle().await;
    }
    read.join(", ")
}

#[tokio::test(start_paused = true)]
async fn a_late_reader_is_sent_step_by_step_what_is_still_due() {
    let (session, mut inbox) = narrow(config());
    pass(1000.0).await;
    assert_eq!(read(&mut inbox).await, "stalled, nudge 1/2", "one was sent, one waited for room");
    pass(19.0).await;
    assert_eq!(read(&mut inbox).await, "", "the delay runs from when it was sent");
    pass(1000.0).await;
    assert_eq!(read(&mut inbox).await, "nudge 2/2, escalated after 2: Exhausted");
    pass(1000.0).await;
    assert_eq!(read(&mut inbox).await, "", "once");
    assert!(session.is_stalled());
}

#[tokio::test(start_paused = true)]
async fn an_escalation_waits_for_room_and_knows_how_long() {
    let (_session, mut inbox) = narrow(StallConfig { nudges_max: 0, ..config() });
    pass(1000.0).await;
    assert!(matches!(inbox.recv().await, Some(StallEvent::Stalled { .. })));
    let Some(StallEvent::Escalated { silent_for, .. }) = inbox.recv().await else { panic!("no escalation") };
    assert_eq!(silent_for.as_secs(), 1000);
}

#[tokio::test(start_paused = true)]
async fn what_a_recovery_made_needless_is_never_sent_but_the_recovery_is() {
    let (session, mut inbox) = narrow(StallConfig { nudges_max: 0, ..config() });
    pass(70.0).await;
    session.reset();
    pass(10.0).await;
    assert_eq!(read(&mut inbox).await, "stalled, recovered after 0", "no escalation");
}

#[tokio::test(start_paused = true)]
async fn a_recovery_that_waits_for_room_comes_before_the_next_stall() {
    let (session, mut inbox) = narrow(config());
    pass(70.0).await;
    session.reset();
    pass(1000.0).await;
    session.reset();
    pass(1000.0).await;
    assert_eq!(read(&mut inbox).await, "stalled, recovered after 0, stalled, nudge 1/2");
}

#[tokio::test(start_paused = true)]
async fn of_a_stall_that_was_over_before_there_was_room_nothing_is_sent() {
    let (events, mut inbox) = mpsc::channel(1);
    let other = stalled(id("other"), MINUTE);
    events.try_send(other.clone()).unwrap();
    let session = StallDetector::new(id("one"), config()).spawn(events);
    pass(70.0).await;
    assert!(session.is_stalled(), "sent or not");
    session.reset();
    assert!(!session.is_stalled());
    pass(1.0).await;
    assert_eq!(inbox.recv().await, Some(other));
    assert_eq!(read(&mut inbox).await, "");
    pass(60.0).await;
    assert_eq!(read(&mut inbox).await, "stalled, nudge 1/2", "negative control");
}

#[tokio::test(start_paused = true)]
async fn a_pause_while_an_event_waits_for_room_holds_it_back() {
    let (session, mut inbox) = narrow(config());
    pass(70.0).await;
    session.pause();
    assert_eq!(read(&mut inbox).await, "stalled", "sent before the pause");
    pass(100.0).await;
    assert_eq!(read(&mut inbox).await, "");
    session.resume();
    assert_eq!(read(&mut inbox).await, "nudge 1/2");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_sessions_take_turns_at_one_place() {
    let (events, mut inbox) = mpsc::channel(1);
    let base = StallConfig { nudges_max: 0, ..config() };
    let spawn = |n| StallDetector::new(id(&format!("{n}")), base.clone()).spawn(events.clone());
    let _sessions: Vec<_> = (0..1000).map(spawn).collect();
    pass(61.0).await;
    let mut escalated = std::collections::HashSet::new();
    for _ in 0..2000 {
        let event = inbox.recv().await.unwrap();
        if let StallEvent::Escalated { session_id, .. } = event {
            assert!(escalated.insert(session_id), "twice");
        }
    }
    assert_eq!(escalated.len(), 1000);
    pass(1000.0).await;
    assert!(inbox.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn an_undelivered_escalation_is_logged_once_and_is_the_outcome() {
    let (log, _guard) = logged();
    let (session, inbox) = narrow(config());
    drop(inbox);
    pass(99.0).await;
    assert_eq!((session.outcome(), log.text()), (WatchOutcome::Delivered, String::new()), "there is none yet");
    pass(1000.0).await;
    let WatchOutcome::Undelivered(StallEvent::Escalated { session_id, attempts: 2, .. }) = session.outcome() else {
        panic!("{:?}", session.outcome())
    };
    assert_eq!(session_id, id("one"));
    let text = log.text();
    assert_eq!(text.matches("WARN").count(), 1, "{text}");
    assert!(text.contains("session one needs a person") && text.contains("nobody listens"), "{text}");

    session.reset();
    pass(1.0).await;
    assert!(!session.is_stalled(), "it still sees signs of life");
    pass(60.0).await;
    assert!(session.is_stalled());
    assert!(matches!(session.join().await, Ok(WatchOutcome::Undelivered(_))));
}

/// An id may contain anything.
#[tokio::test(start_paused = true)]
async fn a_log_line_is_one_line_that_can_be_seen_whatever_a_session_is_called() {
    let (log, _guard) = logged();
    let (events, inbox) = mpsc::channel(1);
    drop(inbox);
    let hostile = id("one\n2026-01-01T00:00:00Z ERROR forged\u{202e}\u{9b}31m");
    let _session = StallDetector::new(hostile, StallConfig { nudges_max: 0, ..config() }).spawn(events);
    pass(100.0).await;
    let text = log.text();
    assert!(text.contains("session one 2026-01-01T00:00:00Z ERROR forged31m needs a person"), "{text}");
    assert!(text.lines().all(|line| line.contains("WARN") && !line.contains(['\u{202e}', '\u{9b}'])), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_channel_that_closes_while_an_escalation_waits_for_room_loses_it_not() {
    let (log, _guard) = logged();
    let (session, inbox) = narrow(StallConfig { nudges_max: 0, ..config() });
    pass(100.0).await;
    assert_eq!(session.outcome(), WatchOutcome::Delivered);
    drop(inbox);
    settle().await;
    assert!(matches!(session.outcome(), WatchOutcome::Undelivered(StallEvent::Escalated { .. })));
    assert_eq!(log.text().matches("WARN").count(), 1);
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What this thread logs, until the guard is dropped.
fn logged() -> (Log, DefaultGuard) {
    let log = Log::default();
    let writes = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writes.clone()).finish();
    (log, tracing::subscriber::set_default(subscriber))
}
