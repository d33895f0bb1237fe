//! Every combination of some choices, as rows of one table from which a test fills the others, many rows at once.

use sweep::rules::Id;

use crate::support::world::{On, World};

/// One choice: its columns, and a row of values for each alternative, as SQL.
pub type Choice<'a> = (&'a str, &'a str);

impl World {
    /// Makes the table `combinations`, which only this connection sees, in place of an earlier one. Beside the columns
    /// of the choices it has a number `n`, and ids for rows of other tables: `subject_id`, `agent_id`, `issue_id` and
    /// `plan_id`. They follow from the number and the series. Returns the subjects' ids.
    pub fn combine(&mut self, series: u32, choices: &[Choice]) -> Vec<Id> {
        let tables: Vec<String> = choices
            .iter()
            .enumerate()
            .map(|(n, (columns, values))| format!("choice_{n} ({columns}) as (values {values})"))
            .collect();
        let names: Vec<String> = (0..choices.len()).map(|n| format!("choice_{n}")).collect();
        let ids: Vec<String> = ["subject_id", "agent_id", "issue_id", "plan_id"]
            .iter()
            .enumerate()
            .map(|(table, column)| format!("{} as {column}", self.id_in_series(&format!("{series}{table}"))))
            .collect();
        self.run(&format!(
            "drop table if exists combinations;
             create temporary table combinations as
             with {}, numbered as (select row_number() over () as n, * from {})
             select {}, * from numbered",
            tables.join(", "),
            names.join(" cross join "),
            ids.join(", "),
        ));
        self.texts("subject_id", "combinations order by n").into_iter().map(|id| Id(id.expect("an id"))).collect()
    }

    /// SQL for an id that follows from the row's number. The ids of one series do not begin alike.
    fn id_in_series(&self, series: &str) -> String {
        match self.on {
            On::Sqlite => format!("printf('%08d-0000-4000-8000-%012d', n, {series})"),
            On::Postgres | On::Paperclip => {
                format!("(to_char(n, 'FM00000000') || '-0000-4000-8000-' || lpad('{series}', 12, '0'))::uuid")
            }
        }
    }

    /// SQL for an id that no other row has.
    pub fn new_id(&self) -> &'static str {
        if self.on == On::Sqlite { "lower(hex(randomblob(16)))" } else { "gen_random_uuid()" }
    }

    /// Inserts a row of the host's for each row of `from`: its columns, and the value of each.
    pub fn fill(&mut self, table: &str, columns: &[(&str, &str)], from: &str) {
        let company = format!("'{}'", self.company);
        let of_company = (self.on == On::Paperclip).then_some(("company_id", company.as_str()));
        let columns = columns.iter().copied().chain(of_company);
        let (names, values): (Vec<&str>, Vec<&str>) = columns.unzip();
        self.run(&format!("insert into {table} ({}) select {} from {from}", names.join(", "), values.join(", ")));
    }

    /// Inserts the issue of each combination, with this status and agent, as `orphan` does.
    pub fn fill_issues(&mut self, prefix: &str, id: &str, status: &str, agent: &str) {
        let (hour, identifier) = (self.ago(60), format!("'{prefix}-' || n"));
        let columns = [
            ("id", id),
            ("identifier", &identifier),
            ("title", "'Mend the fence'"),
            ("status", status),
            ("assignee_agent_id", agent),
            ("started_at", &hour),
            ("created_at", &hour),
            ("updated_at", &hour),
        ];
        self.fill("issues", &columns, "combinations");
    }

    /// Inserts the step of each combination, in progress for two hours, and its plan, as `stalled_step` does.
    pub fn fill_steps(&mut self, agent: &str) {
        let began = self.ago(120);
        let plan = [("id", "plan_id"), ("title", "'Launch'"), ("status", "'executing'"), ("agent_id", agent)];
        self.fill("plans", &plan, "combinations");
        let step = [
            ("id", "subject_id"),
            ("plan_id", "plan_id"),
            ("position", "1"),
            ("title", "'Pack'"),
            ("status", "'in_progress'"),
            ("started_at", &began),
            ("updated_at", &began),
        ];
        self.fill("plan_steps", &step, "combinations");
    }
}
