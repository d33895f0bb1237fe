//! The questions that servers of PostgreSQL have not answered yet. A pooler that has no connection left to lend takes a
//! question and answers nothing, and no timeout of the server's ends that wait: so each wait is known here, and what
//! waits too long can be named.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use diesel::connection::{Instrumentation, InstrumentationEvent};
use tracing::warn;

/// The characters of a question that are kept. No value is among them: values come after the statement.
const WORDS: usize = 60;

static UNANSWERED: Mutex<BTreeMap<u64, Question>> = Mutex::new(BTreeMap::new());

/// The questions that were asked so far: each has a number.
static ASKED: AtomicU64 = AtomicU64::new(0);

fn unanswered() -> MutexGuard<'static, BTreeMap<u64, Question>> {
    UNANSWERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A question without an answer.
#[derive(Clone)]
struct Question {
    /// The URL, which may hold a password.
    database: Arc<str>,
    words: String,
    asked_at: Instant,
}

/// Knows what a connection asks until that is answered, or the connection closed.
pub struct Asking {
    database: Arc<str>,
    question: Option<u64>,
}

impl Asking {
    pub fn of(database: &str) -> Asking {
        Asking { database: database.into(), question: None }
    }

    /// `words`: the beginning of a statement, or what else is waited for.
    pub fn asks(&mut self, words: String) {
        self.is_answered();
        let number = ASKED.fetch_add(1, Ordering::Relaxed);
        let question = Question { database: Arc::clone(&self.database), words, asked_at: Instant::now() };
        unanswered().insert(number, question);
        self.question = Some(number);
    }

    fn is_answered(&mut self) {
        if let Some(number) = self.question.take() {
            unanswered().remove(&number);
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.is_answered();
    }
}

impl Instrumentation for Asking {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        match event {
            InstrumentationEvent::StartQuery { query, .. } => {
                let mut words = FirstWords(String::with_capacity(WORDS));
                // The end of what is kept is no failure.
                let _ = write!(words, "{query}");
                self.asks(words.0);
            }
            InstrumentationEvent::FinishQuery { .. } => self.is_answered(),
            _ => {}
        }
    }
}

/// The first characters of a text; the rest is refused, so that nothing more is written out.
struct FirstWords(String);

impl Write for FirstWords {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let left = WORDS - self.0.len().min(WORDS);
        self.0.extend(text.chars().take(left).map(|c| if c.is_whitespace() { ' ' } else { c }));
        if text.len() < left { Ok(()) } else { Err(std::fmt::Error) }
    }
}

/// A time as people say it: in seconds, if it is longer than one.
pub fn rounded(time: Duration) -> Duration {
    if time < Duration::from_secs(1) { time } else { Duration::from_secs(time.as_secs_f64().round() as u64) }
}

/// The oldest question to a database that has no answer, of those that were asked since a moment, with its number.
fn oldest(database: &str, since: Instant) -> Option<(u64, Question)> {
    let unanswered = unanswered();
    let mut its = unanswered.iter().filter(|(_, it)| *it.database == *database && since <= it.asked_at);
    its.next().map(|(number, question)| (*number, question.clone()))
}

/// What a database that does not answer was asked first since a moment, to be put behind the words that say so.
pub fn asked(database: &str, since: Instant) -> String {
    let question = oldest(database, since);
    question.map_or(String::new(), |(_, Question { words, asked_at, .. })| {
        format!(", and none for {:?} to: {words}", rounded(asked_at.elapsed()))
    })
}

/// Warns of questions that stay without an answer for longer than the server itself would work at them.
pub struct SilenceWatch {
    since: Instant,
    looked_at: Instant,
    answer_max: Duration,
    /// The question that was warned of last.
    warned_of: Option<u64>,
}

const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

impl SilenceWatch {
    /// Watches the questions that are asked from now on. `answer_max`: after this time the server ends a statement.
    pub fn begin(answer_max: Duration) -> SilenceWatch {
        let now = Instant::now();
        SilenceWatch { since: now, looked_at: now, answer_max, warned_of: None }
    }

    /// Looks, if the last look was a while ago.
    pub fn look(&mut self, database: &str) {
        if self.looked_at.elapsed() < BETWEEN_LOOKS {
            return;
        }
        self.looked_at = Instant::now();
        let is_late = |(number, question): &(u64, Question)| {
            self.answer_max < question.asked_at.elapsed() && self.warned_of != Some(*number)
        };
        if let Some((number, question)) = oldest(database, self.since).filter(is_late) {
            self.warned_of = Some(number);
            warn!(
                "no answer for {:?}, though the server ends a statement after {:?}: a pooler, a standby or the network \
                 keeps it: {}",
                rounded(question.asked_at.elapsed()),
                self.answer_max,
                question.words
            );
        }
    }
}
