//! How a sweep is asked to end.
//!
//! SIGTERM and Ctrl-C: the first ends the sweep after what is in hand, the second at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::conclusion::Conclusion;

/// Whether a sweep was asked to end after what is in hand, and by which signal.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    /// The number of the signal; 0 for none.
    signal: Arc<AtomicUsize>,
}

impl Cancel {
    /// Listens from now on.
    pub fn on_signals() -> Result<Cancel> {
        let cancel = Cancel::default();
        exit_at_the_second_signal()?;
        for signal in [SIGTERM, SIGINT] {
            flag::register_usize(signal, Arc::clone(&cancel.signal), signal as usize).context(LISTENING)?;
        }
        Ok(cancel)
    }

    pub fn is_set(&self) -> bool {
        self.conclusion().is_some()
    }

    /// How a run ends that was asked to.
    pub fn conclusion(&self) -> Option<Conclusion> {
        match self.signal.load(Ordering::Relaxed) as i32 {
            SIGTERM => Some(Conclusion::Terminated),
            SIGINT => Some(Conclusion::Interrupted),
            _ => None,
        }
    }

    /// Asks the sweep to end, as SIGTERM does.
    pub fn set(&self) {
        self.signal.store(SIGTERM as usize, Ordering::Relaxed);
    }
}

pub const LISTENING: &str = "listening for signals";

/// From now on the second SIGTERM or SIGINT ends the process at once. That is safe as well: the transactions in hand
/// are rolled back.
pub fn exit_at_the_second_signal() -> Result<()> {
    let was_asked = Arc::new(AtomicBool::new(false));
    for (signal, conclusion) in [(SIGTERM, Conclusion::Terminated), (SIGINT, Conclusion::Interrupted)] {
        flag::register_conditional_shutdown(signal, conclusion as i32, Arc::clone(&was_asked)).context(LISTENING)?;
        flag::register(signal, Arc::clone(&was_asked)).context(LISTENING)?;
    }
    Ok(())
}
