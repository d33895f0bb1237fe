//! The event loop of a watch: handles one event after the other, up to the exit code.

mod stop;

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use signal_hook::consts::{SIGINT, SIGWINCH};

use super::backend::Backend;
use super::event::WatchEvent;
use super::keeper::{Call, Examiner};
use super::log::Log;
use super::notices::Notices;
use super::record::{End, SharedRecord};
use crate::rules::Id;
use crate::rules::display::is_invisible;
use crate::store::work::supervision::{ClaimedCommand, What};
use stop::{StopRequest, describe, is_interruption};

/// How often the log is written and timeouts are checked.
const TICK: Duration = Duration::from_millis(200);

/// How long a relaunch by a sweep is awaited before the operator is notified.
const SILENT_WAIT_LASTS: Duration = Duration::from_secs(2);

/// How long the watcher waits for the row to record the end of the process.
const SETTLING_LASTS: Duration = Duration::from_secs(10);

pub struct EventLoop {
    backend: Backend,
    record: SharedRecord,
    calls: Sender<Call>,
    log: Option<Log>,
    /// What is typed for a nudge that has no message of its own.
    message: String,
    notices: Notices,
    end: Option<End>,
    stop: Option<StopRequest>,
    /// The operator's Ctrl-C or Ctrl-\ ended the process.
    is_interrupted: bool,
    /// The process has ended and is to be relaunched.
    awaits_relaunch: bool,
    /// When the operator is notified that a sweep has to relaunch it.
    announce_wait_at: Option<Instant>,
    examiner: Examiner,
    /// When the watch ends, whether the row was written or not.
    give_up_at: Option<Instant>,
    /// This watcher still updates the row.
    is_kept: bool,
}

impl EventLoop {
    pub fn new(
        backend: Backend,
        record: SharedRecord,
        calls: Sender<Call>,
        log: Option<Log>,
        message: String,
        examiner: Examiner,
        notices: Notices,
    ) -> EventLoop {
        EventLoop {
            backend,
            record,
            calls,
            log,
            message,
            notices,
            end: None,
            stop: None,
            is_interrupted: false,
            awaits_relaunch: false,
            announce_wait_at: None,
            examiner,
            give_up_at: None,
            is_kept: true,
        }
    }

    /// Returns the exit code, and the lines to print when the agent no longer has the terminal.
    pub fn run(mut self, inbox: &Receiver<WatchEvent>) -> (u8, Vec<String>) {
        loop {
            let flow = match inbox.recv_timeout(TICK) {
                Ok(event) => self.handle(event),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => ControlFlow::Continue(()),
            };
            let overdue = self.check_timeouts();
            self.write_log();
            if flow.is_break() || overdue.is_break() {
                return self.conclude();
            }
        }
    }

    fn handle(&mut self, event: WatchEvent) -> ControlFlow<()> {
        match event {
            WatchEvent::Ended(end) => self.ended(end),
            WatchEvent::Signal(SIGWINCH) => self.backend.resize(),
            WatchEvent::Signal(signal) => self.stop(signal),
            WatchEvent::Command(command) => self.carry_out(command),
            WatchEvent::Undelivered(command_id, why) => {
                self.print(&format!("a nudge was not delivered: the session {why}"));
                self.call(Call::Failed(command_id));
            }
            WatchEvent::Stuck(why) => self.notices.needs_person(&self.backend, &why),
            WatchEvent::Recovered => self.notices.recovered(&self.backend),
            WatchEvent::AwaitsRelaunch => self.await_relaunch(),
            WatchEvent::Settled(end) if end == self.end && self.is_over() => return ControlFlow::Break(()),
            // The end of an earlier process, or the present one has not ended yet.
            WatchEvent::Settled(_) => {}
            WatchEvent::TakenOver => {
                self.print("another watcher has taken up this session, or its row is gone; the agent goes on without");
                self.is_kept = false;
            }
            WatchEvent::DatabaseLost(why) => {
                self.print(&format!("the session's row cannot be kept: {why}; the agent goes on"));
                if self.end.is_some() || self.stop.is_some() {
                    self.give_up_at.get_or_insert(Instant::now() + SETTLING_LASTS);
                }
            }
            WatchEvent::DatabaseBack => self.print("the session's row is kept again"),
        }
        ControlFlow::Continue(())
    }

    /// Does what is due because time has passed, which no event reports.
    fn check_timeouts(&mut self) -> ControlFlow<()> {
        let now = Instant::now();
        self.backend.flush_inserts();
        if self.backend.is_blocked() {
            self.record.lock().blocked(now);
        }
        match self.end {
            Some(end) if self.awaits_relaunch => self.wait_for_relaunch(end, now),
            Some(_) => {}
            None => {
                let signal = self.stop.as_mut().and_then(|stop| stop.due(now));
                signal.into_iter().for_each(|signal| self.backend.kill(signal));
            }
        }
        let is_over = self.is_over() && !self.is_kept || self.give_up_at.is_some_and(|at| at <= now);
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The process has ended, or the operator stopped watching a pane, whose process runs on.
    fn is_over(&self) -> bool {
        self.end.is_some() || self.stop.is_some() && matches!(self.backend, Backend::Pane(_))
    }

    fn ended(&mut self, end: End) {
        self.end = Some(end);
        self.is_interrupted = self.backend.interrupted_at().is_some_and(|at| is_interruption(end, at));
        {
            let mut record = self.record.lock();
            record.ended(end);
            if self.is_interrupted {
                record.stopped();
            }
        }
        self.give_up_at = Some(Instant::now() + SETTLING_LASTS);
        self.call(Call::Look);
    }

    /// Passes on the operator's first signal, and kills the process at the second. A pane is left alone.
    fn stop(&mut self, signal: i32) {
        let now = Instant::now();
        let is_first = self.stop.is_none();
        let stop = if is_first { StopRequest::first(signal, now) } else { StopRequest::again(signal, now) };
        self.give_up_at = Some(stop.kill_at + SETTLING_LASTS);
        self.stop = Some(stop);
        self.awaits_relaunch = false;
        self.record.lock().stopped();
        if self.end.is_none() && is_first {
            self.backend.kill(Signal::from_named_raw(signal).unwrap_or(Signal::TERM));
        }
        self.call(Call::Look);
    }

    fn await_relaunch(&mut self) {
        // The operator may have stopped the watcher meanwhile, or the process was relaunched already.
        let Some(end) = self.end.filter(|_| self.stop.is_none()) else { return };
        if !self.awaits_relaunch && self.examiner == Examiner::Sweeps {
            self.announce_wait_at = Some(end.at + SILENT_WAIT_LASTS);
        }
        (self.awaits_relaunch, self.give_up_at) = (true, None);
    }

    /// Waits without a limit, unless the operator types Ctrl-C or Ctrl-\, for which there is no process.
    fn wait_for_relaunch(&mut self, end: End, now: Instant) {
        if self.backend.interrupted_at().is_some_and(|at| end.at < at) {
            return self.stop(SIGINT);
        }
        if self.announce_wait_at.take_if(|at| *at <= now).is_some() {
            self.print("the agent crashed; waiting to be relaunched by a sweep");
        }
    }

    fn carry_out(&mut self, ClaimedCommand { id, what }: ClaimedCommand) {
        match what {
            What::Nudge(message) => {
                let message = without_keys(message.as_deref().unwrap_or(&self.message));
                let can_read = self.end.is_none() && self.stop.is_none();
                if !(can_read && self.backend.type_message(message, &id)) {
                    self.call(Call::Failed(id));
                }
            }
            What::Relaunch(_) => self.relaunch(id),
        }
    }

    fn relaunch(&mut self, command_id: Id) {
        if self.stop.is_some() || self.is_interrupted || !self.backend.relaunch() {
            self.end.into_iter().for_each(|end| self.record.lock().ended(end));
            self.print("the agent could not be started again");
            return self.call(Call::Failed(command_id));
        }
        (self.end, self.give_up_at, self.announce_wait_at) = (None, None, None);
        self.awaits_relaunch = false;
        self.print("the agent crashed and was started again");
        self.call(Call::Relaunched);
    }

    fn call(&mut self, call: Call) {
        self.is_kept &= self.calls.send(call).is_ok();
    }

    fn write_log(&mut self) {
        let lines = self.record.lock().take_log();
        if lines.is_empty() {
            return;
        }
        if let Some(Err(error)) = self.log.as_mut().map(|log| log.write(&lines)) {
            self.log = None;
            self.print(&format!("its output is kept no longer: {error}"));
        }
    }

    fn conclude(mut self) -> (u8, Vec<String>) {
        self.write_log();
        self.notices.unmark(&self.backend);
        let log = self.log.take();
        let code = match (&self.stop, self.end) {
            (Some(StopRequest { signal, .. }), _) => 128 + signal,
            (None, end) => end.and_then(|end| end.code()).unwrap_or(1),
        };
        let has_crashed = self.stop.is_none() && !self.is_interrupted && code != 0;
        let mut lines = self.notices.into_deferred();
        match log {
            Some(mut log) if has_crashed => {
                let _ = log.shorten();
                lines.push(format!(
                    "sweep: the session crashed ({}); its output is kept in {}",
                    describe(self.end),
                    log.path().display()
                ));
            }
            Some(log) => log.remove(),
            None if has_crashed => lines.push(format!("sweep: the session crashed ({})", describe(self.end))),
            None => {}
        }
        (u8::try_from(code & 0xff).unwrap_or(1), lines)
    }

    fn print(&mut self, notice: &str) {
        self.notices.print(&self.backend, notice);
    }
}

/// Removes invisible characters from a message, which comes from a row: a control character would be a key, and an
/// agent would read what people do not see.
fn without_keys(message: &str) -> String {
    message.chars().filter(|c| !is_invisible(*c)).take(1000).collect()
}
