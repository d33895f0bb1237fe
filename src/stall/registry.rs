//! The detectors of one process, by session: a session has one at most.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::mpsc::Sender;
use tokio::task::JoinError;

use super::{CancellationToken, Outcome, StallDetector, StallDetectorHandle, StallEvent, Watched};
use crate::rules::Id;

/// The detectors of one process, by session. Dropping it stops them all.
#[derive(Default)]
pub struct DetectorRegistry {
    handles: RwLock<HashMap<Id, StallDetectorHandle>>,
    token: Option<CancellationToken>,
}

/// The session has a detector, which was left as it is: another would forget what was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlreadyWatched(pub Id);

impl DetectorRegistry {
    /// Its detectors stop when the token is cancelled, as `StallDetector::spawn_until` says; `shutdown` then has their
    /// outcomes.
    pub fn with_token(token: CancellationToken) -> DetectorRegistry {
        DetectorRegistry { handles: RwLock::default(), token: Some(token) }
    }

    /// Refuses a second detector for the same session; `remove` the first, if it is to be replaced.
    ///
    /// # Errors
    /// `AlreadyWatched`: the session has a detector.
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

    /// Its detector goes on when this is dropped, and does not outlive its place in the registry when it is kept.
    pub fn get(&self, id: &Id) -> Option<Arc<Watched>> {
        self.read().get(id).map(|handle| Arc::clone(&handle.watched))
    }

    /// A sign of life; false when nobody watches this session.
    pub fn reset(&self, id: &Id) -> bool {
        self.read().get(id).map(|handle| handle.reset()).is_some()
    }

    /// Complete lines of a session's output, as `Watched::output` takes them; false when nobody watches this session.
    pub fn output(&self, id: &Id, lines: &str) -> bool {
        self.get(id).map(|watched| watched.output(lines)).is_some()
    }

    /// False when nobody watches this session.
    pub fn pause(&self, id: &Id) -> bool {
        self.read().get(id).map(|handle| handle.pause()).is_some()
    }

    /// False when nobody watches this session.
    pub fn resume(&self, id: &Id) -> bool {
        self.read().get(id).map(|handle| handle.resume()).is_some()
    }

    /// Hands over the detector: it ends when it is joined or dropped.
    pub fn remove(&self, id: &Id) -> Option<StallDetectorHandle> {
        self.write().remove(id)
    }

    pub fn len(&self) -> usize {
        self.read().len()
    }

    pub fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    /// Stops all detectors and waits until each has ended. What is spawned meanwhile is not among them.
    pub async fn shutdown(&self) -> Vec<(Id, Result<Outcome, JoinError>)> {
        let handles = std::mem::take(&mut *self.write());
        handles.values().for_each(StallDetectorHandle::stop);
        let mut outcomes = Vec::with_capacity(handles.len());
        for (id, handle) in handles {
            outcomes.push((id, handle.join().await));
        }
        outcomes
    }

    // Nothing panics between two changes of the map, so that it is sound even when a thread did.
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
