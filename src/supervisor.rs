//! One agent's process under supervision: it runs in a terminal, its session's row is kept, and what sweeps decide is done.
//!
//! Each part is a thread that tells this one of its events; nothing here waits for the database, for the disk longer than a
//! write takes, or for a process that does not read.

pub mod keeper;
mod log;
mod output;
mod record;
pub mod terminal;
pub mod tmux;

use std::io::{IsTerminal, Write, stderr, stdin};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;

use crate::rules::Id;
use crate::store::supervision::{self, Close, Order, What};
use crate::store::{Access, Db};
use crate::text::shown;
use keeper::{Call, Keeper, Keeping};
use log::Log;
use record::{End, Shared};
use terminal::{Command, RawMode, Terminal};
use tmux::Pane;

/// What the threads of a watcher tell.
pub enum Event {
    /// The process has ended.
    Ended(End),
    /// The operator's, or their terminal's.
    Signal(i32),
    /// To be carried out.
    Order(Order),
    /// What this command wanted to type could not be typed.
    Undelivered(Id),
    /// A person was told.
    Stuck,
    /// It goes on after all.
    Recovered,
    /// The process has ended, and by the policy it will be started again.
    AwaitsRelaunch,
    /// This end is recorded, or without one that the operator stopped the watcher, and nothing more will come of it.
    Settled(Option<End>),
    /// The row is somebody else's now.
    TakenOver,
    DatabaseLost(String),
    DatabaseBack,
}

/// What is watched.
pub enum Work {
    Command(Command),
    Pane(Pane),
}

/// One session, as the operator wants it watched.
pub struct Watch {
    pub work: Work,
    pub keeping: Keeping,
    pub db: Db,
    /// None: there is no place for it.
    pub log: Option<PathBuf>,
}

/// How often the log is written, and what is overdue is looked after.
const TICK: Duration = Duration::from_millis(200);

/// How long a process may take to end after the operator's signal.
const END_LASTS: Duration = Duration::from_secs(3);

/// How long the row of a process that has ended is waited for.
const SETTLING_LASTS: Duration = Duration::from_secs(10);

/// Watches until the end, and returns the exit code that passes it on.
pub fn run(watch: Watch) -> Result<u8> {
    let Watch { work, keeping, mut db, log } = watch;
    let (events, happens) = channel();
    listen(events.clone())?;
    let (record, message) = (Shared::default(), keeping.policy.nudge_message.clone());
    let log = log.and_then(|path| {
        Log::create(&path)
            .inspect_err(|error| say_plainly(&format!("its output will not be kept: {}: {error}", path.display())))
            .ok()
    });
    let interval = keeping.interval;
    let raw_mode = if let Work::Command(_) = work { Some(RawMode::begin()) } else { None };
    let place = match work {
        Work::Command(command) => {
            let started = Terminal::start(command, record.clone(), events.clone());
            Place::Terminal(started.inspect_err(|_| {
                // Nothing ever ran in it.
                let closed = |db: &mut Db| supervision::close(db, &keeping.held, Close::Interrupted);
                let _ = db.in_transaction(Access::Write, &keeping.timeouts, closed);
            })?)
        }
        Work::Pane(pane) => {
            pane.watch(interval, record.clone(), events.clone());
            Place::Pane(pane)
        }
    };
    let (calls, called) = channel();
    let keeper = Keeper::new(keeping, db, record.clone(), events.clone());
    thread::spawn(move || keeper.run(&called));
    let supervisor = Supervisor {
        place,
        record,
        events,
        calls,
        log,
        message,
        interval,
        end: None,
        stop: None,
        give_up_at: None,
        is_kept: true,
    };
    let (code, words) = supervisor.supervise(&happens);
    drop(raw_mode);
    words.iter().for_each(|words| say_plainly(words));
    Ok(code)
}

fn listen(events: Sender<Event>) -> Result<()> {
    let signals = [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGWINCH];
    let mut signals = Signals::new(signals).context("listening for signals")?;
    thread::spawn(move || signals.forever().try_for_each(|signal| events.send(Event::Signal(signal))));
    Ok(())
}

/// Where the process runs.
enum Place {
    Terminal(Terminal),
    Pane(Pane),
}

struct Supervisor {
    place: Place,
    record: Shared,
    events: Sender<Event>,
    calls: Sender<Call>,
    log: Option<Log>,
    /// What a nudge types that brings no message.
    message: String,
    interval: Duration,
    end: Option<End>,
    /// The operator's signal, and when the process is killed that does not heed it.
    stop: Option<(i32, Instant)>,
    give_up_at: Option<Instant>,
    /// Does somebody keep the row?
    is_kept: bool,
}

impl Supervisor {
    /// Returns the exit code, and what there is to say about the end.
    fn supervise(mut self, happens: &Receiver<Event>) -> (u8, Option<String>) {
        loop {
            let flow = match happens.recv_timeout(TICK) {
                Ok(event) => self.handle(event),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => self.look_after(),
            };
            self.write_log();
            if flow.is_break() {
                return self.conclude();
            }
        }
    }

    fn handle(&mut self, event: Event) -> ControlFlow<()> {
        match event {
            Event::Ended(end) => return self.ended(end),
            Event::Signal(SIGWINCH) => {
                if let Place::Terminal(terminal) = &self.place {
                    terminal.resize();
                }
            }
            Event::Signal(signal) => return self.stop(signal),
            Event::Order(order) => self.carry_out(order),
            Event::Undelivered(command_id) => self.call(Call::Failed(command_id)),
            Event::Stuck => self.tell_stuck(),
            Event::Recovered => self.say("the session goes on"),
            Event::AwaitsRelaunch => self.give_up_at = None,
            Event::Settled(end) if end == self.end && self.is_over() => return ControlFlow::Break(()),
            // Of the process before, or of one that is still on its way to its end.
            Event::Settled(_) => {}
            Event::TakenOver => {
                self.say("another watcher has taken up this session, or its row is gone; the agent goes on without");
                self.is_kept = false;
                return self.look_after();
            }
            Event::DatabaseLost(why) => {
                self.say(&format!("the session's row cannot be kept: {}; the agent goes on", shown(&why)));
                self.give_up_at = self.end.map(|_| Instant::now() + SETTLING_LASTS);
            }
            Event::DatabaseBack => self.say("the session's row is kept again"),
        }
        ControlFlow::Continue(())
    }

    /// What no event tells: time passes.
    fn look_after(&mut self) -> ControlFlow<()> {
        let now = Instant::now();
        if let (Place::Terminal(terminal), Some((_, kill_at)), None) = (&self.place, self.stop, self.end)
            && kill_at <= now
        {
            terminal.kill(Signal::KILL);
        }
        let is_over = self.end.is_some() && !self.is_kept || self.give_up_at.is_some_and(|at| at <= now);
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// A pane that is not watched any more goes on.
    fn is_over(&self) -> bool {
        self.end.is_some() || self.stop.is_some() && matches!(self.place, Place::Pane(_))
    }

    fn ended(&mut self, end: End) -> ControlFlow<()> {
        self.end = Some(end);
        self.record.lock().ended(end);
        self.give_up_at = Some(Instant::now() + SETTLING_LASTS);
        self.call(Call::Look);
        self.look_after()
    }

    /// The operator's first signal is passed on; after the second there is no grace. A pane is left as it is.
    fn stop(&mut self, signal: i32) -> ControlFlow<()> {
        let now = Instant::now();
        let grace = if self.stop.is_some() { Duration::ZERO } else { END_LASTS };
        self.stop = Some((signal, now + grace));
        self.give_up_at = Some(now + grace + SETTLING_LASTS);
        self.record.lock().stopped();
        match &self.place {
            Place::Terminal(terminal) if self.end.is_none() => {
                terminal.kill(Signal::from_named_raw(signal).unwrap_or(Signal::TERM));
                // A shell at work heeds nothing else.
                terminal.kill(Signal::HUP);
            }
            Place::Terminal(_) | Place::Pane(_) => self.call(Call::Look),
        }
        self.look_after()
    }

    fn carry_out(&mut self, order: Order) {
        let Order { id, what } = order;
        match what {
            What::Nudge(message) => {
                let message = without_keys(message.as_deref().unwrap_or(&self.message));
                let is_taken = self.end.is_none()
                    && self.stop.is_none()
                    && match &self.place {
                        Place::Terminal(terminal) => terminal.type_message(message, id.clone()),
                        Place::Pane(pane) => pane.type_message(&message, &self.record),
                    };
                if !is_taken {
                    self.call(Call::Failed(id));
                }
            }
            What::Relaunch(_) => self.relaunch(id),
        }
    }

    fn relaunch(&mut self, command_id: Id) {
        let is_started = self.stop.is_none()
            && match &mut self.place {
                Place::Terminal(terminal) => terminal.start_again().is_ok(),
                Place::Pane(pane) => pane.start_again(),
            };
        if !is_started {
            self.end.into_iter().for_each(|end| self.record.lock().ended(end));
            self.say("the agent could not be started again");
            return self.call(Call::Failed(command_id));
        }
        if let Place::Pane(pane) = &self.place {
            self.record.lock().began_again();
            pane.watch(self.interval, self.record.clone(), self.events.clone());
        }
        (self.end, self.give_up_at) = (None, None);
        self.say("the agent crashed and was started again");
        self.call(Call::Relaunched);
    }

    fn tell_stuck(&self) {
        const STUCK: &str = "⚠ session stuck — needs input";
        if let Place::Pane(pane) = &self.place {
            pane.show(STUCK);
        }
        self.print(STUCK);
    }

    fn call(&mut self, call: Call) {
        self.is_kept &= self.calls.send(call).is_ok();
    }

    fn write_log(&mut self) {
        let lines = self.record.lock().take_unlogged();
        if lines.is_empty() {
            return;
        }
        if let Some(Err(error)) = self.log.as_mut().map(|log| log.write(&lines)) {
            self.log = None;
            self.say(&format!("its output is kept no longer: {error}"));
        }
    }

    fn conclude(mut self) -> (u8, Option<String>) {
        self.write_log();
        let log = self.log.take();
        let code = match (self.stop, self.end) {
            (Some((signal, _)), _) => 128 + signal,
            (None, Some(End { exit_code: Some(code), .. })) => code,
            (None, Some(End { signal: Some(signal), .. })) => 128 + signal,
            (None, _) => 1,
        };
        let has_crashed = self.stop.is_none() && code != 0;
        let mut words = None;
        match log {
            Some(mut log) if has_crashed => {
                let _ = log.shorten();
                words = Some(format!(
                    "the session crashed ({}); its output is kept in {}",
                    how(self.end),
                    log.path().display()
                ));
            }
            Some(log) => log.remove(),
            None if has_crashed => words = Some(format!("the session crashed ({})", how(self.end))),
            None => {}
        }
        (u8::try_from(code & 0xff).unwrap_or(1), words)
    }

    /// A line of its own, in raw mode as well.
    fn print(&self, words: &str) {
        let is_raw = matches!(self.place, Place::Terminal(_)) && stdin().is_terminal() && stderr().is_terminal();
        let (before, after) = if is_raw { ("\r\n", "\r\n") } else { ("", "\n") };
        let _ = stderr().write_all(format!("{before}{words}{after}").as_bytes());
    }

    fn say(&self, words: &str) {
        self.print(&format!("sweep: {words}"));
    }
}

fn how(end: Option<End>) -> String {
    match end {
        Some(End { exit_code: Some(code), .. }) => format!("exit code {code}"),
        Some(End { signal: Some(signal), .. }) => format!("signal {signal}"),
        Some(_) | None => "nobody saw its end".to_owned(),
    }
}

/// A message comes from a row: a control character in it would be a key.
fn without_keys(message: &str) -> String {
    message.chars().filter(|c| !c.is_control()).take(1000).collect()
}

fn say_plainly(words: &str) {
    let _ = writeln!(stderr(), "sweep: {words}");
}
