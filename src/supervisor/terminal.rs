//! A command in a pseudo-terminal, between it and the operator's own terminal, if there is one.
//!
//! All bytes pass both ways as they are: the operator's terminal is in raw mode meanwhile, and as it was before at the end.
//! Without a terminal, what is on stdin is typed, and its end is not passed on: a nudge may come yet.

use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write, stdin, stdout};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use portable_pty::{Child, CommandBuilder, MasterPty, PtyPair, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use super::Event;
use super::record::{End, Shared};
use crate::rules::Id;

/// Between a message and the return key: many programs take both together for a paste.
pub const BEFORE_RETURN: Duration = Duration::from_millis(150);

/// A process that has ended may have left others, which keep its terminal open: how long their output is waited for.
const REST_LASTS: Duration = Duration::from_millis(500);

/// The command of a session, and where it is started.
#[derive(Clone, Debug)]
pub struct Command {
    pub words: Vec<OsString>,
    pub directory: PathBuf,
    /// Where shells look for it.
    pub search_path: String,
}

impl Command {
    /// Is there such a program?
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
        let mut builder = CommandBuilder::from_argv(self.words.clone());
        builder.cwd(&self.directory);
        builder.env("PATH", &self.search_path);
        builder
    }
}

/// Keys on their way into the terminal.
enum Keys {
    Bytes(Vec<u8>),
    /// With the id of the command that it came from.
    Message(String, Id),
}

type Writer = Arc<Mutex<Box<dyn Write + Send>>>;

pub struct Terminal {
    command: Command,
    master: Box<dyn MasterPty + Send>,
    process: Option<Pid>,
    writer: Writer,
    keys: SyncSender<Keys>,
    record: Shared,
    events: Sender<Event>,
}

impl Terminal {
    /// Starts the command, and passes keys and output on from now on.
    pub fn start(command: Command, record: Shared, events: Sender<Event>) -> Result<Terminal> {
        let pair = open()?;
        let writer: Writer = Arc::new(Mutex::new(pair.master.take_writer()?));
        let (keys, typed) = sync_channel(64);
        let process = spawn(&command, &pair, &record, &events)?;
        let typist = Typist { writer: Arc::clone(&writer), record: record.clone(), events: events.clone() };
        thread::spawn(move || typist.run(&typed));
        let from_operator = keys.clone();
        thread::spawn(move || pass_keys(&from_operator));
        Ok(Terminal { command, master: pair.master, process, writer, keys, record, events })
    }

    /// The same command again, in a new terminal in the place of the old one: what the old process did to it is over.
    pub fn start_again(&mut self) -> Result<()> {
        let pair = open()?;
        let writer = pair.master.take_writer()?;
        self.record.lock().began_again();
        self.process = spawn(&self.command, &pair, &self.record, &self.events)?;
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = writer;
        self.master = pair.master;
        Ok(())
    }

    /// Has a message typed. Is there room for it?
    pub fn type_message(&self, message: String, command_id: Id) -> bool {
        match self.keys.try_send(Keys::Message(message, command_id)) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
        }
    }

    /// The operator's window has another size.
    pub fn resize(&self) {
        let _ = self.master.resize(window_size());
    }

    /// Passes a signal on to the process and its children.
    pub fn kill(&self, signal: Signal) {
        if let Some(process) = self.process {
            let _ = kill_process_group(process, signal);
        }
    }
}

fn open() -> Result<PtyPair> {
    native_pty_system().openpty(window_size()).context("opening a pseudo-terminal")
}

/// Of the operator's terminal; where there is none, the size that terminals once had.
fn window_size() -> PtySize {
    let size = tcgetwinsize(stdout()).or_else(|_| tcgetwinsize(stdin()));
    match size {
        Ok(size) if 0 < size.ws_row && 0 < size.ws_col => {
            PtySize { rows: size.ws_row, cols: size.ws_col, pixel_width: size.ws_xpixel, pixel_height: size.ws_ypixel }
        }
        _ => PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 },
    }
}

/// Starts the command, with one thread that passes its output on and one that waits for its end.
fn spawn(command: &Command, pair: &PtyPair, record: &Shared, events: &Sender<Event>) -> Result<Option<Pid>> {
    let reader = pair.master.try_clone_reader()?;
    let child: Box<dyn Child> = pair.slave.spawn_command(command.builder()).context("starting the command")?;
    // Only so its signal can be told.
    let child = child.downcast::<std::process::Child>().map_err(|_| anyhow!("the command is no process"))?;
    let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (rest, is_over) = sync_channel(1);
    let of_reader = record.clone();
    thread::spawn(move || {
        pass_output(reader, &of_reader);
        let _ = rest.send(());
    });
    let events = events.clone();
    thread::spawn(move || wait(*child, &is_over, &events));
    Ok(process)
}

fn wait(mut child: std::process::Child, output_is_over: &Receiver<()>, events: &Sender<Event>) {
    let status = child.wait();
    let at = Instant::now();
    let _ = output_is_over.recv_timeout(REST_LASTS);
    let (exit_code, signal) = status.map_or((None, None), |status| (status.code(), status.signal()));
    let _ = events.send(Event::Ended(End { at, exit_code, signal }));
}

/// Until the terminal is closed. A stdout that nobody reads any more stops the output, and not the agent.
fn pass_output(mut reader: Box<dyn Read + Send>, record: &Shared) {
    let mut buffer = [0; 65536];
    let mut is_read = true;
    while let Ok(n @ 1..) = reader.read(&mut buffer) {
        record.lock().take_in(&buffer[..n], Instant::now());
        if is_read {
            let mut stdout = stdout().lock();
            is_read = stdout.write_all(&buffer[..n]).and_then(|()| stdout.flush()).is_ok();
        }
    }
}

fn pass_keys(keys: &SyncSender<Keys>) {
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = stdin().lock().read(&mut buffer) {
        if keys.send(Keys::Bytes(buffer[..n].to_vec())).is_err() {
            return;
        }
    }
}

/// Types, one after the other, what the operator and the nudges send: a process that does not read keeps it waiting, and
/// nobody else.
struct Typist {
    writer: Writer,
    record: Shared,
    events: Sender<Event>,
}

impl Typist {
    fn run(&self, keys: &Receiver<Keys>) {
        for keys in keys {
            match keys {
                Keys::Bytes(bytes) => drop(self.write(&bytes)),
                Keys::Message(message, command_id) => {
                    if self.write_message(&message).is_err() {
                        let _ = self.events.send(Event::Undelivered(command_id));
                    }
                }
            }
        }
    }

    fn write_message(&self, message: &str) -> std::io::Result<()> {
        self.record.lock().typed(message, Instant::now());
        self.write(message.as_bytes())?;
        thread::sleep(BEFORE_RETURN);
        self.record.lock().typed(message, Instant::now());
        self.write(b"\r")
    }

    fn write(&self, bytes: &[u8]) -> std::io::Result<()> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.write_all(bytes).and_then(|()| writer.flush())
    }
}

/// The operator's terminal in raw mode. Dropped, it is as it was before.
pub struct RawMode(Option<Termios>);

impl RawMode {
    /// Nothing, when stdin is no terminal.
    pub fn begin() -> RawMode {
        let before = stdin().is_terminal().then(|| tcgetattr(stdin()).ok()).flatten();
        if let Some(before) = &before {
            let mut raw = before.clone();
            raw.make_raw();
            let _ = tcsetattr(stdin(), OptionalActions::Now, &raw);
        }
        RawMode(before)
    }

    /// The operator's terminal stays as it is.
    pub fn none() -> RawMode {
        RawMode(None)
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
