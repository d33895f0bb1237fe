//! One agent's process under supervision: it runs in a terminal, its session's row is kept, and what sweeps decide is done.
//!
//! Each part is a thread that tells this one of its events; nothing here waits for the database, for the disk longer than a
//! write takes, or for a process that does not read.

pub mod alerts;
mod course;
pub mod events;
mod fence;
pub mod keeper;
pub mod log;
mod notices;
mod output;
mod place;
mod probe;
pub mod record;
pub mod terminal;
pub mod tmux;

use std::io::{Write, stderr};
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;
use tracing::debug;

use crate::rules::Id;
use crate::store::supervision::{self, Close, Order};
use crate::store::{Access, Db, DbConnection};
use crate::telemetry;
use crate::text::shown;
use course::Course;
use events::Events;
use keeper::{Keeper, Keeping};
use log::Log;
use notices::Notices;
use place::Place;
use record::{End, Nudges, Shared};
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
    /// What this command wanted to type was not typed: why, in words that follow “the session”.
    Undelivered(Id, String),
    /// A person was notified: why.
    Stuck(String),
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
    pub db: DbConnection,
    pub nudges: Nudges,
    /// None: there is no place for it.
    pub log: Option<PathBuf>,
}

/// Watches until the end, and returns the exit code that passes it on.
pub fn run(watch: Watch) -> Result<u8> {
    // Nothing may be printed on the agent's screen, and a panic in the emulator is caught.
    std::panic::set_hook(Box::new(|panic| debug!("{panic}")));
    let Watch { work, keeping, mut db, nudges, log } = watch;
    let (events, happens) = channel();
    listen(events.clone())?;
    let (record, message) = (Shared::new(nudges), keeping.policy.nudge_message.clone());
    let log = log.and_then(|path| {
        Log::create(&path)
            .inspect_err(|error| say_plainly(&format!("its output will not be kept: {}: {error}", path.display())))
            .ok()
    });
    let examiner = keeping.examiner;
    report_withheld(&work);
    let events_of_hooks = Events::open().ok();
    let raw_mode = if let Work::Command(_) = work { RawMode::begin() } else { RawMode::none() };
    if raw_mode.is_on() {
        telemetry::hold();
    }
    let place = match work {
        Work::Command(mut command) => {
            // Without it an agent's hooks have nobody to tell; its screen is seen all the same.
            if let Some(events) = &events_of_hooks {
                command.events = Some(events.path());
                events.listen(record.clone())?;
            }
            let started = Terminal::start(command, record.clone(), events.clone());
            Place::Terminal(started.inspect_err(|_| {
                // Nothing ever ran in it.
                let close = |db: &mut Db| supervision::close(db, &keeping.held, Close::Interrupted);
                let _ = db.in_transaction(Access::Write, &keeping.timeouts, close);
            })?)
        }
        Work::Pane(pane) => Place::Pane(pane.watch(keeping.interval, record.clone(), events.clone())),
    };
    let (calls, called) = channel();
    let alerts = keeping.alerts.clone();
    let keeper = Keeper::new(keeping, db, record.clone(), events);
    thread::spawn(move || keeper.run(&called));
    let notices = Notices::new(record.clone(), raw_mode.is_on());
    let (code, words) = Course::new(place, record, calls, log, message, examiner, notices).run(&happens);
    drop(raw_mode);
    drop(events_of_hooks);
    telemetry::release();
    words.iter().for_each(|words| print_line(words));
    alerts.finish();
    Ok(code)
}

fn listen(events: Sender<Event>) -> Result<()> {
    let signals = [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGWINCH];
    let mut signals = Signals::new(signals).context("listening for signals")?;
    thread::spawn(move || signals.forever().try_for_each(|signal| events.send(Event::Signal(signal))));
    Ok(())
}

/// Reported once, while the terminal is still sweep's: what the command does not find may have been meant for it.
fn report_withheld(work: &Work) {
    if let Work::Command(Command { withheld, .. }) = work
        && !withheld.is_empty()
    {
        let names = shown(&withheld.join(", "));
        say_plainly(&format!("the command does not inherit {names} (unless --inherit-env is given)"));
    }
}

fn say_plainly(words: &str) {
    print_line(&format!("sweep: {}", shown(words)));
}

fn print_line(line: &str) {
    let _ = writeln!(stderr(), "{line}");
}
