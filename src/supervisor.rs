//! Supervises one agent's process: runs it in a terminal, or watches it in a tmux pane; keeps its session's row; and
//! carries out the commands that sweeps queue for it.
//!
//! Each part is a thread that reports to the event loop. The event loop never waits for the database, for the disk
//! longer than a write takes, or for a process that does not read.

pub mod alerts;
mod backend;
mod event_loop;
mod fence;
pub mod hook_socket;
pub mod keeper;
mod output;
mod probe;
mod processes;
pub mod record;
pub mod terminal;
pub mod tmux;

use std::ffi::OsString;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;
use tracing::debug;

use crate::store::work::supervision::{self, Close};
use crate::store::{Access, Db, DbConnection};
use crate::text::redact;
pub(crate) use alerts::Alerts;
pub(crate) use backend::{Backend, ProcessEnd, WatchEvent};
use event_loop::{EventLoop, WatchProgress};
pub(crate) use fence::{TypingTarget, deliver};
pub(crate) use hook_socket::HookSocket;
pub(crate) use keeper::{Examiner, Keeper, KeeperCall, KeeperOptions, LEFT_AFTER};
pub(crate) use output::{ECHO_LASTS, Echoes, LINES_MAX, LineSplitter, Log, LogBuffer, redacted};
pub(crate) use probe::TerminalProbe;
pub(crate) use processes::{Process, is_shell, is_shell_name, reads_alone, remote, terminals_from};
pub(crate) use record::{DRAWING_LASTS, Draft, KILL_LINE, Nudges, SharedRecord, Snapshot};
pub(crate) use terminal::{AgentCommand, RawMode, Terminal};
pub(crate) use tmux::{Pane, WatchedPane};

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
    let log = log.and_then(|path| create_log(&path));
    let examiner = options.examiner;
    print_withheld(&target);
    print_remote(&target);
    // Without the socket an agent's hooks reach nobody; its screen is still read.
    let hook_socket = HookSocket::listen(record.clone()).ok();
    let raw_mode = if let WatchTarget::Command(_) = target { RawMode::begin() } else { RawMode::default() };
    if raw_mode.is_on() {
        hold_logs();
    }
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

/// A log that cannot be created is reported, and the watch goes on without it.
fn create_log(path: &Path) -> Option<Log> {
    let report = |error: &_| print_notice(&format!("its output will not be kept: {}: {error}", path.display()));
    Log::create(path).inspect_err(report).ok()
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
