//! One subject explained: what a sweep would do now, every clause of its definition, what was tried, and the ledger.

use askama::Template;

use super::chart::Mark;
use super::frame::Frame;
use super::item::{agent_link, external};
use super::route::{Here, Link};
use super::shown::Shown;
use crate::report::explain::{Explanation, quarantine};
use crate::rules::display::{format_utc, humanize};

#[derive(Template)]
#[template(path = "subject.html")]
pub struct SubjectPage {
    frame: Frame,
    kind: &'static str,
    id: Shown,
    name: Shown,
    title: Shown,
    /// Its page on the host's own board.
    board: Option<String>,
    assignee: Shown,
    agent: Option<Link>,
    tenant: Option<Link>,
    decision: &'static str,
    decides_now: &'static str,
    would: Shown,
    would_change: &'static str,
    quarantine: Option<Shown>,
    definition: &'static str,
    clauses: Vec<ClauseView>,
    so: String,
    history: Vec<[Shown; 2]>,
    recoveries_total: i64,
    recoveries: Vec<RecoveryView>,
}

struct ClauseView {
    demand: Shown,
    found: Shown,
    holds: bool,
}

/// A row of the ledger.
struct RecoveryView {
    at: String,
    action: Shown,
    attempt: i32,
    reason: Shown,
    blocked: bool,
    settled: Option<String>,
}

impl SubjectPage {
    /// Nothing is known here of the sweeper: the mark says how the subject stands.
    pub fn of(explanation: &Explanation, here: &Here) -> SubjectPage {
        let route = &here.route;
        let Explanation { label, kind, verdict, past, failure, .. } = explanation;
        let (name, agent_id) = (label.name(), explanation.assignee.id());
        let mark = if verdict.finding.is_some() { Mark::Failing } else { Mark::Well };
        let title = format!("{kind} {name} · {} · sweep", explanation.title);
        let assignee = explanation.assignee.describe();
        let (definition, clauses) = &verdict.definition;
        let clauses = clauses.iter().map(|clause| ClauseView {
            demand: Shown::of(&clause.demand),
            found: Shown::of(&clause.found),
            holds: clause.failure.is_none(),
        });
        let recoveries = past.latest.iter().rev().map(|row| RecoveryView {
            at: format_utc(row.created_at),
            action: Shown::of(&humanize(&row.action)),
            attempt: row.attempt,
            reason: Shown::of(&row.reason),
            blocked: row.blocked_subject,
            settled: row.settled_at.map(format_utc),
        });
        let held = failure.as_ref().filter(|failure| failure.quarantined_at.is_some());
        SubjectPage {
            frame: Frame::of(here, mark, &title).read(None, explanation.observed_at()),
            kind: kind.name(),
            id: Shown::id(&label.id),
            name: Shown::of(&name),
            title: Shown::of(&explanation.title),
            board: explanation.url.as_deref().and_then(external),
            agent: agent_id.and_then(|id| agent_link(route, Some(id), Some(&assignee))),
            assignee: Shown::of(&assignee),
            tenant: label
                .tenant
                .as_deref()
                .map(|tenant| Link { text: Shown::of(tenant), href: route.to_tenant(tenant) }),
            decision: verdict.decision.name(),
            decides_now: explanation.decides_now(),
            would: Shown::of(&verdict.decision.announce(verdict.attempts_max)),
            would_change: verdict.decision.what_would_change_it(),
            quarantine: held.map(|failure| Shown::of(&quarantine(failure, *kind, label))),
            definition: definition.definition(),
            clauses: clauses.collect(),
            so: explanation.so(),
            history: explanation.history().into_iter().map(|row| row.map(|text| Shown::of(&text))).collect(),
            recoveries_total: past.total,
            recoveries: recoveries.collect(),
        }
    }
}
