//! Sessions, what their supervisors do, and what is recorded of them.

use sweep::rules::Id;

use crate::support::wait::wait_for;
use crate::support::world::World;

/// A line that a looping session prints again and again.
pub const LOOP: &str = "Error: connection refused";

impl World {
    /// Makes an active session without a sign of life for ten minutes: silent, unless `set` changes it.
    pub fn session(&mut self, agent: Option<&Id>, issue: Option<&Id>) -> Id {
        let (id, hour, quiet) = (Id::generate(), self.ago(60), self.ago(10));
        let quoted = |id: Option<&Id>| id.map_or("null".to_owned(), |id| format!("'{id}'"));
        let (agent, issue) = (quoted(agent), quoted(issue));
        self.run(&format!(
            "insert into sessions (id, identifier, title, agent_id, issue_id, status, started_at, created_at,
                                   last_activity_at, last_progress_at)
             values ('{id}', 'S-{}', 'mend the fence', {agent}, {issue}, 'active', {hour}, {hour}, {quiet}, {quiet})",
            &id.0[24..]
        ));
        id
    }

    /// Has the session print something new.
    pub fn progresses(&mut self, session: &Id) {
        let now = self.ago(0);
        self.set(
            "sessions",
            session,
            &format!("last_activity_at = {now}, last_progress_at = {now}, recent_output = 'ok'"),
        );
    }

    /// Has the session print one line again and again.
    pub fn loops(&mut self, session: &Id) {
        let (now, output) = (self.ago(0), [LOOP; 8].join("\n"));
        self.set("sessions", session, &format!("last_activity_at = {now}, recent_output = '{output}'"));
    }

    /// Ends the session's process; null: by a signal.
    pub fn ends(&mut self, session: &Id, exit_code: &str) {
        let now = self.ago(0);
        self.set("sessions", session, &format!("ended_at = {now}, exit_code = {exit_code}"));
    }

    /// Has the supervisor take the queued commands. A relaunched process starts, and reports it.
    pub fn deliver_commands(&mut self) -> i64 {
        let (now, queued) = (self.ago(0), self.count("session_commands where status = 'queued'"));
        self.run(&format!(
            "update sessions set started_at = {now}, last_activity_at = {now}, last_progress_at = {now}, ended_at = \
                null,
                                 exit_code = null, recent_output = 'starting'
             where id in (select session_id from session_commands where status = 'queued' and command = 'relaunch')"
        ));
        self.run(&format!(
            "update session_commands set status = 'delivered', updated_at = {now} where status = 'queued'"
        ));
        queued
    }

    /// Counts the commands of this name that sweep queued for a session, whatever became of them: `nudge`, `relaunch`.
    pub fn commands(&mut self, session: &Id, command: &str) -> i64 {
        self.count(&format!(
            "session_commands where session_id = '{session}' and command = '{command}' and requested_by = 'sweep'"
        ))
    }

    /// A column of the session `agent`, as text.
    pub fn of_agent(&mut self, column: &str) -> Option<String> {
        self.text(column, "sessions where identifier = 'agent'")
    }

    pub fn agents_commands(&mut self, condition: &str) -> i64 {
        self.count(&format!("session_commands where {condition}"))
    }

    pub fn recovered(&mut self, action: &str) -> i64 {
        self.count(&format!("recoveries where kind = 'session' and action = '{action}'"))
    }

    #[track_caller]
    pub fn until_recovered(&mut self, action: &str) {
        wait_for(action, || (0 < self.recovered(action)).then_some(()));
    }

    /// Queues a command of somebody else's.
    pub fn queue(&mut self, command: &str, message: &str) {
        let id = self.new_id();
        self.run(&format!(
            "insert into session_commands (id, session_id, command, message, requested_by)
             select {id}, id, '{command}', '{message}', 'a person' from sessions where identifier = 'agent'"
        ));
    }

    /// Makes a run that is running, and showed no sign of life for two hours.
    pub fn silent_run(&mut self, agent: &Id, issue: Option<&Id>) -> Id {
        // A random id, as the server makes it: ids of one moment must not begin alike.
        let id = Id(self.text("gen_random_uuid()", "companies limit 1").expect("an id"));
        let (began, quiet) = (self.ago(180), self.ago(120));
        let context = issue.map_or("{}".to_owned(), |issue| format!("{{\"issueId\": \"{issue}\"}}"));
        self.run(&format!(
            "insert into heartbeat_runs (id, company_id, agent_id, status, invocation_source, context_snapshot, \
                created_at,
                                         started_at, last_output_at, updated_at)
             select '{id}', company_id, id, 'running', 'timer', '{context}', {began}, {began}, {quiet}, {quiet}
             from agents where id = '{agent}'"
        ));
        id
    }

    /// Gives the run a sign of life.
    pub fn prints(&mut self, run: &Id) {
        let now = self.ago(0);
        self.set("heartbeat_runs", run, &format!("last_output_at = {now}, updated_at = {now}"));
    }

    pub fn session_escalations(&mut self, run: &Id) -> i64 {
        self.count(&format!("recoveries where kind = 'session' and subject_id = '{run}' and action = 'escalate'"))
    }

    pub fn open_session_recoveries(&mut self) -> i64 {
        self.count("recoveries where kind = 'session' and settled_at is null")
    }
}
