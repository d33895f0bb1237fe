//! Sessions and their supervision in the store: one row of facts, and what a nudge, a relaunch and an escalation write;
//! what a supervisor writes about its session, and how it takes the commands that are queued for it. A session's own
//! row is its supervisor's: a sweep locks it and never changes it, and what a person asks for changes one column of it.
//!
//! A supervisor holds its session from when it wrote `started_at` until another one does: every write repeats that
//! time, so that a supervisor that slept meanwhile finds nothing to write. The status is written where the session
//! begins and where its end is no crash, and what others made of it is never overwritten.

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use diesel::deserialize;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use serde::{Deserialize, Serialize};

use crate::rules::request::Request;
use crate::rules::session::{Activity, AgentState, Ended, LinkedIssue, Session, SessionFacts, escalation_comment};
use crate::rules::{Cause, Facts, History, Id, Policy, Unavailable};
use crate::store::db::columns::{Columns, FromColumns, Utf8};
use crate::store::db::schema::{session_commands, session_watchers, sessions};
use crate::store::db::types::{Bound, Instant, LossyText, RawInstant};
use crate::store::db::written::{Writes, update_as_seen};
use crate::store::hosts::catalog::exists;
use crate::store::hosts::links::Links;
use crate::store::work::ledger;
use crate::store::work::subject::Naming;
use crate::store::work::woken::{comment, own_threshold, read_assignee};
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

    fn report_loss<'a>(&'a self, _writes: &mut Writes<'a>, _why: &Unavailable) {}

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
            silent_after: own_threshold(columns.get("silent_after_seconds")?),
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

/// Has the host such sessions? Others may have some that take no commands.
pub fn is_provided(db: &mut Db) -> QueryResult<bool> {
    Ok(exists(db, "sessions")? && exists(db, "session_commands")?)
}

/// A session that a supervisor begins.
#[derive(Clone, Copy)]
pub struct Beginning<'a> {
    pub tenant: &'a str,
    pub identifier: Option<&'a str>,
    pub title: &'a str,
    pub directory: &'a str,
    pub agent_id: Option<&'a Id>,
    pub issue_id: Option<&'a Id>,
    pub silent_after_seconds: Option<i32>,
}

/// A session in the hands of a supervisor.
#[derive(Clone, Debug, PartialEq)]
pub struct Lease {
    pub id: Id,
    /// When its present process was started; what both databases can hold of it.
    pub started_at: DateTime<Utc>,
}

/// Begins a session, active from now on: the one of this name and tenant that has ended, else a new one. What is not
/// given stays as it was. Fails with `UniqueViolation` when one that has not ended is called so.
pub fn begin(db: &mut Db, beginning: &Beginning) -> QueryResult<Lease> {
    if let Some(name) = beginning.identifier {
        let ended = sessions::table
            .filter(sessions::identifier.eq(name))
            .filter(sessions::tenant.eq(beginning.tenant))
            .filter(sessions::ended_at.is_not_null());
        if let Some(id) = ended.select(sessions::id).first::<Id>(db).optional()? {
            // Another watcher may be faster.
            if let Some(lease) =
                acquire(db, &id, (beginning.title, beginning.directory), beginning.silent_after_seconds, NEVER)?
            {
                let links = (
                    beginning.agent_id.map(|agent| sessions::agent_id.eq(agent)),
                    beginning.issue_id.map(|issue| sessions::issue_id.eq(issue)),
                    sessions::updated_at.eq(Instant(lease.started_at)),
                );
                diesel::update(held_by(&lease)).set(links).execute(db)?;
                return Ok(lease);
            }
        }
    }
    register(db, beginning)
}

/// Begins a session that was given no name, under this one: the one that is called so, if it is of the same tenant and
/// place and no supervisor keeps it; else a new one. What is not given is none of its. None: another is called so.
pub fn begin_at(db: &mut Db, beginning: &Beginning, place: &str, silence: TimeDelta) -> QueryResult<Option<Lease>> {
    let called = sessions::table.filter(sessions::identifier.eq(beginning.identifier));
    let found = called.select((sessions::id, sessions::tenant, sessions::title));
    let Some((id, tenant, title)) = found.first::<(Id, String, LossyText)>(db).optional()? else {
        return register(db, beginning).map(Some);
    };
    if tenant != beginning.tenant || !title.0.ends_with(place) {
        return Ok(None);
    }
    let Some(lease) = acquire(db, &id, (beginning.title, beginning.directory), None, silence)? else { return Ok(None) };
    let given = (
        sessions::agent_id.eq(Bound::optional(beginning.agent_id)),
        sessions::issue_id.eq(Bound::optional(beginning.issue_id)),
        sessions::silent_after_seconds.eq(beginning.silent_after_seconds),
    );
    diesel::update(held_by(&lease)).set(given).execute(db)?;
    Ok(Some(lease))
}

/// Longer than any supervisor sleeps.
const NEVER: TimeDelta = TimeDelta::days(36_500);

fn register(db: &mut Db, beginning: &Beginning) -> QueryResult<Lease> {
    let lease = Lease { id: Id::generate(), started_at: db.now()?.trunc_subsecs(3) };
    let Beginning { tenant, identifier, title, directory, agent_id, issue_id, silent_after_seconds } = *beginning;
    diesel::insert_into(sessions::table)
        .values((
            sessions::id.eq(&lease.id),
            sessions::tenant.eq(tenant),
            sessions::identifier.eq(identifier),
            sessions::title.eq(title),
            sessions::directory.eq(directory),
            sessions::agent_id.eq(Bound::optional(agent_id)),
            sessions::issue_id.eq(Bound::optional(issue_id)),
            sessions::status.eq("active"),
            sessions::started_at.eq(Some(Instant(lease.started_at))),
            // What is never written says that nobody reports it.
            sessions::last_progress_at.eq(Some(Instant(lease.started_at))),
            sessions::takes_nudges.eq(false),
            sessions::recent_output.eq(""),
            sessions::silent_after_seconds.eq(silent_after_seconds),
        ))
        .execute(db)?;
    Ok(lease)
}

/// Takes a session up, active from now on, unless a supervisor keeps it: it has not ended, and was heard of within
/// `silence`. What is queued for it was meant for the process before, and so was its pause, if that process has ended.
pub fn acquire(
    db: &mut Db,
    id: &Id,
    (title, directory): (&str, &str),
    silent_after_seconds: Option<i32>,
    silence: TimeDelta,
) -> QueryResult<Option<Lease>> {
    let now = db.now()?.trunc_subsecs(3);
    let left = sessions::status
        .ne("active")
        .or(sessions::ended_at.is_not_null())
        .or(sessions::updated_at.lt(Instant(now - silence)));
    let taken = diesel::update(sessions::table.filter(sessions::id.eq(id)).filter(left))
        .set((
            sessions::title.eq(title),
            sessions::directory.eq(directory),
            sessions::status.eq("active"),
            sessions::recent_output.eq(""),
            sessions::takes_nudges.eq(false),
            sessions::stall_paused.eq(sessions::stall_paused.and(sessions::ended_at.is_null())),
            silent_after_seconds.map(|seconds| sessions::silent_after_seconds.eq(Some(seconds))),
            restarted(now),
            AgentStateColumns::default(),
        ))
        .execute(db)?;
    if taken == 0 {
        return Ok(None);
    }
    let stale = session_commands::table.filter(session_commands::session_id.eq(id)).filter(queued());
    diesel::update(stale).set(command_is("failed", now)).execute(db)?;
    Ok(Some(Lease { id: id.clone(), started_at: now }))
}

/// What a row records of a process that begins in it.
#[diesel::dsl::auto_type(no_type_alias)]
fn restarted(now: DateTime<Utc>) -> _ {
    let (now, began): (Instant, Option<Instant>) = (Instant(now), Some(Instant(now)));
    let (never, no_code): (Option<Instant>, Option<i32>) = (None, None);
    (
        sessions::started_at.eq(began),
        sessions::last_activity_at.eq(began),
        sessions::last_progress_at.eq(began),
        sessions::ended_at.eq(never),
        sessions::exit_code.eq(no_code),
        sessions::updated_at.eq(now),
    )
}

/// What has changed about a session; None: nothing.
#[derive(Debug, Default, PartialEq, AsChangeset)]
#[diesel(table_name = sessions)]
pub struct Changes {
    pub last_activity_at: Option<Instant>,
    pub last_progress_at: Option<Instant>,
    pub last_tool: Option<Option<String>>,
    pub recent_output: Option<String>,
    pub ended_at: Option<Instant>,
    pub exit_code: Option<i32>,
    pub takes_nudges: Option<bool>,
    #[diesel(embed)]
    pub state: Option<AgentStateColumns>,
}

/// What the agent is doing; the default: nobody knows.
#[derive(Debug, Default, PartialEq, AsChangeset)]
#[diesel(table_name = sessions, treat_none_as_null = true)]
pub struct AgentStateColumns {
    pub agent_state: Option<&'static str>,
    pub agent_state_kind: Option<String>,
    pub agent_state_since: Option<Instant>,
    pub agent_question: Option<String>,
    pub agent_state_evidence: Option<String>,
    pub resumes_at: Option<Instant>,
}

/// Writes what has changed, and that somebody keeps the session. Fails with `NotFound` when it is somebody else's now.
pub fn heartbeat(db: &mut Db, lease: &Lease, changes: &Changes, now: DateTime<Utc>) -> QueryResult<()> {
    found(diesel::update(held_by(lease)).set((changes, sessions::updated_at.eq(Instant(now)))).execute(db)?)
}

/// How a session ended when it was no crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Close {
    /// Its process ended well.
    Terminated,
    /// The operator stopped it.
    Interrupted,
}

/// Closes a session that nobody has closed or paused.
pub fn close(db: &mut Db, lease: &Lease, close: Close) -> QueryResult<()> {
    let active = held_by(lease).filter(sessions::status.eq("active"));
    diesel::update(active).set(sessions::status.eq(<&str>::from(close))).execute(db).map(drop)
}

#[diesel::dsl::auto_type(no_type_alias)]
fn held_by<'a>(lease: &'a Lease) -> _ {
    let id: &'a Id = &lease.id;
    let started_at: Instant = Instant(lease.started_at);
    sessions::table.filter(sessions::id.eq(id)).filter(sessions::started_at.eq(started_at))
}

#[diesel::dsl::auto_type(no_type_alias)]
fn command_is<'a>(status: &'a str, now: DateTime<Utc>) -> _ {
    let now: Instant = Instant(now);
    (session_commands::status.eq(status), session_commands::updated_at.eq(now))
}

#[diesel::dsl::auto_type(no_type_alias)]
fn queued() -> _ {
    session_commands::status.eq("queued")
}

fn found(rows: usize) -> QueryResult<()> {
    if rows == 0 { Err(diesel::result::Error::NotFound) } else { Ok(()) }
}

/// Characters of a watcher that are read; sweep writes some hundreds.
const WRITTEN_MAX: usize = 10_000;

/// A watcher that examines its session, as the session's row holds it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Watcher {
    pub policy: Policy,
    /// It keeps the session no longer when it was not heard of for longer.
    pub left_after_seconds: i64,
}

/// Writes who examines the session from now on; none: only sweeps.
pub fn examined_by(db: &mut Db, lease: &Lease, watcher: Option<&Watcher>) -> QueryResult<()> {
    let watcher = watcher.map(serde_json::to_string).transpose();
    let watcher = watcher.map_err(|error| diesel::result::Error::SerializationError(error.into()))?;
    diesel::update(held_by(lease)).set(sessions::watcher.eq(watcher)).execute(db).map(drop)
}

/// The policy of the watcher that examines this session at this time, if one does.
pub fn policy_of_watcher(db: &mut Db, id: &Id, now: DateTime<Utc>) -> QueryResult<Option<Policy>> {
    if !exists(db, "session_watchers")? {
        return Ok(None);
    }
    let row = session_watchers::table.filter(session_watchers::subject_id.eq(id));
    let text = sql::<Text>(&format!("substr(watcher, 1, {WRITTEN_MAX})"));
    let row = row.select((text, session_watchers::heard_of_at));
    let Some((watcher, heard_of_at)) = row.first::<(LossyText, RawInstant)>(db).optional()? else { return Ok(None) };
    // What another version, or somebody else, wrote may not be understood.
    let watcher = serde_json::from_str::<Watcher>(&watcher.0).ok();
    let is_alive = |watcher: &Watcher| {
        let silence = heard_of_at.instant().map(|at| now - at);
        silence.zip(TimeDelta::try_seconds(watcher.left_after_seconds)).is_some_and(|(silence, max)| silence <= max)
    };
    Ok(watcher.filter(is_alive).map(|watcher| watcher.policy))
}

/// A command that a supervisor has taken, and must carry out.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimedCommand {
    pub id: Id,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// Type this; None: whatever its policy says.
    Nudge(Option<String>),
    /// Start the process again. The session's row says so already, with this as its `started_at`.
    Relaunch(DateTime<Utc>),
}

/// What a session's process can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// It runs.
    Nudges,
    /// It has ended.
    Relaunches,
}

/// Is any command queued?
pub fn has_command(db: &mut Db, lease: &Lease) -> QueryResult<bool> {
    let of_session = session_commands::table.filter(session_commands::session_id.eq(&lease.id)).filter(queued());
    diesel::select(diesel::dsl::exists(of_session)).get_result(db)
}

/// Takes the oldest command that is queued. One that the process cannot take, or that would disturb a session that is
/// not active or must not be disturbed, has failed.
pub fn claim(db: &mut Db, lease: &Lease, takes: Takes, now: DateTime<Utc>) -> QueryResult<Option<ClaimedCommand>> {
    let oldest = session_commands::table
        .filter(session_commands::session_id.eq(&lease.id))
        .filter(queued())
        .order((session_commands::created_at, session_commands::id))
        .select((session_commands::id, session_commands::command, session_commands::message))
        .first::<(Id, String, Option<String>)>(db)
        .optional()?;
    let Some((id, command, message)) = oldest else { return Ok(None) };
    // Its row is locked with this, so that nobody pauses it meanwhile.
    let undisturbed = held_by(lease).filter(sessions::status.eq("active")).filter(sessions::stall_paused.eq(false));
    let is_active = 0 < diesel::update(undisturbed).set(sessions::updated_at.eq(Instant(now))).execute(db)?;
    let what = match (is_active, command.as_str(), takes) {
        (true, "nudge", Takes::Nudges) => Some(What::Nudge(message)),
        (true, "relaunch", Takes::Relaunches) => Some(What::Relaunch(now.trunc_subsecs(3))),
        _ => None,
    };
    let status = if what.is_some() { "delivered" } else { "failed" };
    let still_queued = session_commands::table.filter(session_commands::id.eq(&id)).filter(queued());
    if diesel::update(still_queued).set(command_is(status, now)).execute(db)? == 0 {
        return Ok(None);
    }
    if let Some(What::Relaunch(started_at)) = what {
        // At once: between the command and its effect the session would look crashed, with nothing on the way.
        found(diesel::update(held_by(lease)).set(restarted(started_at)).execute(db)?)?;
    }
    Ok(what.map(|what| ClaimedCommand { id, what }))
}

/// A command that was taken could not be carried out.
pub fn fail(db: &mut Db, command_id: &Id, now: DateTime<Utc>) -> QueryResult<()> {
    let command = session_commands::table.filter(session_commands::id.eq(command_id));
    diesel::update(command).set(command_is("failed", now)).execute(db).map(drop)
}
