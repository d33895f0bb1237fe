//! Many subjects at once, numbered: the higher the number, the older.

use std::ops::Range;

use sweep::rules::Id;

use crate::support::world::{On, World};

/// The id of a numbered subject.
pub fn numbered(n: u32) -> Id {
    Id(format!("00000000-0000-4000-8000-{n:012}"))
}

impl World {
    /// Makes orphans of one agent; number `n` has been idle for an hour and `n` minutes.
    pub fn orphans(&mut self, agent: &Id, numbers: Range<u32>) -> Vec<Id> {
        let (company, of_company) = match self.on {
            On::Paperclip => (", company_id", format!(", (select company_id from agents where id = '{agent}')")),
            On::Postgres | On::Sqlite => ("", String::new()),
        };
        let (id, since) = self.numbered_row();
        self.insert_numbered(
            &numbers,
            &format!(
                "issues (id, identifier, title, status, assignee_agent_id, started_at, created_at, updated_at{company})"
            ),
            &format!(
                "{id}, 'N-' || n, 'Mend the fence', 'in_progress', '{agent}', {since}, {since}, {since}{of_company}"
            ),
        );
        numbers.map(numbered).collect()
    }

    /// Makes stalled steps, each in a plan of its own with the same number.
    pub fn stalled_steps(&mut self, agent: &Id, numbers: Range<u32>) -> Vec<Id> {
        let (id, since) = self.numbered_row();
        let plan = format!("{id}, 'Launch', 'executing', '{agent}'");
        self.insert_numbered(&numbers, "plans (id, title, status, agent_id)", &plan);
        self.insert_numbered(
            &numbers,
            "plan_steps (id, plan_id, position, title, status, started_at, updated_at)",
            &format!("{id}, {id}, 1, 'Pack', 'in_progress', {since}, {since}"),
        );
        numbers.map(numbered).collect()
    }

    /// Gives a plan so many steps, numbered from 0: of two one is completed, the other pending.
    pub fn long_plan(&mut self, plan: &Id, steps: u32) {
        let (id, since) = self.numbered_row();
        self.insert_numbered(
            &(0..steps),
            "plan_steps (id, plan_id, position, title, status, updated_at)",
            &format!("{id}, '{plan}', n, 'Pack', case n % 2 when 0 then 'pending' else 'completed' end, {since}"),
        );
    }

    /// Makes so many issues of an agent that have a live run.
    pub fn healthy(&mut self, agent: &Id, n: u32) {
        for issue in self.orphans(agent, 500_000..500_000 + n) {
            self.issue_run(&issue, agent, "running", 5);
        }
    }

    /// SQL for the id of row `n`, and for the time of its last sign of life.
    fn numbered_row(&self) -> (&'static str, &'static str) {
        match self.on {
            On::Sqlite => (
                "printf('00000000-0000-4000-8000-%012d', n)",
                "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-' || (60 + n) || ' minutes')",
            ),
            On::Postgres | On::Paperclip => (
                "('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid",
                "now() - (60 + n) * interval '1 minute'",
            ),
        }
    }

    fn insert_numbered(&mut self, numbers: &Range<u32>, into: &str, values: &str) {
        let Range { start, end } = numbers;
        self.run(&format!(
            "with recursive numbers (n) as (select {start} union all select n + 1 from numbers where n + 1 < {end})
             insert into {into} select {values} from numbers"
        ));
    }

    /// Has these issues wait for something that their host declares.
    pub fn declare_waits(&mut self, issues: &[Id]) {
        let wait = match self.on {
            On::Paperclip => "monitor_next_check_at = now() + interval '1 day'",
            On::Postgres | On::Sqlite => "waiting_for = 'approval'",
        };
        let ids: Vec<String> = issues.iter().map(|id| format!("'{id}'")).collect();
        self.run(&format!("update issues set {wait} where id in ({})", ids.join(", ")));
    }
}
