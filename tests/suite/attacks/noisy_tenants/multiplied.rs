//! What a tenant can have many of costs in proportion to their number: never the number of one thing times that of
//! another, which a tenant of 8,000 sessions on one issue would make a sweep's whole time of.

use std::process::Command;

use diesel::sql_types::Text;
use diesel::{QueryableByName, RunQueryDsl};
use rstest::rstest;
use serde_json::Value;

use crate::support::world::{On, World};

/// The issue, the agent and the plan that all of it belongs to.
const OWNERS: &str = "
    insert into agents (id, name) values (md5('agent')::uuid, 'Ada');
    insert into issues (id, identifier, title, status, assignee_agent_id, updated_at)
        values (md5('issue')::uuid, 'E-1', 'x', 'in_progress', md5('agent')::uuid, now() - interval '1 day');
    insert into plans (id, title, status, agent_id, issue_id)
        values (md5('plan')::uuid, 'p', 'executing', md5('agent')::uuid, md5('issue')::uuid);";

const SESSIONS: &str = "
    insert into sessions (id, issue_id, agent_id, status, started_at, ended_at, exit_code)
        select md5('s' || n)::uuid, md5('issue')::uuid, md5('agent')::uuid, 'active', now() - interval '2 hours', ENDED
        from generate_series(1, N) n;";

/// Sessions of an agent that the issue is not assigned to.
const ANOTHERS: &str = "
    insert into agents (id, name) values (md5('other')::uuid, 'Bob');
    insert into sessions (id, issue_id, agent_id, status, started_at, ended_at, exit_code)
        select md5('s' || n)::uuid, md5('issue')::uuid, md5('other')::uuid, 'active', now() - interval '2 hours', ENDED
        from generate_series(1, N) n;";

const STEPS: &str = "
    insert into plan_steps (id, plan_id, position, title, status, started_at)
        select md5('t' || n)::uuid, md5('plan')::uuid, n, 's', 'in_progress', now() - interval '1 day'
        from generate_series(1, N) n;";

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text, column_name = "QUERY PLAN")]
    text: String,
}

/// How many rows the nodes of the plan of a query have looked at.
fn rows_looked_at(world: &mut World, query: &str) -> f64 {
    fn sum(plan: &Value) -> f64 {
        let number = |name: &str| plan[name].as_f64().unwrap_or_default();
        let removed = number("Rows Removed by Filter") + number("Rows Removed by Join Filter");
        let below = plan["Plans"].as_array().map_or(0.0, |plans| plans.iter().map(sum).sum());
        below + (number("Actual Rows") + removed) * number("Actual Loops")
    }
    let explain = format!("explain (analyze, timing off, costs off, format json) {query}");
    let lines: Vec<Line> = diesel::sql_query(explain).load(&mut world.db).expect("a plan");
    let text: String = lines.into_iter().map(|line| line.text).collect();
    sum(&serde_json::from_str::<Value>(&text).expect("JSON")[0]["Plan"])
}

#[rstest]
#[case::crashed_sessions_of_an_issue(&SESSIONS.replace("ENDED", "now() - interval '1 hour', 1"))]
#[case::live_sessions_of_an_issue(&SESSIONS.replace("ENDED", "null, null"))]
#[case::live_sessions_of_another_agent(&ANOTHERS.replace("ENDED", "null, null"))]
#[case::crashed_and_live_sessions_of_another_agent(&format!(
    "{} {}",
    SESSIONS.replace("ENDED", "now() - interval '1 hour', 1"),
    ANOTHERS.replace("ENDED", "null, null").replace("md5('s'", "md5('o'")
))]
#[case::relaunches_of_an_issues_sessions(&format!(
    "{} insert into session_commands (session_id, command, requested_by) select id, 'relaunch', 'x' from sessions;",
    SESSIONS.replace("ENDED", "now() - interval '1 hour', 1")
))]
#[case::steps_of_a_plan(STEPS)]
#[case::wakes_of_a_plans_steps(&format!(
    "{STEPS} insert into wakes (agent_id, plan_step_id, reason, requested_by)
         select md5('agent')::uuid, id, 'x', 'x' from plan_steps;"
))]
#[case::plans_of_an_issue(
    "insert into plans (id, title, status, agent_id, issue_id)
         select md5('p' || n)::uuid, 'p', 'executing', md5('agent')::uuid, md5('issue')::uuid
         from generate_series(1, N) n;
     insert into plan_steps (plan_id, position, title, status, started_at)
         select id, 1, 's', 'in_progress', now() - interval '1 day' from plans;"
)]
#[case::runs_of_an_issue_and_its_sessions(&format!(
    "{} insert into runs (agent_id, issue_id, status, finished_at)
         select md5('agent')::uuid, md5('issue')::uuid, 'failed', now() - interval '2 hours'
         from generate_series(1, N);",
    SESSIONS.replace("ENDED", "now() - interval '1 hour', 1")
))]
#[case::wakes_of_an_issue_and_its_steps(&format!(
    "{STEPS} insert into wakes (agent_id, issue_id, reason, requested_by)
         select md5('agent')::uuid, md5('issue')::uuid, 'x', 'x' from generate_series(1, N);"
))]
#[case::wakes_of_an_issue_and_its_sessions(&format!(
    "{} insert into wakes (agent_id, issue_id, reason, requested_by)
         select md5('agent')::uuid, md5('issue')::uuid, 'x', 'x' from generate_series(1, N);",
    SESSIONS.replace("ENDED", "now() - interval '1 hour', 1")
))]
#[case::continuations_of_an_issue_and_its_ledger(&format!(
    "insert into wakes (id, agent_id, issue_id, reason, requested_by, status)
         select md5('w' || n)::uuid, md5('agent')::uuid, md5('issue')::uuid, 'issue_continuation_needed', 'x',
                'completed' from generate_series(1, N) n;
     insert into runs (agent_id, issue_id, wake_id, status, created_at)
         select agent_id, issue_id, id, 'failed', now() - interval '2 hours' from wakes;
     {LEDGER}"
))]
fn what_is_many_of_one_tenant_is_looked_at_in_proportion(#[case] fill: &str) {
    is_in_proportion(On::Postgres, &["session", "issue", "step"], &|n| {
        format!("{OWNERS} {}", fill.replace("(1, N)", &format!("(1, {n})")))
    });
}

/// What sweeps did about the issue, N times.
const LEDGER: &str = "
    insert into sweep.recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, wake_id,
                                  created_at, settled_at)
        select gen_random_uuid(), md5('sweep')::uuid, 'issue', md5('issue')::uuid, 'continue', 'x', now(), n,
               gen_random_uuid(), now() - interval '3 hours', now()
        from generate_series(1, N) n;";

/// On a file, where its program says how many steps a query took.
#[rstest]
#[case::ledger_wakes_and_runs_of_an_issue(
    "insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, wake_id,
                             settled_at)
     select 'r' || i, 'sweep', 'issue', 'issue', 'continue', 'x', NOW, i, 'of r' || i, NOW from n;
     insert into wakes (id, agent_id, issue_id, reason, requested_by, status)
     select 'of ' || id, 'agent', 'issue', 'issue_continuation_needed', 'x', 'completed' from recoveries;
     update wakes set id = 'host''s ' || id;
     insert into runs (id, agent_id, issue_id, wake_id, status)
     select 'run of ' || id, agent_id, issue_id, id, 'failed' from wakes"
)]
#[case::crashed_sessions_of_an_issue(FILE_SESSIONS)]
#[case::live_sessions_of_another_agent(&format!(
    "{FILE_SESSIONS}; update sessions set agent_id = 'other', ended_at = null, exit_code = null"
))]
#[case::crashed_and_live_sessions_of_another_agent(&format!(
    "{FILE_SESSIONS}; update sessions set agent_id = 'other', ended_at = null, exit_code = null where rowid % 2 = 0"
))]
#[case::relaunches_of_an_issues_sessions(&format!(
    "{FILE_SESSIONS};
     insert into session_commands (id, session_id, command, requested_by) select id, id, 'relaunch', 'x' from sessions"
))]
#[case::wakes_of_an_issue_and_its_sessions(&format!(
    "{FILE_SESSIONS}; insert into wakes (id, agent_id, issue_id, reason, requested_by)
     select 'of ' || id, 'agent', 'issue', 'x', 'x' from sessions"
))]
fn what_is_many_of_one_issue_is_looked_at_in_proportion_in_a_file_too(#[case] fill: &str) {
    let steps = |n: u32| {
        let mut world = World::new(On::Sqlite);
        world.run(
            &format!(
                "insert into agents (id, name) values ('agent', 'Ada'), ('other', 'Bob');
                 insert into issues (id, identifier, title, status, assignee_agent_id)
                 values ('issue', 'E-1', 'x', 'in_progress', 'agent');
                 create table n as with recursive n (i) as (select 1 union all select i + 1 from n where i < {n})
                     select i from n;
                 {fill}"
            )
            .replace("NOW", "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"),
        );
        let path = world.url.strip_prefix("sqlite://").expect("a path");
        let views = ["session", "issue", "step"]
            .iter()
            .flat_map(|kind| ["candidates", "facts", "states", "work_state"].map(|view| format!("{kind}_{view}")))
            .chain(["unserved_continuations".to_owned()]);
        let cost = |view: String| {
            let query = format!("select count(*) from (select * from {view} limit -1)");
            let ran = Command::new("sqlite3").args(["-cmd", ".stats vmstep", path, &query]).output().expect("sqlite3");
            let said = String::from_utf8(ran.stdout).expect("a text");
            let steps = said.lines().find_map(|line| line.strip_prefix("VM-steps: ")?.parse::<u64>().ok());
            (steps.unwrap_or_else(|| panic!("{said}")), view)
        };
        views.map(cost).collect::<Vec<_>>()
    };
    for ((fewer, view), (more, _)) in steps(500).into_iter().zip(steps(1000)) {
        assert!(more <= 5 * fewer / 2 + 1000, "{view}: {fewer} steps, and of twice as many {more}");
    }
}

const FILE_SESSIONS: &str = "
    insert into sessions (id, issue_id, agent_id, status, started_at, ended_at, exit_code)
        select 's' || i, 'issue', 'agent', 'active', NOW, NOW, 1 from n";

const PAPERCLIP: &str = "
    insert into agents (id, company_id, name) select md5('agent')::uuid, id, 'Ada' from companies;
    insert into issues (id, company_id, identifier, title, status, assignee_agent_id, updated_at)
        select md5('issue')::uuid, id, 'E-1', 'x', 'in_progress', md5('agent')::uuid, now() - interval '1 day'
        from companies;";

#[rstest]
#[case::runs_of_an_issue(
    "insert into heartbeat_runs (company_id, agent_id, status, started_at, context_snapshot)
         select company_id, id, 'running', now() - interval '1 day', jsonb_build_object('issueId', md5('issue')::uuid)
         from agents, generate_series(1, N) n;"
)]
#[case::wakes_of_an_issue_and_its_runs(
    "insert into heartbeat_runs (company_id, agent_id, status, started_at, context_snapshot)
         select company_id, id, 'running', now() - interval '1 day', jsonb_build_object('issueId', md5('issue')::uuid)
         from agents, generate_series(1, N) n;
     insert into agent_wakeup_requests (company_id, agent_id, source, status, payload)
         select company_id, id, 'automation', 'queued', jsonb_build_object('issueId', md5('issue')::uuid)
         from agents, generate_series(1, N) n;"
)]
#[case::continuations_of_an_issue_and_its_ledger(&format!(
    "insert into agent_wakeup_requests (company_id, agent_id, source, status)
         select company_id, id, 'automation', 'completed' from agents, generate_series(1, N) n;
     insert into heartbeat_runs (company_id, agent_id, status, wakeup_request_id, context_snapshot)
         select company_id, agent_id, 'failed', id,
                jsonb_build_object('issueId', md5('issue')::uuid, 'retryReason', 'issue_continuation_needed')
         from agent_wakeup_requests;
     {LEDGER}"
))]
fn what_is_many_of_one_company_is_looked_at_in_proportion(#[case] fill: &str) {
    is_in_proportion(On::Paperclip, &["session", "issue"], &|n| {
        format!("{PAPERCLIP} {}", fill.replace("(1, N)", &format!("(1, {n})")))
    });
}

#[track_caller]
fn is_in_proportion(on: On, kinds: &[&str], fill: &dyn Fn(u32) -> String) {
    let mut costs = Vec::new();
    for n in [500, 1000] {
        let mut world = World::new(on);
        world.run(&format!("{}; analyze", fill(n)));
        let views = kinds
            .iter()
            .flat_map(|kind| ["candidates", "facts", "states"].iter().map(move |view| format!("sweep.{kind}_{view}")));
        let cost = |view: String| (rows_looked_at(&mut world, &format!("select * from {view}")), view);
        costs.push(views.map(cost).collect::<Vec<_>>());
    }
    for ((fewer, view), (more, _)) in costs[0].iter().zip(&costs[1]) {
        assert!(*more <= 2.5 * fewer + 1000.0, "{view}: {fewer} rows, and of twice as many {more}");
    }
}
