//! The signals of a daemon. SIGTERM and Ctrl-C: the first ends it after the sweep in hand, the second at once.

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::sweep::cancel::{LISTENING, exit_in_any_case};

pub enum Asked {
    Stop,
    Reload,
}

pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Listens from now on.
    pub fn listen() -> Result<Signals> {
        exit_in_any_case()?;
        Ok(Signals {
            terminate: signal(SignalKind::terminate()).context(LISTENING)?,
            interrupt: signal(SignalKind::interrupt()).context(LISTENING)?,
            hangup: signal(SignalKind::hangup()).context(LISTENING)?,
        })
    }

    pub async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::Stop,
            _ = self.interrupt.recv() => Asked::Stop,
            _ = self.hangup.recv() => Asked::Reload,
        }
    }
}
