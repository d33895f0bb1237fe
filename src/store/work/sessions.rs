//! Sessions in the store: one row of facts, and what a nudge, a relaunch and an escalation write. A session's own row
//! is its supervisor's: a sweep locks it and never changes it, and what a person asks for changes one column of it.

use chrono::TimeDelta;
use diesel::deserialize;
use diesel::prelude::*;

use crate::rules::request::Request;
use crate::rules::session::{Activity, AgentState, Ended, LinkedIssue, Session, SessionFacts, escalation_comment};
use crate::rules::{Cause, Facts, History, Id, Policy};
use crate::store::db::columns::{Columns, FromColumns, Utf8};
use crate::store::db::schema::{session_commands, sessions};
use crate::store::db::types::Instant;
use crate::store::db::written::{Writes, update_as_seen};
use crate::store::hosts::links::Links;
use crate::store::work::ledger;
use crate::store::work::subject::Naming;
use crate::store::work::woken::{comment, read_assignee};
use crate::store::{Db, Subject};
use crate::text::quoted;

impl Subject for SessionFacts {
    type Known = ();
    const RELATION: &'static str = "sessions";
    /// Each brings its output.
    const LOOK: usize = 250;

    fn id(&self) -> &Id {
        &self.session.id
    }

    fn naming(&self) -> Naming<'_> {
        Naming { identifier: self.session.identifier.as_deref(), title: &self.session.title, tenant: &self.tenant }
    }

    fn linked_issue(&self) -> Option<&Id> {
        self.issue.as_ref().map(|issue| &issue.id)
    }

    fn resume<'a>(&'a self, writes: &mut Writes<'a>, wake_id: &'a Id, nudge: Option<&'a str>) -> QueryResult<()> {
        let command = if nudge.is_some() { "nudge" } else { "relaunch" };
        let command = diesel::insert_into(session_commands::table).values((
            session_commands::id.eq(wake_id),
            session_commands::session_id.eq(&self.session.id),
            session_commands::command.eq(command),
            session_commands::message.eq(nudge),
            session_commands::requested_by.eq(ledger::ACTOR),
        ));
        writes.insert("session_commands", command);
        Ok(())
    }

    fn escalate<'a>(&'a self, writes: &mut Writes<'a>, cause: &Cause, policy: &Policy, links: &Links) -> bool {
        if let Some(issue) = &self.issue {
            let url = links.to(&self.page(&self.session.id));
            comment(writes, &issue.id, &escalation_comment(self, cause, policy, quoted, url.as_deref()));
        }
        false
    }

    fn recover<'a>(&'a self, _writes: &mut Writes<'a>) {}

    /// Nothing else of the row is touched: `updated_at` says when its supervisor was last heard of.
    fn write(&self, db: &mut Db, request: Request) -> QueryResult<()> {
        use sessions::{ended_at, id, last_activity_at, stall_paused, status, table};
        let Session { id: its_id, status: its_status, is_paused, .. } = &self.session;
        let as_seen = table.filter(id.eq(its_id)).filter(status.eq(its_status)).filter(stall_paused.eq(is_paused));
        match request {
            Request::Heartbeat => {
                let now = Some(Instant(self.history().observed_at));
                let alive = diesel::update(as_seen.filter(ended_at.is_null())).set(last_activity_at.eq(now));
                update_as_seen(db, |db| alive.execute(db))
            }
            Request::Pause | Request::Resume => {
                let changed = diesel::update(as_seen).set(stall_paused.eq(request == Request::Pause));
                update_as_seen(db, |db| changed.execute(db))
            }
            Request::Wake | Request::Nudge | Request::Relaunch | Request::FailStep | Request::SkipStep => Ok(()),
        }
    }
}

impl FromColumns for SessionFacts {
    fn from_columns(columns: &mut impl Columns) -> deserialize::Result<SessionFacts> {
        let history = History::from_columns(columns)?;
        let (ended_at, exit_code): (Option<_>, _) = (columns.get("ended_at")?, columns.get("exit_code")?);
        let silent_after_seconds: Option<i32> = columns.get("silent_after_seconds")?;
        let session = Session {
            id: columns.get("subject_id")?,
            identifier: columns.get("identifier")?,
            title: columns.get("title")?,
            status: columns.get("status")?,
            declared_wait: columns.get("declared_wait")?,
            is_paused: columns.get("stall_paused")?,
            started_at: columns.get("started_at")?,
            active_at: history.idle_since,
            progressed_at: columns.get("progressed_at")?,
            reports_progress: columns.get("reports_progress")?,
            ended: ended_at.map(|at| Ended { at, exit_code }),
            silent_after: silent_after_seconds.map(|seconds| TimeDelta::seconds(seconds.into())),
            recent_output: columns.get::<String>("recent_output")?.lines().map(str::to_owned).collect(),
            takes_commands: columns.get("takes_commands")?,
            takes_nudges: columns.get("takes_nudges")?,
            agent: read_agent_state(columns)?,
            pending_command_since: columns.get("pending_command_since")?,
        };
        let tenant = columns.get::<Utf8>("tenant")?.0;
        let (assignee, issue) = (read_assignee(columns, None)?, read_linked_issue(columns)?);
        Ok(SessionFacts::new(session, tenant, assignee, issue, history))
    }
}

/// Reads what a session's agent is doing; none where nobody reports it.
fn read_agent_state(columns: &mut impl Columns) -> deserialize::Result<Option<AgentState>> {
    let activity: Option<String> = columns.get("agent_state")?;
    let activity = activity.and_then(|name| Activity::parse(&name));
    let (kind, since) = (columns.get("agent_state_kind")?, columns.get("agent_state_since")?);
    let question: Option<String> = columns.get("agent_question")?;
    let evidence: Option<String> = columns.get("agent_state_evidence")?;
    Ok(activity.zip(since).map(|(activity, since)| AgentState {
        activity,
        kind,
        since,
        question: question.unwrap_or_default(),
        evidence: evidence.unwrap_or_default(),
    }))
}

fn read_linked_issue(columns: &mut impl Columns) -> deserialize::Result<Option<LinkedIssue>> {
    let id: Option<Id> = columns.get("issue_id")?;
    let status: Option<String> = columns.get("issue_status")?;
    let (has_live_run, pending_wake_since) = (columns.get("issue_has_live_run")?, columns.get("issue_wake_since")?);
    let status = status.unwrap_or_default();
    Ok(id.map(|id| LinkedIssue { id, status, has_live_run, pending_wake_since }))
}
