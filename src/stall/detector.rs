//! Detectors, each one tokio task for one session, and the registry of a process.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::mpsc::Sender;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;

use super::watched::{Next, Watched};
use super::{StallConfig, StallEvent, WatchOutcome};
use crate::rules::Id;

/// A detector that has not been started.
#[derive(Clone, Debug)]
pub struct StallDetector {
    session_id: Id,
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
        self.start(events, None)
    }

    /// Starts to watch until the token is cancelled. The detector then ends as if it was stopped, and drops its sender.
    /// If the token is cancelled already, it ends at once.
    ///
    /// # Panics
    /// Outside of a tokio runtime with a timer.
    pub fn spawn_until(self, events: Sender<StallEvent>, token: CancellationToken) -> StallDetectorHandle {
        self.start(events, Some(token))
    }

    fn start(self, events: Sender<StallEvent>, token: Option<CancellationToken>) -> StallDetectorHandle {
        let watched = Arc::new(Watched::new(self.session_id, self.config, token.clone()));
        let task = match token {
            Some(token) => tokio::spawn(watch_until_cancelled(Arc::clone(&watched), events, token)),
            None => tokio::spawn(watch(Arc::clone(&watched), events)),
        };
        StallDetectorHandle { watched, task }
    }
}

/// A separate function, since waiting for a token takes memory, and many detectors have none.
async fn watch_until_cancelled(watched: Arc<Watched>, events: Sender<StallEvent>, token: CancellationToken) {
    tokio::select! {
        biased;
        () = token.cancelled() => watched.stop(),
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
    pub async fn join(mut self) -> Result<WatchOutcome, JoinError> {
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

/// The detectors of one process, by session. Dropping it stops them all.
#[derive(Default)]
pub struct DetectorRegistry {
    handles: RwLock<HashMap<Id, StallDetectorHandle>>,
    token: Option<CancellationToken>,
}

/// The session has a detector already. It was left unchanged: a new one would not know what was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlreadyWatched(pub Id);

impl DetectorRegistry {
    /// A registry whose detectors stop when the token is cancelled; `shutdown` then returns their outcomes.
    pub fn with_token(token: CancellationToken) -> DetectorRegistry {
        DetectorRegistry { handles: RwLock::default(), token: Some(token) }
    }

    /// Starts a detector. To replace that of a session, `remove` it first.
    ///
    /// # Errors
    /// `AlreadyWatched`: the session has a detector already.
    ///
    /// # Panics
    /// Outside of a tokio runtime with a timer.
    pub fn spawn(&self, detector: StallDetector, events: Sender<StallEvent>) -> Result<Arc<Watched>, AlreadyWatched> {
        let id = detector.session_id.clone();
        let mut handles = self.write();
        if handles.contains_key(&id) {
            return Err(AlreadyWatched(id));
        }
        let handle = detector.start(events, self.token.clone());
        let watched = Arc::clone(&handle.watched);
        handles.insert(id, handle);
        Ok(watched)
    }

    /// The session with this id. Keeping or dropping the result does not change how long its detector runs.
    pub fn get(&self, id: &Id) -> Option<Arc<Watched>> {
        self.read().get(id).map(|handle| Arc::clone(&handle.watched))
    }

    /// Reports a sign of life; false if the session has no detector.
    pub fn reset(&self, id: &Id) -> bool {
        self.read().get(id).map(|handle| handle.reset()).is_some()
    }

    /// Reports complete lines of output, as `Watched::output` does; false if the session has no detector.
    pub fn output(&self, id: &Id, lines: &str) -> bool {
        self.get(id).map(|watched| watched.output(lines)).is_some()
    }

    /// Stops the session's clock, as `Watched::pause` does; false if the session has no detector.
    pub fn pause(&self, id: &Id) -> bool {
        self.read().get(id).map(|handle| handle.pause()).is_some()
    }

    /// Restarts the session's clock, as `Watched::resume` does; false if the session has no detector.
    pub fn resume(&self, id: &Id) -> bool {
        self.read().get(id).map(|handle| handle.resume()).is_some()
    }

    /// Removes the session's detector and returns it. It ends when it is joined or dropped.
    pub fn remove(&self, id: &Id) -> Option<StallDetectorHandle> {
        self.write().remove(id)
    }

    pub fn len(&self) -> usize {
        self.read().len()
    }

    pub fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    /// Stops all detectors, waits until each has ended, and returns their outcomes. Those spawned meanwhile go on.
    pub async fn shutdown(&self) -> Vec<(Id, Result<WatchOutcome, JoinError>)> {
        let handles = std::mem::take(&mut *self.write());
        handles.values().for_each(StallDetectorHandle::stop);
        let mut outcomes = Vec::with_capacity(handles.len());
        for (id, handle) in handles {
            outcomes.push((id, handle.join().await));
        }
        outcomes
    }

    // No panic can happen between two changes of the map, so that a poisoned lock still holds a valid one.
    fn read(&self) -> RwLockReadGuard<'_, HashMap<Id, StallDetectorHandle>> {
        self.handles.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<Id, StallDetectorHandle>> {
        self.handles.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for AlreadyWatched {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "session {} has a detector already", self.0)
    }
}

impl std::error::Error for AlreadyWatched {}
