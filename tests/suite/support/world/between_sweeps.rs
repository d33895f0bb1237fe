//! What happens between two sweeps: the host works, and time passes.

use crate::support::world::{On, World};

impl World {
    /// What the host does with the wakes that sweep queued: each becomes a run that ends so.
    pub fn end_continuations(&mut self, status: &str) {
        let at = self.ago(0);
        if self.on == On::Paperclip {
            self.run(&format!(
                "update heartbeat_runs set status = '{status}', finished_at = {at} where status = 'queued'"
            ));
            self.run("update agent_wakeup_requests set status = 'completed' where status = 'queued'");
            return;
        }
        let wakes = "from wakes where requested_by = 'sweep' and status = 'queued'";
        let id = if self.on == On::Sqlite { "substr(id, 1, 35) || 'f'" } else { "gen_random_uuid()" };
        self.run(&format!(
            "insert into runs (id, agent_id, issue_id, plan_step_id, wake_id, status, created_at, finished_at)
             select {id}, agent_id, issue_id, plan_step_id, id, '{status}', {at}, {at} {wakes}"
        ));
        self.run("update wakes set status = 'completed' where requested_by = 'sweep' and status = 'queued'");
    }

    /// What guards hold back was decided so many minutes ago; negative: in the future.
    pub fn date_the_guard(&mut self, minutes: i64) {
        let at = self.ago(minutes);
        self.run(&format!("update sweeps set guard_decided_at = {at} where guard_decided_at is not null"));
    }

    /// Moves everything into the past, as if `minutes` had gone by.
    pub fn pass(&mut self, minutes: i64) {
        let mut columns = vec![
            ("issues", "updated_at"),
            ("issues", "started_at"),
            ("issues", "created_at"),
            ("recoveries", "created_at"),
            ("recoveries", "settled_at"),
            ("recoveries", "episode_began_at"),
        ];
        columns.extend(match self.on {
            On::Paperclip => vec![
                ("heartbeat_runs", "created_at"),
                ("heartbeat_runs", "started_at"),
                ("heartbeat_runs", "last_output_at"),
                ("heartbeat_runs", "updated_at"),
                ("heartbeat_runs", "finished_at"),
                ("agent_wakeup_requests", "created_at"),
            ],
            On::Postgres | On::Sqlite => vec![
                ("runs", "created_at"),
                ("runs", "finished_at"),
                ("wakes", "created_at"),
                ("plan_steps", "started_at"),
                ("plan_steps", "updated_at"),
                ("sessions", "created_at"),
                ("sessions", "started_at"),
                ("sessions", "last_activity_at"),
                ("sessions", "last_progress_at"),
                ("sessions", "ended_at"),
                ("session_commands", "created_at"),
                ("session_commands", "updated_at"),
            ],
        });
        for (table, column) in columns {
            let earlier = match self.on {
                On::Sqlite => format!("strftime('%Y-%m-%dT%H:%M:%fZ', {column}, '-{minutes} minutes')"),
                On::Postgres | On::Paperclip => format!("{column} - {minutes} * interval '1 minute'"),
            };
            self.run(&format!("update {table} set {column} = {earlier} where {column} is not null"));
        }
    }
}
