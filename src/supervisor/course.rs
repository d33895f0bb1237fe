//! The course of a watch: what happens, one event after the other, and what is done about it, up to the exit code.

mod ending;

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use signal_hook::consts::{SIGINT, SIGWINCH};

use super::Event;
use super::keeper::{Call, Examiner};
use super::log::Log;
use super::notices::Notices;
use super::place::Place;
use super::record::{End, Shared};
use crate::rules::Id;
use crate::rules::words::is_invisible;
use crate::store::supervision::{Order, What};
use ending::{Stop, how, is_interruption};

/// How often the log is written, and what is overdue is looked after.
const TICK: Duration = Duration::from_millis(200);

/// How long a relaunch by somebody else is waited for without a word.
const SILENT_WAIT_LASTS: Duration = Duration::from_secs(2);

/// How long the row of a process that has ended is waited for.
const SETTLING_LASTS: Duration = Duration::from_secs(10);

pub struct Course {
    place: Place,
    record: Shared,
    calls: Sender<Call>,
    log: Option<Log>,
    /// What a nudge types that brings no message.
    message: String,
    notices: Notices,
    end: Option<End>,
    stop: Option<Stop>,
    /// The operator's own keys ended the process.
    is_interrupted: bool,
    /// The process has ended, and somebody will start it again.
    awaits_relaunch: bool,
    /// When it is said that sweeps have to start it again.
    say_waiting_at: Option<Instant>,
    examiner: Examiner,
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
        examiner: Examiner,
        notices: Notices,
    ) -> Course {
        Course {
            place,
            record,
            calls,
            log,
            message,
            notices,
            end: None,
            stop: None,
            is_interrupted: false,
            awaits_relaunch: false,
            say_waiting_at: None,
            examiner,
            give_up_at: None,
            is_kept: true,
        }
    }

    /// Returns the exit code, and what there is to say about the end.
    pub fn run(mut self, happens: &Receiver<Event>) -> (u8, Vec<String>) {
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
            Event::Undelivered(command_id, why) => {
                self.say(&format!("a nudge was not delivered: the session {why}"));
                self.call(Call::Failed(command_id));
            }
            Event::Stuck(why) => self.notices.needs_person(&self.place, &why),
            Event::Recovered => self.notices.goes_on(&self.place),
            Event::AwaitsRelaunch => self.await_relaunch(),
            Event::Settled(end) if end == self.end && self.is_over() => return ControlFlow::Break(()),
            // Of the process before, or of one that is still on its way to its end.
            Event::Settled(_) => {}
            Event::TakenOver => {
                self.say("another watcher has taken up this session, or its row is gone; the agent goes on without");
                self.is_kept = false;
            }
            Event::DatabaseLost(why) => {
                self.say(&format!("the session's row cannot be kept: {why}; the agent goes on"));
                if self.end.is_some() || self.stop.is_some() {
                    self.give_up_at.get_or_insert(Instant::now() + SETTLING_LASTS);
                }
            }
            Event::DatabaseBack => self.say("the session's row is kept again"),
        }
        ControlFlow::Continue(())
    }

    /// What no event tells: time passes.
    fn look_after(&mut self) -> ControlFlow<()> {
        let now = Instant::now();
        self.place.try_inserts();
        if self.place.is_held_up() {
            self.record.lock().is_held_up(now);
        }
        match self.end {
            Some(end) if self.awaits_relaunch => self.wait_for_relaunch(end, now),
            Some(_) => {}
            None => {
                self.stop.as_mut().and_then(|stop| stop.due(now)).into_iter().for_each(|signal| self.place.kill(signal))
            }
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
        self.is_interrupted = self.place.interrupted_at().is_some_and(|at| is_interruption(end, at));
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

    /// The operator's first signal is passed on; after the second there is no grace. A pane is left as it is.
    fn stop(&mut self, signal: i32) {
        let now = Instant::now();
        let is_first = self.stop.is_none();
        let stop = if is_first { Stop::first(signal, now) } else { Stop::again(signal, now) };
        self.give_up_at = Some(stop.kill_at + SETTLING_LASTS);
        self.stop = Some(stop);
        self.awaits_relaunch = false;
        self.record.lock().stopped();
        if self.end.is_none() && is_first {
            self.place.kill(Signal::from_named_raw(signal).unwrap_or(Signal::TERM));
        }
        self.call(Call::Look);
    }

    fn await_relaunch(&mut self) {
        // The operator's signal may have come meanwhile, or the relaunch itself.
        let Some(end) = self.end.filter(|_| self.stop.is_none()) else { return };
        if !self.awaits_relaunch && self.examiner == Examiner::Sweeps {
            self.say_waiting_at = Some(end.at + SILENT_WAIT_LASTS);
        }
        (self.awaits_relaunch, self.give_up_at) = (true, None);
    }

    /// No process is there that a key could interrupt, and the wait has no end of its own.
    fn wait_for_relaunch(&mut self, end: End, now: Instant) {
        if self.place.interrupted_at().is_some_and(|at| end.at < at) {
            return self.stop(SIGINT);
        }
        if self.say_waiting_at.take_if(|at| *at <= now).is_some() {
            self.say("the agent crashed; waiting to be relaunched by a sweep");
        }
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
        if self.stop.is_some() || self.is_interrupted || !self.place.start_again() {
            self.end.into_iter().for_each(|end| self.record.lock().ended(end));
            self.say("the agent could not be started again");
            return self.call(Call::Failed(command_id));
        }
        (self.end, self.give_up_at, self.say_waiting_at) = (None, None, None);
        self.awaits_relaunch = false;
        self.say("the agent crashed and was started again");
        self.call(Call::Relaunched);
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

    fn conclude(mut self) -> (u8, Vec<String>) {
        self.write_log();
        self.notices.unmark(&self.place);
        let log = self.log.take();
        let code = match (&self.stop, self.end) {
            (Some(Stop { signal, .. }), _) => 128 + signal,
            (None, Some(End { exit_code: Some(code), .. })) => code,
            (None, Some(End { signal: Some(signal), .. })) => 128 + signal,
            (None, _) => 1,
        };
        let has_crashed = self.stop.is_none() && !self.is_interrupted && code != 0;
        let mut words = self.notices.held();
        match log {
            Some(mut log) if has_crashed => {
                let _ = log.shorten();
                words.push(format!(
                    "sweep: the session crashed ({}); its output is kept in {}",
                    how(self.end),
                    log.path().display()
                ));
            }
            Some(log) => log.remove(),
            None if has_crashed => words.push(format!("sweep: the session crashed ({})", how(self.end))),
            None => {}
        }
        (u8::try_from(code & 0xff).unwrap_or(1), words)
    }

    fn say(&mut self, words: &str) {
        self.notices.say(&self.place, words);
    }
}

/// A message comes from a row: a control character in it would be a key, and an agent would read what people do not see.
fn without_keys(message: &str) -> String {
    message.chars().filter(|c| !is_invisible(*c)).take(1000).collect()
}
