//! A sweep on a thread of its own. A database that falls silent in the middle of it would hold up all others, the
//! daemon and the end of the process: it is left behind, and named.

use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use anyhow::Result;
use tracing::Span;

use crate::conclusion::{Conclusion, Failure, unavailable};
use crate::rules::Kind;
use crate::store::open::patience::{Attempt, FALLEN_SILENT};
use crate::sweep::heading::Heading;
use crate::sweep::{self, Cancel, Examined, Observer, Options, Progress, Summary};

/// How often it is looked whether the database is still waited for.
const LOOK: Duration = Duration::from_millis(50);

/// What a sweep may take beyond its deadline and the statement in hand: it closes.
const CLOSING: Duration = Duration::from_secs(5);

/// How long a sweep that was asked to end is waited for: less than `cancel::IN_HAND_MAX`, so that it is reported.
const AFTER_A_SIGNAL: Duration = Duration::from_secs(10);

/// What was heard and not passed on yet: a report that nobody reads holds the sweep up.
const HEARD_MAX: usize = 1000;

/// What an observer hears.
enum Heard {
    Begins(Box<Heading>),
    Kind(Kind),
    Expect(u64),
    Subject(Box<Examined>),
    Ends(Box<Summary>),
    /// The sweep is over.
    Over(Box<Result<Summary>>),
}

/// Passes on what a sweep says to the thread that waits for it. That it waits no longer is no fault of the sweep's.
struct Relay {
    to: SyncSender<Heard>,
    wants_counts: bool,
    progress: Progress,
}

impl Relay {
    fn say(&self, heard: Heard) {
        let _ = self.to.send(heard);
    }
}

impl Observer for Relay {
    fn begins(&mut self, heading: &Heading) {
        self.say(Heard::Begins(Box::new(heading.clone())));
    }

    fn kind(&mut self, kind: Kind) {
        self.say(Heard::Kind(kind));
    }

    fn wants_counts(&self) -> bool {
        self.wants_counts
    }

    fn expect(&mut self, subjects: u64) {
        self.say(Heard::Expect(subjects));
    }

    fn subject(&mut self, examined: &Examined) {
        self.say(Heard::Subject(Box::new(examined.clone())));
    }

    fn ends(&mut self, summary: &Summary) {
        self.say(Heard::Ends(Box::new(summary.clone())));
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
    let (to, heard) = sync_channel(HEARD_MAX);
    let mut relay = Relay { to, wants_counts: observer.wants_counts(), progress: observer.progress() };
    let (its_options, its_cancel, span) = (options.clone(), cancel.clone(), Span::current());
    let attempt = Attempt::begin(&options.database.key(), move || {
        let _span = span.entered();
        let swept = sweep::run(&its_options, &its_cancel, &mut relay);
        relay.say(Heard::Over(Box::new(swept)));
    });
    let attempt = attempt.map_err(|why| unavailable(format!("{FALLEN_SILENT}: {why}")))?;
    let mut patience = Patience::new(options);
    loop {
        match heard.recv_timeout(LOOK) {
            Ok(Heard::Begins(heading)) => observer.begins(&heading),
            Ok(Heard::Kind(kind)) => observer.kind(kind),
            Ok(Heard::Expect(subjects)) => observer.expect(subjects),
            Ok(Heard::Subject(examined)) => observer.subject(&examined),
            Ok(Heard::Ends(summary)) => observer.ends(&summary),
            Ok(Heard::Over(swept)) => {
                attempt.end();
                return *swept;
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Some(waited) = patience.ended(cancel) {
                    attempt.abandon();
                    let why = format!("{FALLEN_SILENT}: no answer within {} s", waited.as_secs());
                    return Err(Failure::new(cancel.conclusion().unwrap_or(Conclusion::Unavailable), why).into());
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                attempt.end();
                unreachable!("a sweep says that it is over, or panics")
            }
        }
    }
}

/// How long a sweep is waited for.
struct Patience {
    began: Instant,
    time: Duration,
    asked_to_end: Option<Instant>,
}

impl Patience {
    fn new(options: &Options) -> Patience {
        let time = options.deadline + options.timeouts.statement;
        let time = time.to_std().unwrap_or_default().saturating_add(CLOSING);
        Patience { began: Instant::now(), time, asked_to_end: None }
    }

    /// How long it was, when it is over.
    fn ended(&mut self, cancel: &Cancel) -> Option<Duration> {
        if self.asked_to_end.is_none() && cancel.is_set() {
            self.asked_to_end = Some(Instant::now());
        }
        let is_over = self.asked_to_end.is_some_and(|asked| AFTER_A_SIGNAL < asked.elapsed());
        (is_over || self.time < self.began.elapsed()).then(|| self.began.elapsed())
    }
}
