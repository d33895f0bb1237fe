//! One cycle: a sweep and what goes with it when nobody watches: pings, notifications, metrics. None of them makes the
//! sweep fail.

use std::path::PathBuf;

use anyhow::Result;
use tracing::warn;

use crate::conclusion::Conclusion;
use crate::metrics;
use crate::notify::ping::{Ping, ping};
use crate::notify::{Notify, deliver};
use crate::sweep::{self, Cancel, Observer, Options, Selection, Summary};
use crate::text::redact;

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
}

/// Sweeps once, by hand or by the schedule.
pub fn run(options: &CycleOptions, cancel: &Cancel, observer: &mut impl Observer) -> Result<Summary> {
    let CycleOptions { sweep, notify, metrics_file } = options;
    // A dry run, and what somebody does by hand, say nothing of whether the schedule is alive.
    let is_scheduled = !sweep.dry_run && matches!(sweep.selection, Selection::Kinds(_));
    if is_scheduled {
        ping(notify, Ping::Started);
    }
    let swept = sweep::run(sweep, cancel, observer);
    // The database that failed a sweep would fail this as well; the next cycle delivers.
    if swept.as_ref().is_ok_and(|summary| summary.has_pending_notifications) {
        deliver_pending(options, cancel);
    }
    if let (Some(path), false) = (metrics_file, sweep.dry_run) {
        metrics::publish(path, &sweep.database, &sweep.timeouts);
    }
    if is_scheduled {
        ping_of_end(&swept, observer.has_failed()).into_iter().for_each(|end| ping(notify, end));
    }
    swept
}

/// Delivers what waits; that it cannot is a warning.
fn deliver_pending(options: &CycleOptions, cancel: &Cancel) {
    let CycleOptions { sweep, notify, .. } = options;
    if cancel.is_set() {
        return;
    }
    if let Err(error) = deliver(&sweep.database, &sweep.timeouts, notify, || cancel.is_set())
        && !notify.destinations().is_empty()
    {
        warn!("{}", redact(&format!("{error:#}")));
    }
}

/// What the dead-man's switch is sent at the end. What was busy is left to the next sweep. One that was asked to end
/// sends nothing: if none follows it, that silence is the alarm. A sweep whose wakes nobody takes up has done its part
/// in vain, and one whose report could not be printed is not known of.
fn ping_of_end(swept: &Result<Summary>, is_unreported: bool) -> Option<Ping> {
    let Ok(summary) = swept else { return Some(Ping::Failed) };
    match summary.conclusion {
        Conclusion::Interrupted | Conclusion::Terminated => None,
        conclusion if !(conclusion.is_success() || conclusion == Conclusion::Busy) => Some(Ping::Failed),
        _ if is_unreported || summary.no_wake_is_taken() => Some(Ping::Failed),
        _ => Some(Ping::Succeeded),
    }
}
