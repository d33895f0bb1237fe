//! Issues in the store: one row of facts, and what a continuation and an escalation write.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;
use serde_json::json;

use super::links::Links;
use super::lock::{LockRow, take};
use super::rows::{
    AgentRow, HistoryRow, WakesRow, agent_columns, facts_among, facts_of, history_columns, read_halves, wake_columns,
};
use super::schema::{comments, issue_decided_facts, issues, wakes};
use super::subject::Right;
use super::types::{Bound, Document, Instant, LossyText};
use super::written::Writes;
use super::{Db, Lock, Subject, ledger};
use super::{Label, find};
use crate::rules::issue::{IssueFacts, escalation_comment, unblock_action};
use crate::rules::request::Request;
use crate::rules::{Cause, ContinueBy, Escalation, Id, Kind, Policy};
use crate::text::{plain, quoted};

/// The reason of a wake that resumes an issue; a host's own continuations carry the same words.
const REASON: &str = "issue_continuation_needed";

macro_rules! columns {
    () => {{
        use issue_decided_facts::*;
        (
            (held, held_agent_id, held_issue_id),
            (subject_id, tenant, identifier, title, status),
            agent_columns!(issue_decided_facts),
            obstacle,
            (assigned_to_user, has_live_run, pending_wake_since, pending_wake, declared_wait),
            (last_run_id, last_run_ended_at, last_run_end),
            (host_plan, unreachable, run_end_grace_seconds, resume_advice),
            history_columns!(issue_decided_facts),
            wake_columns!(issue_decided_facts),
        )
    }};
}

impl Subject for IssueFacts {
    const RELATION: &'static str = "issues";
    const RIGHTS: &'static [Right] = &[
        ("agents", "SELECT"),
        ("agents", "UPDATE"),
        ("issues", "SELECT"),
        ("issues", "UPDATE"),
        ("wakes", "INSERT"),
        ("comments", "INSERT"),
    ];

    fn take(db: &mut Db, id: &Id) -> QueryResult<(Lock, Option<IssueFacts>)> {
        Ok(take!(Kind::Issue, columns!(), IssueFactsRow, db, id))
    }

    fn read(db: &mut Db, id: &Id) -> QueryResult<Option<IssueFacts>> {
        let row = facts_of!(issue_decided_facts, id).select(columns!()).get_result::<IssueFactsRow>(db).optional()?;
        Ok(row.map(IssueFacts::from))
    }

    fn read_all(db: &mut Db, ids: &[Id]) -> QueryResult<Vec<IssueFacts>> {
        let rows =
            read_halves(db, ids, &mut |db, ids| facts_among!(issue_decided_facts, ids, columns!(), IssueFactsRow, db))?;
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
pub(super) fn comment<'a>(writes: &mut Writes<'a>, issue: &'a Id, body: &str) {
    let comment = diesel::insert_into(comments::table).values((
        comments::id.eq(Id::generate()),
        comments::issue_id.eq(issue),
        comments::author.eq(ledger::ACTOR),
        comments::body.eq(plain(body)),
    ));
    writes.insert("comments", comment);
}

#[derive(Queryable)]
struct IssueFactsRow {
    lock: LockRow,
    subject: (Id, String, Option<LossyText>, LossyText, LossyText),
    agent: AgentRow,
    obstacle: Option<LossyText>,
    state: (bool, bool, Option<DateTime<Utc>>, Option<LossyText>, Option<LossyText>),
    last_run: (Option<Id>, Option<DateTime<Utc>>, Option<LossyText>),
    host: (Option<LossyText>, Option<LossyText>, f64, LossyText),
    history: HistoryRow,
    wakes: WakesRow,
}

impl From<IssueFactsRow> for IssueFacts {
    fn from(row: IssueFactsRow) -> IssueFacts {
        let (id, tenant, identifier, title, status) = row.subject;
        let (assigned_to_user, has_live_run, pending_wake_since, pending_wake, declared_wait) = row.state;
        let (last_run_id, last_run_ended_at, last_run_end) = row.last_run;
        let (host_plan, unreachable, run_end_grace_seconds, resume_advice) = row.host;
        let [identifier, pending_wake, declared_wait, last_run_end, host_plan, unreachable] =
            [identifier, pending_wake, declared_wait, last_run_end, host_plan, unreachable]
                .map(|words| words.map(LossyText::into));
        IssueFacts {
            id,
            tenant,
            identifier,
            title: title.into(),
            status: status.into(),
            assignee: row.agent.into_assignee(row.obstacle),
            assigned_to_user,
            has_live_run,
            pending_wake_since,
            pending_wake,
            declared_wait,
            last_run_id,
            last_run_ended_at,
            last_run_end,
            host_plan,
            unreachable,
            run_end_grace: TimeDelta::milliseconds((run_end_grace_seconds * 1000.0) as i64),
            resume_advice: resume_advice.into(),
            history: row.history.with_wakes(row.wakes),
        }
    }
}
