//! Issues in the store: one row of facts, and what a continuation and an escalation write.

use chrono::TimeDelta;
use diesel::deserialize;
use diesel::prelude::*;
use serde_json::json;

use crate::rules::issue::{IssueFacts, escalation_comment, unblock_action};
use crate::rules::request::Request;
use crate::rules::{Cause, ContinueBy, Escalation, Id, Kind, Policy};
use crate::store::db::columns::{Columns, FromColumns, Utf8};
use crate::store::db::schema::{comments, issues, wakes};
use crate::store::db::types::{Bound, Document, Instant};
use crate::store::db::written::Writes;
use crate::store::hosts::links::Links;
use crate::store::work::rows::{read_assignee, read_history_with_wakes};
use crate::store::work::{find, ledger};
use crate::store::{Db, Label, Subject};
use crate::text::{plain, quoted};

/// The reason of a wake that resumes an issue; a host's own continuations carry the same words.
const REASON: &str = "issue_continuation_needed";

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

impl FromColumns for IssueFacts {
    fn from_columns(columns: &mut impl Columns) -> deserialize::Result<IssueFacts> {
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
            has_live_run: columns.get("has_live_run")?,
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
