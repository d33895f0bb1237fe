//! Runs a command in a pseudo-terminal, connected to the operator's own terminal, if there is one.
//!
//! All bytes pass both ways unchanged: the operator's terminal is in raw mode meanwhile, and restored at the end.
//! Without a terminal, stdin is typed, and its end is not passed on: a nudge may still come.

mod streams;

use std::ffi::OsString;
use std::io::{IsTerminal, stdin, stdout};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, sync_channel};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use portable_pty::{Child, CommandBuilder, MasterPty, PtyPair, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use super::{Backend, ProcessEnd, SharedRecord, TerminalProbe, WatchEvent};
use crate::rules::Id;
use crate::screen::VARIABLE;
use crate::text::redact;
use streams::{Keyboard, OutputPump};

/// The command of a session, and how it is started.
#[derive(Clone, Debug)]
pub struct AgentCommand {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    pub directory: PathBuf,
    /// The directories in which the program is searched, as in `PATH`.
    pub search_path: String,
    /// The variables that the command does not inherit.
    pub withheld: Vec<String>,
    /// The command that is started after a crash, if it is a different one.
    pub relaunch: Option<Vec<OsString>>,
    /// Further arguments, which set up the agent's hooks.
    pub hooks: Vec<OsString>,
    /// The socket to which the hooks write.
    pub hook_socket: Option<PathBuf>,
    /// Whether stdout is a terminal that understands titles and notifications.
    pub shows_sequences: bool,
}

impl AgentCommand {
    pub fn title(&self) -> String {
        self.words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// Whether the program exists and is executable.
    pub fn exists(&self) -> bool {
        let Some(program) = self.words.first() else { return false };
        let is_executable = |file: &Path| {
            file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
        };
        match Path::new(program).components().count() {
            1 if !program.to_string_lossy().contains('/') => std::env::split_paths(&self.search_path)
                .any(|directory| is_executable(&self.directory.join(directory).join(program))),
            _ => is_executable(&self.directory.join(program)),
        }
    }

    fn builder(&self) -> CommandBuilder {
        let (program, arguments) = self.words.split_at(self.words.len().min(1));
        let mut builder = CommandBuilder::from_argv([program, &self.hooks, arguments].concat());
        builder.cwd(&self.directory);
        builder.env("PATH", &self.search_path);
        self.withheld.iter().for_each(|name| builder.env_remove(name));
        if let Some(socket) = &self.hook_socket {
            builder.env(VARIABLE, socket);
        }
        builder
    }
}

pub struct Terminal {
    command: AgentCommand,
    master: Box<dyn MasterPty + Send>,
    process: Option<Pid>,
    output: Arc<OutputPump>,
    keyboard: Keyboard,
    record: SharedRecord,
    events: Sender<WatchEvent>,
}

impl Terminal {
    /// Starts the command, and passes keys and output on.
    pub fn start(command: AgentCommand, record: SharedRecord, events: Sender<WatchEvent>) -> Result<Terminal> {
        let pair = open()?;
        let writer = pair.master.take_writer()?;
        let (process, output) = spawn(&command, &pair, &record, &events)?;
        let keyboard = Keyboard::new(writer, record.clone(), events.clone());
        Ok(Terminal { command, master: pair.master, process, output, keyboard, record, events })
    }

    /// Sends a sequence to the operator's terminal, if that understands it.
    fn show(&self, sequence: &str) {
        if self.command.shows_sequences {
            self.output.insert(sequence.as_bytes());
        }
    }
}

impl Backend for Terminal {
    fn outlives_watcher(&self) -> bool {
        false
    }

    fn type_message(&self, message: String, command_id: Id) -> bool {
        self.keyboard.type_message(message, command_id)
    }

    /// Starts the command again, in a new pseudo-terminal: the old process may have changed the mode of its own.
    fn relaunch(&mut self) -> Result<()> {
        let pair = open()?;
        let writer = pair.master.take_writer()?;
        self.record.lock().relaunched();
        if let Some(words) = &self.command.relaunch {
            self.command.words.clone_from(words);
        }
        (self.process, self.output) = spawn(&self.command, &pair, &self.record, &self.events)?;
        self.keyboard.move_to(writer);
        self.master = pair.master;
        Ok(())
    }

    /// Shows by the terminal's title, its bell and a notification why a person is needed.
    fn mark(&self, reason: &str) {
        self.show(&format!("\x1b]0;⚠ {reason}\x07\x07\x1b]9;{reason}\x07"));
    }

    /// Shows the agent's own title again.
    fn unmark(&self) {
        let title = redact(self.record.lock().emulator.title());
        self.show(&format!("\x1b]0;{title}\x07"));
    }

    fn resize(&self) {
        let size = window_size();
        self.record.lock().resized((size.rows, size.cols), Instant::now());
        let _ = self.master.resize(size);
    }

    fn is_blocked(&self) -> bool {
        self.output.is_blocked()
    }

    fn interrupted_at(&self) -> Option<Instant> {
        self.keyboard.interrupted_at()
    }

    /// The output of a process that is killed is not waited for.
    fn kill(&self, signal: Signal) {
        if signal == Signal::KILL {
            self.output.abandon();
        }
        if let Some(process) = self.process {
            let _ = kill_process_group(process, signal);
        }
    }

    fn flush_inserts(&self) {
        self.output.flush_inserts();
    }
}

fn open() -> Result<PtyPair> {
    native_pty_system().openpty(window_size()).context("opening a pseudo-terminal")
}

/// The size of the operator's terminal, or 24 by 80 if there is none.
fn window_size() -> PtySize {
    let size = tcgetwinsize(stdout()).or_else(|_| tcgetwinsize(stdin())).ok();
    let size = size.filter(|size| 0 < size.ws_row && 0 < size.ws_col);
    let size = size.map(|size| (size.ws_row, size.ws_col, size.ws_xpixel, size.ws_ypixel));
    let (rows, cols, pixel_width, pixel_height) = size.unwrap_or((24, 80, 0, 0));
    PtySize { rows, cols, pixel_width, pixel_height }
}

/// Starts the command, a thread that passes its output on, and one that waits for its end.
fn spawn(
    command: &AgentCommand,
    pair: &PtyPair,
    record: &SharedRecord,
    events: &Sender<WatchEvent>,
) -> Result<(Option<Pid>, Arc<OutputPump>)> {
    let reader = pair.master.try_clone_reader()?;
    let child: Box<dyn Child> = pair.slave.spawn_command(command.builder()).context("starting the command")?;
    // Only the concrete type reports the signal that ended it.
    let mut child = child.downcast::<std::process::Child>().map_err(|_| anyhow!("the command is no process"))?;
    let id = i32::try_from(child.id()).ok();
    let process = id.and_then(Pid::from_raw);
    let probe = TerminalProbe { terminal: pair.master.tty_name(), process: id, command: command.words.clone() };
    let size = pair.master.get_size().map_or((24, 80), |size| (size.rows, size.cols));
    record.lock().runs(probe, size);
    let (done, is_done) = sync_channel(1);
    let output = Arc::new(OutputPump::new(record.clone()));
    let pump = Arc::clone(&output);
    thread::spawn(move || {
        pump.run(reader);
        let _ = done.send(());
    });
    let (pump, events) = (Arc::clone(&output), events.clone());
    thread::spawn(move || {
        let status = child.wait();
        let (exit_code, signal) = status.map_or((None, None), |status| (status.code(), status.signal()));
        let end = ProcessEnd { at: Instant::now(), exit_code, signal };
        pump.wait_for_rest(&is_done);
        let _ = events.send(WatchEvent::Ended(end));
    });
    Ok((process, output))
}

/// The operator's terminal in raw mode, if there is one. Dropping it restores the mode before.
#[derive(Default)]
pub struct RawMode(Option<Termios>);

impl RawMode {
    /// Switches to raw mode, if stdin is a terminal.
    pub fn begin() -> RawMode {
        let before = stdin().is_terminal().then(|| tcgetattr(stdin()).ok()).flatten();
        if let Some(before) = &before {
            let mut raw = before.clone();
            raw.make_raw();
            let _ = tcsetattr(stdin(), OptionalActions::Now, &raw);
        }
        RawMode(before)
    }

    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(stdin(), OptionalActions::Now, before);
        }
    }
}
