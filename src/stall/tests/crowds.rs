//! Many sessions, each by itself, and the registry that holds them.

use std::collections::BTreeMap;

use super::*;

const SESSIONS: usize = 10_000;

struct Crowd {
    registry: DetectorRegistry,
    inbox: Receiver<StallEvent>,
}

fn name(n: usize) -> Id {
    id(&format!("session-{n}"))
}

impl Crowd {
    fn new() -> Crowd {
        let (events, inbox) = mpsc::channel(8 * SESSIONS);
        let registry = DetectorRegistry::default();
        for n in 0..SESSIONS {
            registry.spawn(StallDetector::new(name(n), config()), events.clone()).expect("the first");
        }
        Crowd { registry, inbox }
    }

    /// How many sessions have sent each event. The clock advances only when all have done what they can.
    async fn received(&mut self) -> BTreeMap<String, usize> {
        sleep(Duration::from_millis(1)).await;
        let mut received = BTreeMap::new();
        while let Ok(event) = self.inbox.try_recv() {
            *received.entry(described(&event)).or_default() += 1;
        }
        received
    }
}

#[tokio::test(start_paused = true)]
async fn each_of_ten_thousand_sessions_has_its_own_clock_and_none_leaves_a_task() {
    let mut crowd = Crowd::new();
    assert_eq!((crowd.registry.len(), tasks()), (SESSIONS, SESSIONS));

    // A quarter each: alive, paused, removed, silent.
    sleep(MINUTE / 2).await;
    for n in 0..SESSIONS {
        match n % 4 {
            0 => assert!(crowd.registry.reset(&name(n))),
            1 => assert!(crowd.registry.pause(&name(n))),
            2 => drop(crowd.registry.remove(&name(n))),
            _ => {}
        }
    }
    sleep(MINUTE / 2 + Duration::from_millis(1)).await;
    let quarter = SESSIONS / 4;
    let by_a_quarter =
        |events: &[&str]| events.iter().map(|event| (event.to_string(), quarter)).collect::<BTreeMap<_, _>>();
    assert_eq!(crowd.received().await, by_a_quarter(&["stalled", "nudge 1/2"]));
    assert_eq!((crowd.registry.len(), tasks()), (3 * quarter, 3 * quarter));

    for n in 0..SESSIONS {
        match n % 4 {
            1 => assert!(crowd.registry.resume(&name(n))),
            2 => assert!(!crowd.registry.reset(&name(n)), "it was removed"),
            _ => assert!(crowd.registry.reset(&name(n))),
        }
    }
    assert_eq!(crowd.received().await, by_a_quarter(&["recovered after 1"]));
    sleep(MINUTE / 2 + Duration::from_millis(1)).await;
    assert_eq!(
        crowd.received().await,
        by_a_quarter(&["stalled", "nudge 1/2"]),
        "the paused ones had half a minute left"
    );

    let kept = crowd.registry.get(&name(0)).expect("it is watched");
    let outcomes = crowd.registry.shutdown().await;
    assert!(outcomes.iter().all(|(_, outcome)| matches!(outcome, Ok(WatchOutcome::Delivered))));
    assert_eq!((outcomes.len(), crowd.registry.len(), tasks()), (3 * quarter, 0, 0));
    assert_eq!(Arc::strong_count(&kept), 1);
    assert_eq!(crowd.inbox.recv().await, None, "all senders are gone");
}

#[tokio::test(start_paused = true)]
async fn a_session_has_one_detector_at_most() {
    let (events, _inbox) = mpsc::channel(8);
    let registry = DetectorRegistry::default();
    let detector = StallDetector::new(id("one"), config());
    let first = registry.spawn(detector.clone(), events.clone()).expect("the first");
    let refused = registry.spawn(detector.clone(), events.clone()).err().expect("the second");
    assert_eq!(refused.to_string(), "session one has a detector already");
    assert!(Arc::ptr_eq(&first, &registry.get(&id("one")).unwrap()), "the first was left as it is");

    let removed = registry.remove(&id("one")).expect("it was there");
    removed.join().await.expect("no panic");
    assert!(registry.is_empty());
    registry.spawn(detector, events).expect("the first again");
    assert_eq!(registry.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_registry_reports_that_a_session_has_no_detector() {
    let (registry, nobody) = (DetectorRegistry::default(), id("nobody"));
    assert!(!registry.reset(&nobody) && !registry.pause(&nobody) && !registry.resume(&nobody));
    assert!(registry.get(&nobody).is_none() && registry.remove(&nobody).is_none());
    assert!(registry.shutdown().await.is_empty());
}
