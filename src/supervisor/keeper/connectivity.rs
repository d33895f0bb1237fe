//! Whether the database can be reached: its loss is reported once, and its return once.

use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use diesel::result::Error as QueryError;

use crate::store::Abort;
use crate::store::db::errors;
use crate::supervisor::backend::WatchEvent;

/// The first pause between attempts to reach a lost database, and the longest one after it has doubled each time.
const RETRY_MIN: Duration = Duration::from_millis(500);
const RETRY_MAX: Duration = Duration::from_secs(15);

/// A database that others keep busy for longer counts as lost.
const BUSY_MAX: Duration = Duration::from_secs(10);

/// Why a round of the keeper failed.
pub enum RoundError {
    /// Another transaction is in the way: the next round tries again.
    Busy(String),
    /// The connection is lost, or cannot be used.
    Lost(String),
    /// The row belongs to another watcher, or was deleted.
    TakenOver,
}

/// The database's state as last reported to the operator.
#[derive(Clone, Copy, PartialEq)]
enum DatabaseState {
    Reachable,
    /// Others keep the database busy, which was not reported yet.
    Busy {
        since: Instant,
    },
    Lost,
}

pub struct Connectivity {
    reported: DatabaseState,
    retry_at: Instant,
    pauses: ExponentialBackoff,
}

impl Connectivity {
    pub fn new() -> Connectivity {
        let pauses = ExponentialBuilder::new().with_min_delay(RETRY_MIN).with_max_delay(RETRY_MAX);
        Connectivity {
            reported: DatabaseState::Reachable,
            retry_at: Instant::now(),
            pauses: pauses.without_max_times().build(),
        }
    }

    /// Whether the pause after the last attempt is over.
    pub fn may_retry(&self) -> bool {
        self.retry_at <= Instant::now()
    }

    pub fn is_lost(&self) -> bool {
        self.reported == DatabaseState::Lost
    }

    /// Records how a round ended, and returns what is to be reported.
    pub fn record(&mut self, error: Option<RoundError>) -> Option<WatchEvent> {
        let now = Instant::now();
        let before = self.reported;
        let since = if let DatabaseState::Busy { since } = before { since } else { now };
        let (why, is_lost) = match error {
            None => {
                *self = Connectivity::new();
                return (before == DatabaseState::Lost).then_some(WatchEvent::DatabaseBack);
            }
            Some(RoundError::TakenOver) => return None,
            Some(RoundError::Busy(why)) => (why, before == DatabaseState::Lost || BUSY_MAX < now - since),
            Some(RoundError::Lost(why)) => (why, true),
        };
        if !is_lost {
            self.reported = DatabaseState::Busy { since };
            return None;
        }
        self.reported = DatabaseState::Lost;
        self.retry_at = now + self.pauses.next().unwrap_or(RETRY_MAX);
        (before != DatabaseState::Lost).then_some(WatchEvent::DatabaseLost(why))
    }
}

impl From<Abort> for RoundError {
    fn from(abort: Abort) -> RoundError {
        match abort {
            Abort::RolledBack(QueryError::NotFound) => RoundError::TakenOver,
            Abort::RolledBack(error)
                if errors::is_contention(&error)
                    || errors::is_lock_timeout(&error)
                    || errors::is_undecodable(&error) =>
            {
                RoundError::Busy(errors::error_chain(&error))
            }
            abort => RoundError::Lost(format!("{:#}", anyhow::Error::from(abort))),
        }
    }
}
