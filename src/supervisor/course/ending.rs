//! How a watched process is brought to its end, and what is told of it.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use signal_hook::consts::{SIGINT, SIGQUIT};

use super::End;

/// How long a process may take to end after the operator's signal.
const END_LASTS: Duration = Duration::from_secs(3);

/// After the operator's signal: a shell at its prompt heeds nothing but a hang-up.
const BEFORE_HANG_UP: Duration = Duration::from_secs(1);

/// How soon a process ends that the operator's own Ctrl-C or Ctrl-\ ends.
const INTERRUPTION_LASTS: Duration = Duration::from_secs(2);

/// The operator's signal, and when a process that does not heed it is sent others.
pub struct Stop {
    pub signal: i32,
    hang_up_at: Option<Instant>,
    pub kill_at: Instant,
}

impl Stop {
    pub fn first(signal: i32, now: Instant) -> Stop {
        Stop { signal, hang_up_at: Some(now + BEFORE_HANG_UP), kill_at: now + END_LASTS }
    }

    /// After the second signal there is no grace.
    pub fn again(signal: i32, now: Instant) -> Stop {
        Stop { signal, hang_up_at: None, kill_at: now }
    }

    /// What a process is sent that is still there.
    pub fn due(&mut self, now: Instant) -> Option<Signal> {
        if self.kill_at <= now {
            return Some(Signal::KILL);
        }
        self.hang_up_at.take_if(|at| *at <= now).map(|_| Signal::HUP)
    }
}

/// Did the keys that an operator typed then end the process?
pub fn is_interruption(end: End, typed_at: Instant) -> bool {
    const BY_KEYS: [i32; 2] = [SIGINT, SIGQUIT];
    let is_by_keys = match end {
        End { signal: Some(signal), .. } => BY_KEYS.contains(&signal),
        End { exit_code: Some(code), .. } => BY_KEYS.contains(&(code - 128)),
        End { .. } => false,
    };
    is_by_keys && typed_at <= end.at && end.at - typed_at <= INTERRUPTION_LASTS
}

pub fn how(end: Option<End>) -> String {
    match end {
        Some(End { exit_code: Some(code), .. }) => format!("exit code {code}"),
        Some(End { signal: Some(signal), .. }) => format!("signal {signal}"),
        Some(_) | None => "nobody saw its end".to_owned(),
    }
}
