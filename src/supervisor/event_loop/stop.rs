//! How a watched process is stopped, and how its end is described.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use signal_hook::consts::{SIGINT, SIGQUIT};

use crate::supervisor::record::End;

/// How long a process may take to end after the operator's signal, before it is killed.
const KILL_AFTER: Duration = Duration::from_secs(3);

/// When a hang-up follows the operator's signal: a shell at its prompt ends for nothing else.
const HANG_UP_AFTER: Duration = Duration::from_secs(1);

/// How soon after Ctrl-C or Ctrl-\ a process must end for the keys to be the reason.
const INTERRUPTION_LASTS: Duration = Duration::from_secs(2);

/// The operator's request to stop, and when a process that ignores it is sent further signals.
pub struct StopRequest {
    pub signal: i32,
    hang_up_at: Option<Instant>,
    pub kill_at: Instant,
}

impl StopRequest {
    pub fn first(signal: i32, now: Instant) -> StopRequest {
        StopRequest { signal, hang_up_at: Some(now + HANG_UP_AFTER), kill_at: now + KILL_AFTER }
    }

    /// The second request: the process is killed at once.
    pub fn again(signal: i32, now: Instant) -> StopRequest {
        StopRequest { signal, hang_up_at: None, kill_at: now }
    }

    /// The signal that a process which still runs is to be sent now.
    pub fn due(&mut self, now: Instant) -> Option<Signal> {
        if self.kill_at <= now {
            return Some(Signal::KILL);
        }
        self.hang_up_at.take_if(|at| *at <= now).map(|_| Signal::HUP)
    }
}

/// Whether the keys that the operator typed at this time ended the process.
pub fn is_interruption(end: End, typed_at: Instant) -> bool {
    const BY_KEYS: [i32; 2] = [SIGINT, SIGQUIT];
    let is_by_keys = end.code().is_some_and(|code| BY_KEYS.contains(&(code - 128)));
    is_by_keys && typed_at <= end.at && end.at - typed_at <= INTERRUPTION_LASTS
}

pub fn describe(end: Option<End>) -> String {
    match end {
        Some(End { exit_code: Some(code), .. }) => format!("exit code {code}"),
        Some(End { signal: Some(signal), .. }) => format!("signal {signal}"),
        Some(_) | None => "nobody saw its end".to_owned(),
    }
}
