//! One cycle: a sweep and what goes with it when nobody watches: pings, notifications, metrics. None of them makes the
//! sweep fail. Several databases are swept at the same time, each with its own guard, limits and ledger, and its share
//! of the deadline; what goes wrong with one does not stop the others. What is notified of them comes after all sweeps:
//! a receiver that is slow takes no database's share.

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use chrono::TimeDelta;
use tracing::{Span, error, error_span, warn};

use crate::conclusion::{Conclusion, Failure, conclusion_of, unavailable};
use crate::metrics;
use crate::notify::{Notify, Ping, deliver};
use crate::rules::Kind;
use crate::store::Timeouts;
use crate::store::connect::databases::Found;
use crate::store::connect::open::Url;
use crate::store::connect::open::patience::{AskingThread, FALLEN_SILENT, LOOK, Patience};
use crate::store::connect::open::unanswered::{SilenceWatch, asked};
use crate::store::read::metrics::{Reading, read_within};
use crate::store::work::ledger::SweepEnd;
use crate::sweep::Heading;
use crate::sweep::{self, Cancel, Examined, Observer, Observers, Options, Progress, Selection, Summary};
use crate::text::redact;

/// How many databases are swept at the same time.
pub const AT_ONCE: usize = 4;

/// A sweep, and where its notifications, pings and metrics go.
#[derive(Clone, Debug)]
pub struct CycleOptions {
    pub sweep: Options,
    pub notify: Notify,
    /// Where node_exporter reads metrics.
    pub metrics_file: Option<PathBuf>,
}

impl CycleOptions {
    /// The defaults, for a sweep.
    pub fn of(sweep: Options) -> CycleOptions {
        CycleOptions { sweep, notify: Notify::default(), metrics_file: None }
    }

    /// The options of a sweep of this database.
    pub fn sweep_of(&self, database: &Url) -> Options {
        Options { database: database.clone(), ..self.sweep.clone() }
    }

    /// A dry run, and what somebody does by hand, say nothing of whether the schedule is alive.
    fn is_scheduled(&self) -> bool {
        !self.sweep.dry_run && matches!(self.sweep.selection, Selection::Kinds(_))
    }
}

/// Sweeps once, by hand or by the schedule.
pub fn run(options: &CycleOptions, cancel: &Cancel, observer: &mut impl Observer) -> Result<Summary> {
    begin(options);
    let swept = sweep_apart(&options.sweep, cancel, observer);
    let found = Found::alone(options.sweep.database.clone());
    end(options, &[found], std::slice::from_ref(&swept), cancel, observer.has_failed());
    swept
}

/// Sweeps several databases, so many at the same time. The results are in the order of the databases.
pub fn run_each(
    options: &CycleOptions,
    databases: &[Found],
    cancel: &Cancel,
    observers: &impl Observers,
) -> Vec<Result<Summary>> {
    begin(options);
    let (began, left) = (Instant::now(), AtomicUsize::new(databases.len()));
    let sweep = |place: usize, of_one: usize| {
        let database = &databases[place];
        let _span = of_database(database).entered();
        let time = options.sweep.deadline - TimeDelta::from_std(began.elapsed()).unwrap_or_default();
        let rounds = left.fetch_sub(1, Ordering::Relaxed).div_ceil(AT_ONCE).max(of_one);
        let (deadline, given_up) = share(time, rounds);
        let its_options = Options { deadline, ..options.sweep_of(&database.url) };
        observers.hear(place, database.name.as_deref().unwrap_or_default(), |observer| match cancel.conclusion() {
            None => sweep_within(given_up, &its_options, cancel, observer),
            Some(conclusion) => Err(Failure::new(conclusion, "not begun: a signal came before".to_owned()).into()),
        })
    };
    let waiting = Mutex::new(one_by_one(databases).into_iter());
    let sweep_next = || {
        let taken = std::iter::from_fn(|| waiting.lock().unwrap_or_else(PoisonError::into_inner).next());
        let places = taken.flat_map(|places| (1..=places.len()).rev().zip(places));
        places.map(|(of_one, place)| (place, sweep(place, of_one))).collect::<Vec<_>>()
    };
    let mut swept = thread::scope(|scope| {
        let lanes: Vec<_> = (0..AT_ONCE.min(databases.len())).map(|_| scope.spawn(sweep_next)).collect();
        let done = lanes.into_iter().map(|lane| lane.join().unwrap_or_else(|panic| resume_unwind(panic)));
        done.flatten().collect::<Vec<_>>()
    });
    swept.sort_by_key(|(place, _)| *place);
    let swept: Vec<Result<Summary>> = swept.into_iter().map(|(_, swept)| swept).collect();
    end(options, databases, &swept, cancel, observers.has_failed());
    swept
}

/// The places of the databases, in their order; together those that are one database, named for several users: two
/// sweeps of it at the same time would find one another busy.
fn one_by_one(databases: &[Found]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    for (place, database) in databases.iter().enumerate() {
        let name = database.url.name();
        match groups.iter_mut().find(|(of, _)| *of == name) {
            Some((_, places)) => places.push(place),
            None => groups.push((name, vec![place])),
        }
    }
    groups.into_iter().map(|(_, places)| places).collect()
}

/// The share of a database in the time that is left: its deadline, and when it is given up. `rounds`: how often so many
/// databases are swept at the same time until all are. What one does not need, the others have. All but those of the
/// last round have to end, or are given up, within their share: one that falls silent takes nothing of the others'
/// time.
fn share(left: TimeDelta, rounds: usize) -> (TimeDelta, Duration) {
    let share = left.max(TimeDelta::zero()) / i32::try_from(rounds).unwrap_or(i32::MAX);
    let (deadline, given_up) =
        if rounds == 1 { (share, share + CLOSING) } else { (share - CLOSING.min(share / 2), share) };
    (deadline, given_up.to_std().unwrap_or_default())
}

/// The span of all log lines that are about this one of several databases.
pub fn of_database(database: &Found) -> Span {
    match &database.name {
        Some(name) => error_span!("database", database_name = %name),
        None => Span::none(),
    }
}

/// Logs what went wrong with one of several databases, for people who read the log alone.
pub fn logged<T>(database: &Found, done: Result<T>) -> Result<T> {
    done.inspect_err(|error| of_database(database).in_scope(|| error!("{}", redact(&format!("{error:#}")))))
}

/// Says that a cycle begins.
pub fn begin(options: &CycleOptions) {
    if options.is_scheduled() {
        options.notify.send_ping(Ping::Started);
    }
}

/// After a signal nothing more is asked: the next cycle delivers, and writes the metrics.
fn end(options: &CycleOptions, databases: &[Found], swept: &[Result<Summary>], cancel: &Cancel, is_unreported: bool) {
    for (database, swept) in databases.iter().zip(swept) {
        // The database that failed a sweep would fail this as well.
        if swept.as_ref().is_ok_and(|summary| summary.has_pending_notifications) && !cancel.is_set() {
            of_database(database).in_scope(|| deliver_pending(options, &database.url, cancel));
        }
    }
    announce(options, databases, swept, cancel, is_unreported);
}

/// Writes the metrics, and says how a cycle ended.
pub fn announce(
    options: &CycleOptions,
    databases: &[Found],
    swept: &[Result<Summary>],
    cancel: &Cancel,
    is_unreported: bool,
) {
    let CycleOptions { sweep, notify, metrics_file } = options;
    if let (Some(path), false) = (metrics_file, sweep.dry_run) {
        let asked = databases.iter().zip(swept).take_while(|_| !cancel.is_set());
        let read = asked.map(|(of, swept)| (of.short_name.clone(), reading(of, swept, &sweep.timeouts, cancel)));
        metrics::publish(path, read);
    }
    if options.is_scheduled() {
        ping_of_end(swept, is_unreported).into_iter().for_each(|end| notify.send_ping(end));
    }
}

/// What is measured in a database, unless its sweep has just found it away or silent.
fn reading(of: &Found, swept: &Result<Summary>, timeouts: &Timeouts, cancel: &Cancel) -> Result<Reading> {
    match swept {
        Err(error) if conclusion_of(error) == Conclusion::Unavailable => Err(anyhow!("{error:#}")),
        Ok(_) | Err(_) => {
            let is_to_end = || cancel.is_set();
            let patience = Patience::until(&is_to_end, of.url.patience(timeouts.question()));
            read_within(patience, &of.url, timeouts, &Arc::default())
        }
    }
}

/// Delivers what waits; that it cannot is a warning.
fn deliver_pending(options: &CycleOptions, database: &Url, cancel: &Cancel) {
    let CycleOptions { sweep, notify, .. } = options;
    let its_cancel = cancel.clone();
    if let Err(error) = deliver(database, &sweep.timeouts, notify, move || its_cancel.is_set())
        && !notify.destinations().is_empty()
    {
        warn!("{}", redact(&format!("{error:#}")));
    }
}

/// How a sweep ended, or why it could not be done.
pub fn conclusion_of_sweep(swept: &Result<Summary>) -> Conclusion {
    swept.as_ref().map_or_else(conclusion_of, |summary| summary.conclusion)
}

/// What the dead-man's switch is sent at the end. What was busy is left to the next sweep. One that was asked to end
/// sends nothing: if none follows it, that silence is the alarm. A sweep whose wakes nobody takes up has done its part
/// in vain, and one whose report could not be printed is not known of.
fn ping_of_end(swept: &[Result<Summary>], is_unreported: bool) -> Option<Ping> {
    let is_in_vain = swept.iter().flatten().any(Summary::no_wake_is_taken);
    match Conclusion::gravest(swept.iter().map(conclusion_of_sweep)) {
        conclusion if conclusion.is_interruption() => None,
        conclusion if !(conclusion.is_success() || conclusion == Conclusion::Busy) => Some(Ping::Failed),
        _ if is_unreported || is_in_vain => Some(Ping::Failed),
        _ => Some(Ping::Succeeded),
    }
}

/// What a sweep may take beyond its deadline: the statement in hand ends, and the sweep closes.
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

/// What was heard of a sweep, and is passed on: of one that is given up the end is told as far as it was heard.
struct Follower<'o, O: ?Sized> {
    observer: &'o mut O,
    options: &'o Options,
    /// None: the sweep has not begun, or its end was told.
    heard: Option<Summary>,
}

impl<O: Observer + ?Sized> Observer for Follower<'_, O> {
    fn begins(&mut self, heading: &Heading) {
        self.heard = Some(Summary { heading: heading.clone(), ..Summary::default() });
        self.observer.begins(heading);
    }

    fn kind(&mut self, kind: Kind) {
        let mode = self.options.mode(kind);
        self.heard.iter_mut().for_each(|heard| heard.begin(kind, true, mode));
        self.observer.kind(kind);
    }

    fn expect(&mut self, subjects: u64) {
        self.observer.expect(subjects);
    }

    fn subject(&mut self, examined: &Examined) {
        self.heard.iter_mut().for_each(|heard| heard.count(examined));
        self.observer.subject(examined);
    }

    fn ends(&mut self, summary: &Summary) {
        self.heard = None;
        self.observer.ends(summary);
    }
}

impl<O: Observer + ?Sized> Follower<'_, O> {
    /// The sweep is given up: nothing more is heard of it.
    fn is_given_up(&mut self, conclusion: Conclusion, took: Duration) {
        if let Some(heard) = self.heard.take() {
            self.observer.ends(&Summary { ended: SweepEnd::Failed, conclusion, took, ..heard });
        }
    }
}

/// Sweeps as `sweep::run` does, on a thread of its own. A database that falls silent in the middle of it would hold up
/// all others, the daemon and the end of the process: it is left behind, and named.
///
/// # Errors
/// Those of the sweep; or that the database has not answered.
pub fn sweep_apart(options: &Options, cancel: &Cancel, observer: &mut impl Observer) -> Result<Summary> {
    sweep_within(share(options.deadline, 1).1, options, cancel, observer)
}

/// Sweeps, and gives the database up after this time, whatever the deadline.
fn sweep_within(
    time: Duration,
    options: &Options,
    cancel: &Cancel,
    observer: &mut (impl Observer + ?Sized),
) -> Result<Summary> {
    let (key, began, (to, heard)) = (options.database.key(), Instant::now(), sync_channel(HEARD_MAX));
    let mut watch = SilenceWatch::begin(options.timeouts.statement.to_std().unwrap_or_default());
    let mut relay = Relay { to, wants_counts: observer.wants_counts(), progress: observer.progress() };
    let timeouts = Timeouts { given_up_at: began.checked_add(time), ..options.timeouts };
    let (its_options, its_cancel, span) = (Options { timeouts, ..options.clone() }, cancel.clone(), Span::current());
    let attempt = AskingThread::begin(&key, move || {
        let _span = span.entered();
        let swept = sweep::run(&its_options, &its_cancel, &mut relay);
        let _ = relay.to.send(Said::Over(Box::new(swept)));
    });
    let attempt = attempt.map_err(|why| unavailable(format!("{FALLEN_SILENT}: {why}")))?;
    let is_to_end = || cancel.is_set();
    let (mut patience, mut observer) = (Patience::until(&is_to_end, time), Follower { observer, options, heard: None });
    let (conclusion, why) = loop {
        watch.look(&key);
        match heard.recv_timeout(LOOK) {
            Ok(Said::Call(call)) => call(&mut observer),
            Ok(Said::Over(swept)) => {
                let _ = attempt.end();
                return *swept;
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Some(why) = patience.ended() {
                    attempt.abandon();
                    break (cancel.conclusion().unwrap_or(Conclusion::Unavailable), why + &asked(&key, began));
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                break (Conclusion::Unavailable, attempt.end().err().unwrap_or_default());
            }
        }
    };
    observer.is_given_up(conclusion, began.elapsed());
    Err(Failure::new(conclusion, format!("{FALLEN_SILENT}: {why}")).into())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Databases that all fall silent, each from the beginning.
    #[rstest]
    #[case::with_time_to_spare(600, 3)]
    #[case::one_round(60, 4)]
    #[case::one_more_than_a_round(60, 5)]
    #[case::many(600, 21)]
    #[case::hardly_any_time(9, 90)]
    fn those_that_fall_silent_leave_the_others_their_shares(#[case] seconds: i64, #[case] databases: usize) {
        let all = Duration::from_secs(seconds as u64);
        // When each of those that are swept at the same time is free for the next one.
        let mut free_at = [Duration::ZERO; AT_ONCE];
        for place in 0..databases {
            let lane = (0..AT_ONCE).min_by_key(|lane| free_at[*lane]).expect("lanes");
            let left = TimeDelta::from_std(all - free_at[lane]).expect("a time");
            let rounds = (databases - place).div_ceil(AT_ONCE);
            let (deadline, given_up) = share(left, rounds);
            let (deadline, closing) = (deadline.to_std().expect("a time"), CLOSING.to_std().expect("a time"));
            let least = all / u32::try_from(databases.div_ceil(AT_ONCE)).expect("few");
            assert!(least / 2 <= deadline + Duration::from_millis(1), "{place}: {deadline:?}");
            assert!(deadline <= given_up && given_up <= deadline + closing, "{place}: {given_up:?}");
            free_at[lane] += given_up;
            let end = if rounds == 1 { all + closing } else { all };
            assert!(free_at[lane] <= end, "{place}: {:?}", free_at[lane]);
        }
    }
}
