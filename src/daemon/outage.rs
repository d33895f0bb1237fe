//! A database that is away: how long, how often it was asked since, and when it is asked next.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::time::Instant;

pub struct Outage {
    /// None: the database is there.
    since: Option<Instant>,
    tries: u32,
    retry_at: Instant,
    delays: ExponentialBackoff,
}

/// After 1 s, 2 s, 4 s, … 30 s, and up to twice as much, so that not all sweepers ask at once.
fn delays() -> ExponentialBackoff {
    let delays =
        ExponentialBuilder::new().with_min_delay(Duration::from_secs(1)).with_max_delay(Duration::from_secs(30));
    delays.with_factor(2.0).without_max_times().with_jitter().build()
}

impl Outage {
    pub fn none() -> Outage {
        Outage { since: None, tries: 0, retry_at: Instant::now(), delays: delays() }
    }

    /// The database did not answer. Is that news?
    pub fn note(&mut self) -> bool {
        let now = Instant::now();
        let is_news = self.since.is_none();
        self.tries = if is_news { 0 } else { self.tries + 1 };
        self.since.get_or_insert(now);
        self.retry_at = now + self.delays.next().unwrap_or(Duration::from_secs(60));
        is_news
    }

    pub fn lasts(&self) -> bool {
        self.since.is_some()
    }

    /// It answered: after how long, and which try. The next outage begins with the delays that this one had come to, until a sweep
    /// has gone well: a database that comes and goes is not told of every second.
    pub fn end(&mut self) -> Option<(Duration, u32)> {
        self.since.take().map(|since| (since.elapsed(), self.tries + 1))
    }

    pub fn forget(&mut self) {
        self.delays = delays();
    }

    /// Asks at once: it may be another database now.
    pub fn hurry(&mut self) {
        self.retry_at = Instant::now();
    }

    pub async fn next_try(&self) {
        tokio::time::sleep_until(self.retry_at).await;
    }
}
