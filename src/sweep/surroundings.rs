//! What no rule for a subject sees, and people are notified of: wakes that nobody takes up, runs that have never shown
//! a sign of life, and issues that the host left to itself.
//!
//! Stuck wakes are reported by each sweep; people are notified once when it begins, once when none at all is taken up
//! any more, and once when it is over. An issue that the host left is reported once: what it blocked without notifying
//! anybody if somebody asked for it, and what is to do and nothing will start. Nothing else is done about either.
//! decisions.md#stuck-wakes

use chrono::{DateTime, TimeDelta, Utc};
use diesel::QueryResult;
use tracing::warn;

use super::logs;
use super::{ExamineContext, Options, Stuck};
use crate::rules::{Id, Kind};
use crate::store::db::types::LossyText;
use crate::store::hosts::links::LinkTarget;
use crate::store::work::outbox::{self, Details, Event, Notice};
use crate::store::work::surroundings::{
    LEFT, LeftWork, StuckQuestion, count_stuck, has_view, read_stuck, unnotified, unnotified_runs,
};
use crate::store::{Access, Db, DbConnection};

/// The wakes that are stuck at the end of a sweep; one that writes has people notified of them. None when that cannot
/// be asked, which is logged and no reason for a sweep to fail.
pub fn check_wakes(db: &mut DbConnection, options: &Options, access: Access, sweep_id: &Id) -> Option<Stuck> {
    let after = options.policy.wake_stuck_after;
    // The clock is asked again: a sweep may have taken long, and has queued wakes itself.
    let looked = db.in_transaction(Access::ReadOnly, &options.timeouts, |db| {
        let now = db.now()?;
        Ok((now, read_stuck(db, &wanted(options, after, now))?))
    });
    let (now, wakes) =
        looked.map_err(|abort| logs::surroundings("whether wakes are stuck could not be asked", abort)).ok()?;
    let stuck = Stuck { wakes, after, now };
    if 0 < wakes.count {
        warn!(stuck_wakes = wakes.count, "{}", stuck.sentence());
    }
    if access == Access::Write {
        announce_stuck_wakes(db, options, sweep_id, &stuck);
    }
    Some(stuck)
}

fn wanted(options: &Options, after: TimeDelta, now: DateTime<Utc>) -> StuckQuestion<'_> {
    StuckQuestion { tenant: options.tenant.as_deref(), agent: None, after, now }
}

/// Has people notified: once for each time that it begins, and once when the oldest has waited for less than half the
/// limit again.
fn announce_stuck_wakes(db: &mut DbConnection, options: &Options, sweep_id: &Id, found: &Stuck) {
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
        let is_over = 0 == found.wakes.count && 0 == count_stuck(db, &wanted(options, found.after / 2, found.now))?;
        match (0 < found.wakes.count, is_over) {
            (true, _) => outbox::queue_outage(db, subscriptions, &notice(false), tenant),
            (false, true) => outbox::queue_outage(db, subscriptions, &notice(true), tenant),
            (false, false) => Ok(()),
        }
    });
    if let Err(abort) = queued {
        logs::surroundings("that wakes are stuck, or no longer, could not be queued as a notification", abort);
    }
}

/// Queues the issues that the host left and nobody was notified of.
pub fn announce_left_issues(db: &mut DbConnection, context: &ExamineContext) {
    let mut wanted = LEFT.to_vec();
    wanted.retain(|(event, _)| context.subscriptions.wants(*event));
    if !wanted.is_empty() {
        announce(db, context, "left_issues", |db| {
            let left = unnotified(db, context.part.tenant, &wanted)?;
            Ok(left.into_iter().map(|(event, issue)| (event, Kind::Issue, issue)).collect())
        });
    }
}

/// Queues the runs that have never shown a sign of life, and of which nobody was notified.
pub fn announce_unheard_runs(db: &mut DbConnection, context: &ExamineContext) {
    if context.subscriptions.wants(Event::RunUnheard) {
        announce(db, context, "unheard_runs", |db| {
            let unheard = unnotified_runs(db, context.part.tenant, context.policy.run_silent_after)?;
            Ok(unheard.into_iter().map(|(kind, work)| (Event::RunUnheard, kind, work)).collect())
        });
    }
}

/// Queues what is found in a view, where the host has it. That this fails is logged, and no reason for the sweep to
/// fail.
fn announce(
    db: &mut DbConnection,
    context: &ExamineContext,
    view: &str,
    find: impl FnOnce(&mut Db) -> QueryResult<Vec<(Event, Kind, LeftWork)>>,
) {
    if context.access == Access::ReadOnly {
        return;
    }
    let queued = db.in_transaction(Access::Write, &context.timeouts, |db| {
        if !has_view(db, view)? {
            return Ok(());
        }
        // The shards of one sweep come here at the same moment.
        outbox::one_at_a_time(db)?;
        find(db)?.into_iter().try_for_each(|(event, kind, work)| queue(db, event, kind, work, context))
    });
    if let Err(abort) = queued {
        logs::surroundings(&format!("the notifications of the view {view} could not be queued"), abort);
    }
}

fn queue(db: &mut Db, event: Event, kind: Kind, work: LeftWork, context: &ExamineContext) -> QueryResult<()> {
    let LeftWork { id, tenant, identifier, title, agent_name, reason } = work;
    let (identifier, tenant): (Option<String>, String) = (identifier.map(LossyText::into), tenant.into());
    let (identifier_of, tenant_of) = (identifier.as_deref(), Some(tenant.as_str()));
    let page = LinkTarget { kind, id: &id, identifier: identifier_of, tenant: tenant_of, agent: None };
    let details = Details {
        url: context.links.to(&page),
        identifier,
        title: Some(title.into()),
        tenant: Some(tenant),
        agent: agent_name.map(LossyText::into),
        reason: reason.into(),
        ..Details::default()
    };
    let notice = Notice { event, kind: kind.name(), subject_id: Some(&id), sweep_id: context.sweep_id, details };
    outbox::queue(db, context.subscriptions, &notice)
}
