//! A session, and what its supervisor does.

use sweep::rules::Id;

use crate::world::World;

/// The same line, as often as a loop needs and more.
pub const LOOP: &str = "Error: connection refused";

impl World {
    /// An active session without a sign of life for ten minutes: silent, unless told otherwise by `set`.
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

    /// It prints something new.
    pub fn progresses(&mut self, session: &Id) {
        let now = self.ago(0);
        self.set(
            "sessions",
            session,
            &format!("last_activity_at = {now}, last_progress_at = {now}, recent_output = 'ok'"),
        );
    }

    /// It prints the same again and again.
    pub fn loops(&mut self, session: &Id) {
        let (now, output) = (self.ago(0), [LOOP; 8].join("\n"));
        self.set("sessions", session, &format!("last_activity_at = {now}, recent_output = '{output}'"));
    }

    /// Its process ends; null: by a signal.
    pub fn ends(&mut self, session: &Id, exit_code: &str) {
        let now = self.ago(0);
        self.set("sessions", session, &format!("ended_at = {now}, exit_code = {exit_code}"));
    }

    /// Its supervisor takes the commands that are queued. A relaunched process starts, and says so.
    pub fn deliver_commands(&mut self) -> i64 {
        let (now, queued) = (self.ago(0), self.count("session_commands where status = 'queued'"));
        self.run(&format!(
            "update sessions set started_at = {now}, last_activity_at = {now}, last_progress_at = {now}, ended_at = null,
                                 exit_code = null, recent_output = 'starting'
             where id in (select session_id from session_commands where status = 'queued' and command = 'relaunch')"
        ));
        self.run(&format!(
            "update session_commands set status = 'delivered', updated_at = {now} where status = 'queued'"
        ));
        queued
    }

    /// Those that sweep queued for a session, whatever became of them: `nudge`, `relaunch`.
    pub fn commands(&mut self, session: &Id, command: &str) -> i64 {
        self.count(&format!(
            "session_commands where session_id = '{session}' and command = '{command}' and requested_by = 'sweep'"
        ))
    }
}
