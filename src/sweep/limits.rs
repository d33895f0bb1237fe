//! What bounds one sweep: how much it may do, how long it may go on, how often it may wake one agent, and how it is
//! asked to end.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::exit;
use tracing::error;

use super::{Observer, Options, Outcome, Progress, StopReason};
use crate::conclusion::Conclusion;
use crate::rules::Id;

/// The bounds of the sweep as a whole; the coordinator counts.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Continuations, escalations and reports of abandoned work that are left.
    pub left: Option<u32>,
    /// The time after which nothing is begun any more.
    pub deadline: Instant,
    pub cancel: Cancel,
    pub progress: Progress,
    /// Does an outcome take one of those that are left?
    pub counts: fn(Outcome) -> bool,
}

impl Limits {
    /// The bounds of a sweep that began at this moment.
    pub fn of(options: &Options, began: Instant, cancel: &Cancel, observer: &impl Observer) -> Limits {
        Limits {
            left: options.limit,
            deadline: began + options.deadline.to_std().unwrap_or_default(),
            cancel: cancel.clone(),
            progress: observer.progress(),
            counts: Outcome::counts_against_limit,
        }
    }

    /// Must nothing more be begun, although what is in hand may still leave room?
    pub fn are_over(&self) -> bool {
        self.cancel.is_set() || self.deadline <= Instant::now()
    }

    /// Why there is more that this sweep will not see; a signal speaks for itself.
    pub fn stop_reason(&self) -> Option<StopReason> {
        match self {
            Limits { cancel, .. } if cancel.is_set() => None,
            Limits { left: Some(0), .. } => Some(StopReason::Limit),
            Limits { deadline, .. } => (*deadline <= Instant::now()).then_some(StopReason::Deadline),
        }
    }

    pub fn count(&mut self, outcome: Outcome) {
        if (self.counts)(outcome) {
            self.left = self.left.map(|left| left - 1);
        }
    }
}

/// When one of so many shares of the time until `deadline` ends.
pub fn share_of(deadline: Instant, shares: usize) -> Instant {
    let now = Instant::now();
    now + deadline.saturating_duration_since(now) / u32::try_from(shares).unwrap_or(u32::MAX)
}

/// How often each agent is woken in this sweep: recovered work must not stampede one of them.
#[derive(Debug)]
pub struct WakeBudget {
    pub per_agent_max: u32,
    agents: Mutex<HashMap<Id, Wakes>>,
}

/// The wakes of one agent.
#[derive(Clone, Copy, Debug, Default)]
struct Wakes {
    reserved: u32,
    queued: u32,
}

/// Why no wake is left for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// Some are only reserved, and may be given back.
    ForNow,
    /// All were queued.
    ForGood,
}

/// One of an agent's wakes, given back when it is dropped and was not queued.
#[derive(Debug)]
pub struct Reservation<'a> {
    budget: &'a WakeBudget,
    agent: Id,
}

impl WakeBudget {
    pub fn new(per_agent_max: u32) -> WakeBudget {
        WakeBudget { per_agent_max, agents: Mutex::default() }
    }

    /// Takes one of the wakes that are left for this agent, if there is one.
    pub fn reserve(&self, agent: &Id) -> Result<Reservation<'_>, Full> {
        self.update(agent, |wakes| match wakes {
            Wakes { queued, .. } if self.per_agent_max <= *queued => Err(Full::ForGood),
            Wakes { queued, reserved } if self.per_agent_max <= *queued + *reserved => Err(Full::ForNow),
            Wakes { reserved, .. } => {
                *reserved += 1;
                Ok(Reservation { budget: self, agent: agent.clone() })
            }
        })
    }

    fn update<T>(&self, agent: &Id, change: impl FnOnce(&mut Wakes) -> T) -> T {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        change(agents.entry(agent.clone()).or_default())
    }
}

impl Reservation<'_> {
    pub fn is_for(&self, agent: &Id) -> bool {
        self.agent == *agent
    }

    /// Counts the wake as queued.
    pub fn keep(self) {
        self.budget.update(&self.agent, |wakes| wakes.queued += 1);
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.budget.update(&self.agent, |wakes| wakes.reserved -= 1);
    }
}

/// Whether a sweep was asked to end after what is in hand, and by which signal: SIGTERM and Ctrl-C. The first ends the
/// sweep after what is in hand, the second at once. What hangs is not waited for for long.
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
