//! Five sessions of agents, made up and short of breath, and what their stall detectors report of them.
//!
//! ```text
//! cargo run --example stall --no-default-features
//! ```
//!
//! A control plane does the same: it reports each session's output and signs of life to a registry, and acts on the
//! events.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use sweep::rules::Id;
use sweep::stall::{CancellationToken, DetectorRegistry, StallConfig, StallDetector, StallEvent, WatchOutcome};
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::{Instant, sleep};

/// Real sessions have minutes (`StallConfig::default()`); these have a second.
fn hasty() -> StallConfig {
    let (silent_after, nudge_delay) = (Duration::from_secs(1), Duration::from_millis(600));
    StallConfig {
        silent_after,
        nudge_delay,
        nudge_message: "Go on, or say what you need.".into(),
        ..Default::default()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let token = CancellationToken::new();
    let registry = Arc::new(DetectorRegistry::with_token(token.clone()));
    let (events, inbox) = mpsc::channel(64);
    for name in ["healthy", "silent", "looping", "recovering", "paused"] {
        registry.spawn(StallDetector::new(id(name), hasty()), events.clone())?;
    }
    // Now the detectors have the only senders: the inbox closes when the last of them has ended.
    drop(events);
    registry.pause(&id("paused"));

    let reader = tokio::spawn(read(Arc::clone(&registry), inbox));
    for step in 0..12 {
        work(&registry, step);
        sleep(Duration::from_millis(300)).await;
    }

    println!("\nThe control plane shuts down: one token stops all {} detectors.", registry.len());
    token.cancel();
    reader.await?;
    for (session, outcome) in registry.shutdown().await {
        let missed = match outcome? {
            WatchOutcome::Delivered => "nothing was missed",
            WatchOutcome::Undelivered(_) => "nobody read that it needs a person",
        };
        println!("  {:10} ended; {missed}", session.0);
    }
    Ok(())
}

/// What the sessions do, step by step.
fn work(registry: &DetectorRegistry, step: usize) {
    let pages = ["settings", "profile", "billing", "search", "inbox", "login", "archive", "editor", "help", "status"];
    registry.output(&id("healthy"), &format!("redrew the page {}", pages[step % pages.len()]));
    // It prints a lot, and always the same.
    registry.output(&id("looping"), "running the tests\nfailed: no such table\n");
    // It thinks for longer than it should, and then gets on by itself.
    if step == 0 || 6 < step {
        registry.output(&id("recovering"), &format!("wrote the test of {}", pages[step % pages.len()]));
    }
}

/// What a control plane does about the events.
async fn read(registry: Arc<DetectorRegistry>, mut inbox: Receiver<StallEvent>) {
    let began = Instant::now();
    while let Some(event) = inbox.recv().await {
        print!("{:4.1} s  {:10} ", began.elapsed().as_secs_f64(), event.session_id().0);
        match event {
            StallEvent::Stalled { repeats: Some(repeats), .. } => println!("is stalled: it said {repeats}"),
            StallEvent::Stalled { silent_for, .. } => println!("is stalled: silent for {silent_for:.1?}"),
            StallEvent::AutoNudge { session_id, attempt, attempts_max, message, .. } => {
                println!("is nudged, {attempt} of {attempts_max}: {message}");
                // Here the message is typed into the session; its echo is not reported as output.
                registry.get(&session_id).inspect(|session| session.nudge_sent());
            }
            StallEvent::SelfRecovered { silent_for, .. } => println!("recovered after {silent_for:.1?}"),
            StallEvent::Escalated { cause, .. } => println!("needs a person: {cause}"),
        }
    }
    println!("All detectors have ended: the channel of their events is closed.");
}

fn id(name: &str) -> Id {
    Id(name.to_owned())
}
