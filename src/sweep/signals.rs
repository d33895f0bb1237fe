//! What a sweep and its process tell one another: that it should end, and that it gets on.
//!
//! SIGTERM and Ctrl-C: the first ends the sweep after what is in hand, the second at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Exit;

/// Whether a signal has asked the sweep to end.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// The number of the signal; 0 for none.
    signal: Arc<AtomicUsize>,
    steps: Arc<AtomicUsize>,
}

impl Stop {
    /// Listens from now on. Ending at once is safe as well: the transactions in hand are rolled back.
    pub fn on_signals() -> Result<Stop> {
        let stop = Stop::default();
        let asked = Arc::new(AtomicBool::new(false));
        for (signal, exit) in [(SIGTERM, Exit::Terminated), (SIGINT, Exit::Interrupted)] {
            let listening = "listening for signals";
            flag::register_conditional_shutdown(signal, exit as i32, Arc::clone(&asked)).context(listening)?;
            flag::register(signal, Arc::clone(&asked)).context(listening)?;
            flag::register_usize(signal, Arc::clone(&stop.signal), signal as usize).context(listening)?;
        }
        Ok(stop)
    }

    pub fn is_set(&self) -> bool {
        self.exit().is_some()
    }

    /// How a sweep that was asked to end exits.
    pub fn exit(&self) -> Option<Exit> {
        match self.signal.load(Ordering::Relaxed) as i32 {
            SIGTERM => Some(Exit::Terminated),
            SIGINT => Some(Exit::Interrupted),
            _ => None,
        }
    }

    /// The sweep got on by a step: a page was read, or a subject examined.
    pub fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// How many steps were made: a sweep that hangs makes none.
    pub fn steps(&self) -> usize {
        self.steps.load(Ordering::Relaxed)
    }

    /// Asks the sweep to end, as SIGTERM does.
    pub fn set(&self) {
        self.signal.store(SIGTERM as usize, Ordering::Relaxed);
    }
}
