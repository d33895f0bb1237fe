//! Supervises one agent's process: runs it in a terminal, or watches it in a tmux pane; keeps its session's row; and
//! carries out the commands that sweeps queue for it.
//!
//! Each part is a thread that reports to the event loop. The event loop never waits for the database, for the disk
//! longer than a write takes, or for a process that does not read.

pub mod alerts;
mod backend;
mod fence;
pub mod hook_socket;
pub mod keeper;
mod output;
mod probe;
mod processes;
pub mod record;
pub mod terminal;
pub mod tmux;
mod work_tree;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{Write, stderr};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;
use tracing::debug;

use crate::rules::Id;
use crate::rules::display::is_invisible;
use crate::store::work::supervision::{self, ClaimedCommand, Close, What};
use crate::store::{Access, Db, DbConnection};
use crate::text::redact;
pub(crate) use alerts::Alerts;
pub(crate) use backend::{Backend, ProcessEnd, WatchEvent};
pub(crate) use fence::{TypingTarget, deliver};
pub(crate) use hook_socket::HookSocket;
pub(crate) use keeper::{Examiner, Keeper, KeeperCall, KeeperOptions, LEFT_AFTER};
pub(crate) use output::{ECHO_LASTS, Echoes, LINES_MAX, LineSplitter, Log, LogBuffer, redacted};
pub(crate) use probe::TerminalProbe;
pub(crate) use processes::{Process, is_shell, is_shell_name, reads_alone, remote, terminals_from};
pub(crate) use record::{DRAWING_LASTS, Draft, KILL_LINE, Nudges, SharedRecord, Snapshot};
pub(crate) use terminal::{AgentCommand, RawMode, Terminal};
pub(crate) use tmux::{Pane, WatchedPane};

/// How often the log is written and timeouts are checked.
const TICK: Duration = Duration::from_millis(200);

/// How often git's files are looked at for new work.
const WORK_EVERY: Duration = Duration::from_secs(10);

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

/// What a watch supervises.
pub enum WatchTarget {
    /// A command that the watcher starts.
    Command(AgentCommand),
    /// A tmux pane that exists already.
    Pane(Pane),
}

impl WatchTarget {
    /// The command line of the program that has the screen.
    pub fn foreground(&self) -> Vec<OsString> {
        match self {
            WatchTarget::Command(command) => command.words.clone(),
            WatchTarget::Pane(pane) => pane.foreground(),
        }
    }

    /// Where the agent works.
    pub fn directory(&self) -> PathBuf {
        match self {
            WatchTarget::Command(command) => command.directory.clone(),
            WatchTarget::Pane(pane) => pane.directory(),
        }
    }
}

/// One session, and how the operator wants it watched.
pub struct Watch {
    pub target: WatchTarget,
    pub keeper: KeeperOptions,
    pub db: DbConnection,
    pub nudges: Nudges,
    /// Where the output is logged; None: there is no directory for it.
    pub log: Option<PathBuf>,
    /// Holds the watcher's own logs back while the agent has the terminal, and releases them.
    pub hold_logs: fn(),
    pub release_logs: fn(),
}

/// Watches until the end, and returns the exit code to pass on.
///
/// # Errors
/// The signals cannot be listened for, or the command cannot be started.
pub fn run(watch: Watch) -> Result<u8> {
    // A panic in the emulator is caught, and must not be printed on the agent's screen.
    std::panic::set_hook(Box::new(|panic| debug!("{panic}")));
    let Watch { target, keeper: options, mut db, nudges, log, hold_logs, release_logs } = watch;
    let (events, inbox) = channel();
    forward_signals(events.clone())?;
    let (record, message) = (SharedRecord::new(nudges), options.policy.nudge_message.clone());
    let log = log.and_then(|path| {
        let report = |error: &_| print_notice(&format!("its output will not be kept: {}: {error}", path.display()));
        Log::create(&path).inspect_err(report).ok()
    });
    let examiner = options.examiner;
    print_withheld(&target);
    print_remote(&target);
    // Without the socket an agent's hooks reach nobody; its screen is still read.
    let hook_socket = HookSocket::listen(record.clone()).ok();
    let raw_mode = if let WatchTarget::Command(_) = target { RawMode::begin() } else { RawMode::default() };
    if raw_mode.is_on() {
        hold_logs();
    }
    let no_progress_after = options.policy.session_no_progress_after.to_std().unwrap_or(WORK_EVERY);
    work_tree::follow(target.directory(), (no_progress_after / 10).clamp(TICK, WORK_EVERY), record.clone());
    let backend: Box<dyn Backend> = match target {
        WatchTarget::Command(mut command) => {
            command.hook_socket = hook_socket.as_ref().map(HookSocket::path);
            let started = Terminal::start(command, record.clone(), events.clone());
            Box::new(started.inspect_err(|_| {
                // The session was registered, but nothing ever ran in it.
                let close = |db: &mut Db| supervision::close(db, &options.lease, Close::Interrupted);
                let _ = db.in_transaction(Access::Write, &options.timeouts, close);
            })?)
        }
        WatchTarget::Pane(pane) => Box::new(WatchedPane::start(pane, options.interval, record.clone(), events.clone())),
    };
    let (calls, keeper_inbox) = channel();
    let alerts = options.alerts.clone();
    let keeper = Keeper::new(options, db, record.clone(), events);
    thread::spawn(move || keeper.run(&keeper_inbox));
    let is_raw = raw_mode.is_on();
    let state = WatchProgress::default();
    let event_loop = EventLoop { backend, record, calls, log, message, examiner, is_raw, state };
    let (code, notices) = event_loop.run(&inbox);
    drop(raw_mode);
    drop(hook_socket);
    release_logs();
    notices.iter().for_each(|notice| print_line(notice));
    alerts.finish();
    Ok(code)
}

fn forward_signals(events: Sender<WatchEvent>) -> Result<()> {
    let signals = [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGWINCH];
    let mut signals = Signals::new(signals).context("listening for signals")?;
    thread::spawn(move || signals.forever().try_for_each(|signal| events.send(WatchEvent::Signal(signal))));
    Ok(())
}

/// Prints which variables are withheld: one of them may have been meant for the command.
fn print_withheld(target: &WatchTarget) {
    if let WatchTarget::Command(AgentCommand { withheld, .. }) = target
        && !withheld.is_empty()
    {
        let names = redact(&withheld.join(", "));
        print_notice(&format!("the command does not inherit {names} (unless --inherit-env is given)"));
    }
}

/// Prints that nobody knows which agent this is: the operator may take it to be one whose screens are known.
fn print_remote(target: &WatchTarget) {
    if let Some(program) = remote(&target.foreground()) {
        print_notice(&format!(
            "which agent runs behind {program} is not seen: only questions are known of it, and nothing is typed into \
                it (unless --nudge idle is given). Start sweep watch on the other side to have it known"
        ));
    }
}

fn print_notice(text: &str) {
    print_line(&format!("sweep: {}", redact(text)));
}

fn print_line(line: &str) {
    let _ = writeln!(stderr(), "{line}");
}

/// The event loop of a watch, and what has happened so far.
struct EventLoop {
    backend: Box<dyn Backend>,
    record: SharedRecord,
    calls: Sender<KeeperCall>,
    log: Option<Log>,
    /// What is typed for a nudge that has no message of its own.
    message: String,
    examiner: Examiner,
    /// In raw mode a newline does not return to the first column.
    is_raw: bool,
    state: WatchProgress,
}

/// What has happened so far in a watch.
#[derive(Default)]
struct WatchProgress {
    end: Option<ProcessEnd>,
    stop: Option<StopRequest>,
    /// The operator's Ctrl-C or Ctrl-\ ended the process.
    is_interrupted: bool,
    /// The process has ended and is to be relaunched.
    awaits_relaunch: bool,
    /// When the operator is notified that a sweep has to relaunch it.
    announce_wait_at: Option<Instant>,
    /// When the watch ends, whether the row was written or not.
    give_up_at: Option<Instant>,
    /// This watcher updates the row no more.
    has_lost_row: bool,
    /// The terminal is marked, since the session needs a person.
    is_marked: bool,
    /// Notices that could not be printed while the agent had the terminal.
    deferred: VecDeque<String>,
}

impl EventLoop {
    /// Returns the exit code, and the lines to print when the agent no longer has the terminal.
    fn run(mut self, inbox: &Receiver<WatchEvent>) -> (u8, Vec<String>) {
        loop {
            let is_settled = inbox.recv_timeout(TICK).is_ok_and(|event| self.settles(event));
            let is_given_up = self.gives_up();
            self.write_log();
            if is_settled || is_given_up {
                return self.conclude();
            }
        }
    }

    /// Handles an event, and returns whether the watch is over by it.
    fn settles(&mut self, event: WatchEvent) -> bool {
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
            WatchEvent::StillStuck(words) => self.backend.mark_in_brief(&words),
            WatchEvent::Recovered => {
                self.unmark();
                self.print("the session goes on");
            }
            WatchEvent::AwaitsRelaunch => self.await_relaunch(),
            WatchEvent::Settled(end) if end == self.state.end && self.is_over() => return true,
            // The end of an earlier process, or the present one has not ended yet.
            WatchEvent::Settled(_) => {}
            WatchEvent::TakenOver => {
                self.print("another watcher has taken up this session, or its row is gone; the agent goes on without");
                self.state.has_lost_row = true;
            }
            WatchEvent::DatabaseLost(why) => {
                self.print(&format!("the session's row cannot be kept: {why}; the agent goes on"));
                if self.state.end.is_some() || self.state.stop.is_some() {
                    self.state.give_up_at.get_or_insert(Instant::now() + SETTLING_LASTS);
                }
            }
            WatchEvent::DatabaseBack => self.print("the session's row is kept again"),
        }
        false
    }

    /// Does what is due because time has passed, which no event reports, and returns whether the watch is over by it.
    fn gives_up(&mut self) -> bool {
        let now = Instant::now();
        self.backend.flush_inserts();
        if self.backend.is_blocked() {
            self.record.lock().blocked(now);
        }
        match self.state.end {
            Some(end) if self.state.awaits_relaunch => self.wait_for_relaunch(end, now),
            Some(_) => {}
            None => {
                let signal = self.state.stop.as_mut().and_then(|stop| match stop.kill_at <= now {
                    true => Some(Signal::KILL),
                    false => stop.hang_up_at.take_if(|at| *at <= now).map(|_| Signal::HUP),
                });
                signal.into_iter().for_each(|signal| self.backend.kill(signal));
            }
        }
        self.is_over() && self.state.has_lost_row || self.state.give_up_at.is_some_and(|at| at <= now)
    }

    /// The process has ended, or the operator stopped watching a pane, whose process runs on.
    fn is_over(&self) -> bool {
        self.state.end.is_some() || self.state.stop.is_some() && self.backend.outlives_watcher()
    }

    fn ended(&mut self, end: ProcessEnd) {
        self.state.end = Some(end);
        self.state.is_interrupted = self.backend.interrupted_at().is_some_and(|at| is_interruption(end, at));
        {
            let mut record = self.record.lock();
            record.end = Some(end);
            record.is_stopped |= self.state.is_interrupted;
        }
        self.state.give_up_at = Some(Instant::now() + SETTLING_LASTS);
        self.call(KeeperCall::Look);
    }

    /// Passes on the operator's first signal, and kills the process at the second. A pane is left alone.
    fn stop(&mut self, signal: i32) {
        let now = Instant::now();
        let is_first = self.state.stop.is_none();
        let stop = match is_first {
            true => StopRequest { signal, hang_up_at: Some(now + HANG_UP_AFTER), kill_at: now + KILL_AFTER },
            false => StopRequest { signal, hang_up_at: None, kill_at: now },
        };
        self.state.give_up_at = Some(stop.kill_at + SETTLING_LASTS);
        self.state.stop = Some(stop);
        self.state.awaits_relaunch = false;
        self.record.lock().is_stopped = true;
        if self.state.end.is_none() && is_first {
            self.backend.kill(Signal::from_named_raw(signal).unwrap_or(Signal::TERM));
        }
        self.call(KeeperCall::Look);
    }

    fn await_relaunch(&mut self) {
        // The operator may have stopped the watcher meanwhile, or the process was relaunched already.
        let Some(end) = self.state.end.filter(|_| self.state.stop.is_none()) else { return };
        if !self.state.awaits_relaunch && self.examiner == Examiner::Sweeps {
            self.state.announce_wait_at = Some(end.at + SILENT_WAIT_LASTS);
        }
        (self.state.awaits_relaunch, self.state.give_up_at) = (true, None);
    }

    /// Waits without a limit, unless the operator types Ctrl-C or Ctrl-\, for which there is no process.
    fn wait_for_relaunch(&mut self, end: ProcessEnd, now: Instant) {
        if self.backend.interrupted_at().is_some_and(|at| end.at < at) {
            return self.stop(SIGINT);
        }
        if self.state.announce_wait_at.take_if(|at| *at <= now).is_some() {
            self.print("the agent crashed; waiting to be relaunched by a sweep");
        }
    }

    fn carry_out(&mut self, ClaimedCommand { id, what }: ClaimedCommand) {
        match what {
            What::Nudge(message) => {
                // The message is from a row: a control character would be a key, and an agent would read what people
                // do not see.
                let visible = message.as_deref().unwrap_or(&self.message).chars().filter(|c| !is_invisible(*c));
                let message = visible.take(1000).collect();
                let can_read = self.state.end.is_none() && self.state.stop.is_none();
                if !(can_read && self.backend.type_message(message, id.clone())) {
                    self.call(KeeperCall::Failed(id));
                }
            }
            What::Relaunch(_) => self.relaunch(id),
        }
    }

    fn relaunch(&mut self, command_id: Id) {
        if self.state.stop.is_some() || self.state.is_interrupted || self.backend.relaunch().is_err() {
            self.record.lock().end = self.state.end;
            self.print("the agent could not be started again");
            return self.call(KeeperCall::Failed(command_id));
        }
        (self.state.end, self.state.give_up_at, self.state.announce_wait_at) = (None, None, None);
        self.state.awaits_relaunch = false;
        self.print("the agent crashed and was started again");
        self.call(KeeperCall::Relaunched);
    }

    fn call(&mut self, call: KeeperCall) {
        self.state.has_lost_row |= self.calls.send(call).is_err();
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
        let signal = self.state.stop.as_ref().map(|stop| stop.signal);
        let end = self.state.end;
        let code = signal.map(|signal| 128 + signal).or_else(|| end?.code()).unwrap_or(1);
        let has_crashed = signal.is_none() && !self.state.is_interrupted && code != 0;
        let how = match end {
            Some(ProcessEnd { exit_code: Some(code), .. }) => format!("exit code {code}"),
            Some(ProcessEnd { signal: Some(signal), .. }) => format!("signal {signal}"),
            Some(_) | None => "nobody saw its end".to_owned(),
        };
        let crash = has_crashed.then(|| format!("sweep: the session crashed ({how})"));
        let mut lines = Vec::from(self.state.deferred);
        match (log, crash) {
            (Some(mut log), Some(crash)) => {
                let _ = log.shorten();
                lines.push(format!("{crash}; its output is kept in {}", log.path.display()));
            }
            (Some(log), None) => log.remove(),
            (None, crash) => lines.extend(crash),
        }
        (u8::try_from(code & 0xff).unwrap_or(1), lines)
    }

    /// Prints and marks that the session needs a person, for this reason.
    fn call_person(&mut self, reason: &str) {
        let reason = redact(reason);
        self.backend.mark(&reason);
        self.state.is_marked = true;
        self.print_line(&format!("⚠ session needs a person: {reason}"));
    }

    fn unmark(&mut self) {
        if std::mem::take(&mut self.state.is_marked) {
            self.backend.unmark();
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
            if self.state.deferred.len() == DEFERRED_MAX {
                self.state.deferred.pop_front();
            }
            return self.state.deferred.push_back(line.to_owned());
        }
        let (before, after) = if self.is_raw { ("\r\n", "\r\n") } else { ("", "\n") };
        let _ = stderr().write_all(format!("{before}{line}{after}").as_bytes());
    }
}

/// An operator's request to stop, and when a process that ignores it is sent further signals.
struct StopRequest {
    signal: i32,
    hang_up_at: Option<Instant>,
    kill_at: Instant,
}

/// Whether the keys that the operator typed at this time ended the process.
fn is_interruption(end: ProcessEnd, typed_at: Instant) -> bool {
    const BY_KEYS: [i32; 2] = [SIGINT, SIGQUIT];
    let is_by_keys = end.code().is_some_and(|code| BY_KEYS.contains(&(code - 128)));
    is_by_keys && typed_at <= end.at && end.at - typed_at <= INTERRUPTION_LASTS
}
