//! What is slow to count is kept for those who ask again and again.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant as Clock};

use chrono::{DateTime, TimeDelta, Utc};
use diesel::QueryResult;

/// What is counted faster is counted each time.
const SLOW: Duration = Duration::from_millis(50);

/// For how many times as long as counting took the count is kept: counting costs a fiftieth of the time.
const KEPT_FOR: u32 = 50;

/// What was counted longer ago is not shown, however slow it is to count.
const OLD: TimeDelta = TimeDelta::hours(12);

/// A count of one database, with how long it took.
#[derive(Debug)]
pub struct Kept<T>(Mutex<Option<Counted<T>>>);

#[derive(Clone, Debug)]
struct Counted<T> {
    count: T,
    /// The database's clock.
    counted_at: DateTime<Utc>,
    since: Clock,
    took: Duration,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept(Mutex::default())
    }
}

impl<T: Clone> Kept<T> {
    /// The count that is kept, with when it was made; else it is made now.
    pub(super) fn read(
        &self,
        now: DateTime<Utc>,
        count: impl FnOnce() -> QueryResult<T>,
    ) -> QueryResult<(T, Option<DateTime<Utc>>)> {
        let kept = self.get().filter(|kept| SLOW <= kept.took && (now - kept.counted_at).abs() < OLD);
        kept.map_or_else(|| Ok((self.count(now, count)?, None)), |kept| Ok((kept.count, Some(kept.counted_at))))
    }

    /// Whether it is time to count again.
    pub fn is_due(&self) -> bool {
        self.get().is_some_and(|kept| SLOW <= kept.took && KEPT_FOR * kept.took < kept.since.elapsed())
    }

    pub(super) fn count(&self, now: DateTime<Utc>, count: impl FnOnce() -> QueryResult<T>) -> QueryResult<T> {
        let began = Clock::now();
        let count = count()?;
        let kept = Counted { count: count.clone(), counted_at: now, since: Clock::now(), took: began.elapsed() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        Ok(count)
    }

    fn get(&self) -> Option<Counted<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A count of 1 that took so long and was made so long ago.
    fn kept(took: Duration, before: Duration) -> Kept<u32> {
        let since = Clock::now().checked_sub(before).expect("a time");
        Kept(Mutex::new(Some(Counted { count: 1, counted_at: DateTime::UNIX_EPOCH, since, took })))
    }

    #[test]
    fn what_is_fast_to_count_is_counted_each_time_and_what_is_slow_for_a_fiftieth_of_the_time() {
        let (second, now) = (Duration::from_secs(1), DateTime::UNIX_EPOCH + TimeDelta::minutes(1));
        let read = |kept: Kept<u32>| kept.read(now, || Ok(2)).expect("a count");
        assert_eq!(read(kept(SLOW / 2, second)), (2, None));
        assert_eq!(read(kept(second, second)), (1, Some(DateTime::UNIX_EPOCH)));
        assert!(!kept(second, 49 * second).is_due() && kept(second, 51 * second).is_due());
        let late = kept(second, second).read(now + OLD, || Ok(2)).expect("a count");
        assert_eq!(late, (2, None), "nobody is shown what is that old");
    }
}
