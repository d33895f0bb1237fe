//! The guard: before a kind is touched, how much of it would be?
//!
//! Counting costs next to nothing as long as there are few candidates. Only when there are suspiciously many is each of
//! them decided, as in a dry run, until it is certain: candidates that wait or have healed are no reason to stop.

use anyhow::Result;

use super::examine::Terms;
use super::limits::{Limits, Wakes};
use super::logs;
use super::scan::Scan;
use super::workers::Workers;
use crate::report::Guarded;
use crate::rules::{Guard, Kind};
use crate::store::candidates::Part;
use crate::store::outbox::{self, Details, Event, Notice};
use crate::store::{Access, Db, Subject};

/// So many are counted to the end, so that the number that is told is the whole one.
const COUNTED_MAX: u64 = 1000;

/// Does the guard stop the sweep at this kind?
pub fn check<S: Subject>(
    guard: &Guard,
    scan: &mut Scan<S>,
    workers: &mut Workers,
    terms: &Terms,
    limits: &Limits,
) -> Result<Option<Guarded>> {
    let few = scan.count_if_few()?;
    if few.is_some_and(|candidates| candidates <= guard.min.into()) {
        return Ok(None);
    }
    let part = Part { tenant: terms.tenant, ..Part::whole() };
    let (candidates, in_progress) = scan.look("looking at", |db| {
        let candidates = few.map_or_else(|| S::count_candidates(db, &part).map(|n| n as u64), Ok)?;
        Ok((candidates, S::count_in_progress(db, terms.tenant)? as u64))
    })?;
    if !guard.stops(candidates, in_progress) {
        return Ok(None);
    }
    let counted_max = guard.stranded_max(in_progress).max(COUNTED_MAX) + 1;
    let look = Terms { access: Access::ReadOnly, plan: None, shard: None, wakes: &Wakes::new(u32::MAX), ..*terms };
    let mut counting = Limits { left: u32::try_from(counted_max).ok(), ..limits.clone() };
    let mut stranded = 0;
    workers.examine_all(&mut scan.again(&look), &look, &mut counting, |examined| {
        stranded += u64::from(examined.outcome.is_costly());
    })?;
    // Cut short by the deadline or a signal, it may be certain of nothing; but then nothing more is begun either.
    let at_least = counted_max <= stranded || counting.are_over();
    Ok(guard.stops(stranded, in_progress).then_some(Guarded { stranded, at_least, in_progress }))
}

/// Has people told of it. That it cannot be queued is told, and no reason for the sweep to fail.
pub fn tell(db: &mut Db, kind: Kind, guarded: &Guarded, terms: &Terms) {
    if terms.access == Access::ReadOnly {
        return;
    }
    let details = Details { reason: guarded.tell(kind), ..Details::default() };
    let (event, sweep_id) = (Event::GuardStopped, terms.sweep_id);
    let notice = Notice { event, kind, subject_id: None, sweep_id, details };
    let queued =
        db.in_transaction(Access::Write, &terms.timeouts, |db| outbox::queue_guard(db, terms.queueing, &notice));
    if let Err(abort) = queued {
        logs::untold(kind, abort);
    }
}
