//! What the host blocked itself without notifying anybody is said once, if somebody asked for it: nothing else is done
//! about it.

use super::context::ExamineContext;
use super::logs;
use crate::rules::Kind;
use crate::store::host_blocks::{self, HostBlock};
use crate::store::links::Page;
use crate::store::outbox::{self, Details, Event, Notice};
use crate::store::types::LossyText;
use crate::store::{Access, Db, DbConnection};

/// Queues what has not been reported. That it cannot be queued is logged, and no reason for the sweep to fail.
pub fn announce(db: &mut DbConnection, context: &ExamineContext) {
    if context.access == Access::ReadOnly || !context.subscriptions.wants(Event::HostBlocked) {
        return;
    }
    let queued = db.in_transaction(Access::Write, &context.timeouts, |db| {
        // The shards of one sweep come here at the same moment.
        outbox::one_at_a_time(db)?;
        host_blocks::unnotified(db, context.tenant)?.into_iter().try_for_each(|block| queue(db, block, context))
    });
    if let Err(abort) = queued {
        logs::unqueued(Kind::Issue, abort);
    }
}

fn queue(db: &mut Db, block: HostBlock, context: &ExamineContext) -> diesel::QueryResult<()> {
    let HostBlock { id, tenant, identifier, title, agent_name, reason } = block;
    let (identifier, tenant): (Option<String>, String) = (identifier.map(LossyText::into), tenant.into());
    let (identifier_of, tenant_of) = (identifier.as_deref(), Some(tenant.as_str()));
    let page = Page { kind: Kind::Issue, id: &id, identifier: identifier_of, tenant: tenant_of, agent: None };
    let details = Details {
        url: context.links.to(&page),
        identifier,
        title: Some(title.into()),
        tenant: Some(tenant),
        agent: agent_name.map(LossyText::into),
        reason: reason.into(),
        ..Details::default()
    };
    let (event, kind, sweep_id) = (Event::HostBlocked, Kind::Issue.name(), context.sweep_id);
    let notice = Notice { event, kind, subject_id: Some(&id), sweep_id, details };
    outbox::queue(db, context.subscriptions, &notice)
}
