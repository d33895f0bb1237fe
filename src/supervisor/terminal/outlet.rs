//! The output of a process on its way to stdout, whose reader may be slow, pause, or be gone.

use std::io::{Read, stdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::{Errno, write};

use super::boundary::Boundary;
use crate::supervisor::record::Shared;

/// Before stdout or stdin is tried again, if whoever opened it wants nobody to be kept waiting.
pub const BEFORE_RETRY: Duration = Duration::from_millis(5);

/// A process that has ended may have left others, which keep its terminal open: how long it is silent until nothing more
/// is expected of it.
const SILENCE: Duration = Duration::from_millis(500);

/// How long the others may go on printing. Time that the reader of stdout takes does not count.
const REST_LASTS: Duration = Duration::from_secs(3);

/// More bytes than a terminal holds: what follows was printed by others.
const REST_MAX: usize = 1 << 20;

/// A write that takes longer waits for the reader of stdout. One that has just begun says nothing: it may pass on no more than
/// the echo of a nudge.
const HELD_UP_AFTER: Duration = Duration::from_millis(500);

const TICK: Duration = Duration::from_millis(20);

pub struct Outlet {
    record: Shared,
    flow: Mutex<Flow>,
    /// Where the output that was passed on ended; held while some is.
    passed: Mutex<Boundary>,
    /// Of our own, to be inserted where nothing is torn apart.
    inserts: Mutex<Vec<u8>>,
}

#[derive(Clone, Copy, Default)]
struct Flow {
    /// When something was last read from the terminal, or written to stdout.
    moved_at: Option<Instant>,
    bytes_read: usize,
    is_writing: bool,
    is_abandoned: bool,
}

impl Flow {
    fn is_held_up(&self, now: Instant) -> bool {
        let began = self.moved_at.filter(|_| self.is_writing);
        began.is_some_and(|began| HELD_UP_AFTER <= now.saturating_duration_since(began))
    }
}

impl Outlet {
    pub fn new(record: Shared) -> Outlet {
        Outlet { record, flow: Mutex::default(), passed: Mutex::default(), inserts: Mutex::default() }
    }

    /// Until the terminal is closed. A stdout that nobody reads any more stops the output, and not the agent.
    pub fn pass(&self, mut reader: Box<dyn Read + Send>) {
        let mut buffer = [0; 65536];
        let mut is_read = true;
        while let Ok(n @ 1..) = reader.read(&mut buffer) {
            let now = Instant::now();
            self.moved(now, n, is_read);
            self.record.lock().take_in(&buffer[..n], now);
            if is_read {
                // What the process prints meanwhile is not known yet.
                self.record.lock().passes(true);
                is_read = self.print(&buffer[..n]).is_ok();
                self.record.lock().passes(false);
                self.moved(Instant::now(), 0, false);
            }
        }
    }

    fn print(&self, bytes: &[u8]) -> Result<(), Errno> {
        let mut passed = lock(&self.passed);
        print(bytes)?;
        *passed = passed.after(bytes);
        self.print_inserts(*passed)
    }

    /// Inserts a sequence of our own into the output as soon as that tears nothing apart.
    pub fn insert(&self, sequence: &[u8]) {
        lock(&self.inserts).extend_from_slice(sequence);
        self.try_inserts();
    }

    /// Now, if nothing is being printed.
    pub fn try_inserts(&self) {
        if let Ok(passed) = self.passed.try_lock() {
            let _ = self.print_inserts(*passed);
        }
    }

    fn print_inserts(&self, passed: Boundary) -> Result<(), Errno> {
        match passed.is_ground() {
            true => print(&std::mem::take(&mut *lock(&self.inserts))),
            false => Ok(()),
        }
    }

    /// Does the agent wait for the reader of stdout?
    pub fn is_held_up(&self) -> bool {
        self.flow().is_held_up(Instant::now())
    }

    /// What is still on its way is waited for no longer.
    pub fn abandon(&self) {
        self.flow().is_abandoned = true;
    }

    /// Waits for what a process printed that has just ended: its last line may have no end.
    pub fn wait_for_rest(&self, is_over: &Receiver<()>) {
        let (end, before) = (Instant::now(), self.flow().bytes_read);
        let mut waited = Duration::ZERO;
        while is_over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            let flow = *self.flow();
            if flow.is_abandoned || before + REST_MAX < flow.bytes_read {
                break;
            }
            if flow.is_writing {
                continue;
            }
            waited += TICK;
            let moved_at = flow.moved_at.map_or(end, |at| at.max(end));
            if SILENCE <= moved_at.elapsed() || REST_LASTS <= waited {
                break;
            }
        }
        let moved_at = self.flow().moved_at;
        moved_at.into_iter().for_each(|at| self.record.lock().take_in(b"\n", at));
    }

    fn moved(&self, now: Instant, bytes_read: usize, is_writing: bool) {
        let mut flow = self.flow();
        *flow = Flow { moved_at: Some(now), bytes_read: flow.bytes_read + bytes_read, is_writing, ..*flow };
    }

    fn flow(&self) -> MutexGuard<'_, Flow> {
        lock(&self.flow)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Past the standard library's buffer, which forgets how far it came when a write would block.
fn print(mut bytes: &[u8]) -> Result<(), Errno> {
    let stdout = stdout().lock();
    while !bytes.is_empty() {
        match write(&stdout, bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => thread::sleep(BEFORE_RETRY),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_has_just_begun_holds_nobody_up() {
        let began = Instant::now();
        let held_up_after = |is_writing, millis| {
            Flow { moved_at: Some(began), is_writing, ..Flow::default() }
                .is_held_up(began + Duration::from_millis(millis))
        };
        assert!(!held_up_after(true, 0));
        assert!(!held_up_after(true, 100));
        assert!(held_up_after(true, 1000));
        assert!(!held_up_after(false, 1000), "it is done");
    }
}
