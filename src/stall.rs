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
//! **A closed channel** stops no detector: an undelivered escalation is logged as a warning, and is the `Outcome`.
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

mod config;
mod detector;
mod episode;
mod event;
mod output;
mod registry;
mod watched;

pub use config::StallConfig;
pub use detector::{StallDetector, StallDetectorHandle};
pub use event::{Outcome, StallEvent};
pub use registry::{AlreadyWatched, DetectorRegistry};
pub use tokio_util::sync::CancellationToken;
pub use watched::Watched;

#[cfg(test)]
mod tests;
