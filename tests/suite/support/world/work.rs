//! Issues, runs, wakes and plan steps of one agent, as its host writes them.

use sweep::rules::Id;

use crate::support::world::{On, World};

impl World {
    pub fn agent(&mut self, status: &str) -> Id {
        let id = Id::generate();
        match self.on {
            On::Paperclip => {
                let company = self.company.clone();
                self.run(&format!(
                    "insert into agents (id, company_id, name, status) values ('{id}', '{company}', 'Ada', '{status}')"
                ));
            }
            On::Postgres | On::Sqlite => {
                self.run(&format!("insert into agents (id, name, status) values ('{id}', 'Ada', '{status}')"));
            }
        }
        id
    }

    /// Makes an issue in progress that its agent has left for an hour: an orphan, unless `set` changes it.
    pub fn orphan(&mut self, agent: &Id) -> Id {
        let id = Id::generate();
        let (hour, identifier) = (self.ago(60), format!("T-{}", &id.0[24..]));
        let (column, value) = match self.on {
            On::Paperclip => (", company_id", format!(", '{}'", self.company)),
            On::Postgres | On::Sqlite => ("", String::new()),
        };
        self.run(&format!(
            "insert into issues (id, identifier, title, status, assignee_agent_id, started_at, created_at, \
                updated_at{column})
             values ('{id}', '{identifier}', 'Mend the fence', 'in_progress', '{agent}', {hour}, {hour}, {hour}{value})"
        ));
        id
    }

    /// Makes a run of an issue that began `minutes` ago.
    pub fn issue_run(&mut self, issue: &Id, agent: &Id, status: &str, minutes: i64) -> Id {
        let (id, at) = (Id::generate(), self.ago(minutes));
        let sql = match self.on {
            On::Paperclip => format!(
                "insert into heartbeat_runs (id, company_id, agent_id, status, context_snapshot, created_at)
                 values ('{id}', '{}', '{agent}', '{status}', '{{\"issueId\": \"{issue}\"}}', {at})",
                self.company
            ),
            On::Postgres | On::Sqlite => format!(
                "insert into runs (id, agent_id, issue_id, status, created_at)
                 values ('{id}', '{agent}', '{issue}', '{status}', {at})"
            ),
        };
        self.run(&sql);
        id
    }

    /// Makes a wake of an issue that the host queued `minutes` ago.
    pub fn issue_wake(&mut self, issue: &Id, agent: &Id, status: &str, minutes: i64) -> Id {
        let (id, at) = (Id::generate(), self.ago(minutes));
        let sql = match self.on {
            On::Paperclip => format!(
                "insert into agent_wakeup_requests (id, company_id, agent_id, source, status, payload, created_at)
                 values ('{id}', '{}', '{agent}', 'assignment', '{status}', '{{\"issueId\": \"{issue}\"}}', {at})",
                self.company
            ),
            On::Postgres | On::Sqlite => format!(
                "insert into wakes (id, agent_id, issue_id, reason, requested_by, status, created_at)
                 values ('{id}', '{agent}', '{issue}', 'assigned', 'host', '{status}', {at})"
            ),
        };
        self.run(&sql);
        id
    }

    /// Makes a plan with one step in progress for two hours, stalled unless `set` changes it: `(plan, step)`.
    pub fn stalled_step(&mut self, agent: Option<&Id>) -> (Id, Id) {
        let (plan, step, began) = (Id::generate(), Id::generate(), self.ago(120));
        let agent = agent.map_or("null".to_owned(), |id| format!("'{id}'"));
        self.run(&format!(
            "insert into plans (id, title, status, agent_id) values ('{plan}', 'Launch', 'executing', {agent})"
        ));
        self.run(&format!(
            "insert into plan_steps (id, plan_id, position, title, status, started_at, updated_at)
             values ('{step}', '{plan}', 1, 'Pack', 'in_progress', {began}, {began})"
        ));
        (plan, step)
    }

    /// Makes an issue at work, of an agent of its own: `(issue, run)`.
    pub fn issue_at_work(&mut self) -> (Id, Id) {
        let agent = self.agent("idle");
        let issue = self.orphan(&agent);
        let run = self.issue_run(&issue, &agent, "running", 30);
        (issue, run)
    }

    /// Makes a run of a step that began half an hour ago.
    pub fn step_run(&mut self, step: &Id, agent: &Id, status: &str) -> Id {
        let (id, at) = (Id::generate(), self.ago(30));
        self.run(&format!(
            "insert into runs (id, agent_id, plan_step_id, status, created_at)
             values ('{id}', '{agent}', '{step}', '{status}', {at})"
        ));
        id
    }

    pub fn set_run(&mut self, run: &Id, assignment: &str) {
        let table = if self.on == On::Paperclip { "heartbeat_runs" } else { "runs" };
        self.set(table, run, assignment);
    }

    pub fn end_run(&mut self, run: &Id) {
        self.end_run_as(run, "failed", 0);
    }

    /// Ends a run, and dates that `minutes` back.
    pub fn end_run_as(&mut self, run: &Id, status: &str, minutes: i64) {
        let at = self.ago(minutes);
        self.set_run(run, &format!("status = '{status}', finished_at = {at}"));
    }
}
