//! A sweep and what goes with it when nobody watches: notifications, metrics, pings.

use std::io::Write;

use anyhow::Result;
use tracing::warn;

use crate::exit::Exit;
use crate::metrics;
use crate::notify::deliver;
use crate::notify::ping::{Ping, ping};
use crate::settings::{Selection, Settings};
use crate::sweep::signals::Stop;
use crate::sweep::{self, Swept};
use crate::text::shown;

/// Sweeps once, by hand or by the schedule; what follows the sweep never makes it fail.
pub fn sweep(settings: &Settings, stop: &Stop, out: &mut (dyn Write + Send)) -> Result<Swept> {
    // A dry run, and what somebody does by hand, say nothing of whether the schedule is alive.
    let is_scheduled = !settings.dry_run && matches!(settings.selection, Selection::Kinds(_));
    if is_scheduled {
        ping(&settings.notify, Ping::Started);
    }
    let swept = sweep::run(settings, stop, out);
    // The database that failed a sweep would fail this as well; the next run delivers.
    if swept.as_ref().is_ok_and(|swept| swept.has_news) {
        notify(settings, stop);
    }
    if let (Some(path), false) = (&settings.metrics_file, settings.dry_run) {
        metrics::publish(path, &settings.database, &settings.timeouts);
    }
    if is_scheduled {
        end_of(&swept).into_iter().for_each(|end| ping(&settings.notify, end));
    }
    swept
}

/// Delivers what waits; that it cannot is a warning.
fn notify(settings: &Settings, stop: &Stop) {
    let Settings { database, timeouts, notify, .. } = settings;
    if stop.is_set() {
        return;
    }
    if let Err(error) = deliver(database, timeouts, notify, || stop.is_set())
        && !notify.destinations().is_empty()
    {
        warn!("{}", shown(&format!("{error:#}")));
    }
}

/// What the dead-man's switch hears of its end. What was busy is the next sweep's. One that was asked to end says nothing: if
/// none follows it, that silence is the alarm. A sweep whose wakes nobody takes up has done its part in vain.
fn end_of(swept: &Result<Swept>) -> Option<Ping> {
    let is_in_vain = swept.as_ref().is_ok_and(|swept| swept.no_wake_is_taken);
    match swept.as_ref().map(|swept| swept.exit) {
        Ok(Exit::Done | Exit::Changed | Exit::Busy) if is_in_vain => Some(Ping::Failed),
        Ok(Exit::Done | Exit::Changed | Exit::Busy) => Some(Ping::Succeeded),
        Ok(Exit::Interrupted | Exit::Terminated) => None,
        Ok(Exit::SomeFailed | Exit::Guarded | Exit::Usage | Exit::Unavailable | Exit::Config | Exit::NotFound)
        | Err(_) => Some(Ping::Failed),
    }
}
