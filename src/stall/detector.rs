//! A detector: one tokio task for one session.

use std::ops::Deref;
use std::sync::Arc;

use tokio::sync::mpsc::Sender;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;

use super::config::StallConfig;
use super::event::{Outcome, StallEvent};
use super::watched::{Next, Watched};
use crate::rules::Id;

/// A detector that has not been started.
#[derive(Clone, Debug)]
pub struct StallDetector {
    pub(super) session_id: Id,
    config: StallConfig,
}

/// A running detector. Dropping the handle stops it.
#[must_use = "a detector ends with its handle"]
pub struct StallDetectorHandle {
    pub(super) watched: Arc<Watched>,
    task: JoinHandle<()>,
}

impl StallDetector {
    pub fn new(session_id: Id, config: StallConfig) -> StallDetector {
        StallDetector { session_id, config }
    }

    /// Starts to watch. The session counts as alive now.
    ///
    /// # Panics
    /// Outside of a tokio runtime with a timer.
    pub fn spawn(self, events: Sender<StallEvent>) -> StallDetectorHandle {
        let watched = Arc::new(Watched::new(self.session_id, self.config, None));
        let task = tokio::spawn(watch(Arc::clone(&watched), events));
        StallDetectorHandle { watched, task }
    }

    /// Starts to watch until the token is cancelled. The detector then ends as if it was stopped, and drops its sender.
    /// If the token is cancelled already, it ends at once.
    ///
    /// # Panics
    /// Outside of a tokio runtime with a timer.
    pub fn spawn_until(self, events: Sender<StallEvent>, token: CancellationToken) -> StallDetectorHandle {
        let watched = Arc::new(Watched::new(self.session_id, self.config, Some(token)));
        let task = tokio::spawn(watch_until_cancelled(Arc::clone(&watched), events));
        StallDetectorHandle { watched, task }
    }
}

/// A separate function, since waiting for a token takes memory, and many detectors have none.
async fn watch_until_cancelled(watched: Arc<Watched>, events: Sender<StallEvent>) {
    tokio::select! {
        biased;
        () = watched.cancelled() => {}
        () = watch(Arc::clone(&watched), events) => {}
    }
}

/// Never returns: it ends with its task.
async fn watch(watched: Arc<Watched>, events: Sender<StallEvent>) {
    loop {
        match watched.next() {
            Next::AwaitWake => watched.woken().await,
            Next::CheckAt(instant) => tokio::select! {
                () = sleep_until(instant) => {}
                () = watched.woken() => {}
            },
            Next::Send => tokio::select! {
                biased;
                room = events.reserve() => match room {
                    Ok(room) => watched.send(|event| room.send(event)),
                    Err(_) => watched.send_to_closed_channel(),
                },
                () = watched.woken() => {}
            },
        }
    }
}

impl StallDetectorHandle {
    /// Stops the detector: nothing is sent once this has returned, and the task ends soon after.
    pub fn stop(&self) {
        self.watched.stop();
        self.task.abort();
    }

    /// Stops the detector and waits until its task has ended.
    ///
    /// # Errors
    /// The task has panicked.
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
