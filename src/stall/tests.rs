//! The clock of these tests is tokio's paused one: it jumps to the next timer when nothing else is left to do, so that
//! every moment is exact. Timers have whole milliseconds: what is due after "longer than a minute" is due at 60,001 ms.

mod cancellation;
mod channels;
mod crowds;
mod ends;
mod histories;
mod loops;
mod model;
mod moments;
mod pauses;
mod signs;
mod threads;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn id(name: &str) -> Id {
    Id(name.to_owned())
}

/// Silent for longer than a minute: nudged at most twice, 20 s apart.
fn config() -> StallConfig {
    StallConfig { silent_after: MINUTE, nudge_delay: MINUTE / 3, ..StallConfig::default() }
}

/// What is reported of a silent session.
fn stalled(session_id: Id, silent_for: Duration) -> StallEvent {
    StallEvent::Stalled { session_id, finding: Finding::Silent, repeats: None, silent_for }
}

/// One watched session, and what its reader heard of it, and when.
struct Scene {
    session: StallDetectorHandle,
    heard: Arc<Mutex<Vec<(u128, StallEvent)>>>,
}

impl Scene {
    fn new(config: StallConfig) -> Scene {
        let (events, mut inbox) = mpsc::channel(64);
        let session = StallDetector::new(id("one"), config).spawn(events);
        let heard = Arc::<Mutex<Vec<_>>>::default();
        let writes = Arc::clone(&heard);
        let began = Instant::now();
        tokio::spawn(async move {
            while let Some(event) = inbox.recv().await {
                writes.lock().unwrap().push((began.elapsed().as_millis(), event));
            }
        });
        Scene { session, heard }
    }

    /// Lets so much time pass, and all happen that is due by then.
    async fn pass(&self, seconds: f64) {
        sleep(Duration::from_secs_f64(seconds)).await;
        settle().await;
    }

    /// What was heard since this was last asked: `60.001 stalled, 60.001 nudge 1/2`.
    async fn said(&self) -> String {
        settle().await;
        let heard = std::mem::take(&mut *self.heard.lock().unwrap());
        let lines: Vec<_> = heard.iter().map(|(at, event)| format!("{} {}", *at as f64 / 1e3, spoken(event))).collect();
        lines.join(", ")
    }
}

/// Lets every task do what it can do now.
async fn settle() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

fn spoken(event: &StallEvent) -> String {
    match event {
        StallEvent::Stalled { finding: Finding::Silent, .. } => "stalled".to_owned(),
        StallEvent::Stalled { finding, .. } => format!("stalled, {finding:?}"),
        StallEvent::AutoNudge { attempt, attempts_max, .. } => format!("nudge {attempt}/{attempts_max}"),
        StallEvent::Escalated { attempts, cause, .. } => format!("escalated after {attempts}: {cause:?}"),
        StallEvent::SelfRecovered { attempts, .. } => format!("recovered after {attempts}"),
    }
}
