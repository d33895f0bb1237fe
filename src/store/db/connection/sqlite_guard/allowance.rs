//! What a statement, and the answers within a transaction, may cost.

use std::cell::RefCell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use crate::store::db::connection::Timeouts;

/// What each statement of a connection may cost.
#[derive(Debug)]
pub struct Allowance {
    /// How long it may take, in milliseconds, as all times below.
    time: AtomicU64,
    /// When the statement that runs now is interrupted, since `BEGAN`.
    ends_at: AtomicU64,
    /// Bytes of a text, and of a row that is written: SQLite looks at no clock while a function is called.
    pub text_max: c_int,
    /// Bytes of the answers within a transaction: a command keeps those to all of its questions.
    pub answer_max: i64,
    /// Bytes of the answers within the transaction that is under way, of what is kept.
    answer: AtomicI64,
    /// Bytes that SQLite may take for all connections of this process, beside what it holds when this one is opened:
    /// one that hangs in a call keeps what it has.
    pub heap_max: i64,
}

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Allowance {
    pub fn new(timeouts: Timeouts) -> Arc<Allowance> {
        let (time, ends_at, answer) = (AtomicU64::default(), AtomicU64::new(u64::MAX), AtomicI64::default());
        let (text_max, answer_max, heap_max) = (1 << 20, 64 << 20, 128 << 20);
        let allowance = Allowance { time, ends_at, text_max, answer_max, answer, heap_max };
        allowance.allow(timeouts);
        Arc::new(allowance)
    }

    /// Each statement from the next one on may take as long as this says.
    pub fn allow(&self, timeouts: Timeouts) {
        let time = u64::try_from(timeouts.statement.num_milliseconds()).unwrap_or_default();
        self.time.store(time, Ordering::Relaxed);
    }

    pub fn start(&self) {
        self.ends_at.store(now().saturating_add(self.time.load(Ordering::Relaxed)), Ordering::Relaxed);
    }

    /// When the time of the latest statement was over, if it is.
    pub fn overdue(&self) -> Option<u64> {
        Some(self.ends_at.load(Ordering::Relaxed)).filter(|ends_at| *ends_at < now())
    }

    /// What was answered before counts no more.
    pub fn begin_transaction(&self) {
        self.answer.store(0, Ordering::Relaxed);
    }

    /// Another row of an answer: is it too much now?
    pub fn is_exceeded_by(self: Arc<Self>, bytes: i64) -> bool {
        let is_exceeded = self.answer_max - bytes < self.answer.fetch_add(bytes, Ordering::Relaxed);
        ANSWERED.set(Some((self, bytes)));
        is_exceeded
    }
}

/// In milliseconds since `BEGAN`.
fn now() -> u64 {
    u64::try_from(BEGAN.elapsed().as_millis()).unwrap_or(u64::MAX)
}

thread_local! {
    /// The latest row with which a connection has answered on this thread: its allowance, and the row's bytes.
    static ANSWERED: RefCell<Option<(Arc<Allowance>, i64)>> = const { RefCell::new(None) };
}

/// The latest row that was answered on this thread is not kept, and does not count.
pub fn forget_row() {
    if let Some((allowance, bytes)) = ANSWERED.take() {
        allowance.answer.fetch_sub(bytes, Ordering::Relaxed);
    }
}
