//! Made-up companies: many issues with one run each, of which some are in progress, scattered evenly among them.

/// Few enough issues for each agent that no bound per agent is met.
const ISSUES_PER_AGENT: u32 = 8;

/// How many issues a company has, and the state of each.
pub struct Company {
    pub issues: u32,
    /// The number of issues after which the pattern repeats; an agent's issues follow one another in it.
    pub stride: u32,
    /// SQL over the number `n`: `finished`, `orphaned`, `live` or `woken`.
    pub states: String,
}

impl Company {
    /// One orphan in `stride` issues, beside two issues that are being worked on; the others are finished.
    pub fn with_orphans(orphans: u32, stride: u32) -> Company {
        Company {
            issues: orphans * stride,
            stride,
            states: format!(
                "case when n % {stride} = 0 then 'orphaned' when n % {stride} in (1, 2) then 'live' else 'finished' end"
            ),
        }
    }

    /// `busy` healthy issues in progress; the others are finished. One in a hundred has a wake of this minute, the rest
    /// have a live run.
    pub fn healthy(issues: u32, busy: u32) -> Company {
        let stride = (issues / busy).max(1);
        Company {
            issues,
            stride,
            states: format!(
                "case when n % {stride} <> 0 then 'finished' when n / {stride} % 100 = 0 then 'woken' else 'live' end"
            ),
        }
    }

    pub fn agents(&self) -> u32 {
        self.issues / self.stride / ISSUES_PER_AGENT
    }

    /// The statements for PostgreSQL. The tables that sweep writes have no statistics, as in a database on which sweep
    /// is new.
    pub fn postgres(&self) -> [String; 2] {
        let fill = include_str!("company.sql")
            .replace(":agents", &self.agents().to_string())
            .replace(":issues", &self.issues.to_string())
            .replace(":stride", &self.stride.to_string())
            .replace(":states", &self.states);
        [fill, "vacuum analyze sweep.agents, sweep.issues, sweep.runs".to_owned()]
    }

    /// The statements for SQLite, which has no md5: the id is the number itself.
    pub fn sqlite(&self) -> String {
        let Company { issues, stride, states } = self;
        let agents = self.agents();
        let moment = |ago: &str| format!("strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '{ago}')");
        let [day, hours, hour, now] = ["-2 days", "-4 hours", "-3 hours", "0 days"].map(moment);
        let id = |group: u32, number: &str| format!("printf('{group:08}-0000-4000-8000-%012d', {number})");
        let (agent, issue, run) = (id(1, &format!("n / {stride} % {agents}")), id(2, "n"), id(3, "n"));
        let new_agent = id(1, "n");
        let numbers = |until: u32| {
            format!(
                "with recursive numbers (n) as (select 0 union all select n + 1 from numbers where n + 1 < {until})"
            )
        };
        let (few, many) = (numbers(agents), numbers(*issues));
        format!(
            "begin;
             {few} insert into agents (id, name) select {new_agent}, 'Agent ' || n from numbers;
             {many} insert into issues (id, identifier, title, status, assignee_agent_id, started_at, created_at, updated_at)
             select {issue}, 'ACM-' || n, {states}, case when {states} = 'finished' then 'done' else 'in_progress' end, {agent},
                    {day}, {day}, {hour} from numbers;
             {many} insert into runs (id, agent_id, issue_id, status, created_at, finished_at, heartbeat_at, lease_seconds)
             select {run}, {agent}, {issue}, case {states} when 'live' then 'running' when 'finished' then 'succeeded' else 'failed' end,
                    {hours}, case when {states} <> 'live' then {hour} end,
                    case when {states} = 'live' then {now} end, case when {states} = 'live' then 86400 end from numbers;
             commit;
             analyze"
        )
    }
}
