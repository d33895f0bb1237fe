//! A watched session: what its task, its handle and the registry share, and the last lines of its output.
//!
//! A sign of life is one store to an atomic. The task sleeps until the earliest moment at which something could be due
//! and then reads what was stored, so that no timer is ever moved. A sign of life wakes the task only when a stall was
//! reported, and output also when it becomes a loop. Both sides first store their own value and then load the other's
//! (`SeqCst`), so that at least one of them sees the other.
//!
//! If both locks are held, `state` was locked before `output`.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use chrono::TimeDelta;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::episode::{Due, Episode, Moment, START, SessionView};
use super::{StallConfig, StallEvent, WatchOutcome};
use crate::rules::{Id, detect_loop, without_middle};

/// A watched session. Its methods never wait, except for each other.
pub struct Watched {
    session_id: Id,
    config: StallConfig,
    pulse: Pulse,
    /// Created by the first output, since many sessions report only signs of life.
    output: OnceLock<Box<Mutex<RecentOutput>>>,
    state: Mutex<WatchState>,
    wake: Notify,
    token: Option<CancellationToken>,
    #[cfg(test)]
    pub checks: std::sync::atomic::AtomicU32,
}

/// All that a sign of life touches, next to each other in memory.
struct Pulse {
    started: Instant,
    /// Nanoseconds since the start.
    active_at: AtomicI64,
    awaits_sign: AtomicBool,
}

#[derive(Default)]
struct WatchState {
    episode: Episode,
    paused_at: Option<Moment>,
    is_stopped: bool,
    undelivered: Option<Box<StallEvent>>,
}

/// What the task does next.
pub enum Next {
    /// Send what is due, as soon as the channel has room.
    Send,
    /// Sleep until this moment, or until it is woken.
    CheckAt(Instant),
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
            checks: 0.into(),
        }
    }

    pub fn session_id(&self) -> &Id {
        &self.session_id
    }

    /// Reports a sign of life. It is no progress: a session whose output is a loop stays in it.
    pub fn reset(&self) {
        self.pulse.active_at.fetch_max(self.nanoseconds(), SeqCst);
        if self.pulse.awaits_sign.load(SeqCst) {
            self.wake.notify_one();
        }
    }

    /// Reports one or more complete lines of output: a sign of life, and progress unless the last lines are a loop now
    /// (`rules::detect_loop`). The last 20 lines that are not blank are kept, and of long ones both ends of 900 bytes;
    /// lines that come together are judged once. Leave out the echo of a nudge, which is neither.
    pub fn output(&self, lines: &str) {
        if lines.trim().is_empty() {
            return self.reset();
        }
        let output = self.output.get_or_init(|| {
            // Until the first output, each sign of life was progress.
            Box::new(Mutex::new(RecentOutput::new(moment_of(self.pulse.active_at.load(SeqCst)))))
        });
        let mut output = lock(output);
        let (now, was_looping) = (self.nanoseconds(), output.is_looping);
        self.pulse.active_at.fetch_max(now, SeqCst);
        output.add(lines, moment_of(now));
        // From the beginning of a loop on, the latest progress decides what is due.
        let matters = if output.is_looping { !was_looping } else { self.pulse.awaits_sign.load(SeqCst) };
        drop(output);
        if matters {
            self.wake.notify_one();
        }
    }

    /// Reports that a nudge was typed: the one that `AutoNudge` asked for, whose delay begins now, or a further one.
    pub fn nudge_sent(&self) {
        let mut state = self.lock();
        let view = self.view(&state);
        state.episode.nudge_sent(&view);
        self.publish(&state);
    }

    /// Stops the session's clock, also for delays and the limits per day. Nothing is sent until `resume`.
    pub fn pause(&self) {
        let mut state = self.lock();
        state.paused_at.get_or_insert_with(|| self.now());
        self.publish(&state);
    }

    /// Stops sending for good.
    pub(super) fn stop(&self) {
        self.lock().is_stopped = true;
    }

    /// Restarts the session's clock where it was stopped.
    pub fn resume(&self) {
        let mut state = self.lock();
        let Some(since) = state.paused_at.take() else { return };
        let now = self.now();
        let paused_for = now - since;
        state.episode.postpone(paused_for);
        // A sign of life during the pause counts from now.
        let later = |at| ((moment_of(at) + paused_for).min(now) - START).num_nanoseconds().unwrap_or(i64::MAX);
        let _ = self.pulse.active_at.fetch_update(SeqCst, SeqCst, |at| Some(later(at)));
        if let Some(output) = self.output.get() {
            let mut output = lock(output);
            output.progressed_at = (output.progressed_at + paused_for).min(now);
        }
        self.publish(&state);
        self.wake.notify_one();
    }

    /// Whether the session has been silent, or in a loop, for longer than its threshold, reported or not.
    pub fn is_stalled(&self) -> bool {
        let state = self.lock();
        state.episode.is_stalled(&self.view(&state))
    }

    /// Whether an escalation was missed so far.
    pub fn outcome(&self) -> WatchOutcome {
        self.lock().undelivered.as_deref().cloned().map_or(WatchOutcome::Delivered, WatchOutcome::Undelivered)
    }

    pub(super) fn next(&self) -> Next {
        #[cfg(test)]
        self.checks.fetch_add(1, SeqCst);
        let mut state = self.lock();
        if state.paused_at.is_some() || self.is_over(&state) {
            return Next::AwaitWake;
        }
        let view = self.view(&state);
        let due = state.episode.due(&view);
        self.publish(&state);
        match due {
            Due::Event(_) => Next::Send,
            Due::NotBefore(moment) => Next::CheckAt(self.pulse.started + (moment - START).to_std().unwrap_or_default()),
            Due::Nothing => Next::AwaitWake,
        }
    }

    /// Sends what is still due, now that the channel has room.
    pub(super) fn send(&self, deliver: impl FnOnce(StallEvent)) {
        let mut state = self.lock();
        let view = self.view(&state);
        if state.paused_at.is_none()
            && !self.is_over(&state)
            && let Due::Event(event) = state.episode.due(&view)
        {
            state.episode.record(&event, &view);
            // Under the lock, so that nothing is sent once `pause` has returned.
            deliver(event);
        }
        self.publish(&state);
    }

    /// Records what is due, and logs that it cannot be delivered.
    pub(super) fn send_to_closed_channel(&self) {
        let mut undelivered = None;
        self.send(|event| undelivered = Some(event));
        let Some(event) = undelivered else { return };
        let session = &self.session_id;
        match &event {
            StallEvent::Escalated { cause, .. } => {
                self.lock().undelivered = Some(Box::new(event.clone()));
                tracing::warn!(%session, "session {session} needs a person ({cause}), and nobody listens");
            }
            // The event itself is not logged: it has lines of the session's output.
            StallEvent::Stalled { finding, silent_for, .. } => {
                tracing::debug!(%session, ?finding, ?silent_for, "nobody listens");
            }
            StallEvent::AutoNudge { .. } | StallEvent::SelfRecovered { .. } => {
                tracing::debug!(%session, ?event, "nobody listens");
            }
        }
    }

    fn is_over(&self, state: &WatchState) -> bool {
        state.is_stopped || self.token.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    pub(super) fn woken(&self) -> Notified<'_> {
        self.wake.notified()
    }

    fn publish(&self, state: &WatchState) {
        self.pulse.awaits_sign.store(state.episode.awaits_sign() && state.paused_at.is_none(), SeqCst);
    }

    /// The session by its own clock. During a pause, nothing is later than its beginning.
    fn view(&self, state: &WatchState) -> SessionView<'_> {
        // The output is read first: its progress was stored as a sign of life before.
        let output = self.output.get().map(|output| {
            let output = lock(output);
            (output.progressed_at, output.lines.iter().cloned().collect())
        });
        let active_at = moment_of(self.pulse.active_at.load(SeqCst));
        let (progressed_at, recent_output) = output.unwrap_or_else(|| (active_at, Vec::new()));
        let now = state.paused_at.unwrap_or_else(|| self.now());
        let until_pause = |at: Moment| state.paused_at.map_or(at, |paused_at| at.min(paused_at));
        SessionView {
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

    fn lock(&self) -> MutexGuard<'_, WatchState> {
        lock(&self.state)
    }
}

/// Locks a mutex even if a thread has panicked with it: no change is ever incomplete.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn moment_of(nanoseconds: i64) -> Moment {
    START + TimeDelta::nanoseconds(nanoseconds)
}

/// How many lines are kept: as many as a session's row holds, so that detectors and sweeps find the same loops.
const LINES_MAX: usize = 20;

/// How many bytes of a long line are kept, at its beginning and at its end.
const LINE_END_MAX: usize = 900;

/// The last lines of a session's output, oldest first, and when they were last progress.
pub struct RecentOutput {
    pub lines: VecDeque<String>,
    /// When lines were last added that were no loop.
    pub progressed_at: Moment,
    pub is_looping: bool,
}

impl RecentOutput {
    pub fn new(progressed_at: Moment) -> RecentOutput {
        RecentOutput { lines: VecDeque::new(), progressed_at, is_looping: false }
    }

    /// Adds one or more complete lines. They are judged together, so that many lines at once cost little.
    pub fn add(&mut self, text: &str, now: Moment) {
        let has_text = |line: &&str| !line.trim().is_empty();
        let last: Vec<&str> = text.lines().rev().filter(has_text).take(LINES_MAX).collect();
        for line in last.into_iter().rev() {
            if self.lines.len() == LINES_MAX {
                self.lines.pop_front();
            }
            self.lines.push_back(without_middle(line, LINE_END_MAX).into_owned());
        }
        self.is_looping = detect_loop(self.lines.make_contiguous()).is_some();
        if !self.is_looping {
            self.progressed_at = self.progressed_at.max(now);
        }
    }
}
