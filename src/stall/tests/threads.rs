//! Real threads and the real clock: nothing is lost between a sign of life and the task that looks for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use tokio::time::timeout;

use super::histories::grammatical;
use super::*;

/// Far more than a loaded machine needs.
const PATIENCE: Duration = Duration::from_secs(20);

fn hasty() -> StallConfig {
    StallConfig {
        silent_after: Duration::from_millis(1),
        nudge_delay: Duration::from_millis(1),
        attempts_per_day_max: u32::MAX,
        ..StallConfig::default()
    }
}

/// The sign of life comes as soon as the stall can be seen, while the task is about to look again; nothing else would
/// wake it for an hour, since a person has just nudged the session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_stall_is_followed_by_the_recovery_that_another_thread_reports() {
    let (session, mut inbox) = spawn(StallConfig { nudge_delay: 60 * MINUTE, ..hasty() }, 64);
    let watched = Arc::clone(&session.watched);
    let reporter = thread::spawn(move || {
        for round in 0..1000 {
            watched.nudge_sent();
            spin_until(&mut inbox, |event| matches!(event, StallEvent::Stalled { .. }), round);
            watched.reset();
            spin_until(&mut inbox, |event| matches!(event, StallEvent::SelfRecovered { .. }), round);
        }
    });
    tokio::task::block_in_place(|| reporter.join().expect("every sign of life is seen"));
    session.join().await.expect("no panic");
}

fn spin_until(inbox: &mut Receiver<StallEvent>, is_wanted: impl Fn(&StallEvent) -> bool, round: usize) {
    let began = std::time::Instant::now();
    while !inbox.try_recv().is_ok_and(|event| is_wanted(&event)) {
        assert!(began.elapsed() < PATIENCE, "round {round}: nothing came");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_sent_after_a_stop_in_the_midst_of_sending() {
    let talkative = StallConfig { nudge_delay: Duration::ZERO, nudges_max: u32::MAX, ..hasty() };
    for round in 0..100 {
        let (session, mut inbox) = spawn(talkative.clone(), 100_000);
        for _ in 0..10 {
            timeout(PATIENCE, inbox.recv()).await.expect("negative control").expect("an event");
        }
        thread::sleep(Duration::from_micros(10 * round));
        session.stop();
        while inbox.try_recv().is_ok() {}
        session.join().await.expect("no panic");
        assert!(inbox.try_recv().is_err(), "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_two_threads_report_alive_never_stalls() {
    let (session, mut inbox) = spawn(StallConfig { silent_after: Duration::from_secs(1), ..hasty() }, 64);
    let is_over = Arc::new(AtomicBool::new(false));
    let report = || {
        let (watched, is_over) = (Arc::clone(&session.watched), Arc::clone(&is_over));
        thread::spawn(move || {
            while !is_over.load(Relaxed) {
                watched.reset()
            }
        })
    };
    let reporters = [report(), report()];
    sleep(Duration::from_millis(2500)).await;
    assert!(inbox.try_recv().is_err());
    is_over.store(true, Relaxed);
    reporters.into_iter().for_each(|reporter| reporter.join().expect("no panic"));
    let silence = timeout(PATIENCE, inbox.recv()).await.expect("negative control");
    assert!(matches!(silence, Some(StallEvent::Stalled { .. })));
}

/// One of twenty sessions.
fn name(n: usize) -> Id {
    id(&format!("session-{}", n % 20))
}

/// Does all that can be done to the sessions, in an order of its own.
fn disturb(registry: &DetectorRegistry, events: &mpsc::Sender<StallEvent>, seed: usize) {
    for n in (0..15_000).map(|n| n * 7 + seed) {
        let id = name(n / 3);
        match n % 11 {
            0..=3 => _ = registry.reset(&id),
            4 => _ = registry.pause(&id),
            5..=7 => _ = registry.resume(&id),
            8 => _ = registry.get(&id).map(|session| session.nudge_sent()),
            9 => _ = registry.get(&id).map(|session| session.is_stalled()),
            // A session that comes and goes, and is not among those that are judged.
            _ => match registry.spawn(StallDetector::new(Id(format!("guest-{seed}")), hasty()), events.clone()) {
                Ok(_) => {}
                Err(refused) => drop(registry.remove(&refused.0)),
            },
        }
        if n % 500 == 0 {
            thread::sleep(Duration::from_millis(3));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_threads_do_at_once_the_events_of_each_session_are_in_order() {
    let (events, mut inbox) = mpsc::channel(4);
    let registry = Arc::new(DetectorRegistry::default());
    for n in 0..20 {
        registry.spawn(StallDetector::new(name(n), hasty()), events.clone()).expect("the first");
    }
    let disturber = |seed: usize| {
        let (registry, runtime, events) = (Arc::clone(&registry), Handle::current(), events.clone());
        thread::spawn(move || {
            let _runtime = runtime.enter();
            disturb(&registry, &events, seed);
        })
    };
    let threads: Vec<_> = (0..4).map(disturber).collect();
    let received: Arc<Mutex<HashMap<Id, Vec<StallEvent>>>> = Arc::default();
    let writes = Arc::clone(&received);
    let reader = tokio::spawn(async move {
        while let Some(event) = inbox.recv().await {
            writes.lock().unwrap().entry(event.session_id().clone()).or_default().push(event);
        }
    });
    tokio::task::block_in_place(|| threads.into_iter().for_each(|thread| thread.join().expect("no panic")));

    for n in 0..20 {
        registry.resume(&name(n));
    }
    let is_escalated = |events: &Vec<StallEvent>| matches!(events.last(), Some(StallEvent::Escalated { .. }));
    let all_escalated = || (0..20).all(|n| received.lock().unwrap().get(&name(n)).is_some_and(is_escalated));
    let wait = async {
        while !all_escalated() {
            sleep(Duration::from_millis(10)).await
        }
    };
    assert!(timeout(PATIENCE, wait).await.is_ok(), "silence ends in an escalation, whatever was before");
    assert!(registry.shutdown().await.iter().all(|(_, outcome)| outcome.is_ok()));
    drop(events);
    timeout(PATIENCE, reader).await.expect("all senders are gone").expect("no panic");
    for events in (0..20).map(|n| received.lock().unwrap()[&name(n)].clone()) {
        grammatical(&events, hasty().nudges_max).expect("in order");
    }
}
