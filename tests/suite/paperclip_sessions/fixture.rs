//! A run of Paperclip's, and what its server writes about it.

use sweep::rules::Id;

use crate::world::{On, World};

/// All that may change when a run shows a sign of life.
pub const SIGNS: [&str; 3] = ["last_output_at", "started_at", "updated_at"];

/// Every status in which a run has ended.
pub const ENDS: [&str; 5] = ["succeeded", "failed", "cancelled", "timed_out", "interrupted"];

/// A world with one agent, one issue in progress, and its run that has been silent for two hours: `(world, issue, run)`.
pub fn with_a_silent_run() -> (World, Id, Id) {
    let mut world = World::new(On::Paperclip);
    let agent = world.agent("running");
    let issue = world.orphan(&agent);
    let run = world.silent_run(&agent, Some(&issue));
    (world, issue, run)
}

impl World {
    /// It is running, and showed no sign of life for two hours.
    pub fn silent_run(&mut self, agent: &Id, issue: Option<&Id>) -> Id {
        // Random, as its server makes it: the ids of one moment must not begin alike.
        let id = Id(self.text("gen_random_uuid()", "companies limit 1").expect("an id"));
        let (began, quiet) = (self.ago(180), self.ago(120));
        let context = issue.map_or("{}".to_owned(), |issue| format!("{{\"issueId\": \"{issue}\"}}"));
        self.run(&format!(
            "insert into heartbeat_runs (id, company_id, agent_id, status, invocation_source, context_snapshot, created_at,
                                         started_at, last_output_at, updated_at)
             select '{id}', company_id, id, 'running', 'timer', '{context}', {began}, {began}, {quiet}, {quiet}
             from agents where id = '{agent}'"
        ));
        id
    }

    /// It shows a sign of life.
    pub fn prints(&mut self, run: &Id) {
        let now = self.ago(0);
        self.set("heartbeat_runs", run, &format!("last_output_at = {now}, updated_at = {now}"));
    }

    /// The whole row, as text.
    pub fn row(&mut self, table: &str, id: &Id) -> String {
        self.text("r::text", &format!("{table} r where id = '{id}'")).expect("a row")
    }

    pub fn session_escalations(&mut self, run: &Id) -> i64 {
        self.count(&format!("recoveries where kind = 'session' and subject_id = '{run}' and action = 'escalate'"))
    }

    pub fn open_session_recoveries(&mut self) -> i64 {
        self.count("recoveries where kind = 'session' and settled_at is null")
    }
}
