//! Days that are slow to count, kept for those who look again and again: a ledger of many rows is not counted for each
//! of them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};
use diesel::QueryResult;

use super::days::{self, Day};
use crate::store::connect::open::Url;
use crate::store::hosts::rights::Purpose;
use crate::store::read::status::snapshot;
use crate::store::{Db, Timeouts};

/// What is counted faster is counted each time.
const SLOW: Duration = Duration::from_millis(50);

/// They are kept for so many times as long as counting them took: it costs a fiftieth of the time.
const KEPT_FOR: u32 = 50;

/// Older ones are not shown, however slow it is to count them.
const OLD: TimeDelta = TimeDelta::hours(12);

/// Of one database.
#[derive(Debug, Default)]
pub struct KeptDays(Mutex<Option<Kept>>);

#[derive(Clone, Debug)]
struct Kept {
    days: Vec<Day>,
    /// The database's clock.
    counted_at: DateTime<Utc>,
    since: Instant,
    took: Duration,
}

impl KeptDays {
    /// Those that are kept, with when they were counted; else they are counted now, in the same snapshot as the rest.
    pub(super) fn read(&self, db: &mut Db, now: DateTime<Utc>) -> QueryResult<(Vec<Day>, Option<DateTime<Utc>>)> {
        match self.get().filter(|kept| SLOW <= kept.took && (now - kept.counted_at).abs() < OLD) {
            Some(kept) => Ok((kept.days, Some(kept.counted_at))),
            None => Ok((self.count(db, now)?, None)),
        }
    }

    /// Is it time to count them again? Nobody who asks needs to wait for that.
    pub fn are_due(&self) -> bool {
        self.get().is_some_and(|kept| SLOW <= kept.took && KEPT_FOR * kept.took < kept.since.elapsed())
    }

    /// Counts them again.
    pub fn refresh(self: Arc<Self>, url: &Url, timeouts: &Timeouts) -> Result<()> {
        let its_timeouts = *timeouts;
        url.ask(timeouts, move |url| {
            let mut store = url.open_to(Purpose::Show)?;
            snapshot(&mut store.db, &its_timeouts, |db| {
                let now = db.now()?;
                self.count(db, now)?;
                Ok(())
            })
        })
    }

    fn count(&self, db: &mut Db, now: DateTime<Utc>) -> QueryResult<Vec<Day>> {
        let began = Instant::now();
        let days = days::read(db, now)?;
        let kept = Kept { days: days.clone(), counted_at: now, since: Instant::now(), took: began.elapsed() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        Ok(days)
    }

    fn get(&self) -> Option<Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
