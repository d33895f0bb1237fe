//! The signals of a daemon. SIGTERM and Ctrl-C: the first ends it after the sweep in hand, the second at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Exit;

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
    /// Listens from now on. Ending at once is safe as well: the transactions in hand are rolled back.
    pub fn listen() -> Result<Signals> {
        let listening = "listening for signals";
        let asked = Arc::new(AtomicBool::new(false));
        for (signal, exit) in [(SIGTERM, Exit::Terminated), (SIGINT, Exit::Interrupted)] {
            flag::register_conditional_shutdown(signal, exit as i32, Arc::clone(&asked)).context(listening)?;
            flag::register(signal, Arc::clone(&asked)).context(listening)?;
        }
        Ok(Signals {
            terminate: signal(SignalKind::terminate()).context(listening)?,
            interrupt: signal(SignalKind::interrupt()).context(listening)?,
            hangup: signal(SignalKind::hangup()).context(listening)?,
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
