//! The event loop of a watch: handles one event after the other, up to the exit code.

use std::collections::VecDeque;
use std::io::{Write, stderr};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use signal_hook::consts::{SIGINT, SIGQUIT, SIGWINCH};

use super::backend::{Backend, ProcessEnd, WatchEvent};
use super::keeper::{Examiner, KeeperCall};
use super::log::Log;
use super::record::SharedRecord;
use crate::rules::Id;
use crate::rules::display::is_invisible;
use crate::store::work::supervision::{ClaimedCommand, What};
use crate::text::redact;

/// How often the log is written and timeouts are checked.
const TICK: Duration = Duration::from_millis(200);

/// How long a relaunch by a sweep is awaited before the operator is notified.
const SILENT_WAIT_LASTS: Duration = Duration::from_secs(2);

/// How long the watcher waits for the row to record the end of the process.
const SETTLING_LASTS: Duration = Duration::from_secs(10);

/// Notices that are kept for the end; older ones are dropped.
const DEFERRED_MAX: usize = 20;

/// How long a process may take to end after the operator's signal, before it is killed.
const KILL_AFTER: Duration = Duration::from_secs(3);

/// When a hang-up follows the operator's signal: a shell at its prompt ends for nothing else.
const HANG_UP_AFTER: Duration = Duration::from_secs(1);

/// How soon after Ctrl-C or Ctrl-\ a process must end for the keys to be the reason.
const INTERRUPTION_LASTS: Duration = Duration::from_secs(2);

/// The event loop of a watch, and what has happened so far.
pub struct EventLoop {
    backend: Box<dyn Backend>,
    record: SharedRecord,
    calls: Sender<KeeperCall>,
    log: Option<Log>,
    /// What is typed for a nudge that has no message of its own.
    message: String,
    end: Option<ProcessEnd>,
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
    /// In raw mode a newline does not return to the first column.
    is_raw: bool,
    /// The terminal is marked, since the session needs a person.
    is_marked: bool,
    /// Notices that could not be printed while the agent had the terminal.
    deferred: VecDeque<String>,
}

impl EventLoop {
    pub fn new(
        backend: Box<dyn Backend>,
        record: SharedRecord,
        calls: Sender<KeeperCall>,
        log: Option<Log>,
        message: String,
        examiner: Examiner,
        is_raw: bool,
    ) -> EventLoop {
        EventLoop {
            backend,
            record,
            calls,
            log,
            message,
            end: None,
            stop: None,
            is_interrupted: false,
            awaits_relaunch: false,
            announce_wait_at: None,
            examiner,
            give_up_at: None,
            is_kept: true,
            is_raw,
            is_marked: false,
            deferred: VecDeque::new(),
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
                self.call(KeeperCall::Failed(command_id));
            }
            WatchEvent::Stuck(why) => self.call_person(&why),
            WatchEvent::Recovered => {
                self.unmark();
                self.print("the session goes on");
            }
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
        self.end.is_some() || self.stop.is_some() && self.backend.outlives_watcher()
    }

    fn ended(&mut self, end: ProcessEnd) {
        self.end = Some(end);
        self.is_interrupted = self.backend.interrupted_at().is_some_and(|at| is_interruption(end, at));
        {
            let mut record = self.record.lock();
            record.end = Some(end);
            record.is_stopped |= self.is_interrupted;
        }
        self.give_up_at = Some(Instant::now() + SETTLING_LASTS);
        self.call(KeeperCall::Look);
    }

    /// Passes on the operator's first signal, and kills the process at the second. A pane is left alone.
    fn stop(&mut self, signal: i32) {
        let now = Instant::now();
        let is_first = self.stop.is_none();
        let stop = if is_first { StopRequest::first(signal, now) } else { StopRequest::again(signal, now) };
        self.give_up_at = Some(stop.kill_at + SETTLING_LASTS);
        self.stop = Some(stop);
        self.awaits_relaunch = false;
        self.record.lock().is_stopped = true;
        if self.end.is_none() && is_first {
            self.backend.kill(Signal::from_named_raw(signal).unwrap_or(Signal::TERM));
        }
        self.call(KeeperCall::Look);
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
    fn wait_for_relaunch(&mut self, end: ProcessEnd, now: Instant) {
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
                if !(can_read && self.backend.type_message(message, id.clone())) {
                    self.call(KeeperCall::Failed(id));
                }
            }
            What::Relaunch(_) => self.relaunch(id),
        }
    }

    fn relaunch(&mut self, command_id: Id) {
        if self.stop.is_some() || self.is_interrupted || !self.backend.relaunch() {
            self.record.lock().end = self.end;
            self.print("the agent could not be started again");
            return self.call(KeeperCall::Failed(command_id));
        }
        (self.end, self.give_up_at, self.announce_wait_at) = (None, None, None);
        self.awaits_relaunch = false;
        self.print("the agent crashed and was started again");
        self.call(KeeperCall::Relaunched);
    }

    fn call(&mut self, call: KeeperCall) {
        self.is_kept &= self.calls.send(call).is_ok();
    }

    fn write_log(&mut self) {
        let lines = self.record.lock().log.take();
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
        self.unmark();
        let log = self.log.take();
        let code = match (&self.stop, self.end) {
            (Some(StopRequest { signal, .. }), _) => 128 + signal,
            (None, end) => end.and_then(|end| end.code()).unwrap_or(1),
        };
        let has_crashed = self.stop.is_none() && !self.is_interrupted && code != 0;
        let mut lines = Vec::from(self.deferred);
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

    /// Prints and marks that the session needs a person, for this reason.
    fn call_person(&mut self, reason: &str) {
        let reason = redact(reason);
        self.backend.mark(Some(&reason));
        self.is_marked = true;
        self.print_line(&format!("⚠ session needs a person: {reason}"));
    }

    fn unmark(&mut self) {
        if std::mem::take(&mut self.is_marked) {
            self.backend.mark(None);
        }
    }

    /// Prints a sentence about the watch.
    fn print(&mut self, notice: &str) {
        self.print_line(&format!("sweep: {}", redact(notice)));
    }

    /// Prints a line to the operator, or keeps it for the end while a full-screen program has the screen: there it
    /// could be read as a part of a question.
    // decisions.md#the-screen-is-the-agents
    fn print_line(&mut self, line: &str) {
        if !self.backend.outlives_watcher() && self.record.lock().is_full_screen() {
            if self.deferred.len() == DEFERRED_MAX {
                self.deferred.pop_front();
            }
            return self.deferred.push_back(line.to_owned());
        }
        let (before, after) = if self.is_raw { ("\r\n", "\r\n") } else { ("", "\n") };
        let _ = stderr().write_all(format!("{before}{line}{after}").as_bytes());
    }
}

/// Removes invisible characters from a message, which comes from a row: a control character would be a key, and an
/// agent would read what people do not see.
fn without_keys(message: &str) -> String {
    message.chars().filter(|c| !is_invisible(*c)).take(1000).collect()
}

/// An operator's request to stop, and when a process that ignores it is sent further signals.
struct StopRequest {
    signal: i32,
    hang_up_at: Option<Instant>,
    kill_at: Instant,
}

impl StopRequest {
    fn first(signal: i32, now: Instant) -> StopRequest {
        StopRequest { signal, hang_up_at: Some(now + HANG_UP_AFTER), kill_at: now + KILL_AFTER }
    }

    /// The second request: the process is killed at once.
    fn again(signal: i32, now: Instant) -> StopRequest {
        StopRequest { signal, hang_up_at: None, kill_at: now }
    }

    /// The signal that a process which still runs is to be sent now.
    fn due(&mut self, now: Instant) -> Option<Signal> {
        if self.kill_at <= now {
            return Some(Signal::KILL);
        }
        self.hang_up_at.take_if(|at| *at <= now).map(|_| Signal::HUP)
    }
}

/// Whether the keys that the operator typed at this time ended the process.
fn is_interruption(end: ProcessEnd, typed_at: Instant) -> bool {
    const BY_KEYS: [i32; 2] = [SIGINT, SIGQUIT];
    let is_by_keys = end.code().is_some_and(|code| BY_KEYS.contains(&(code - 128)));
    is_by_keys && typed_at <= end.at && end.at - typed_at <= INTERRUPTION_LASTS
}

/// How the process ended, in words.
fn describe(end: Option<ProcessEnd>) -> String {
    match end {
        Some(ProcessEnd { exit_code: Some(code), .. }) => format!("exit code {code}"),
        Some(ProcessEnd { signal: Some(signal), .. }) => format!("signal {signal}"),
        Some(_) | None => "nobody saw its end".to_owned(),
    }
}
