//! A lane in which one reads a database at a time, and what was read in it a moment ago.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Mutex as AsyncMutex;

use super::reading::Reading;
use super::route::View;

/// What has been read for so long is slow, or never comes to an end.
pub const SLOW: Duration = Duration::from_millis(2500);

/// What was read so short a time ago is shown again; what took long to read, for so many times as long, while the
/// database answers at all.
pub const FRESH: Duration = Duration::from_secs(2);
const FRESH_TIMES: u32 = 4;
pub const FRESH_MAX: Duration = Duration::from_secs(60);

/// So many readings of a lane are kept for those who ask at the same time.
const KEPT: usize = 8;

/// In which one reads at a time.
#[derive(Clone, Default)]
pub struct Lane {
    /// Whoever holds it reads.
    pub recent: Arc<AsyncMutex<Recent>>,
    /// Since when somebody does.
    read_since: Arc<Mutex<Option<Instant>>>,
}

/// The latest readings, the latest first.
#[derive(Default)]
pub struct Recent(pub VecDeque<Kept>);

#[derive(Clone)]
pub struct Kept {
    pub view: View,
    pub read_at: Instant,
    /// Until then it is shown again.
    pub until: Instant,
    pub reading: Reading,
}

impl Recent {
    pub fn find(&self, view: &View) -> Option<Kept> {
        self.0.iter().find(|kept| kept.view == *view && Instant::now() < kept.until).cloned()
    }

    /// What went wrong is tried again soon, however long it took.
    pub fn keep(&mut self, view: View, reading: Reading, took: Duration) {
        let read_at = Instant::now();
        self.0.retain(|kept| kept.view != view && read_at < kept.until);
        self.0.truncate(KEPT - 1);
        let fresh = if reading.is_ok() { (FRESH_TIMES * took).clamp(FRESH, FRESH_MAX) } else { FRESH };
        self.0.push_front(Kept { view, read_at, until: read_at + fresh, reading });
    }
}

impl Kept {
    pub fn is_fresh(&self) -> bool {
        self.read_at.elapsed() < FRESH
    }
}

/// Somebody reads until this is dropped, however the reading ends.
pub struct Turn(Lane);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.note(None);
    }
}

impl Lane {
    pub fn begin(&self, now: Instant) -> Turn {
        self.note(Some(now));
        Turn(self.clone())
    }

    fn note(&self, read_since: Option<Instant>) {
        *self.read_since.lock().unwrap_or_else(PoisonError::into_inner) = read_since;
    }

    /// Has what is read now been read for long?
    pub fn is_slow(&self) -> bool {
        let since = *self.read_since.lock().unwrap_or_else(PoisonError::into_inner);
        since.is_some_and(|since| SLOW <= since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclusion::Conclusion;
    use crate::page::reading::Trouble;

    #[test]
    fn what_went_wrong_is_tried_again_soon_however_long_it_took() {
        let reading = Err(Trouble { conclusion: Conclusion::Unavailable, why: String::new() });
        let mut recent = Recent::default();
        recent.keep(View::everything(), reading, FRESH_MAX);
        let kept = recent.find(&View::everything()).expect("it is fresh");
        assert!(kept.until <= kept.read_at + FRESH);
    }
}
