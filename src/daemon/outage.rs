//! A database that is away: how long, how often it was asked since, and when it is asked next.

use std::fmt::{Display, Formatter, Result};
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use chrono::TimeDelta;
use tokio::time::Instant;

use crate::rules::display::HumanDuration;

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

    /// It answered: after how long, and which try. The next outage begins with the delays that this one had come to,
    /// until a sweep has gone well: a database that comes and goes is not logged every second.
    pub fn end(&mut self) -> Option<Lasted> {
        self.since.take().map(|since| Lasted { time: since.elapsed(), tries: self.tries + 1 })
    }

    pub fn forget(&mut self) {
        self.delays = delays();
    }

    /// When it is asked next; none: the database is there.
    pub fn retry_at(&self) -> Option<Instant> {
        self.since.map(|_| self.retry_at)
    }
}

/// How long it lasted, and at which try it was over.
#[derive(Debug, PartialEq)]
pub struct Lasted {
    time: Duration,
    tries: u32,
}

impl Display for Lasted {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let time = HumanDuration(TimeDelta::from_std(self.time).unwrap_or_default());
        let tries = if self.tries == 1 { "1 try".to_owned() } else { format!("{} tries", self.tries) };
        write!(f, "{time}, {tries}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn next_try(outage: &Outage) {
        tokio::time::sleep_until(outage.retry_at().expect("an outage")).await;
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_news_once_and_asked_ever_more_seldom_but_every_minute() {
        let mut outage = Outage::none();
        let mut waits = Vec::new();
        for n in 0..20 {
            assert_eq!(outage.note(), n == 0);
            let before = Instant::now();
            next_try(&outage).await;
            waits.push(before.elapsed());
        }
        let second = Duration::from_secs(1);
        assert!((second..=2 * second).contains(&waits[0]), "{waits:?}");
        assert!(waits[10..].iter().all(|wait| (30 * second..=61 * second).contains(wait)), "{waits:?}");
        assert_eq!(outage.end(), Some(Lasted { time: waits.iter().sum(), tries: 20 }));
        assert!(!outage.lasts() && outage.end().is_none());
    }

    /// It connects, and each sweep fails.
    #[tokio::test(start_paused = true)]
    async fn a_database_that_comes_and_goes_is_logged_ever_more_seldom_until_a_sweep_goes_well() {
        let mut outage = Outage::none();
        let began = Instant::now();
        for _ in 0..10 {
            assert!(outage.note());
            next_try(&outage).await;
            outage.end();
        }
        assert!(Duration::from_secs(120) < began.elapsed(), "{:?}", began.elapsed());
        outage.forget();
        outage.note();
        let before = Instant::now();
        next_try(&outage).await;
        assert!(before.elapsed() <= Duration::from_secs(2));
    }
}
