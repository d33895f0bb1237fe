//! Whether the database can be reached: its loss is said once, and its return.

use std::time::{Duration, Instant};

use diesel::result::Error as Refused;

use crate::store::{Abort, errors};
use crate::supervisor::Event;

/// Between two attempts to reach a database that is gone.
const RETRY_MIN: Duration = Duration::from_millis(500);
const RETRY_MAX: Duration = Duration::from_secs(15);

/// A database that others kept busy for longer is as good as gone.
const BUSY_MAX: Duration = Duration::from_secs(10);

/// Why a round could not be finished.
pub enum Trouble {
    /// Somebody else is at it: the next round tries again.
    Passing(String),
    /// The connection is gone, or useless.
    Lost(String),
    /// The row is somebody else's now, or deleted.
    Gone,
}

/// The database as the operator was told of it.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    Reached,
    Failing { since: Instant },
    Lost,
}

pub struct Reach {
    known: Known,
    retry_at: Instant,
    pause: Duration,
}

impl Reach {
    pub fn new() -> Reach {
        Reach { known: Known::Reached, retry_at: Instant::now(), pause: RETRY_MIN }
    }

    pub fn may_be_tried(&self) -> bool {
        self.retry_at <= Instant::now()
    }

    pub fn is_lost(&self) -> bool {
        self.known == Known::Lost
    }

    /// Takes note of a round, and returns what there is to say of it.
    pub fn note(&mut self, trouble: Option<Trouble>) -> Option<Event> {
        let now = Instant::now();
        let before = self.known;
        let since = if let Known::Failing { since } = before { since } else { now };
        let (words, is_lost) = match trouble {
            None => {
                *self = Reach::new();
                return (before == Known::Lost).then_some(Event::DatabaseBack);
            }
            Some(Trouble::Gone) => return None,
            Some(Trouble::Passing(words)) => (words, before == Known::Lost || BUSY_MAX < now - since),
            Some(Trouble::Lost(words)) => (words, true),
        };
        if !is_lost {
            self.known = Known::Failing { since };
            return None;
        }
        *self = Reach { known: Known::Lost, retry_at: now + self.pause, pause: (self.pause * 2).min(RETRY_MAX) };
        (before != Known::Lost).then_some(Event::DatabaseLost(words))
    }
}

impl From<Abort> for Trouble {
    fn from(abort: Abort) -> Trouble {
        match abort {
            Abort::RolledBack(Refused::NotFound) => Trouble::Gone,
            Abort::RolledBack(error)
                if errors::is_contention(&error)
                    || errors::is_lock_timeout(&error)
                    || errors::is_undecodable(&error) =>
            {
                Trouble::Passing(errors::words(&error))
            }
            abort => Trouble::Lost(format!("{:#}", anyhow::Error::from(abort))),
        }
    }
}
