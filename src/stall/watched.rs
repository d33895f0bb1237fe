//! One session while it is watched: what its task, its handle and the registry share.
//!
//! A sign of life is one store to an atomic. The task sleeps until the earliest moment at which something could be due
//! and then looks at what was stored, so that no timer is ever moved; a sign of life wakes it only when a stall has been
//! reported, and output also when it becomes a loop. Both sides store first and look at the other's word afterwards
//! (`SeqCst`): one of them sees the other.
//!
//! Where both locks are held, `state` was locked before `output`.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use chrono::TimeDelta;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::episode::{Due, Episode, Moment, START, Sight};
use super::output::{Change, Output};
use super::{Outcome, StallConfig, StallEvent};
use crate::rules::Id;

/// One session while it is watched. None of its methods waits for anything but another of them.
pub struct Watched {
    session_id: Id,
    config: StallConfig,
    pulse: Pulse,
    /// Made by the first output, since many sessions report signs of life only.
    output: OnceLock<Box<Mutex<Output>>>,
    state: Mutex<State>,
    wake: Notify,
    token: Option<CancellationToken>,
    #[cfg(test)]
    pub looks: std::sync::atomic::AtomicU32,
}

/// All that a sign of life touches, side by side in memory.
struct Pulse {
    started: Instant,
    /// In nanoseconds since the start.
    active_at: AtomicI64,
    awaits_sign: AtomicBool,
}

#[derive(Default)]
struct State {
    episode: Episode,
    paused_at: Option<Moment>,
    is_stopped: bool,
    unheard: Option<Box<StallEvent>>,
}

/// What the task does next.
pub enum Next {
    /// Send what is due, as soon as there is room.
    Send,
    /// Sleep.
    LookAt(Instant),
    /// Sleep until it is woken.
    AwaitWake,
}

impl Watched {
    pub(super) fn new(session_id: Id, config: StallConfig, token: Option<CancellationToken>) -> Watched {
        Watched {
            session_id,
            config,
            pulse: Pulse { started: Instant::now(), active_at: AtomicI64::new(0), awaits_sign: AtomicBool::new(false) },
            output: OnceLock::new(),
            state: Mutex::default(),
            wake: Notify::new(),
            token,
            #[cfg(test)]
            looks: 0.into(),
        }
    }

    pub fn session_id(&self) -> &Id {
        &self.session_id
    }

    /// A sign of life. It says nothing about what the session does: one whose output is a loop goes on looping.
    pub fn reset(&self) {
        self.pulse.active_at.fetch_max(self.nanoseconds(), SeqCst);
        if self.pulse.awaits_sign.load(SeqCst) {
            self.wake.notify_one();
        }
    }

    /// Complete lines of its output, one or more: a sign of life, and progress unless its last lines are now a loop
    /// (`rules::detect_loop`). The last 20 lines that are not blank are kept, and of long ones both ends, of 900 bytes;
    /// lines that come together are judged once. Not for the echo of a nudge, which is neither.
    pub fn output(&self, lines: &str) {
        if lines.trim().is_empty() {
            return self.reset();
        }
        let output = self.output.get_or_init(|| {
            // Until now each sign of life was progress.
            Box::new(Mutex::new(Output::new(moment_of(self.pulse.active_at.load(SeqCst)))))
        });
        let change = {
            let mut output = lock(output);
            let now = self.nanoseconds();
            self.pulse.active_at.fetch_max(now, SeqCst);
            output.add(lines, moment_of(now))
        };
        let matters = match change {
            Change::Progress => self.pulse.awaits_sign.load(SeqCst),
            // What is due follows from its latest progress now.
            Change::LoopBegan => true,
            Change::LoopGoesOn => false,
        };
        if matters {
            self.wake.notify_one();
        }
    }

    /// A nudge was typed into it: the one that `AutoNudge` asked for, whose delay runs from now, or else one more.
    pub fn nudge_sent(&self) {
        let mut state = self.lock();
        let sight = self.sight(&state);
        state.episode.nudge_sent(&sight);
        self.publish(&state);
    }

    /// Stops its clock, also for the delays and the bounds of a day. Nothing is sent before it goes on.
    pub fn pause(&self) {
        let mut state = self.lock();
        state.paused_at.get_or_insert_with(|| self.now());
        self.publish(&state);
    }

    /// Nothing is sent any more.
    pub(super) fn stop(&self) {
        self.lock().is_stopped = true;
    }

    /// Lets its clock go on with the time that was left.
    pub fn resume(&self) {
        let mut state = self.lock();
        let Some(since) = state.paused_at.take() else { return };
        let now = self.now();
        let paused_for = now - since;
        state.episode.postpone(paused_for);
        // A sign of life that came meanwhile counts from now.
        let later = |at| nanoseconds_of((moment_of(at) + paused_for).min(now));
        let _ = self.pulse.active_at.fetch_update(SeqCst, SeqCst, |at| Some(later(at)));
        if let Some(output) = self.output.get() {
            lock(output).postpone(paused_for, now);
        }
        self.publish(&state);
        self.wake.notify_one();
    }

    /// Has it been silent, or in a loop, for longer than its threshold? Whether that was reported or not.
    pub fn is_stalled(&self) -> bool {
        let state = self.lock();
        state.episode.is_stalled(&self.sight(&state))
    }

    /// What has become of the watch so far.
    pub fn outcome(&self) -> Outcome {
        self.lock().unheard.as_deref().cloned().map_or(Outcome::Heard, Outcome::Unheard)
    }

    pub(super) fn next(&self) -> Next {
        #[cfg(test)]
        self.looks.fetch_add(1, SeqCst);
        let mut state = self.lock();
        if state.paused_at.is_some() || self.is_over(&state) {
            return Next::AwaitWake;
        }
        let sight = self.sight(&state);
        let due = state.episode.due(&sight);
        self.publish(&state);
        match due {
            Due::Event(_) => Next::Send,
            Due::NotBefore(moment) => Next::LookAt(self.pulse.started + (moment - START).to_std().unwrap_or_default()),
            Due::Nothing => Next::AwaitWake,
        }
    }

    /// Sends what is due now that there is room for it, if anything still is.
    pub(super) fn send(&self, say: impl FnOnce(StallEvent)) {
        let mut state = self.lock();
        let sight = self.sight(&state);
        if state.paused_at.is_none()
            && !self.is_over(&state)
            && let Due::Event(event) = state.episode.due(&sight)
        {
            state.episode.record(&event, &sight);
            // Under the lock, so that nothing is sent once `pause` has returned.
            say(event);
        }
        self.publish(&state);
    }

    /// Nobody listens any more, and nobody will.
    pub(super) fn send_to_nobody(&self) {
        let mut unheard = None;
        self.send(|event| unheard = Some(event));
        let Some(event) = unheard else { return };
        let session = &self.session_id;
        match &event {
            StallEvent::Escalated { cause, .. } => {
                self.lock().unheard = Some(Box::new(event.clone()));
                tracing::warn!(%session, "session {session} needs a person ({cause}), and nobody listens");
            }
            // Not the event itself: it holds lines of the session's output.
            StallEvent::Stalled { finding, silent_for, .. } => {
                tracing::debug!(%session, ?finding, ?silent_for, "nobody listens");
            }
            StallEvent::AutoNudge { .. } | StallEvent::SelfRecovered { .. } => {
                tracing::debug!(%session, ?event, "nobody listens");
            }
        }
    }

    /// Returns when the token that it was given is cancelled, and then nothing is sent any more; never without a token.
    pub(super) async fn cancelled(&self) {
        match &self.token {
            Some(token) => token.cancelled().await,
            None => std::future::pending().await,
        }
        self.stop();
    }

    fn is_over(&self, state: &State) -> bool {
        state.is_stopped || self.token.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    pub(super) fn woken(&self) -> Notified<'_> {
        self.wake.notified()
    }

    fn publish(&self, state: &State) {
        self.pulse.awaits_sign.store(state.episode.awaits_sign() && state.paused_at.is_none(), SeqCst);
    }

    /// The session by its own clock: while that stands still, nothing is later than the pause.
    fn sight(&self, state: &State) -> Sight<'_> {
        // The output first: what is progress was stored as a sign of life before.
        let output = self.output.get().map(|output| {
            let output = lock(output);
            (output.progressed_at(), output.lines())
        });
        let active_at = moment_of(self.pulse.active_at.load(SeqCst));
        let (progressed_at, recent_output) = output.unwrap_or_else(|| (active_at, Vec::new()));
        let now = state.paused_at.unwrap_or_else(|| self.now());
        let until_pause = |at: Moment| state.paused_at.map_or(at, |paused_at| at.min(paused_at));
        Sight {
            session_id: &self.session_id,
            config: &self.config,
            active_at: until_pause(active_at),
            progressed_at: until_pause(progressed_at),
            recent_output,
            now,
        }
    }

    fn now(&self) -> Moment {
        moment_of(self.nanoseconds())
    }

    fn nanoseconds(&self) -> i64 {
        self.pulse.started.elapsed().as_nanos() as i64
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// A panic in one thread must not make the session deaf in all others; every change is complete when it is visible.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn moment_of(nanoseconds: i64) -> Moment {
    START + TimeDelta::nanoseconds(nanoseconds)
}

fn nanoseconds_of(moment: Moment) -> i64 {
    (moment - START).num_nanoseconds().unwrap_or(i64::MAX)
}
