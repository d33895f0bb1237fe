//! Sessions in the store: one row of facts, and what a nudge, a relaunch and an escalation write. A session's own row
//! is its supervisor's: a sweep locks it and never changes it, and what a person asks for changes one column of it.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;

use crate::rules::request::Request;
use crate::rules::session::{Activity, AgentState, Ended, LinkedIssue, Session, SessionFacts, escalation_comment};
use crate::rules::{Cause, ContinueBy, Facts, Id, Kind, Policy};
use crate::store::Label;
use crate::store::db::columns::{columns, read_many, read_one};
use crate::store::db::label::{called, labels};
use crate::store::db::schema::{session_commands, session_facts, sessions};
use crate::store::db::types::{Instant, LossyText};
use crate::store::db::written::{Writes, update_as_seen};
use crate::store::hosts::links::Links;
use crate::store::work::issues::comment;
use crate::store::work::ledger;
use crate::store::work::lock::{LockRow, take};
use crate::store::work::rows::{AgentRow, HistoryRow};
use crate::store::{Db, Lock, Subject};
use crate::text::quoted;

impl Subject for SessionFacts {
    type Known = ();
    const RELATION: &'static str = "sessions";
    /// Each brings its output.
    const LOOK: usize = 250;

    fn take(db: &mut Db, id: &Id) -> QueryResult<(Lock, Option<SessionFacts>)> {
        Ok(take!(Kind::Session, SessionFactsRow, db, id))
    }

    fn read(db: &mut Db, id: &Id) -> QueryResult<Option<SessionFacts>> {
        let row = read_one::<SessionFactsRow>(db, Kind::Session, id)?;
        Ok(row.map(SessionFacts::from))
    }

    fn read_all(db: &mut Db, ids: &[Id]) -> QueryResult<Vec<SessionFacts>> {
        let rows = read_many::<SessionFactsRow>(db, Kind::Session, ids)?;
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

columns! {
    struct SessionRow {
        subject_id -> Id as Id,
        tenant -> Text as String,
        identifier -> Nullable<Text> as Option<LossyText>,
        title -> Text as LossyText,
        status -> Text as LossyText,
        declared_wait -> Nullable<Text> as Option<LossyText>,
        stall_paused -> Bool as bool,
        started_at -> Instant as DateTime<Utc>,
        progressed_at -> Instant as DateTime<Utc>,
        ended_at -> Nullable<Instant> as Option<DateTime<Utc>>,
        exit_code -> Nullable<Integer> as Option<i32>,
        silent_after_seconds -> Nullable<Integer> as Option<i32>,
        recent_output -> Text as LossyText,
        takes_commands -> Bool as bool,
        pending_command_since -> Nullable<Instant> as Option<DateTime<Utc>>,
        reports_progress -> Bool as bool,
        takes_nudges -> Bool as bool,
    }
}

columns! {
    struct LinkedIssueRow {
        issue_id -> Nullable<Id> as Option<Id>,
        issue_status -> Nullable<Text> as Option<LossyText>,
        issue_has_live_run -> Bool as bool,
        issue_wake_since -> Nullable<Instant> as Option<DateTime<Utc>>,
    }
}

columns! {
    /// All null where nobody reports what the agent does.
    struct AgentStateRow {
        agent_state -> Nullable<Text> as Option<LossyText>,
        agent_state_kind -> Nullable<Text> as Option<LossyText>,
        agent_state_since -> Nullable<Instant> as Option<DateTime<Utc>>,
        agent_question -> Nullable<Text> as Option<LossyText>,
        agent_state_evidence -> Nullable<Text> as Option<LossyText>,
    }
}

columns! {
    struct SessionFactsRow {
        lock: LockRow,
        session: SessionRow,
        agent: AgentRow,
        issue: LinkedIssueRow,
        agent_state: AgentStateRow,
        history: HistoryRow,
    }
}

impl From<AgentStateRow> for Option<AgentState> {
    fn from(row: AgentStateRow) -> Option<AgentState> {
        Some(AgentState {
            activity: Activity::parse(&row.agent_state?.0)?,
            kind: row.agent_state_kind.map(LossyText::into),
            since: row.agent_state_since?,
            question: row.agent_question.map(LossyText::into).unwrap_or_default(),
            evidence: row.agent_state_evidence.map(LossyText::into).unwrap_or_default(),
        })
    }
}

impl From<LinkedIssueRow> for Option<LinkedIssue> {
    fn from(row: LinkedIssueRow) -> Option<LinkedIssue> {
        Some(LinkedIssue {
            id: row.issue_id?,
            status: row.issue_status.map(LossyText::into).unwrap_or_default(),
            has_live_run: row.issue_has_live_run,
            pending_wake_since: row.issue_wake_since,
        })
    }
}

impl From<SessionFactsRow> for SessionFacts {
    fn from(SessionFactsRow { session, agent, issue, agent_state, history, .. }: SessionFactsRow) -> SessionFacts {
        let history: crate::rules::History = history.into();
        let facts = Session {
            id: session.subject_id,
            identifier: session.identifier.map(LossyText::into),
            title: session.title.into(),
            status: session.status.into(),
            declared_wait: session.declared_wait.map(LossyText::into),
            is_paused: session.stall_paused,
            started_at: session.started_at,
            active_at: history.idle_since,
            progressed_at: session.progressed_at,
            reports_progress: session.reports_progress,
            ended: session.ended_at.map(|at| Ended { at, exit_code: session.exit_code }),
            silent_after: session.silent_after_seconds.map(|seconds| TimeDelta::seconds(seconds.into())),
            recent_output: session.recent_output.0.lines().map(str::to_owned).collect(),
            takes_commands: session.takes_commands,
            takes_nudges: session.takes_nudges,
            agent: agent_state.into(),
            pending_command_since: session.pending_command_since,
        };
        SessionFacts::new(facts, session.tenant, agent.into_assignee(None), issue.into(), history)
    }
}
