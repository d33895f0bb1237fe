//! How long a database is waited for that takes what it is sent, and answers nothing: to the network all is well, and
//! libpq would wait for ever.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::conninfo::Conninfo;
use super::unanswered::{asked, rounded};

/// The seconds for which libpq tries a host, when nobody says.
pub const CONNECT_TIMEOUT: &str = "10";

/// What is said of a database that answered before.
pub const FALLEN_SILENT: &str = "the database has fallen silent";

/// libpq takes less for this.
const CONNECT_TIMEOUT_MIN: u32 = 2;

/// A host often has two addresses; then the session is set up.
const TIMEOUTS_PER_HOST: u32 = 3;

/// How often it is looked whether an answer is still waited for.
pub const LOOK: Duration = Duration::from_millis(50);

/// How long an answer is waited for after a signal: less than `cancel::IN_HAND_MAX`, so that it is reported.
const AFTER_A_SIGNAL: Duration = Duration::from_secs(10);

/// Attempts to ask one database that nobody waits for any more. They end when the server answers or is stopped:
/// until then there are no more of them, however often a daemon tries. Each may keep a core busy, and memory (SQLite).
const ABANDONED_MAX: usize = 2;

static ABANDONED: Mutex<Vec<(String, JoinHandle<()>)>> = Mutex::new(Vec::new());

/// How long connecting may take by this URL, which may name several hosts. None: it says to wait for ever.
pub fn to_connect(url: &str) -> Option<Duration> {
    let conninfo = Conninfo::read(url);
    let text = conninfo.get("connect_timeout").unwrap_or(CONNECT_TIMEOUT);
    let seconds = text.trim().parse().ok().filter(|seconds: &u32| 0 < *seconds)?.max(CONNECT_TIMEOUT_MIN);
    let hosts = u32::try_from(conninfo.places().len()).unwrap_or(u32::MAX).max(1);
    Some(Duration::from_secs(seconds.saturating_mul(TIMEOUTS_PER_HOST).saturating_mul(hosts).into()))
}

/// How long an answer is waited for: for a time, or a moment more once somebody has asked for the end.
pub struct Patience<'a> {
    time: Duration,
    began: Instant,
    is_to_end: &'a dyn Fn() -> bool,
    asked_to_end: Option<Instant>,
}

impl<'a> Patience<'a> {
    /// Patience for this time, whatever happens.
    pub fn of(time: Duration) -> Patience<'a> {
        Patience::until(&|| false, time)
    }

    /// Patience for at most this time; `is_to_end`: has somebody asked for the end?
    pub fn until(is_to_end: &'a dyn Fn() -> bool, time: Duration) -> Patience<'a> {
        Patience { time, began: Instant::now(), is_to_end, asked_to_end: None }
    }

    /// Why there is no answer, when it is over.
    pub fn ended(&mut self) -> Option<String> {
        if self.asked_to_end.is_none() && (self.is_to_end)() {
            self.asked_to_end = Some(Instant::now());
        }
        let waited = self.began.elapsed().min(self.time);
        let is_over = self.asked_to_end.is_some_and(|asked| AFTER_A_SIGNAL <= asked.elapsed());
        (is_over || waited == self.time).then(|| format!("no answer within {:?}", rounded(waited)))
    }
}

/// What asks a database, on a thread of its own: one that gets no answer cannot be ended, and is left behind.
pub struct AskingThread {
    database: String,
    thread: JoinHandle<()>,
}

impl AskingThread {
    /// Begins to ask, unless too many attempts at this database are left behind already.
    ///
    /// # Errors
    /// Why not, to be put behind a colon.
    pub fn begin(database: &str, ask: impl FnOnce() + Send + 'static) -> Result<AskingThread, String> {
        refuse_too_many(database)?;
        let thread = Builder::new().name("ask".to_owned()).spawn(ask);
        let thread = thread.map_err(|error| format!("starting a thread: {error}"))?;
        Ok(AskingThread { database: database.to_owned(), thread })
    }

    /// Leaves the attempt behind: its thread ends when the database answers, or with the process.
    pub fn abandon(self) {
        ABANDONED.lock().unwrap_or_else(PoisonError::into_inner).push((self.database, self.thread));
    }

    /// Waits for the end of one that has ended or is about to.
    ///
    /// # Errors
    /// That it has panicked, to be put behind a colon: diesel does so where a server's answer is none.
    pub fn end(self) -> Result<(), String> {
        let ended = self.thread.join();
        ended.map_err(|_| "asking ended by a panic, which is a bug of the server's or of sweep's".to_owned())
    }
}

/// Asks a database on a thread of its own, which is left behind when that takes longer.
///
/// # Errors
/// Why there is no answer, to be put behind a colon.
pub fn within<T: Send + 'static>(
    mut patience: Patience,
    database: &str,
    ask: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let (sender, receiver) = channel();
    let attempt = AskingThread::begin(database, move || drop(sender.send(ask())))?;
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(answer) => return Ok(answer),
            Err(RecvTimeoutError::Timeout) => {
                if let Some(why) = patience.ended() {
                    attempt.abandon();
                    return Err(why + &asked(database, patience.began));
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                attempt.end()?;
                return Err("there was no answer".to_owned());
            }
        }
    }
}

fn refuse_too_many(database: &str) -> Result<(), String> {
    let mut abandoned = ABANDONED.lock().unwrap_or_else(PoisonError::into_inner);
    abandoned.retain(|(_, attempt)| !attempt.is_finished());
    match abandoned.iter().filter(|(of, _)| of == database).count() {
        waiting if waiting < ABANDONED_MAX => Ok(()),
        waiting => Err(format!("{waiting} connections to it have no answer yet")),
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
        assert_eq!(to_connect(url), seconds.map(Duration::from_secs), "{url}");
    }

    #[test]
    fn those_that_are_left_behind_do_not_become_ever_more_and_are_forgotten_when_they_end() {
        let (sender, receiver) = channel::<()>();
        let receiver = std::sync::Arc::new(Mutex::new(receiver));
        let attempt = |url: &str| {
            let receiver = receiver.clone();
            let wait = move || drop(receiver.lock().map(|receiver| receiver.recv()));
            within(Patience::of(Duration::from_millis(20)), url, wait).expect_err("no answer")
        };
        for _ in 0..ABANDONED_MAX {
            assert_eq!(attempt("a"), "no answer within 20ms");
        }
        assert_eq!(attempt("a"), "2 connections to it have no answer yet");
        assert_eq!(attempt("b"), "no answer within 20ms");
        drop(sender);
        while refuse_too_many("a").is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(within(Patience::of(A_MINUTE), "a", || 7).expect("an answer"), 7);
    }

    #[test]
    fn a_panic_is_an_answer_that_cannot_be_had() {
        let ended = within(Patience::of(A_MINUTE), "c", || -> u8 { panic!("no result") }).expect_err("no answer");
        assert_eq!(ended, "asking ended by a panic, which is a bug of the server's or of sweep's");
    }

    const A_MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_signal_shortens_it_and_leaves_what_is_in_hand_a_moment() {
        let mut patience = Patience::until(&|| true, A_MINUTE);
        assert_eq!(patience.ended(), None);
        let (long_ago, began) = (Instant::now() - AFTER_A_SIGNAL, Instant::now() - AFTER_A_SIGNAL * 2);
        patience = Patience { began, asked_to_end: Some(long_ago), ..patience };
        assert_eq!(patience.ended().as_deref(), Some("no answer within 20s"));
        // The control.
        assert_eq!(Patience { began, ..Patience::of(A_MINUTE) }.ended(), None);
    }
}
