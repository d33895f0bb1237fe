//! What happens between two sweeps: the host works, and time passes.

use crate::support::wait::wait_until;
use crate::support::world::{On, World};

impl World {
    /// Has the host run the wakes that sweep queued; each run ends with this status.
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

    /// Waits until nobody else is connected: the server may still be at work for a client that was killed or cut off.
    pub fn wait_for_the_dead(&mut self) {
        let others = "pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
        wait_until("no other connection", || self.on == On::Sqlite || self.count(others) == 0);
    }

    /// Moves everything into the past, as if `minutes` had gone by.
    pub fn pass(&mut self, minutes: i64) {
        let mut tables: Vec<(&str, &[&str])> = vec![
            ("issues", &["updated_at", "started_at", "created_at"]),
            ("recoveries", &["created_at", "settled_at", "episode_began_at"]),
            ("upkeep", &["until", "began_at", "due_at"]),
        ];
        tables.extend::<Vec<(&str, &[&str])>>(match self.on {
            On::Paperclip => vec![
                ("heartbeat_runs", &["created_at", "started_at", "last_output_at", "updated_at", "finished_at"]),
                ("agent_wakeup_requests", &["created_at"]),
            ],
            On::Postgres | On::Sqlite => vec![
                ("runs", &["created_at", "finished_at", "heartbeat_at"]),
                ("wakes", &["created_at"]),
                ("workers", &["started_at"]),
                ("plan_steps", &["started_at", "updated_at"]),
                ("sessions", &["created_at", "started_at", "last_activity_at", "last_progress_at", "ended_at"]),
                ("session_commands", &["created_at", "updated_at"]),
            ],
        });
        let on = self.on;
        let earlier = |column: &str| match on {
            On::Sqlite => format!("{column} = strftime('%Y-%m-%dT%H:%M:%fZ', {column}, '-{minutes} minutes')"),
            On::Postgres | On::Paperclip => format!("{column} = {column} - {minutes} * interval '1 minute'"),
        };
        for (table, columns) in tables {
            let earlier: Vec<String> = columns.iter().map(|column| earlier(column)).collect();
            self.run(&format!("update {table} set {}", earlier.join(", ")));
        }
    }
}
