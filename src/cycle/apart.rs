//! A sweep on a thread of its own. A database that falls silent in the middle of it would hold up all others, the
//! daemon and the end of the process: it is left behind, and named.

use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use anyhow::Result;
use chrono::TimeDelta;
use tracing::Span;

use crate::conclusion::{Conclusion, Failure, unavailable};
use crate::rules::Kind;
use crate::store::Timeouts;
use crate::store::connect::open::patience::{Attempt, FALLEN_SILENT, LOOK, Patience};
use crate::sweep::{self, Cancel, Examined, Heading, Observer, Options, Progress, Summary};

/// What a sweep may take beyond its deadline and the statement in hand: it closes.
const CLOSING: TimeDelta = TimeDelta::seconds(5);

/// What was heard and not passed on yet: a report that nobody reads holds the sweep up.
const HEARD_MAX: usize = 1000;

/// A call of a method of the observer.
type ObserverCall = Box<dyn FnOnce(&mut dyn Observer) + Send>;

/// What the thread that sweeps has to say to the one that waits for it.
enum Said {
    Call(ObserverCall),
    Over(Box<Result<Summary>>),
}

/// Passes on what a sweep says to the thread that waits for it. That it waits no longer is no fault of the sweep's.
struct Relay {
    to: SyncSender<Said>,
    wants_counts: bool,
    progress: Progress,
}

impl Relay {
    fn call(&self, call: impl FnOnce(&mut dyn Observer) + Send + 'static) {
        let _ = self.to.send(Said::Call(Box::new(call)));
    }
}

impl Observer for Relay {
    fn begins(&mut self, heading: &Heading) {
        let heading = heading.clone();
        self.call(move |observer| observer.begins(&heading));
    }

    fn kind(&mut self, kind: Kind) {
        self.call(move |observer| observer.kind(kind));
    }

    fn wants_counts(&self) -> bool {
        self.wants_counts
    }

    fn expect(&mut self, subjects: u64) {
        self.call(move |observer| observer.expect(subjects));
    }

    fn subject(&mut self, examined: &Examined) {
        let examined = examined.clone();
        self.call(move |observer| observer.subject(&examined));
    }

    fn ends(&mut self, summary: &Summary) {
        let summary = summary.clone();
        self.call(move |observer| observer.ends(&summary));
    }

    fn progress(&self) -> Progress {
        self.progress.clone()
    }
}

/// Sweeps as `sweep::run` does.
///
/// # Errors
/// Those of the sweep; or that the database has not answered.
pub fn sweep_apart(options: &Options, cancel: &Cancel, observer: &mut impl Observer) -> Result<Summary> {
    let time = (options.deadline + beyond_deadline(&options.timeouts)).to_std().unwrap_or_default();
    sweep_within(time, options, cancel, observer)
}

/// How long a sweep may go on after its deadline: for the statement in hand, and its end.
pub fn beyond_deadline(timeouts: &Timeouts) -> TimeDelta {
    timeouts.statement + CLOSING
}

/// Sweeps, and gives the database up after this time, whatever the deadline.
pub fn sweep_within(
    time: Duration,
    options: &Options,
    cancel: &Cancel,
    observer: &mut impl Observer,
) -> Result<Summary> {
    let (to, heard) = sync_channel(HEARD_MAX);
    let mut relay = Relay { to, wants_counts: observer.wants_counts(), progress: observer.progress() };
    let (its_options, its_cancel, span) = (options.clone(), cancel.clone(), Span::current());
    let attempt = Attempt::begin(&options.database.key(), move || {
        let _span = span.entered();
        let swept = sweep::run(&its_options, &its_cancel, &mut relay);
        let _ = relay.to.send(Said::Over(Box::new(swept)));
    });
    let attempt = attempt.map_err(|why| unavailable(format!("{FALLEN_SILENT}: {why}")))?;
    let is_to_end = || cancel.is_set();
    let mut patience = Patience::until(&is_to_end, time);
    loop {
        match heard.recv_timeout(LOOK) {
            Ok(Said::Call(call)) => call(observer),
            Ok(Said::Over(swept)) => {
                let _ = attempt.end();
                return *swept;
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Some(why) = patience.ended() {
                    attempt.abandon();
                    let why = format!("{FALLEN_SILENT}: {why}");
                    return Err(Failure::new(cancel.conclusion().unwrap_or(Conclusion::Unavailable), why).into());
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                let why = attempt.end().err().unwrap_or_default();
                return Err(unavailable(format!("{FALLEN_SILENT}: {why}")).into());
            }
        }
    }
}
