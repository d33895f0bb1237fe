//! Plan steps in the store: one row of facts, and what a continuation, an escalation and a recovery write.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;
use serde_json::json;

use super::Label;
use super::issues::comment;
use super::label::{called, labels};
use super::links::Links;
use super::lock::LockStatement;
use super::rows::{AgentRow, HistoryRow, WakesRow, agent_columns, facts_of, history_columns, wake_columns};
use super::schema::{plan_steps, plans, step_decided_facts, step_facts, wakes};
use super::subject::Right;
use super::types::{Bound, Document, Instant, LossyText};
use super::written::{insert_one, update_as_seen};
use super::{Db, Lock, Subject, errors, ledger};
use crate::rules::request::Request;
use crate::rules::step::{Step, StepFacts, escalation_comment};
use crate::rules::{Cause, ContinueBy, Id, Policy};
use crate::text::quoted;

const REASON: &str = "plan_step_stalled";

/// The plan is locked since its status may change, its agent against a pause, the issue as a sweep of issues does it:
/// of all that works on one issue, only one is continued.
const LOCK: LockStatement = LockStatement {
    select: "SELECT (SELECT a.id FROM agents a WHERE a.id = p.agent_id FOR SHARE SKIP LOCKED), \
             (SELECT i.id FROM issues i WHERE i.id = p.issue_id FOR UPDATE SKIP LOCKED) \
             FROM plan_steps s JOIN plans p ON p.id = s.plan_id WHERE s.id = ",
    locking: " FOR UPDATE OF s SKIP LOCKED FOR NO KEY UPDATE OF p SKIP LOCKED",
};

impl Subject for StepFacts {
    const RELATION: &'static str = "plan_steps";
    const RIGHTS: &'static [Right] = &[
        ("agents", "SELECT"),
        ("agents", "UPDATE"),
        ("issues", "SELECT"),
        ("issues", "UPDATE"),
        ("plans", "SELECT"),
        ("plans", "UPDATE"),
        ("plan_steps", "SELECT"),
        ("plan_steps", "UPDATE"),
        ("wakes", "INSERT"),
        ("comments", "INSERT"),
    ];

    fn lock(db: &mut Db, id: &Id) -> QueryResult<Lock> {
        db.lock(&LOCK, id)
    }

    fn read(db: &mut Db, id: &Id) -> QueryResult<Option<StepFacts>> {
        let Some(mut facts) = read_one(db, id)? else { return Ok(None) };
        if facts.plan_status == "stalled" {
            facts.siblings = siblings(db, &facts)?;
        }
        Ok(Some(facts))
    }

    fn called(db: &mut Db, identifier: &str) -> QueryResult<Vec<Label>> {
        called!(step_facts, db, identifier)
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

    fn resume(&self, db: &mut Db, _remedy: ContinueBy, wake_id: &Id, _policy: &Policy) -> QueryResult<()> {
        self.set_plan_status(db, "stalled")?;
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
        insert_one(db, "wakes", |db| wake.execute(db))
    }

    fn escalate(&self, db: &mut Db, cause: &Cause, _policy: &Policy, links: &Links) -> QueryResult<bool> {
        self.set_plan_status(db, "stalled")?;
        if let Some(issue) = &self.issue_id {
            let url = links.to(&self.page(&self.step.id));
            comment(db, issue, &escalation_comment(self, cause, quoted, url.as_deref()))?;
        }
        Ok(false)
    }

    /// A stalled plan that has no stalled step left goes on executing.
    fn recover(&self, db: &mut Db) -> QueryResult<()> {
        if self.plan_status == "stalled" { self.set_plan_status(db, "executing") } else { Ok(()) }
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
    fn set_plan_status(&self, db: &mut Db, status: &str) -> QueryResult<()> {
        if self.plan_status == status {
            return Ok(());
        }
        let as_seen = plans::table.filter(plans::id.eq(&self.plan_id)).filter(plans::status.eq(&self.plan_status));
        let changed = diesel::update(as_seen)
            .set((plans::status.eq(status), plans::updated_at.eq(Instant(self.history.observed_at))));
        update_as_seen(db, |db| changed.execute(db))
    }
}

fn read_one(db: &mut Db, id: &Id) -> QueryResult<Option<StepFacts>> {
    use step_decided_facts::*;
    let columns = (
        (subject_id, position, title, status, idle_since, stalled_after_seconds),
        (tenant, identifier, plan_id, plan_status, issue_id),
        agent_columns!(step_decided_facts),
        (has_live_run, pending_wake_since, pending_wake),
        history_columns!(step_decided_facts),
        wake_columns!(step_decided_facts),
    );
    let row = facts_of!(step_decided_facts, id).select(columns).get_result::<StepFactsRow>(db).optional()?;
    Ok(row.map(StepFacts::from))
}

/// The plan's other steps in progress, one by one: a row that cannot be read must not cost the others.
fn siblings(db: &mut Db, facts: &StepFacts) -> QueryResult<Vec<Option<StepFacts>>> {
    let of_plan = step_facts::table.filter(step_facts::plan_id.eq(&facts.plan_id));
    let others = of_plan.filter(step_facts::subject_id.ne(&facts.step.id)).filter(step_facts::status.eq("in_progress"));
    let others: Vec<Id> = others.select(step_facts::subject_id).load(db)?;
    let read = |id: &Id| match read_one(db, id) {
        Err(error) if errors::is_undecodable(&error) => Ok(None),
        read => read,
    };
    others.iter().map(read).collect()
}

/// A step as its row has it. What is shown of a plan reads times as well that a sweep refuses.
#[derive(Queryable)]
pub(super) struct StepRow<Time> {
    pub id: Id,
    pub position: i32,
    pub title: LossyText,
    pub status: LossyText,
    pub since: Time,
    pub stalled_after_seconds: Option<i32>,
}

impl<Time> StepRow<Time> {
    pub fn step(&self, since: DateTime<Utc>) -> Step {
        Step {
            id: self.id.clone(),
            position: self.position,
            title: self.title.0.clone(),
            status: self.status.0.clone(),
            since,
            stalled_after: self.stalled_after_seconds.map(|seconds| TimeDelta::seconds(seconds.into())),
        }
    }
}

#[derive(Queryable)]
struct StepFactsRow {
    step: StepRow<DateTime<Utc>>,
    plan: (String, LossyText, Id, LossyText, Option<Id>),
    agent: AgentRow,
    state: (bool, Option<DateTime<Utc>>, Option<LossyText>),
    history: HistoryRow,
    wakes: WakesRow,
}

impl From<StepFactsRow> for StepFacts {
    fn from(row: StepFactsRow) -> StepFacts {
        let (tenant, identifier, plan_id, plan_status, issue_id) = row.plan;
        let (has_live_run, pending_wake_since, pending_wake) = row.state;
        let assignee = row.agent.into_assignee(None);
        let (step, history) = (row.step.step(row.step.since), row.history.with_wakes(row.wakes));
        StepFacts {
            step,
            tenant,
            identifier: identifier.into(),
            plan_id,
            plan_status: plan_status.into(),
            assignee,
            issue_id,
            has_live_run,
            pending_wake_since,
            pending_wake: pending_wake.map(LossyText::into),
            history,
            siblings: Vec::new(),
        }
    }
}
