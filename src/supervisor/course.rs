//! The course of a watch: what happens, one event after the other, and what is done about it, up to the exit code.

use std::io::{Write, stderr};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use signal_hook::consts::SIGWINCH;

use super::Event;
use super::keeper::Call;
use super::log::Log;
use super::place::Place;
use super::record::{End, Shared};
use crate::rules::Id;
use crate::store::supervision::{Order, What};
use crate::text::shown;

/// How often the log is written, and what is overdue is looked after.
const TICK: Duration = Duration::from_millis(200);

/// How long a process may take to end after the operator's signal.
const END_LASTS: Duration = Duration::from_secs(3);

/// How long the row of a process that has ended is waited for.
const SETTLING_LASTS: Duration = Duration::from_secs(10);

pub struct Course {
    place: Place,
    record: Shared,
    calls: Sender<Call>,
    log: Option<Log>,
    /// What a nudge types that brings no message.
    message: String,
    /// In raw mode a newline does not go back to the beginning of the line.
    is_raw: bool,
    end: Option<End>,
    /// The operator's signal, and when the process is killed that does not heed it.
    stop: Option<(i32, Instant)>,
    give_up_at: Option<Instant>,
    /// Does somebody keep the row?
    is_kept: bool,
}

impl Course {
    pub fn new(
        place: Place,
        record: Shared,
        calls: Sender<Call>,
        log: Option<Log>,
        message: String,
        is_raw: bool,
    ) -> Course {
        let (end, stop, give_up_at) = (None, None, None);
        Course { place, record, calls, log, message, is_raw, end, stop, give_up_at, is_kept: true }
    }

    /// Returns the exit code, and what there is to say about the end.
    pub fn run(mut self, happens: &Receiver<Event>) -> (u8, Option<String>) {
        loop {
            let flow = match happens.recv_timeout(TICK) {
                Ok(event) => self.handle(event),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => ControlFlow::Continue(()),
            };
            let overdue = self.look_after();
            self.write_log();
            if flow.is_break() || overdue.is_break() {
                return self.conclude();
            }
        }
    }

    fn handle(&mut self, event: Event) -> ControlFlow<()> {
        match event {
            Event::Ended(end) => self.ended(end),
            Event::Signal(SIGWINCH) => self.place.resize(),
            Event::Signal(signal) => self.stop(signal),
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
        if self.place.is_held_up() {
            // Who waits to be read is at work, and can print no sign of life.
            self.record.lock().take_in(&[], now);
        }
        if self.end.is_none() && self.stop.is_some_and(|(_, kill_at)| kill_at <= now) {
            self.place.kill(Signal::KILL);
        }
        let is_over = self.is_over() && !self.is_kept || self.give_up_at.is_some_and(|at| at <= now);
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// A pane that is not watched any more goes on.
    fn is_over(&self) -> bool {
        self.end.is_some() || self.stop.is_some() && matches!(self.place, Place::Pane(_))
    }

    fn ended(&mut self, end: End) {
        self.end = Some(end);
        self.record.lock().ended(end);
        self.give_up_at = Some(Instant::now() + SETTLING_LASTS);
        self.call(Call::Look);
    }

    /// The operator's first signal is passed on; after the second there is no grace. A pane is left as it is.
    fn stop(&mut self, signal: i32) {
        let now = Instant::now();
        let grace = if self.stop.is_some() { Duration::ZERO } else { END_LASTS };
        self.stop = Some((signal, now + grace));
        self.give_up_at = Some(now + grace + SETTLING_LASTS);
        self.record.lock().stopped();
        if self.end.is_none() {
            self.place.kill(Signal::from_named_raw(signal).unwrap_or(Signal::TERM));
            // A shell at work heeds nothing else.
            self.place.kill(Signal::HUP);
        }
        self.call(Call::Look);
    }

    fn carry_out(&mut self, Order { id, what }: Order) {
        match what {
            What::Nudge(message) => {
                let message = without_keys(message.as_deref().unwrap_or(&self.message));
                let can_read = self.end.is_none() && self.stop.is_none();
                if !(can_read && self.place.type_message(message, &id)) {
                    self.call(Call::Failed(id));
                }
            }
            What::Relaunch(_) => self.relaunch(id),
        }
    }

    fn relaunch(&mut self, command_id: Id) {
        if self.stop.is_some() || !self.place.start_again() {
            self.end.into_iter().for_each(|end| self.record.lock().ended(end));
            self.say("the agent could not be started again");
            return self.call(Call::Failed(command_id));
        }
        (self.end, self.give_up_at) = (None, None);
        self.say("the agent crashed and was started again");
        self.call(Call::Relaunched);
    }

    fn tell_stuck(&self) {
        const STUCK: &str = "⚠ session stuck — needs input";
        self.place.show(STUCK);
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
        let (before, after) = if self.is_raw { ("\r\n", "\r\n") } else { ("", "\n") };
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
