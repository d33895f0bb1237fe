//! What no rule for a subject sees: that wakes are queued and nobody takes them up. It is reported by each sweep, and
//! people are notified once when it begins, once when none at all is taken up any more, and once when it is over.

use chrono::{DateTime, TimeDelta, Utc};
use tracing::warn;

use super::logs;
use super::options::Options;
use super::tally::Stuck;
use crate::rules::Id;
use crate::store::work::outbox::{self, Details, Event, Notice};
use crate::store::work::wakes::{Wanted, count, stuck};
use crate::store::{Access, DbConnection};

/// The wakes that are stuck at the end of a sweep; one that writes has people notified of them.
pub fn check(db: &mut DbConnection, options: &Options, access: Access, sweep_id: &Id) -> Option<Stuck> {
    let stuck = look(db, options)?;
    if access == Access::Write {
        announce(db, options, sweep_id, &stuck);
    }
    Some(stuck)
}

/// The wakes that are stuck; none when that cannot be asked, which is logged and no reason for a sweep to fail.
fn look(db: &mut DbConnection, options: &Options) -> Option<Stuck> {
    let after = options.policy.wake_stuck_after;
    // By the clock of now: a sweep may have taken long, and has queued wakes itself.
    let looked = db.in_transaction(Access::ReadOnly, &options.timeouts, |db| {
        let now = db.now()?;
        Ok((now, stuck(db, &wanted(options, after, now))?))
    });
    let (now, wakes) =
        looked.map_err(|abort| logs::stuck_wakes("whether wakes are stuck could not be asked", abort)).ok()?;
    let found = Stuck { wakes, after, now };
    if 0 < wakes.count {
        warn!(stuck_wakes = wakes.count, "{}", found.sentence());
    }
    Some(found)
}

fn wanted(options: &Options, after: TimeDelta, now: DateTime<Utc>) -> Wanted<'_> {
    Wanted { tenant: options.tenant.as_deref(), agent: None, after, now }
}

/// Has people notified: once for each time that it begins, and once when the oldest has waited for less than half the
/// limit again.
fn announce(db: &mut DbConnection, options: &Options, sweep_id: &Id, found: &Stuck) {
    let subscriptions = &options.subscriptions;
    if !subscriptions.wants(Event::WakesStuck) {
        return;
    }
    let tenant = options.tenant.as_deref();
    let notice = |resolved: bool| {
        let reason = if resolved { found.all_clear() } else { found.sentence() };
        let tenant = tenant.map(str::to_owned);
        let none_is_taken = Some(found.wakes.none_is_taken);
        let details = Details { reason, tenant, resolved: Some(resolved), none_is_taken, ..Details::default() };
        Notice { event: Event::WakesStuck, kind: "wake", subject_id: None, sweep_id, details }
    };
    let queued = db.in_transaction(Access::Write, &options.timeouts, |db| {
        let is_over = 0 == found.wakes.count && 0 == count(db, &wanted(options, found.after / 2, found.now))?;
        match (0 < found.wakes.count, is_over) {
            (true, _) => outbox::queue_outage(db, subscriptions, &notice(false), tenant),
            (false, true) => outbox::queue_outage(db, subscriptions, &notice(true), tenant),
            (false, false) => Ok(()),
        }
    });
    if let Err(abort) = queued {
        logs::stuck_wakes("that wakes are stuck, or no longer, could not be queued as a notification", abort);
    }
}
