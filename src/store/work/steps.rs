//! Plan steps in the store: one row of facts, and what a continuation, an escalation and a recovery write.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use diesel::deserialize;
use diesel::dsl::count_star;
use diesel::prelude::*;
use serde_json::json;

use crate::rules::request::Request;
use crate::rules::step::{Holders, Step, StepFacts, escalation_comment};
use crate::rules::{Cause, ContinueBy, Id, Policy};
use crate::store::db::columns::{Columns, FromColumns, Utf8};
use crate::store::db::lists::{called, labels};
use crate::store::db::schema::{plan_steps, plans, step_facts, wakes};
use crate::store::db::types::{Bound, Document, Instant, IsOneOf};
use crate::store::db::written::{Writes, update_as_seen};
use crate::store::hosts::links::Links;
use crate::store::work::issues::comment;
use crate::store::work::ledger;
use crate::store::work::rows::{read_assignee, read_history_with_wakes};
use crate::store::{Db, Label, Subject};
use crate::text::quoted;

const REASON: &str = "plan_step_stalled";

/// Steps in progress of one plan that are looked at to find who holds the plan. A plan with more counts as held: a
/// tenant may write any number.
const SIBLINGS_MAX: i64 = 100;

/// Plans of which a scan remembers who holds them.
const KNOWN_MAX: usize = 10_000;

/// The plans that a scan has asked about.
type Known = BTreeMap<Id, Holders>;

impl Subject for StepFacts {
    type Known = Known;
    const RELATION: &'static str = "plan_steps";
    /// The plans of as many may be new to the scan, and the steps of all these are read.
    const LOOK: usize = 250;

    fn complete(db: &mut Db, all: &mut [StepFacts], policy: &Policy, known: &mut Known) -> QueryResult<()> {
        let mut healing: Vec<&mut StepFacts> = all.iter_mut().filter(|facts| facts.may_recover_its_plan()).collect();
        let plans: BTreeSet<&Id> = healing.iter().map(|facts| &facts.plan_id).collect();
        if KNOWN_MAX < known.len() {
            known.clear();
        }
        let unknown: Vec<Id> = plans.into_iter().filter(|plan| !known.contains_key(plan)).cloned().collect();
        if !unknown.is_empty() {
            known.extend(holders(db, unknown, policy)?);
        }
        for facts in &mut healing {
            facts.holders = known.get(&facts.plan_id).cloned();
        }
        Ok(())
    }

    fn called(db: &mut Db, identifier: &str) -> QueryResult<Vec<Label>> {
        called!(step_facts, db, identifier)
    }

    fn id(&self) -> &Id {
        &self.step.id
    }

    fn identifier(&self) -> Option<&str> {
        Some(&self.identifier)
    }

    fn title(&self) -> &str {
        &self.step.title
    }

    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn linked_issue(&self) -> Option<&Id> {
        self.issue_id.as_ref()
    }

    /// Its plan is locked with it, and its plan's issue.
    fn lock_group(&self) -> &Id {
        self.issue_id.as_ref().unwrap_or(&self.plan_id)
    }

    fn resume<'a>(
        &'a self,
        writes: &mut Writes<'a>,
        _remedy: ContinueBy,
        wake_id: &'a Id,
        _policy: &'a Policy,
    ) -> QueryResult<()> {
        self.set_plan_status(writes, "stalled");
        let payload = json!({
            "planId": self.plan_id, "planStepId": self.step.id, "issueId": self.issue_id, "wakeReason": REASON,
        });
        let wake = diesel::insert_into(wakes::table).values((
            wakes::id.eq(wake_id),
            wakes::agent_id.eq(self.assignee.id().ok_or(diesel::result::Error::NotFound)?),
            wakes::issue_id.eq(Bound::optional(self.issue_id.as_ref())),
            wakes::plan_step_id.eq(&self.step.id),
            wakes::reason.eq(REASON),
            wakes::payload.eq(Document(payload)),
            wakes::requested_by.eq(ledger::ACTOR),
        ));
        writes.insert("wakes", wake);
        Ok(())
    }

    fn escalate<'a>(&'a self, writes: &mut Writes<'a>, cause: &Cause, _policy: &Policy, links: &Links) -> bool {
        self.set_plan_status(writes, "stalled");
        if let Some(issue) = &self.issue_id {
            let url = links.to(&self.page(&self.step.id));
            comment(writes, issue, &escalation_comment(self, cause, quoted, url.as_deref()));
        }
        false
    }

    /// A stalled plan that has no stalled step left goes on executing.
    fn recover<'a>(&'a self, writes: &mut Writes<'a>) {
        if self.plan_status == "stalled" {
            self.set_plan_status(writes, "executing");
        }
    }

    fn write(&self, db: &mut Db, request: Request) -> QueryResult<()> {
        match request {
            Request::SkipStep => self.set_status(db, "skipped"),
            Request::FailStep => self.set_status(db, "failed"),
            Request::Wake
            | Request::Nudge
            | Request::Relaunch
            | Request::Heartbeat
            | Request::Pause
            | Request::Resume => Ok(()),
        }
    }
}

impl StepFacts {
    fn set_status(&self, db: &mut Db, status: &str) -> QueryResult<()> {
        use plan_steps::{id, status as as_stored, table, updated_at};
        let as_seen = table.filter(id.eq(&self.step.id)).filter(as_stored.eq(&self.step.status));
        let changed =
            diesel::update(as_seen).set((as_stored.eq(status), updated_at.eq(Instant(self.history.observed_at))));
        update_as_seen(db, |db| changed.execute(db))
    }

    /// Repeats in its WHERE what was decided upon, and fails with `NotFound` when the plan is no longer so.
    fn set_plan_status<'a>(&'a self, writes: &mut Writes<'a>, status: &'a str) {
        if self.plan_status == status {
            return;
        }
        let as_seen = plans::table.filter(plans::id.eq(&self.plan_id)).filter(plans::status.eq(&self.plan_status));
        let values = (plans::status.eq(status), plans::updated_at.eq(Instant(self.history.observed_at)));
        writes.update_as_seen(diesel::update(as_seen).set(values));
    }
}

/// Finds out who holds each of these plans.
fn holders(db: &mut Db, plans: Vec<Id>, policy: &Policy) -> QueryResult<BTreeMap<Id, Holders>> {
    use step_facts::{plan_id, status, subject_id, table};
    let in_progress = |plans: &[Id]| table.filter(IsOneOf::new(plan_id, plans)).filter(status.eq("in_progress"));
    let large = in_progress(&plans).group_by(plan_id).having(count_star().gt(SIBLINGS_MAX)).select(plan_id);
    let large: BTreeSet<Id> = large.load(db)?.into_iter().collect();
    let (large, small): (Vec<Id>, Vec<Id>) = plans.into_iter().partition(|plan| large.contains(plan));
    let steps: Vec<(Id, Id)> = in_progress(&small).select((plan_id, subject_id)).load(db)?;
    let mut holders: BTreeMap<Id, Vec<Option<Id>>> = small.into_iter().map(|plan| (plan, Vec::new())).collect();
    for steps in steps.chunks(StepFacts::LOOK) {
        let ids: Vec<Id> = steps.iter().map(|(_, id)| id.clone()).collect();
        let facts = StepFacts::read_all(db, &ids)?;
        let holds: BTreeMap<&Id, bool> = facts.iter().map(|it| (&it.step.id, it.holds_its_plan(policy))).collect();
        for (plan, id) in steps {
            let of_plan = holders.entry(plan.clone()).or_default();
            match holds.get(id) {
                Some(false) => {}
                _ if 2 <= of_plan.len() => {}
                Some(true) => of_plan.push(Some(id.clone())),
                None => of_plan.push(None),
            }
        }
    }
    holders.extend(large.into_iter().map(|plan| (plan, vec![None])));
    Ok(holders.into_iter().map(|(plan, holders)| (plan, holders.into())).collect())
}

impl FromColumns for StepFacts {
    fn from_columns(columns: &mut impl Columns) -> deserialize::Result<StepFacts> {
        let history = read_history_with_wakes(columns)?;
        let step = Step {
            id: columns.get("subject_id")?,
            position: columns.get("position")?,
            title: columns.get("title")?,
            status: columns.get("status")?,
            since: history.idle_since,
            stalled_after: stalled_after(columns.get("stalled_after_seconds")?),
        };
        Ok(StepFacts {
            step,
            tenant: columns.get::<Utf8>("tenant")?.0,
            identifier: columns.get("identifier")?,
            plan_id: columns.get("plan_id")?,
            plan_status: columns.get("plan_status")?,
            assignee: read_assignee(columns, None)?,
            issue_id: columns.get("issue_id")?,
            has_live_run: columns.get("has_live_run")?,
            pending_wake_since: columns.get("pending_wake_since")?,
            pending_wake: columns.get("pending_wake")?,
            history,
            holders: None,
        })
    }
}

/// After how long without a change a step of this row is stalled, if the row says so.
pub(in crate::store) fn stalled_after(seconds: Option<i32>) -> Option<TimeDelta> {
    seconds.map(|seconds| TimeDelta::seconds(seconds.into()))
}
