//! The detectors of one process, by session. A session has at most one.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::mpsc::Sender;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use super::detector::{StallDetector, StallDetectorHandle};
use super::event::{Outcome, StallEvent};
use super::watched::Watched;
use crate::rules::Id;

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
        let handle = match &self.token {
            Some(token) => detector.spawn_until(events, token.clone()),
            None => detector.spawn(events),
        };
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
    pub async fn shutdown(&self) -> Vec<(Id, Result<Outcome, JoinError>)> {
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
