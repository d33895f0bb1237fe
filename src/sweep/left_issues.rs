//! What the host left to itself is said once: what it blocked without notifying anybody if somebody asked for it, and
//! what is to do and nothing will start. Nothing else is done about either.

use super::context::ExamineContext;
use super::logs;
use crate::rules::Kind;
use crate::store::db::types::LossyText;
use crate::store::hosts::links::SubjectPage;
use crate::store::work::left_issues::{LEFT, LeftIssue, are_known, unnotified};
use crate::store::work::outbox::{self, Details, Event, Notice};
use crate::store::{Access, Db, DbConnection};

/// Queues what has not been reported. That it cannot be queued is logged, and no reason for the sweep to fail.
pub fn announce(db: &mut DbConnection, context: &ExamineContext) {
    let mut wanted = LEFT.to_vec();
    wanted.retain(|(event, _)| context.subscriptions.wants(*event));
    if context.access == Access::ReadOnly || wanted.is_empty() {
        return;
    }
    let queued = db.in_transaction(Access::Write, &context.timeouts, |db| {
        if !are_known(db)? {
            return Ok(());
        }
        // The shards of one sweep come here at the same moment.
        outbox::one_at_a_time(db)?;
        let left = unnotified(db, context.tenant, &wanted)?;
        left.into_iter().try_for_each(|(event, issue)| queue(db, issue, event, context))
    });
    if let Err(abort) = queued {
        logs::unqueued(Kind::Issue, abort);
    }
}

fn queue(db: &mut Db, issue: LeftIssue, event: Event, context: &ExamineContext) -> diesel::QueryResult<()> {
    let LeftIssue { id, tenant, identifier, title, agent_name, reason } = issue;
    let (identifier, tenant): (Option<String>, String) = (identifier.map(LossyText::into), tenant.into());
    let (identifier_of, tenant_of) = (identifier.as_deref(), Some(tenant.as_str()));
    let page = SubjectPage { kind: Kind::Issue, id: &id, identifier: identifier_of, tenant: tenant_of, agent: None };
    let details = Details {
        url: context.links.to(&page),
        identifier,
        title: Some(title.into()),
        tenant: Some(tenant),
        agent: agent_name.map(LossyText::into),
        reason: reason.into(),
        ..Details::default()
    };
    let (kind, sweep_id) = (Kind::Issue.name(), context.sweep_id);
    let notice = Notice { event, kind, subject_id: Some(&id), sweep_id, details };
    outbox::queue(db, context.subscriptions, &notice)
}
