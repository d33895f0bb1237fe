//! One cycle: a sweep and what goes with it when nobody watches: pings, notifications, metrics. None of them makes the
//! sweep fail. Several databases are swept one after the other, each with its own guard, limits and ledger, and its
//! share of the deadline; what goes wrong with one does not stop the others. What is notified of them comes after all
//! sweeps: a receiver that is slow takes no database's share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
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
use crate::store::read::metrics::{Reading, read_within};
use crate::sweep::Heading;
use crate::sweep::{self, Cancel, Examined, Observer, Options, Progress, Selection, Summary};
use crate::text::redact;

/// A sweep, and where its notifications, pings and metrics go.
#[derive(Clone, Debug)]
pub struct CycleOptions {
    pub sweep: Options,
    pub notify: Notify,
    /// Where node_exporter reads metrics.
    pub metrics_file: Option<PathBuf>,
    /// How many databases that are not swept now have their share of the deadline all the same.
    pub others: usize,
}

impl CycleOptions {
    /// The defaults, for a sweep.
    pub fn of(sweep: Options) -> CycleOptions {
        CycleOptions { sweep, notify: Notify::default(), metrics_file: None, others: 0 }
    }

    /// These options for another database.
    pub fn at(&self, database: &Url) -> CycleOptions {
        CycleOptions { sweep: Options { database: database.clone(), ..self.sweep.clone() }, ..self.clone() }
    }

    /// Gives the first of so many databases its share of the time that is left: its deadline, and when it is given up.
    /// What one does not need, the others have. All but the last one have to end, or are given up, within their share:
    /// one that falls silent takes nothing of the others' time.
    fn with_share(self, left: TimeDelta, databases: usize) -> (CycleOptions, Duration) {
        let databases = databases + self.others;
        let share = left.max(TimeDelta::zero()) / i32::try_from(databases).unwrap_or(i32::MAX);
        let beyond = beyond_deadline(&self.sweep.timeouts);
        let (deadline, given_up) =
            if databases == 1 { (share, share + beyond) } else { (share - beyond.min(share / 2), share) };
        let sweep = Options { deadline, ..self.sweep };
        (CycleOptions { sweep, ..self }, given_up.to_std().unwrap_or_default())
    }

    /// These options for a part of the databases: its cycle says nothing of the others, and takes nothing of their
    /// time.
    pub fn partial(&self, others: usize) -> CycleOptions {
        let notify = Notify { ping: None, ..self.notify.clone() };
        CycleOptions { notify, metrics_file: None, others, ..self.clone() }
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

/// Sweeps each of several databases, but for those that are known to be `away`: each of these has failed.
pub fn run_each(
    options: &CycleOptions,
    databases: &[Found],
    away: &[Url],
    cancel: &Cancel,
    observer: &mut impl Observer,
) -> Vec<Result<Summary>> {
    begin(options);
    let began = Instant::now();
    let swept = databases.iter().enumerate().map(|(place, database)| {
        let left = options.sweep.deadline - TimeDelta::from_std(began.elapsed()).unwrap_or_default();
        let (options, given_up) = options.at(&database.url).with_share(left, databases.len() - place);
        let _span = of_database(database).entered();
        observer.database(database.name.as_deref().unwrap_or_default());
        let swept = match cancel.conclusion() {
            None if away.contains(&database.url) => Err(unavailable("still unavailable").into()),
            None => sweep_within(given_up, &options.sweep, cancel, observer),
            Some(conclusion) => Err(Failure::new(conclusion, "not begun: a signal came before".to_owned()).into()),
        };
        observer.database_ends(&swept);
        swept
    });
    let swept: Vec<Result<Summary>> = swept.collect();
    end(options, databases, &swept, cancel, observer.has_failed());
    swept
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

fn begin(options: &CycleOptions) {
    if options.is_scheduled() {
        options.notify.send_ping(Ping::Started);
    }
}

/// After a signal nothing more is asked: the next cycle delivers, and writes the metrics.
fn end(options: &CycleOptions, databases: &[Found], swept: &[Result<Summary>], cancel: &Cancel, is_unreported: bool) {
    let CycleOptions { sweep, notify, metrics_file, others: _ } = options;
    for (database, swept) in databases.iter().zip(swept) {
        // The database that failed a sweep would fail this as well.
        if swept.as_ref().is_ok_and(|summary| summary.has_pending_notifications) && !cancel.is_set() {
            of_database(database).in_scope(|| deliver_pending(&options.at(&database.url), cancel));
        }
    }
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
fn deliver_pending(options: &CycleOptions, cancel: &Cancel) {
    let CycleOptions { sweep, notify, .. } = options;
    let its_cancel = cancel.clone();
    if let Err(error) = deliver(&sweep.database, &sweep.timeouts, notify, move || its_cancel.is_set())
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

/// Sweeps as `sweep::run` does, on a thread of its own. A database that falls silent in the middle of it would hold up
/// all others, the daemon and the end of the process: it is left behind, and named.
///
/// # Errors
/// Those of the sweep; or that the database has not answered.
pub fn sweep_apart(options: &Options, cancel: &Cancel, observer: &mut impl Observer) -> Result<Summary> {
    let time = (options.deadline + beyond_deadline(&options.timeouts)).to_std().unwrap_or_default();
    sweep_within(time, options, cancel, observer)
}

/// How long a sweep may go on after its deadline: for the statement in hand, and its end.
fn beyond_deadline(timeouts: &Timeouts) -> TimeDelta {
    timeouts.statement + CLOSING
}

/// Sweeps, and gives the database up after this time, whatever the deadline.
fn sweep_within(time: Duration, options: &Options, cancel: &Cancel, observer: &mut impl Observer) -> Result<Summary> {
    let (to, heard) = sync_channel(HEARD_MAX);
    let mut relay = Relay { to, wants_counts: observer.wants_counts(), progress: observer.progress() };
    let (its_options, its_cancel, span) = (options.clone(), cancel.clone(), Span::current());
    let attempt = AskingThread::begin(&options.database.key(), move || {
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

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::with_time_to_spare(600, 3)]
    #[case::each_share_shorter_than_a_statement(60, 4)]
    #[case::hardly_any_time(9, 9)]
    fn those_that_fall_silent_leave_the_others_their_shares(#[case] seconds: i64, #[case] databases: usize) {
        let deadline = TimeDelta::seconds(seconds);
        let options = CycleOptions::of(Options { deadline, ..Options::of(Url::Sqlite("a.db".into())) });
        let (share, mut left) = (deadline / i32::try_from(databases).expect("few"), deadline);
        for waiting in (2..=databases).rev() {
            let (its, given_up) = options.clone().with_share(left, waiting);
            assert_eq!(TimeDelta::from_std(given_up), Ok(share));
            assert!(share / 2 <= its.sweep.deadline && its.sweep.deadline < share, "{}", its.sweep.deadline);
            left -= share;
        }
        let of_all = options.clone().with_share(deadline, databases);
        let alone = options.partial(databases - 1).with_share(deadline, 1);
        assert_eq!(
            (alone.0.sweep.deadline, alone.1),
            (of_all.0.sweep.deadline, of_all.1),
            "swept later than the others"
        );
        let (last, given_up) = options.with_share(left, 1);
        assert_eq!(last.sweep.deadline, share);
        assert_eq!(TimeDelta::from_std(given_up), Ok(share + beyond_deadline(&last.sweep.timeouts)));
    }
}
