//! How long a server is waited for that lets us in, confirms what it is sent, and answers nothing: to the network all
//! is well, and libpq would wait for ever.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::conninfo::Conninfo;
use crate::conclusion::{Failure, unavailable};

/// For how many seconds libpq tries a host, when nobody says.
pub const CONNECT_TIMEOUT: &str = "10";

/// libpq takes less for this.
const CONNECT_TIMEOUT_MIN: u32 = 2;

/// A host often has two addresses; then the session is set up.
const TIMEOUTS_PER_HOST: u32 = 3;

/// Attempts to connect to one database that nobody waits for any more. They end when the server answers or is stopped:
/// until then there are no more of them, however often a daemon tries.
const ABANDONED_MAX: usize = 8;

static ABANDONED: Mutex<Vec<(String, JoinHandle<()>)>> = Mutex::new(Vec::new());

/// How long connecting may take by this URL, which may name several hosts. None: it says to wait for ever.
pub fn of(url: &str) -> Option<Duration> {
    let conninfo = Conninfo::read(url);
    let text = conninfo.get("connect_timeout").unwrap_or(CONNECT_TIMEOUT);
    let seconds = text.trim().parse().ok().filter(|seconds: &u32| 0 < *seconds)?.max(CONNECT_TIMEOUT_MIN);
    let hosts = u32::try_from(conninfo.places().len()).unwrap_or(u32::MAX).max(1);
    Some(Duration::from_secs(seconds.saturating_mul(TIMEOUTS_PER_HOST).saturating_mul(hosts).into()))
}

/// Connects on a thread of its own, which is left behind when that takes longer.
pub fn within<T: Send + 'static>(
    patience: Duration,
    url: &str,
    connect: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    refuse_too_many(url)?;
    let (sender, receiver) = channel();
    let attempt = Builder::new().name("connect".to_owned()).spawn(move || drop(sender.send(connect())));
    let attempt = attempt.map_err(|error| unavailable(format!("starting a thread: {error}")))?;
    match receiver.recv_timeout(patience) {
        Ok(connected) => Ok(connected),
        Err(RecvTimeoutError::Timeout) => {
            ABANDONED.lock().unwrap_or_else(PoisonError::into_inner).push((url.to_owned(), attempt));
            Err(unavailable(format!("cannot reach PostgreSQL: no answer within {patience:?}")))
        }
        Err(RecvTimeoutError::Disconnected) => match attempt.join() {
            Err(panic) => resume_unwind(panic),
            Ok(()) => unreachable!("what connects sends what came of it"),
        },
    }
}

fn refuse_too_many(url: &str) -> Result<(), Failure> {
    let mut abandoned = ABANDONED.lock().unwrap_or_else(PoisonError::into_inner);
    abandoned.retain(|(_, attempt)| !attempt.is_finished());
    match abandoned.iter().filter(|(of, _)| of == url).count() {
        waiting if waiting < ABANDONED_MAX => Ok(()),
        waiting => Err(unavailable(format!("cannot reach PostgreSQL: {waiting} connections to it have no answer yet"))),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("postgres://h/d", Some(30))]
    #[case("postgres://h,i/d?connect_timeout=5", Some(30))]
    #[case("host=h connect_timeout=1", Some(6))]
    #[case("host=h connect_timeout=0", None)]
    #[case("host=h connect_timeout=-1", None)]
    #[case("", Some(30))]
    fn it_follows_from_what_libpq_waits_for_each_host(#[case] url: &str, #[case] seconds: Option<u64>) {
        assert_eq!(of(url), seconds.map(Duration::from_secs), "{url}");
    }

    #[test]
    fn those_that_are_left_behind_do_not_become_ever_more_and_are_forgotten_when_they_end() {
        let (sender, receiver) = channel::<()>();
        let receiver = std::sync::Arc::new(Mutex::new(receiver));
        let attempt = |url: &str| {
            let receiver = receiver.clone();
            let wait = move || drop(receiver.lock().map(|receiver| receiver.recv()));
            within(Duration::from_millis(20), url, wait).expect_err("no answer").to_string()
        };
        for _ in 0..ABANDONED_MAX {
            assert_eq!(attempt("a"), "cannot reach PostgreSQL: no answer within 20ms");
        }
        assert_eq!(attempt("a"), "cannot reach PostgreSQL: 8 connections to it have no answer yet");
        assert_eq!(attempt("b"), "cannot reach PostgreSQL: no answer within 20ms");
        drop(sender);
        while refuse_too_many("a").is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(within(Duration::from_secs(60), "a", || 7).expect("an answer"), 7);
    }
}
