//! The status and runs of an issue, by the host's rows and by the journal of its agents.

use std::fs;

use serde_json::Value;

use crate::paperclip::server::Server;

/// The statuses of a run that has not ended.
pub const LIVE: &str = "('queued', 'scheduled_retry', 'running')";

impl Server {
    pub fn status(&self, issue: &str) -> String {
        self.database.text(&format!("select status from issues where id = '{issue}'")).expect("an issue")
    }

    /// The runs of an issue, oldest first, each with who asked for it.
    pub fn runs(&self, issue: &str) -> Vec<Value> {
        self.database.rows(&format!(
            "select run.id, run.status, run.status in {LIVE} as live, run.error_code, run.agent_id, run.created_at, \
                run.started_at, run.finished_at,
                 run.context_snapshot ->> 'wakeReason' as reason, wake.status as wake, wake.requested_by_actor_id as \
                 asked_by,
                 (select string_agg(lease.status, ', ') from environment_leases lease where lease.heartbeat_run_id = \
                 run.id) as lease
             from heartbeat_runs run left join agent_wakeup_requests wake on wake.id = run.wakeup_request_id
             where run.context_snapshot ->> 'issueId' = '{issue}' order by run.created_at"
        ))
    }

    /// The runs that sweep asked for.
    pub fn continuations(&self, issue: &str) -> Vec<Value> {
        self.runs(issue).into_iter().filter(|run| run["asked_by"] == "sweep").collect()
    }

    pub fn has_live_run(&self, issue: &str) -> bool {
        self.runs(issue).iter().any(|run| run["live"] == true)
    }

    /// sweep's notifications about an issue, oldest first.
    pub fn reported(&self, issue: &str) -> Vec<Value> {
        self.database.rows(&format!(
            "select body, presentation from issue_comments
             where issue_id = '{issue}' and author_type = 'system' and presentation ->> 'title' like 'sweep%' order by \
             created_at"
        ))
    }

    /// Releases the environments that an issue's runs have held since the server died.
    pub fn release_environments(&self, issue: &str) {
        self.database.change(&format!(
            "update environment_leases set status = 'released', released_at = now() where released_at is null
             and heartbeat_run_id in (select id from heartbeat_runs where context_snapshot ->> 'issueId' = '{issue}')"
        ));
    }

    /// Leaves the last environment of an issue as a server does that was killed before it released it.
    pub fn leave_environment(&self, issue: &str) {
        self.database.change(&format!(
            "update environment_leases set status = 'active', released_at = null, cleanup_status = null, \
                updated_at = now()
             where heartbeat_run_id = (select id from heartbeat_runs where context_snapshot ->> 'issueId' = '{issue}'
                                       order by created_at desc limit 1)"
        ));
    }

    /// Dates back the ends of an issue's runs, and of the environments that they hold.
    pub fn make_older(&self, issue: &str, minutes: u32) {
        self.database.change(&format!(
            "update environment_leases set updated_at = updated_at - interval '{minutes} minutes'
             where heartbeat_run_id in (select id from heartbeat_runs where context_snapshot ->> 'issueId' = '{issue}')"
        ));
        self.database.change(&format!(
            "update heartbeat_runs set finished_at = finished_at - interval '{minutes} minutes'
             where context_snapshot ->> 'issueId' = '{issue}'"
        ));
    }

    /// What an issue's agents wrote down: a line for each run that began.
    pub fn played(&self, issue: &str) -> Vec<Value> {
        let journal = fs::read_to_string(self.journal()).expect("a journal");
        let lines = journal.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines.filter(|line| line["issue"] == issue).collect()
    }

    /// All that is known of an issue, to explain why a test failed.
    pub fn story(&self, issue: &str) -> String {
        let wakes = self.database.rows(&format!(
            "select status, reason, requested_by_actor_id, error, created_at from agent_wakeup_requests
             where payload ->> 'issueId' = '{issue}' order by created_at"
        ));
        let lines = |rows: Vec<Value>| rows.iter().map(|row| format!("\n  {row}")).collect::<String>();
        format!(
            "the issue is {}; runs:{}\nwakes:{}\nplayed:{}",
            self.status(issue),
            lines(self.runs(issue)),
            lines(wakes),
            lines(self.played(issue))
        )
    }
}
