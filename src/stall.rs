//! Live stall detectors, for a control plane that holds its sessions itself and need not wait for the next sweep.
//!
//! A session is *stalled* if and only if a sweep would find it silent or looping: no sign of life for longer than
//! `StallConfig::silent_after`, or signs of life but no progress for as long, and its last lines repeat. Its detector then
//! sends, once each and in this order: `Stalled`; up to `nudges_max` times `AutoNudge`, `nudge_delay` apart; `Escalated`,
//! when the last nudge has had its delay as well. A sign of life ends a silence, and progress ends a loop or a silence
//! that followed one: `SelfRecovered`, and the count begins anew. What is due is decided by `rules::decide`, so that
//! detectors and sweeps never differ; `attempts_per_day_max` bounds nudges and escalations however often a session stalls.
//!
//! **What to report**: `reset` is a sign of life, such as a tool that was called or a message that arrived. `output` takes
//! lines that the session printed: a sign of life as well, and progress unless they are a loop (`rules::detect_loop`). A
//! session of which only signs of life are reported is never found looping. The echo of a nudge is the caller's to leave
//! out: it is no sign of life, and would end a loop.
//!
//! **A slow reader** loses nothing that is still true. What is due is decided in the moment in which the channel has room
//! for it and is recorded only then: an escalation waits for room, and so do the steps before it; a nudge or an
//! escalation that its session made needless meanwhile is never sent; a reported stall is always followed by its recovery.
//! **A closed channel** is no reason to stop looking: an escalation that nobody hears is logged as a warning, and is the
//! `Outcome`.
//!
//! **The end**: a detector is one tokio task and ends with its handle. `join` stops it and waits; dropping the handle, or
//! the registry that holds it, stops it without waiting. Nothing is sent afterwards. A panic in it is what `join` returns.
//! A `CancellationToken` (`StallDetector::spawn_until`, `DetectorRegistry::with_token`) stops all detectors that were
//! given it, as `stop` does; only what another thread is sending in that very moment may still arrive.
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
//!         StallEvent::Stalled { session_id, repeats: Some(repeats), .. } => println!("{} said {repeats}", session_id.0),
//!         StallEvent::Stalled { session_id, .. } => println!("{} is silent", session_id.0),
//!         StallEvent::AutoNudge { session_id, message, .. } => {
//!             println!("typing into {}: {message}", session_id.0);
//!             registry.get(&session_id).inspect(|session| session.nudge_sent());
//!         }
//!         StallEvent::SelfRecovered { session_id, .. } => println!("{} goes on", session_id.0),
//!         StallEvent::Escalated { session_id, cause, .. } => {
//!             println!("{} needs a person: {cause}", session_id.0);
//!             break;
//!         }
//!     }
//! }
//! registry.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod episode;
mod output;
mod registry;
mod watched;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use tokio::sync::mpsc::Sender;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::sleep_until;

use crate::rules::{Cause, Finding, Id, Loop, Policy};
pub use registry::{AlreadyWatched, DetectorRegistry};
pub use tokio_util::sync::CancellationToken;
use watched::Next;
pub use watched::Watched;

/// What is a stall, and what is done about it; the defaults are those of `Policy`.
#[derive(Clone, Debug, PartialEq)]
pub struct StallConfig {
    /// A session is stalled when it is silent, or in a loop, for longer.
    pub silent_after: Duration,
    /// Between two nudges, and between the last one and the escalation.
    pub nudge_delay: Duration,
    /// Per episode.
    pub nudges_max: u32,
    /// What `AutoNudge` asks to be typed.
    pub nudge_message: Arc<str>,
    /// Nudges in 24 hours, and escalations (of these one at least), however often the episode restarts.
    pub attempts_per_day_max: u32,
}

/// What the reader of the events should know, or do. `silent_for`: for how long there was no sign of life, or in a loop no
/// progress.
#[derive(Clone, Debug, PartialEq)]
pub enum StallEvent {
    /// It has been silent (`Finding::Silent`) or in a loop (`Finding::Looping`) for longer than its threshold. `repeats`: the
    /// lines of the loop; they are the session's output, and may hold anything.
    Stalled { session_id: Id, finding: Finding, repeats: Option<Loop>, silent_for: Duration },
    /// The message should be typed into it; then `nudge_sent` says that it was.
    AutoNudge { session_id: Id, attempt: u32, attempts_max: u32, message: Arc<str>, silent_for: Duration },
    /// A person should look at it; nothing more is tried.
    Escalated { session_id: Id, cause: Cause, attempts: u32, silent_for: Duration },
    /// It showed a sign of life, or after a loop progress, after so long and so many nudges.
    SelfRecovered { session_id: Id, silent_for: Duration, attempts: u32 },
}

/// What became of a watch.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// No escalation was missed.
    Heard,
    /// This escalation, the latest, was due when nobody listened any more.
    Unheard(StallEvent),
}

/// A detector that has not been started.
#[derive(Clone, Debug)]
pub struct StallDetector {
    session_id: Id,
    config: StallConfig,
}

/// A detector at work. Dropping it stops the detector.
#[must_use = "a detector ends with its handle"]
pub struct StallDetectorHandle {
    watched: Arc<Watched>,
    task: JoinHandle<()>,
}

impl StallDetector {
    pub fn new(session_id: Id, config: StallConfig) -> StallDetector {
        StallDetector { session_id, config }
    }

    /// Starts to watch: the session counts as alive now.
    ///
    /// # Panics
    /// Outside of a tokio runtime with a timer.
    pub fn spawn(self, events: Sender<StallEvent>) -> StallDetectorHandle {
        let watched = Arc::new(Watched::new(self.session_id, self.config, None));
        let task = tokio::spawn(watch(Arc::clone(&watched), events));
        StallDetectorHandle { watched, task }
    }

    /// Starts to watch, until the token is cancelled; then the detector ends as if it was stopped, and drops its sender.
    /// With a token that is cancelled already it ends at once.
    ///
    /// # Panics
    /// Outside of a tokio runtime with a timer.
    pub fn spawn_until(self, events: Sender<StallEvent>, token: CancellationToken) -> StallDetectorHandle {
        let watched = Arc::new(Watched::new(self.session_id, self.config, Some(token)));
        let task = tokio::spawn(watch_until_cancelled(Arc::clone(&watched), events));
        StallDetectorHandle { watched, task }
    }
}

/// A task of its own kind, since waiting for a token takes memory, and most detectors of a crowd may have none.
async fn watch_until_cancelled(watched: Arc<Watched>, events: Sender<StallEvent>) {
    tokio::select! {
        biased;
        () = watched.cancelled() => {}
        () = watch(Arc::clone(&watched), events) => {}
    }
}

/// Ends with its task only.
async fn watch(watched: Arc<Watched>, events: Sender<StallEvent>) {
    loop {
        match watched.next() {
            Next::AwaitWake => watched.woken().await,
            Next::LookAt(instant) => tokio::select! {
                () = sleep_until(instant) => {}
                () = watched.woken() => {}
            },
            Next::Send => tokio::select! {
                biased;
                room = events.reserve() => match room {
                    Ok(room) => watched.send(|event| room.send(event)),
                    Err(_) => watched.send_to_nobody(),
                },
                () = watched.woken() => {}
            },
        }
    }
}

impl StallDetectorHandle {
    /// Nothing is sent once this has returned, and the task ends soon after.
    pub fn stop(&self) {
        self.watched.stop();
        self.task.abort();
    }

    /// Stops the detector and waits until its task has ended.
    ///
    /// # Errors
    /// A panic of the task.
    pub async fn join(mut self) -> Result<Outcome, JoinError> {
        self.stop();
        match (&mut self.task).await {
            Err(error) if !error.is_cancelled() => Err(error),
            Ok(()) | Err(_) => Ok(self.watched.outcome()),
        }
    }
}

impl Deref for StallDetectorHandle {
    type Target = Watched;

    fn deref(&self) -> &Watched {
        &self.watched
    }
}

impl Drop for StallDetectorHandle {
    fn drop(&mut self) {
        self.stop();
    }
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
    /// The sweep's policy with these limits.
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

/// A century is for ever, and can be added to any moment of a clock that began at zero.
fn time_delta(duration: Duration) -> TimeDelta {
    let century = TimeDelta::days(36_500);
    TimeDelta::from_std(duration).map_or(century, |delta| delta.min(century))
}

#[cfg(test)]
mod tests;
