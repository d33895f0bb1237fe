//! Issues and plan steps in the store, which go on by a wake: one row of facts of each, and what a continuation, an
//! escalation and a recovery write; and the columns that the facts of every kind have.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use diesel::deserialize::Result;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::result::Error;
use serde_json::json;

use crate::rules::issue::{self, IssueFacts, unblock_action};
use crate::rules::request::Request;
use crate::rules::step::{self, Holders, Step, StepFacts};
use crate::rules::{
    Assignee, Cause, Escalation, Exemption, History, Id, Kind, OpenRecovery, Policy, Unavailable, UnendedRuns, Whose,
};
use crate::store::db::columns::{Columns, FromColumns, Key, Utf8};
use crate::store::db::schema::{comments, issues, plan_steps, plans, step_facts, wakes};
use crate::store::db::types::{Bound, Document, Instant, IsOneOf};
use crate::store::db::written::{Writes, update_as_seen};
use crate::store::hosts::links::Links;
use crate::store::work::find;
use crate::store::work::ledger::{self, Action};
use crate::store::work::subject::Naming;
use crate::store::{Db, Label, Subject};
use crate::text::{plain, quoted};

/// The reason of a wake that resumes an issue; a host's own continuations carry the same words.
const ISSUE_REASON: &str = "issue_continuation_needed";

impl Subject for IssueFacts {
    type Known = ();
    const RELATION: &'static str = "issues";
    const LOOK: usize = 1000;

    /// The facts hold but the beginning of a name, for which no index serves.
    fn called(db: &mut Db, identifier: &str) -> QueryResult<Vec<Label>> {
        let named = issues::table.filter(issues::identifier.eq(identifier)).order(issues::id).limit(2);
        let ids: Vec<Id> = named.select(issues::id).load(db)?;
        ids.into_iter().filter_map(|id| find::label(db, Kind::Issue, &id).transpose()).collect()
    }

    fn id(&self) -> &Id {
        &self.id
    }

    fn naming(&self) -> Naming<'_> {
        Naming { identifier: self.identifier.as_deref(), title: &self.title, tenant: &self.tenant }
    }

    fn linked_issue(&self) -> Option<&Id> {
        None
    }

    fn resume<'a>(&'a self, writes: &mut Writes<'a>, wake_id: &'a Id, _nudge: Option<&'a str>) -> QueryResult<()> {
        let payload = json!({
            "issueId": self.id, "retryOfRunId": self.last_run_id,
            "wakeReason": ISSUE_REASON, "retryReason": ISSUE_REASON,
        });
        let agent = self.assignee.id().ok_or(Error::NotFound)?;
        let wake = (wake_by_sweep(wake_id, agent, ISSUE_REASON, Document(payload)), wakes::issue_id.eq(&self.id));
        writes.insert("wakes", diesel::insert_into(wakes::table).values(wake));
        Ok(())
    }

    fn escalate<'a>(&'a self, writes: &mut Writes<'a>, cause: &Cause, policy: &Policy, _links: &Links) -> bool {
        let blocks = policy.escalation == Escalation::CommentAndBlock;
        if blocks {
            block(self, writes, &unblock_action(&self.resume_advice));
        }
        comment(writes, &self.id, &issue::escalation_comment(self, cause, policy, quoted));
        blocks
    }

    fn report_loss<'a>(&'a self, writes: &mut Writes<'a>, why: &Unavailable) {
        comment(writes, &self.id, &issue::loss_comment("this issue", why, self.history.idle_since, quoted));
    }

    fn recover<'a>(&'a self, _writes: &mut Writes<'a>) {}

    /// An issue's row is its host's.
    fn write(&self, _db: &mut Db, _request: Request) -> QueryResult<()> {
        Ok(())
    }
}

/// Blocks an issue. Repeats in its WHERE what was decided upon, and fails with `NotFound` when the issue is no longer
/// so.
fn block<'a>(issue: &'a IssueFacts, writes: &mut Writes<'a>, action: &str) {
    let as_seen = issues::table
        .filter(issues::id.eq(&issue.id))
        .filter(issues::status.eq(&issue.status))
        .filter(issues::assignee_agent_id.eq(Bound::optional(issue.assignee.id())));
    writes.update_as_seen(diesel::update(as_seen).set((
        issues::status.eq("blocked"),
        issues::unblock_action.eq(plain(action)),
        issues::updated_at.eq(Instant(issue.history.observed_at)),
    )));
}

/// The columns of a wake that are written for issues and steps alike.
#[diesel::dsl::auto_type(no_type_alias)]
fn wake_by_sweep<'a>(id: &'a Id, agent: &'a Id, reason: &'static str, payload: Document) -> _ {
    let author: &'static str = ledger::ACTOR;
    (
        wakes::id.eq(id),
        wakes::agent_id.eq(agent),
        wakes::reason.eq(reason),
        wakes::payload.eq(payload),
        wakes::requested_by.eq(author),
    )
}

/// Adds a comment to an issue: words of the rules, with what others wrote as quotations.
pub(in crate::store) fn comment<'a>(writes: &mut Writes<'a>, issue: &'a Id, body: &str) {
    let comment = diesel::insert_into(comments::table).values((
        comments::id.eq(Id::generate()),
        comments::issue_id.eq(issue),
        comments::author.eq(ledger::ACTOR),
        comments::body.eq(plain(body)),
    ));
    writes.insert("comments", comment);
}

impl FromColumns for IssueFacts {
    fn from_columns(columns: &mut impl Columns) -> Result<IssueFacts> {
        let obstacle = columns.get("obstacle")?;
        let run_end_grace_seconds: f64 = columns.get("run_end_grace_seconds")?;
        Ok(IssueFacts {
            id: columns.get("subject_id")?,
            tenant: columns.get::<Utf8>("tenant")?.0,
            identifier: columns.get("identifier")?,
            title: columns.get("title")?,
            status: columns.get("status")?,
            assignee: read_assignee(columns, obstacle)?,
            assigned_to_user: columns.get("assigned_to_user")?,
            runs: read_unended_runs(columns)?,
            pending_wake_since: columns.get("pending_wake_since")?,
            pending_wake: columns.get("pending_wake")?,
            declared_wait: columns.get("declared_wait")?,
            last_run_id: columns.get("last_run_id")?,
            last_run_ended_at: columns.get("last_run_ended_at")?,
            last_run_end: columns.get("last_run_end")?,
            host_plan: columns.get("host_plan")?,
            unreachable: columns.get("unreachable")?,
            unstarted: columns.get("unstarted")?,
            run_end_grace: TimeDelta::milliseconds((run_end_grace_seconds * 1000.0) as i64),
            resume_advice: columns.get("resume_advice")?,
            resume_commands: columns.get("resume_commands")?,
            history: read_history_with_wakes(columns)?,
        })
    }
}

/// The reason of a wake that resumes a plan step.
const STEP_REASON: &str = "plan_step_stalled";

/// Steps in progress of one plan that are looked at to find who holds the plan. A plan with more counts as held: a
/// tenant may write any number.
const SIBLINGS_MAX: i64 = 100;

/// Plans of which a scan remembers who holds them.
const KNOWN_MAX: usize = 10_000;

impl Subject for StepFacts {
    /// The plans that a scan has asked about.
    type Known = BTreeMap<Id, Holders>;
    const RELATION: &'static str = "plan_steps";
    /// The plans of as many may be new to the scan, and the steps of all these are read.
    const LOOK: usize = 250;

    fn complete(db: &mut Db, all: &mut [StepFacts], policy: &Policy, known: &mut Self::Known) -> QueryResult<()> {
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

    fn id(&self) -> &Id {
        &self.step.id
    }

    fn naming(&self) -> Naming<'_> {
        Naming { identifier: Some(&self.identifier), title: &self.step.title, tenant: &self.tenant }
    }

    fn linked_issue(&self) -> Option<&Id> {
        self.issue_id.as_ref()
    }

    /// Its plan is locked with it, and its plan's issue.
    fn lock_group(&self) -> &Id {
        self.issue_id.as_ref().unwrap_or(&self.plan_id)
    }

    fn resume<'a>(&'a self, writes: &mut Writes<'a>, wake_id: &'a Id, _nudge: Option<&'a str>) -> QueryResult<()> {
        set_plan_status(self, writes, "stalled");
        let payload = json!({
            "planId": self.plan_id, "planStepId": self.step.id, "issueId": self.issue_id, "wakeReason": STEP_REASON,
        });
        let agent = self.assignee.id().ok_or(Error::NotFound)?;
        let wake = wake_by_sweep(wake_id, agent, STEP_REASON, Document(payload));
        let issue = wakes::issue_id.eq(Bound::optional(self.issue_id.as_ref()));
        let wake = (wake, issue, wakes::plan_step_id.eq(&self.step.id));
        writes.insert("wakes", diesel::insert_into(wakes::table).values(wake));
        Ok(())
    }

    fn escalate<'a>(&'a self, writes: &mut Writes<'a>, cause: &Cause, _policy: &Policy, links: &Links) -> bool {
        set_plan_status(self, writes, "stalled");
        if let Some(issue) = &self.issue_id {
            let url = links.to(&self.page(&self.step.id));
            comment(writes, issue, &step::escalation_comment(self, cause, quoted, url.as_deref()));
        }
        false
    }

    fn report_loss<'a>(&'a self, writes: &mut Writes<'a>, why: &Unavailable) {
        if let Some(issue) = &self.issue_id {
            let work = format!("step {} of its plan, {}", self.step.position, quoted(&self.step.title));
            comment(writes, issue, &issue::loss_comment(&work, why, self.history.idle_since, quoted));
        }
    }

    /// A stalled plan that has no stalled step left goes on executing.
    fn recover<'a>(&'a self, writes: &mut Writes<'a>) {
        if self.plan_status == "stalled" {
            set_plan_status(self, writes, "executing");
        }
    }

    fn write(&self, db: &mut Db, request: Request) -> QueryResult<()> {
        match request {
            Request::SkipStep => set_status(self, db, "skipped"),
            Request::FailStep => set_status(self, db, "failed"),
            Request::Wake
            | Request::Nudge
            | Request::Relaunch
            | Request::Heartbeat
            | Request::Pause
            | Request::Resume => Ok(()),
        }
    }
}

fn set_status(facts: &StepFacts, db: &mut Db, status: &str) -> QueryResult<()> {
    use plan_steps::{id, status as as_stored, table, updated_at};
    let as_seen = table.filter(id.eq(&facts.step.id)).filter(as_stored.eq(&facts.step.status));
    let changed =
        diesel::update(as_seen).set((as_stored.eq(status), updated_at.eq(Instant(facts.history.observed_at))));
    update_as_seen(db, |db| changed.execute(db))
}

/// Repeats in its WHERE what was decided upon, and fails with `NotFound` when the plan is no longer so.
fn set_plan_status<'a>(facts: &'a StepFacts, writes: &mut Writes<'a>, status: &'a str) {
    if facts.plan_status == status {
        return;
    }
    let as_seen = plans::table.filter(plans::id.eq(&facts.plan_id)).filter(plans::status.eq(&facts.plan_status));
    let values = (plans::status.eq(status), plans::updated_at.eq(Instant(facts.history.observed_at)));
    writes.update_as_seen(diesel::update(as_seen).set(values));
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
    fn from_columns(columns: &mut impl Columns) -> Result<StepFacts> {
        let history = read_history_with_wakes(columns)?;
        let (id, status): (Id, String) = (columns.get("subject_id")?, columns.get("status")?);
        let step = Step {
            position: columns.get("position")?,
            title: columns.get("title")?,
            stalled_after: own_threshold(columns.get("stalled_after_seconds")?),
            // The view has chosen between the two times.
            ..Step::new(id, &status, None, history.idle_since)
        };
        Ok(StepFacts {
            step,
            tenant: columns.get::<Utf8>("tenant")?.0,
            identifier: columns.get("identifier")?,
            plan_id: columns.get("plan_id")?,
            plan_status: columns.get("plan_status")?,
            assignee: read_assignee(columns, None)?,
            issue_id: columns.get("issue_id")?,
            runs: read_unended_runs(columns)?,
            pending_wake_since: columns.get("pending_wake_since")?,
            pending_wake: columns.get("pending_wake")?,
            history,
            holders: None,
        })
    }
}

fn read_unended_runs(columns: &mut impl Columns) -> Result<UnendedRuns> {
    Ok(UnendedRuns {
        has_live_run: columns.get("has_live_run")?,
        heard_of_at: columns.get("run_heard_of_at")?,
        lost: columns.get("lost_run")?,
    })
}

/// The threshold that a row has of its own, if any.
pub(in crate::store) fn own_threshold(seconds: Option<i32>) -> Option<TimeDelta> {
    seconds.map(|seconds| TimeDelta::seconds(seconds.into()))
}

/// Reads the agent of a subject; `obstacle`: why the host says that a wake would do harm.
pub(in crate::store) fn read_assignee(columns: &mut impl Columns, obstacle: Option<String>) -> Result<Assignee> {
    let id: Option<Id> = columns.get("agent_id")?;
    let (name, status) = (columns.get("agent_name")?, columns.get("agent_status")?);
    Ok(id.map_or(Assignee::Nobody, |id| Assignee::Agent { id, name, status, obstacle }))
}

/// Reads the history of a subject that is continued by wakes: it knows how many wakes nobody took up, and when the work
/// that the last one began ended.
pub(in crate::store) fn read_history_with_wakes(columns: &mut impl Columns) -> Result<History> {
    Ok(History {
        attempts_unserved: columns.get("attempts_unserved")?,
        last_attempt_ended_at: columns.get("last_attempt_ended_at")?,
        ..History::from_columns(columns)?
    })
}

impl FromColumns for History {
    fn from_columns(columns: &mut impl Columns) -> Result<History> {
        let (open_id, open_since): (Option<Key>, _) =
            (columns.get("open_recovery_id")?, columns.get("open_recovery_at")?);
        let open_action: Option<String> = columns.get("open_recovery_action")?;
        let observed_at = columns.get("observed_at")?;
        let exemptions = [
            read_exemption(columns, Whose::Subject, ["exemption", "exemption_until"])?,
            read_exemption(columns, Whose::Agent, ["agent_exemption", "agent_exemption_until"])?,
            read_exemption(columns, Whose::Tenant, ["tenant_exemption", "tenant_exemption_until"])?,
        ];
        let exemptions: Vec<Exemption> = exemptions.into_iter().flatten().collect();
        // The first that holds now; else the subject's own, which has expired.
        let exemption = exemptions.iter().find(|exemption| exemption.holds(observed_at));
        let own = exemptions.iter().find(|exemption| exemption.whose == Whose::Subject);
        Ok(History {
            observed_at,
            idle_since: columns.get("idle_since")?,
            episode_began_at: columns.get("episode_began_at")?,
            attempts: columns.get("attempts")?,
            attempts_unserved: 0,
            attempts_last_day: columns.get("attempts_last_day")?,
            last_attempt_at: columns.get("last_attempt_at")?,
            last_attempt_ended_at: None,
            escalated: columns.get("escalated")?,
            abandoned: open_action.is_some_and(|action| action == Action::Abandon.name()),
            lost_agent: columns.get("lost_agent_id")?,
            escalations_last_day: columns.get("escalations_last_day")?,
            open: open_id.zip(open_since).map(|(Key(id), since)| OpenRecovery { id, since }),
            exemption: exemption.or(own).cloned(),
        })
    }
}

fn read_exemption(
    columns: &mut impl Columns,
    whose: Whose,
    [reason, until]: [&'static str; 2],
) -> Result<Option<Exemption>> {
    let (reason, until): (Option<String>, _) = (columns.get(reason)?, columns.get(until)?);
    Ok(reason.map(|reason| Exemption { whose, reason, until }))
}
