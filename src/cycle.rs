//! One cycle: a sweep and what goes with it when nobody watches: pings, notifications, metrics. None of them makes the
//! sweep fail. Several databases are swept one after the other, each with its own guard, limits and ledger, and its
//! share of the deadline; what goes wrong with one does not stop the others.

mod apart;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use chrono::TimeDelta;
use tracing::{Span, error, error_span, warn};

use crate::conclusion::{Conclusion, Failure, conclusion_of};
use crate::metrics;
use crate::notify::ping::{Ping, ping};
use crate::notify::{Notify, deliver};
use crate::store::databases::Found;
use crate::store::open::Url;
use crate::sweep::{Cancel, Observer, Options, Selection, Summary};
use crate::text::redact;
pub use apart::sweep_apart;

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

    /// The same for another database.
    pub fn at(&self, database: &Url) -> CycleOptions {
        CycleOptions { sweep: Options { database: database.clone(), ..self.sweep.clone() }, ..self.clone() }
    }

    /// With the deadline that the first of so many databases has, which share what is left of it: what one does not
    /// need, the others have.
    fn with_share(self, began: Instant, databases: usize) -> CycleOptions {
        let left = self.sweep.deadline - TimeDelta::from_std(began.elapsed()).unwrap_or_default();
        let share = left / i32::try_from(databases).unwrap_or(i32::MAX);
        let deadline = share.max(TimeDelta::zero());
        CycleOptions { sweep: Options { deadline, ..self.sweep }, ..self }
    }

    /// For a part of the databases: it says nothing of the others.
    pub fn partial(&self) -> CycleOptions {
        let notify = Notify { ping: None, ..self.notify.clone() };
        CycleOptions { notify, metrics_file: None, ..self.clone() }
    }

    /// A dry run, and what somebody does by hand, say nothing of whether the schedule is alive.
    fn is_scheduled(&self) -> bool {
        !self.sweep.dry_run && matches!(self.sweep.selection, Selection::Kinds(_))
    }
}

/// Sweeps once, by hand or by the schedule.
pub fn run(options: &CycleOptions, cancel: &Cancel, observer: &mut impl Observer) -> Result<Summary> {
    begin(options);
    let swept = sweep_and_deliver(options, cancel, observer);
    let found = Found::alone(options.sweep.database.clone());
    end(options, &[found], std::slice::from_ref(&swept), observer.has_failed());
    swept
}

/// Sweeps each of several databases.
pub fn run_each(
    options: &CycleOptions,
    databases: &[Found],
    cancel: &Cancel,
    observer: &mut impl Observer,
) -> Vec<Result<Summary>> {
    begin(options);
    let began = Instant::now();
    let swept = databases.iter().enumerate().map(|(place, database)| {
        let options = options.at(&database.url).with_share(began, databases.len() - place);
        let _span = of_database(database).entered();
        observer.database(database.name.as_deref().unwrap_or_default());
        let swept = match cancel.conclusion() {
            None => sweep_and_deliver(&options, cancel, observer),
            Some(conclusion) => Err(Failure::new(conclusion, "not begun: a signal came before".to_owned()).into()),
        };
        observer.database_ends(&swept);
        swept
    });
    let swept: Vec<Result<Summary>> = swept.collect();
    end(options, databases, &swept, observer.has_failed());
    swept
}

/// What all log lines are in that are about this one of several databases.
pub fn of_database(database: &Found) -> Span {
    match &database.name {
        Some(name) => error_span!("database", database_name = %name),
        None => Span::none(),
    }
}

/// What went wrong with one of several databases stands in the report, and in the log for whoever reads that alone.
pub fn logged<T>(database: &Found, done: Result<T>) -> Result<T> {
    done.inspect_err(|error| of_database(database).in_scope(|| error!("{}", redact(&format!("{error:#}")))))
}

fn begin(options: &CycleOptions) {
    if options.is_scheduled() {
        ping(&options.notify, Ping::Started);
    }
}

fn sweep_and_deliver(options: &CycleOptions, cancel: &Cancel, observer: &mut impl Observer) -> Result<Summary> {
    let swept = sweep_apart(&options.sweep, cancel, observer);
    // The database that failed a sweep would fail this as well; the next cycle delivers.
    if swept.as_ref().is_ok_and(|summary| summary.has_pending_notifications) {
        deliver_pending(options, cancel);
    }
    swept
}

fn end(options: &CycleOptions, databases: &[Found], swept: &[Result<Summary>], is_unreported: bool) {
    let CycleOptions { sweep, notify, metrics_file } = options;
    if let (Some(path), false) = (metrics_file, sweep.dry_run) {
        metrics::publish(path, databases, &sweep.timeouts);
    }
    if options.is_scheduled() {
        ping_of_end(swept, is_unreported).into_iter().for_each(|end| ping(notify, end));
    }
}

/// Delivers what waits; that it cannot is a warning.
fn deliver_pending(options: &CycleOptions, cancel: &Cancel) {
    let CycleOptions { sweep, notify, .. } = options;
    if cancel.is_set() {
        return;
    }
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
