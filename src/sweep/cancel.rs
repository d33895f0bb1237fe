//! How a sweep is asked to end.
//!
//! SIGTERM and Ctrl-C: the first ends the sweep after what is in hand, the second at once. What hangs is not waited for
//! for long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::exit;
use tracing::error;

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
        exit_in_any_case()?;
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
        conclusion_of(self.signal.load(Ordering::Relaxed) as i32)
    }

    /// Asks the sweep to end, as SIGTERM does.
    pub fn set(&self) {
        self.signal.store(SIGTERM as usize, Ordering::Relaxed);
    }
}

fn conclusion_of(signal: i32) -> Option<Conclusion> {
    match signal {
        SIGTERM => Some(Conclusion::Terminated),
        SIGINT => Some(Conclusion::Interrupted),
        _ => None,
    }
}

pub const LISTENING: &str = "listening for signals";

/// From now on the second SIGTERM or SIGINT ends the process at once, and says so. That is safe as well: the
/// transactions in hand are rolled back. A database that has fallen silent would keep the process for ever: after a
/// while the first signal does as the second one would. A third signal does not wait for what is said of the second.
pub fn exit_in_any_case() -> Result<()> {
    let is_ending = Arc::new(AtomicBool::new(false));
    for (signal, conclusion) in [(SIGTERM, Conclusion::Terminated), (SIGINT, Conclusion::Interrupted)] {
        flag::register_conditional_shutdown(signal, conclusion as i32, Arc::clone(&is_ending)).context(LISTENING)?;
    }
    exit_if_asked_again_or_hanging(is_ending)
}

/// How long what is in hand may take after a signal: less than service managers wait before they kill a process.
const IN_HAND_MAX: Duration = Duration::from_secs(20);

/// How soon the second signal is noticed.
const MOMENT: Duration = Duration::from_millis(20);

fn exit_if_asked_again_or_hanging(is_ending: Arc<AtomicBool>) -> Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT]).context(LISTENING)?;
    let wait = move || {
        let Some(first) = signals.forever().find_map(conclusion_of) else { return };
        let asked = Instant::now();
        let second = loop {
            match signals.pending().find_map(conclusion_of) {
                None if asked.elapsed() < IN_HAND_MAX => sleep(MOMENT),
                second => break second,
            }
        };
        is_ending.store(true, Ordering::Relaxed);
        match second {
            Some(_) => error!("interrupted by a second signal: what was in hand is rolled back"),
            None => error!(
                "interrupted: what is in hand has not ended within {IN_HAND_MAX:?} of the signal: its open \
                 transactions are rolled back"
            ),
        }
        exit(second.unwrap_or(first) as i32);
    };
    Builder::new().name("signals".to_owned()).spawn(wait).context(LISTENING)?;
    Ok(())
}
