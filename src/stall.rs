//! Live stall detectors, for a control plane that holds its sessions itself and need not wait for the next sweep.
//!
//! A session is *stalled* if and only if a sweep would find it silent or looping: it has shown no sign of life for
//! longer than `StallConfig::silent_after`; or it has shown signs of life but no progress for as long, and its last
//! lines repeat. Its detector then sends, once each and in this order: `Stalled`; up to `nudges_max` times `AutoNudge`,
//! `nudge_delay` apart; `Escalated`, when the last nudge has had its delay as well. A sign of life ends a silence, and
//! progress ends a loop or a silence that followed one: `SelfRecovered` is sent, and the count begins anew.
//! `rules::decide` decides what is due, so that detectors and sweeps never differ; `attempts_per_day_max` bounds nudges
//! and escalations however often a session stalls.
//!
//! **What to report**: `reset` reports a sign of life, such as a tool call or a message. `output` takes lines that the
//! session printed: a sign of life as well, and progress unless they are a loop (`rules::detect_loop`). A session of
//! which only signs of life are reported is never found looping. The caller leaves out the echo of a nudge: it is no
//! sign of life, and would end a loop.
//!
//! **A slow reader** loses nothing that is still true. What is due is decided when the channel has room for it, and
//! recorded only then: an escalation waits for room, and so do the steps before it; a nudge or an escalation that is
//! needless by then is never sent; a reported stall is always followed by its recovery.
//! **A closed channel** stops no detector: an undelivered escalation is logged as a warning, and is the `WatchOutcome`.
//!
//! **The end**: a detector is one tokio task and ends with its handle. `join` stops it and waits; dropping the handle,
//! or the registry that holds it, stops it without waiting. Nothing is sent afterwards. `join` returns a panic of the
//! task. A `CancellationToken` (`StallDetector::spawn_until`, `DetectorRegistry::with_token`) stops all detectors that
//! were given it, as `stop` does; only what another thread is sending in that very moment may still arrive.
//!
//! `cargo run --example stall --no-default-features` shows all of it in a few seconds.
//!
//! ```
//! use sweep::rules::Id;
//! use sweep::stall::{DetectorRegistry, StallConfig, StallDetector, StallEvent};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (events, mut inbox) = tokio::sync::mpsc::channel(64);
//! let registry = DetectorRegistry::default();
//! let id = Id("session-1".to_owned());
//! registry.spawn(StallDetector::new(id.clone(), StallConfig::default()), events)?;
//!
//! // For each line of the session's output, but not for the echo of a nudge:
//! registry.output(&id, "Compiling settings-page v0.1.0");
//! // For any other sign of life:
//! registry.reset(&id);
//!
//! while let Some(event) = inbox.recv().await {
//!     match event {
//!         StallEvent::Stalled { session_id, repeats: Some(repeats), .. } => println!("{session_id} repeats
//!         {repeats}"), StallEvent::Stalled { session_id, .. } => println!("{session_id} is silent"),
//!         StallEvent::AutoNudge { session_id, message, .. } => {
//!             println!("typing into {session_id}: {message}");
//!             registry.get(&session_id).inspect(|session| session.nudge_sent());
//!         }
//!         StallEvent::SelfRecovered { session_id, .. } => println!("{session_id} has recovered"),
//!         StallEvent::Escalated { session_id, cause, .. } => {
//!             println!("{session_id} needs a person: {cause}");
//!             break;
//!         }
//!     }
//! }
//! registry.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod detector;
mod episode;
mod watched;

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
pub use tokio_util::sync::CancellationToken;

use crate::rules::{Cause, Finding, Id, Loop, Policy};
pub use detector::{AlreadyWatched, DetectorRegistry, StallDetector, StallDetectorHandle};
pub use watched::Watched;

/// What counts as a stall, and what is done about it. The defaults are those of `Policy`.
#[derive(Clone, Debug, PartialEq)]
pub struct StallConfig {
    /// A session that is silent, or in a loop, for longer is stalled.
    pub silent_after: Duration,
    /// The delay between two nudges, and between the last one and the escalation.
    pub nudge_delay: Duration,
    /// How many nudges an episode has.
    pub nudges_max: u32,
    /// The message that `AutoNudge` asks to be typed.
    pub nudge_message: Arc<str>,
    /// How many nudges are sent in 24 hours, and how many escalations (at least one), over all episodes.
    pub attempts_per_day_max: u32,
}

impl Default for StallConfig {
    fn default() -> StallConfig {
        let policy = Policy::default();
        StallConfig {
            silent_after: policy.session_silent_after.to_std().unwrap_or_default(),
            nudge_delay: policy.nudge_delay.to_std().unwrap_or_default(),
            nudges_max: policy.nudges_max,
            nudge_message: policy.nudge_message.into(),
            attempts_per_day_max: policy.attempts_per_day_max,
        }
    }
}

impl StallConfig {
    /// The policy of a sweep with these limits.
    fn policy(&self) -> Policy {
        Policy {
            session_silent_after: time_delta(self.silent_after),
            nudge_delay: time_delta(self.nudge_delay),
            nudges_max: self.nudges_max,
            nudge_message: self.nudge_message.to_string(),
            attempts_per_day_max: self.attempts_per_day_max,
            ..Policy::default()
        }
    }
}

/// Cuts a duration to a century, which can be added to any moment of a clock that began at zero.
fn time_delta(duration: Duration) -> TimeDelta {
    let century = TimeDelta::days(36_500);
    TimeDelta::from_std(duration).map_or(century, |delta| delta.min(century))
}

/// What has happened to a session, or should be done, after silence (or in a loop, no progress) for `silent_for`.
#[derive(Clone, Debug, PartialEq)]
pub enum StallEvent {
    /// The session has been silent (`Finding::Silent`) or in a loop (`Finding::Looping`) for longer than its threshold.
    /// `repeats` has the lines of the loop, which are the session's output and may contain anything.
    Stalled { session_id: Id, finding: Finding, repeats: Option<Loop>, silent_for: Duration },
    /// The message should be typed into the session, and `Watched::nudge_sent` be called then.
    AutoNudge { session_id: Id, attempt: u32, attempts_max: u32, message: Arc<str>, silent_for: Duration },
    /// A person should look at the session; nothing more is tried.
    Escalated { session_id: Id, cause: Cause, attempts: u32, silent_for: Duration },
    /// The session showed a sign of life, or after a loop progress, after this time and so many nudges.
    SelfRecovered { session_id: Id, silent_for: Duration, attempts: u32 },
}

/// Whether every escalation of a watch was delivered.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchOutcome {
    /// No escalation was missed.
    Delivered,
    /// The channel was closed when this escalation, the latest, was due.
    Undelivered(StallEvent),
}

impl StallEvent {
    pub fn session_id(&self) -> &Id {
        match self {
            StallEvent::Stalled { session_id, .. }
            | StallEvent::AutoNudge { session_id, .. }
            | StallEvent::Escalated { session_id, .. }
            | StallEvent::SelfRecovered { session_id, .. } => session_id,
        }
    }
}

#[cfg(test)]
mod tests;
