//! Sessions in the store: one row of facts, and what a nudge, a relaunch and an escalation write. A session's own row
//! is its supervisor's: a sweep locks it and never changes it, and what a person asks for changes one column of it.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;

use super::Label;
use super::issues::comment;
use super::label::{called, labels};
use super::links::Links;
use super::lock::{LockRow, take};
use super::rows::{AgentRow, HistoryRow, agent_columns, facts_among, facts_of, history_columns, read_halves};
use super::schema::{session_commands, session_decided_facts, session_facts, sessions};
use super::subject::Right;
use super::types::{Instant, LossyText};
use super::written::{Writes, update_as_seen};
use super::{Db, Lock, Subject, ledger};
use crate::rules::request::Request;
use crate::rules::session::{Activity, AgentState, Ended, LinkedIssue, Session, SessionFacts, escalation_comment};
use crate::rules::{Cause, ContinueBy, Facts, Id, Kind, Policy};
use crate::text::quoted;

macro_rules! columns {
    () => {{
        use session_decided_facts::*;
        (
            (held, held_agent_id, held_issue_id),
            (subject_id, tenant, identifier, title, status, declared_wait, stall_paused),
            agent_columns!(session_decided_facts),
            (issue_id, issue_status, issue_has_live_run, issue_wake_since),
            (started_at, progressed_at, ended_at, exit_code, silent_after_seconds),
            (recent_output, takes_commands, pending_command_since, reports_progress, takes_nudges),
            (agent_state, agent_state_kind, agent_state_since, agent_question, agent_state_evidence),
            history_columns!(session_decided_facts),
        )
    }};
}

impl Subject for SessionFacts {
    const RELATION: &'static str = "sessions";
    const RIGHTS: &'static [Right] = &[
        ("agents", "SELECT"),
        ("agents", "UPDATE"),
        ("issues", "SELECT"),
        ("issues", "UPDATE"),
        ("sessions", "SELECT"),
        ("sessions", "UPDATE"),
        ("session_commands", "INSERT"),
        ("comments", "INSERT"),
    ];

    fn take(db: &mut Db, id: &Id) -> QueryResult<(Lock, Option<SessionFacts>)> {
        Ok(take!(Kind::Session, columns!(), SessionFactsRow, db, id))
    }

    fn read(db: &mut Db, id: &Id) -> QueryResult<Option<SessionFacts>> {
        let row =
            facts_of!(session_decided_facts, id).select(columns!()).get_result::<SessionFactsRow>(db).optional()?;
        Ok(row.map(SessionFacts::from))
    }

    fn read_all(db: &mut Db, ids: &[Id]) -> QueryResult<Vec<SessionFacts>> {
        let rows = read_halves(db, ids, &mut |db, ids| {
            facts_among!(session_decided_facts, ids, columns!(), SessionFactsRow, db)
        })?;
        Ok(rows.into_iter().map(SessionFacts::from).collect())
    }

    fn called(db: &mut Db, identifier: &str) -> QueryResult<Vec<Label>> {
        called!(session_facts, db, identifier)
    }

    fn id(&self) -> &Id {
        &self.session.id
    }

    fn identifier(&self) -> Option<&str> {
        self.session.identifier.as_deref()
    }

    fn title(&self) -> &str {
        &self.session.title
    }

    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn linked_issue(&self) -> Option<&Id> {
        self.issue.as_ref().map(|issue| &issue.id)
    }

    fn resume<'a>(
        &'a self,
        writes: &mut Writes<'a>,
        remedy: ContinueBy,
        wake_id: &'a Id,
        policy: &'a Policy,
    ) -> QueryResult<()> {
        let (command, message) = match remedy {
            ContinueBy::Relaunch => ("relaunch", None),
            ContinueBy::Nudge | ContinueBy::Wake => ("nudge", Some(&policy.nudge_message)),
        };
        let command = diesel::insert_into(session_commands::table).values((
            session_commands::id.eq(wake_id),
            session_commands::session_id.eq(&self.session.id),
            session_commands::command.eq(command),
            session_commands::message.eq(message),
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

#[derive(Queryable)]
struct ProcessRow {
    started_at: DateTime<Utc>,
    progressed_at: DateTime<Utc>,
    ended_at: Option<DateTime<Utc>>,
    exit_code: Option<i32>,
    silent_after_seconds: Option<i32>,
}

/// All null where nobody reports what the agent does.
#[derive(Queryable)]
struct AgentStateRow {
    activity: Option<LossyText>,
    kind: Option<LossyText>,
    since: Option<DateTime<Utc>>,
    question: Option<LossyText>,
    evidence: Option<LossyText>,
}

impl From<AgentStateRow> for Option<AgentState> {
    fn from(row: AgentStateRow) -> Option<AgentState> {
        Some(AgentState {
            activity: Activity::parse(&row.activity?.0)?,
            kind: row.kind.map(LossyText::into),
            since: row.since?,
            question: row.question.map(LossyText::into).unwrap_or_default(),
            evidence: row.evidence.map(LossyText::into).unwrap_or_default(),
        })
    }
}

#[derive(Queryable)]
struct SessionFactsRow {
    lock: LockRow,
    subject: (Id, String, Option<LossyText>, LossyText, LossyText, Option<LossyText>, bool),
    agent: AgentRow,
    issue: (Option<Id>, Option<LossyText>, bool, Option<DateTime<Utc>>),
    process: ProcessRow,
    activity: (LossyText, bool, Option<DateTime<Utc>>, bool, bool),
    agent_state: AgentStateRow,
    history: HistoryRow,
}

impl From<SessionFactsRow> for SessionFacts {
    fn from(row: SessionFactsRow) -> SessionFacts {
        let (id, tenant, identifier, title, status, declared_wait, is_paused) = row.subject;
        let (issue_id, issue_status, has_live_run, pending_wake_since) = row.issue;
        let ProcessRow { started_at, progressed_at, ended_at, exit_code, silent_after_seconds } = row.process;
        let (recent_output, takes_commands, pending_command_since, reports_progress, takes_nudges) = row.activity;
        let history: crate::rules::History = row.history.into();
        let linked = |id| LinkedIssue {
            id,
            status: issue_status.map(LossyText::into).unwrap_or_default(),
            has_live_run,
            pending_wake_since,
        };
        let session = Session {
            id,
            identifier: identifier.map(LossyText::into),
            title: title.into(),
            status: status.into(),
            declared_wait: declared_wait.map(LossyText::into),
            is_paused,
            started_at,
            active_at: history.idle_since,
            progressed_at,
            reports_progress,
            ended: ended_at.map(|at| Ended { at, exit_code }),
            silent_after: silent_after_seconds.map(|seconds| TimeDelta::seconds(seconds.into())),
            recent_output: recent_output.0.lines().map(str::to_owned).collect(),
            takes_commands,
            takes_nudges,
            agent: row.agent_state.into(),
            pending_command_since,
        };
        SessionFacts::new(session, tenant, row.agent.into_assignee(None), issue_id.map(linked), history)
    }
}
