//! Issues in the store: one row of facts, and what a continuation and an escalation write.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;
use serde_json::json;

use crate::rules::issue::{IssueFacts, escalation_comment, unblock_action};
use crate::rules::request::Request;
use crate::rules::{Cause, ContinueBy, Escalation, Id, Kind, Policy};
use crate::store::Label;
use crate::store::db::columns::{columns, read_many, read_one};
use crate::store::db::schema::{comments, issues, wakes};
use crate::store::db::types::{Bound, Document, Instant, LossyText};
use crate::store::db::written::Writes;
use crate::store::hosts::links::Links;
use crate::store::work::find;
use crate::store::work::ledger;
use crate::store::work::lock::{LockRow, take};
use crate::store::work::rows::{AgentRow, HistoryRow, WakesRow};
use crate::store::{Db, Lock, Subject};
use crate::text::{plain, quoted};

/// The reason of a wake that resumes an issue; a host's own continuations carry the same words.
const REASON: &str = "issue_continuation_needed";

impl Subject for IssueFacts {
    type Known = ();
    const RELATION: &'static str = "issues";
    const LOOK: usize = 1000;

    fn take(db: &mut Db, id: &Id) -> QueryResult<(Lock, Option<IssueFacts>)> {
        Ok(take!(Kind::Issue, IssueFactsRow, db, id))
    }

    fn read(db: &mut Db, id: &Id) -> QueryResult<Option<IssueFacts>> {
        let row = read_one::<IssueFactsRow>(db, Kind::Issue, id)?;
        Ok(row.map(IssueFacts::from))
    }

    fn read_all(db: &mut Db, ids: &[Id]) -> QueryResult<Vec<IssueFacts>> {
        let rows = read_many::<IssueFactsRow>(db, Kind::Issue, ids)?;
        Ok(rows.into_iter().map(IssueFacts::from).collect())
    }

    /// The facts hold but the beginning of a name, for which no index serves.
    fn called(db: &mut Db, identifier: &str) -> QueryResult<Vec<Label>> {
        let named = issues::table.filter(issues::identifier.eq(identifier)).order(issues::id).limit(2);
        let ids: Vec<Id> = named.select(issues::id).load(db)?;
        ids.into_iter().filter_map(|id| find::label(db, Kind::Issue, &id).transpose()).collect()
    }

    fn id(&self) -> &Id {
        &self.id
    }

    fn identifier(&self) -> Option<&str> {
        self.identifier.as_deref()
    }

    fn title(&self) -> &str {
        &self.title
    }

    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn linked_issue(&self) -> Option<&Id> {
        None
    }

    fn resume<'a>(
        &'a self,
        writes: &mut Writes<'a>,
        _remedy: ContinueBy,
        wake_id: &'a Id,
        _policy: &'a Policy,
    ) -> QueryResult<()> {
        let payload = json!({
            "issueId": self.id, "retryOfRunId": self.last_run_id, "wakeReason": REASON, "retryReason": REASON,
        });
        let wake = diesel::insert_into(wakes::table).values((
            wakes::id.eq(wake_id),
            wakes::agent_id.eq(self.assignee.id().ok_or(diesel::result::Error::NotFound)?),
            wakes::issue_id.eq(&self.id),
            wakes::reason.eq(REASON),
            wakes::payload.eq(Document(payload)),
            wakes::requested_by.eq(ledger::ACTOR),
        ));
        writes.insert("wakes", wake);
        Ok(())
    }

    fn escalate<'a>(&'a self, writes: &mut Writes<'a>, cause: &Cause, policy: &Policy, _links: &Links) -> bool {
        let blocks = policy.escalation == Escalation::CommentAndBlock;
        if blocks {
            self.block(writes, &unblock_action(&self.resume_advice));
        }
        comment(writes, &self.id, &escalation_comment(self, cause, policy, quoted));
        blocks
    }

    fn recover<'a>(&'a self, _writes: &mut Writes<'a>) {}

    /// An issue's row is its host's.
    fn write(&self, _db: &mut Db, _request: Request) -> QueryResult<()> {
        Ok(())
    }
}

impl IssueFacts {
    /// Repeats in its WHERE what was decided upon, and fails with `NotFound` when the issue is no longer so.
    fn block<'a>(&'a self, writes: &mut Writes<'a>, action: &str) {
        let as_seen = issues::table
            .filter(issues::id.eq(&self.id))
            .filter(issues::status.eq(&self.status))
            .filter(issues::assignee_agent_id.eq(Bound::optional(self.assignee.id())));
        writes.update_as_seen(diesel::update(as_seen).set((
            issues::status.eq("blocked"),
            issues::unblock_action.eq(plain(action)),
            issues::updated_at.eq(Instant(self.history.observed_at)),
        )));
    }
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

columns! {
    struct IssueRow {
        subject_id -> Id as Id,
        tenant -> Text as String,
        identifier -> Nullable<Text> as Option<LossyText>,
        title -> Text as LossyText,
        status -> Text as LossyText,
        obstacle -> Nullable<Text> as Option<LossyText>,
        assigned_to_user -> Bool as bool,
        has_live_run -> Bool as bool,
        pending_wake_since -> Nullable<Instant> as Option<DateTime<Utc>>,
        pending_wake -> Nullable<Text> as Option<LossyText>,
        declared_wait -> Nullable<Text> as Option<LossyText>,
        last_run_id -> Nullable<Id> as Option<Id>,
        last_run_ended_at -> Nullable<Instant> as Option<DateTime<Utc>>,
        last_run_end -> Nullable<Text> as Option<LossyText>,
        host_plan -> Nullable<Text> as Option<LossyText>,
        unreachable -> Nullable<Text> as Option<LossyText>,
        unstarted -> Nullable<Text> as Option<LossyText>,
        run_end_grace_seconds -> Double as f64,
        resume_advice -> Text as LossyText,
        resume_commands -> Nullable<Text> as Option<LossyText>,
    }
}

columns! {
    struct IssueFactsRow {
        lock: LockRow,
        issue: IssueRow,
        agent: AgentRow,
        history: HistoryRow,
        wakes: WakesRow,
    }
}

impl From<IssueFactsRow> for IssueFacts {
    fn from(IssueFactsRow { issue, agent, history, wakes, .. }: IssueFactsRow) -> IssueFacts {
        IssueFacts {
            id: issue.subject_id,
            tenant: issue.tenant,
            identifier: issue.identifier.map(LossyText::into),
            title: issue.title.into(),
            status: issue.status.into(),
            assignee: agent.into_assignee(issue.obstacle),
            assigned_to_user: issue.assigned_to_user,
            has_live_run: issue.has_live_run,
            pending_wake_since: issue.pending_wake_since,
            pending_wake: issue.pending_wake.map(LossyText::into),
            declared_wait: issue.declared_wait.map(LossyText::into),
            last_run_id: issue.last_run_id,
            last_run_ended_at: issue.last_run_ended_at,
            last_run_end: issue.last_run_end.map(LossyText::into),
            host_plan: issue.host_plan.map(LossyText::into),
            unreachable: issue.unreachable.map(LossyText::into),
            unstarted: issue.unstarted.map(LossyText::into),
            run_end_grace: TimeDelta::milliseconds((issue.run_end_grace_seconds * 1000.0) as i64),
            resume_advice: issue.resume_advice.into(),
            resume_commands: issue.resume_commands.map(LossyText::into),
            history: history.with_wakes(wakes),
        }
    }
}
