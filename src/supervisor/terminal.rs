//! A command in a pseudo-terminal, between it and the operator's own terminal, if there is one.
//!
//! All bytes pass both ways as they are: the operator's terminal is in raw mode meanwhile, and as it was before at the end.
//! Without a terminal, what is on stdin is typed, and its end is not passed on: a nudge may come yet.

mod boundary;
mod keyboard;
mod outlet;

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

use super::Event;
use super::probe::Probe;
use super::record::{End, Shared};
use crate::rules::Id;
use crate::screen::event::VARIABLE;
use crate::text::shown;
use keyboard::Keyboard;
use outlet::Outlet;

/// The command of a session, and where it is started.
#[derive(Clone, Debug)]
pub struct Command {
    pub words: Vec<OsString>,
    pub directory: PathBuf,
    /// Where shells look for it.
    pub search_path: String,
    /// The variables that it does not inherit.
    pub withheld: Vec<String>,
    /// What is started after a crash, if it is something else.
    pub relaunch: Option<Vec<OsString>>,
    /// Further arguments, which make it tell of itself.
    pub hooks: Vec<OsString>,
    /// Where it tells.
    pub events: Option<PathBuf>,
    /// Is stdout a terminal that knows titles and notifications?
    pub shows_sequences: bool,
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
        let (program, arguments) = self.words.split_at(self.words.len().min(1));
        let mut builder = CommandBuilder::from_argv([program, &self.hooks, arguments].concat());
        builder.cwd(&self.directory);
        builder.env("PATH", &self.search_path);
        self.withheld.iter().for_each(|name| builder.env_remove(name));
        if let Some(events) = &self.events {
            builder.env(VARIABLE, events);
        }
        builder
    }
}

pub struct Terminal {
    command: Command,
    master: Box<dyn MasterPty + Send>,
    process: Option<Pid>,
    outlet: Arc<Outlet>,
    keyboard: Keyboard,
    record: Shared,
    events: Sender<Event>,
}

impl Terminal {
    /// Starts the command, and passes keys and output on from now on.
    pub fn start(command: Command, record: Shared, events: Sender<Event>) -> Result<Terminal> {
        let pair = open()?;
        let writer = pair.master.take_writer()?;
        let (process, outlet) = spawn(&command, &pair, &record, &events)?;
        let keyboard = Keyboard::new(writer, probe(&command, &pair, process), record.clone(), events.clone());
        Ok(Terminal { command, master: pair.master, process, outlet, keyboard, record, events })
    }

    /// The same command again, in a new terminal in the place of the old one: what the old process did to it is over.
    pub fn start_again(&mut self) -> Result<()> {
        let pair = open()?;
        let writer = pair.master.take_writer()?;
        self.record.lock().began_again();
        if let Some(words) = &self.command.relaunch {
            self.command.words.clone_from(words);
        }
        (self.process, self.outlet) = spawn(&self.command, &pair, &self.record, &self.events)?;
        self.keyboard.move_to(writer, probe(&self.command, &pair, self.process));
        self.master = pair.master;
        Ok(())
    }

    /// Has a message typed. Is there room for it?
    pub fn type_message(&self, message: String, command_id: Id) -> bool {
        self.keyboard.type_message(message, command_id)
    }

    /// When the operator last typed Ctrl-C or Ctrl-\.
    pub fn interrupted_at(&self) -> Option<Instant> {
        self.keyboard.interrupted_at()
    }

    /// Says by the operator's terminal, and not on its screen, that a person is needed; none: no more.
    pub fn mark(&self, what: Option<&str>) {
        if !self.command.shows_sequences {
            return;
        }
        let title = self.record.lock().title().to_owned();
        self.outlet.insert(
            match what {
                Some(what) => format!("\x1b]0;⚠ {what}\x07\x07\x1b]9;{what}\x07"),
                None => format!("\x1b]0;{}\x07", shown(&title)),
            }
            .as_bytes(),
        );
    }

    /// What was to be said before, if it could not be.
    pub fn try_inserts(&self) {
        self.outlet.try_inserts();
    }

    /// Does the agent wait for the reader of stdout?
    pub fn is_held_up(&self) -> bool {
        self.outlet.is_held_up()
    }

    /// The operator's window has another size.
    pub fn resize(&self) {
        let size = window_size();
        self.record.lock().resized((size.rows, size.cols), Instant::now());
        let _ = self.master.resize(size);
    }

    /// Passes a signal on to the process and its children. Nobody waits for the output of what has to be killed.
    pub fn kill(&self, signal: Signal) {
        if signal == Signal::KILL {
            self.outlet.abandon();
        }
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

fn probe(command: &Command, pair: &PtyPair, process: Option<Pid>) -> Probe {
    let process = process.map(|process| process.as_raw_nonzero().get());
    Probe { terminal: pair.master.tty_name(), process, command: command.words.clone() }
}

type Spawned = (Option<Pid>, Arc<Outlet>);

/// Starts the command, with one thread that passes its output on and one that waits for its end.
fn spawn(command: &Command, pair: &PtyPair, record: &Shared, events: &Sender<Event>) -> Result<Spawned> {
    let reader = pair.master.try_clone_reader()?;
    let child: Box<dyn Child> = pair.slave.spawn_command(command.builder()).context("starting the command")?;
    // Only so its signal can be told.
    let child = child.downcast::<std::process::Child>().map_err(|_| anyhow!("the command is no process"))?;
    let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let size = pair.master.get_size().map_or((24, 80), |size| (size.rows, size.cols));
    record.lock().runs(probe(command, pair, process), size);
    let (rest, is_over) = sync_channel(1);
    let outlet = Arc::new(Outlet::new(record.clone()));
    let of_reader = Arc::clone(&outlet);
    thread::spawn(move || {
        of_reader.pass(reader);
        let _ = rest.send(());
    });
    let (of_waiter, events) = (Arc::clone(&outlet), events.clone());
    thread::spawn(move || {
        let end = end_of(*child);
        of_waiter.wait_for_rest(&is_over);
        let _ = events.send(Event::Ended(end));
    });
    Ok((process, outlet))
}

fn end_of(mut child: std::process::Child) -> End {
    let status = child.wait();
    let (exit_code, signal) = status.map_or((None, None), |status| (status.code(), status.signal()));
    End { at: Instant::now(), exit_code, signal }
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
