//! The scan must not cost more as work is finished: partial indexes find the candidates.

use std::sync::OnceLock;

use diesel::sql_types::Text;
use diesel::{QueryableByName, RunQueryDsl};

use crate::support::databases::template_with;
use crate::support::world::{On, World};

/// The rows: 1 % of 30,000 issues and 0.1 % of 30,000 steps are in progress, and the rest is history.
const HISTORY: &str = "
    set session_replication_role = replica;
    insert into agents (id, name) select md5('agent ' || n)::uuid, 'Agent ' || n from generate_series(0, 99) n;
    insert into issues (id, identifier, title, status, assignee_agent_id)
        select md5(n::text)::uuid, 'ACM-' || n, 'x', case when n % 100 = 0 then 'in_progress' else 'done' end,
               md5('agent ' || n % 100)::uuid
        from generate_series(1, 30000) n;
    insert into runs (agent_id, issue_id, status)
        select assignee_agent_id, id, case when status = 'in_progress' then 'running' else 'succeeded' end from issues;
    insert into wakes (agent_id, issue_id, reason, requested_by, status)
        select assignee_agent_id, id, 'assigned', 'host', case when status = 'in_progress' then 'queued' else \
        'completed' end
        from issues;
    insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, settled_at)
        select gen_random_uuid(), gen_random_uuid(), 'issue', id, 'continue', 'x', now(), 1,
               case when identifier not like 'ACM-%0000' then now() end
        from issues;
    insert into plans (id, title, status)
        select md5('plan ' || n)::uuid, 'p', case when n % 100 = 0 then 'executing' else 'completed' end
        from generate_series(1, 3000) n;
    insert into plan_steps (plan_id, position, title, status, started_at)
        select md5('plan ' || n)::uuid, k, 's', case when n % 100 = 0 and k = 1 then 'in_progress' else 'completed' \
        end, now()
        from generate_series(1, 3000) n, generate_series(1, 10) k;
    insert into sessions (id, issue_id, status, started_at)
        select md5('session ' || n)::uuid, md5(n::text)::uuid, case when n % 100 = 0 then 'active' else 'terminated' \
        end, now()
        from generate_series(1, 30000) n;
    insert into session_commands (session_id, command, status, requested_by)
        select id, 'nudge', case when status = 'active' then 'queued' else 'delivered' end, 'sweep' from sessions;
    analyze";

/// A world with this history, which is inserted once for all tests.
fn with_history() -> World {
    static TEMPLATE: OnceLock<String> = OnceLock::new();
    World::cloned(On::Postgres, TEMPLATE.get_or_init(|| template_with(On::Postgres, "history", HISTORY)))
}

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text, column_name = "QUERY PLAN")]
    text: String,
}

fn plan_of(world: &mut World, view: &str) -> String {
    explain(world, &format!("select * from {view} order by since, subject_id limit 1000"))
}

fn explain(world: &mut World, query: &str) -> String {
    let lines: Vec<Line> =
        diesel::sql_query(format!("explain (costs off) {query}")).load(&mut world.db).expect("a plan");
    lines.iter().map(|line| format!("{}\n", line.text)).collect()
}

#[test]
fn the_candidates_are_found_by_partial_indexes_however_much_is_finished() {
    let mut world = with_history();

    let issues = plan_of(&mut world, "issue_candidates");
    for index in ["issues_in_progress", "wakes_pending", "recoveries_open", "runs_live"] {
        assert!(issues.contains(index), "{index} is not used:\n{issues}");
    }
    for table in ["issues", "runs", "wakes", "recoveries"] {
        assert!(!issues.contains(&format!("Seq Scan on {table} ")), "{issues}");
    }
    let steps = plan_of(&mut world, "step_candidates");
    for index in ["plan_steps_in_progress", "recoveries_open"] {
        assert!(steps.contains(index), "{index} is not used:\n{steps}");
    }
    assert!(["runs_live", "runs_by_worker"].iter().any(|index| steps.contains(index)), "{steps}");
    assert!(!steps.contains("Seq Scan on runs "), "{steps}");
    assert!(!steps.contains("Seq Scan on plan_steps "), "{steps}");
    let sessions = plan_of(&mut world, "session_candidates");
    assert!(sessions.contains("sessions_active") && !sessions.contains("Seq Scan on sessions "), "{sessions}");
    for (view, of) in [("session_facts", "md5('session 100')"), ("issue_facts", "md5('100')")] {
        let facts = explain(&mut world, &format!("select * from {view} where subject_id = {of}::uuid"));
        for table in ["sessions", "session_commands", "issues", "runs", "wakes", "recoveries"] {
            assert!(!facts.contains(&format!("Seq Scan on {table} ")), "{view}: {table}\n{facts}");
        }
    }

    world.run("drop index issues_in_progress");
    let without = plan_of(&mut world, "issue_candidates");
    assert!(
        without.contains("Seq Scan on issues"),
        "the control: without its index the whole table is read\n{without}"
    );
}

/// The query of `store::work::find`, by the name that an operator typed: on a view that joins and aggregates.
#[test]
fn an_issue_is_found_by_its_identifier_without_reading_the_others() {
    let mut world = World::new(On::Paperclip);
    world.run(
        "set session_replication_role = replica;
         insert into issues (id, company_id, identifier, title, status)
             select gen_random_uuid(), (select id from companies), 'ACM-' || n, 'x', 'done' from generate_series(1, \
             20000) n;
         insert into heartbeat_runs (company_id, agent_id, status, context_snapshot)
             select company_id, id, 'succeeded', jsonb_build_object('issueId', id) from issues;
         analyze",
    );
    let named = "select id from sweep.issues where identifier = 'ACM-12' order by id limit 2";
    let label = "select subject_id, tenant, identifier from sweep.issue_facts where subject_id = (select id from \
        issues where identifier = 'ACM-12')";

    let plan = [named, label].map(|query| explain(&mut world, query)).concat();

    for table in ["issues", "heartbeat_runs"] {
        assert!(!plan.contains(&format!("Seq Scan on {table}")), "{plan}");
    }
    assert!(plan.contains("Index Cond: (identifier = 'ACM-12'::text)"), "{plan}");
}

/// Among 50,000 runs, 1 % are running: the host's index on the status finds them, and nothing else is read.
#[test]
fn the_running_runs_are_found_by_the_hosts_index_however_many_have_ended() {
    let mut world = World::new(On::Paperclip);
    world.run(
        "set session_replication_role = replica;
         insert into agents (id, company_id, name) select gen_random_uuid(), id, 'Ada' from companies;
         insert into issues (id, company_id, identifier, title, status)
             select md5(n::text)::uuid, (select id from companies), 'ACM-' || n, 'x', 'done' from generate_series(1, \
             5000) n;
         insert into heartbeat_runs (company_id, agent_id, status, context_snapshot)
             select company_id, id, case when n % 100 = 0 then 'running' else 'succeeded' end,
                    jsonb_build_object('issueId', md5((n / 10)::text)::uuid)
             from agents, generate_series(1, 50000) n;
         analyze",
    );

    for view in ["sweep.session_candidates", "sweep.session_subjects", "sweep.session_work_state"] {
        let plan = explain(&mut world, &format!("select * from {view}"));
        assert!(plan.contains("heartbeat_runs_company_status_"), "{view}:\n{plan}");
        for table in ["issues", "heartbeat_runs"] {
            assert!(!plan.contains(&format!("Seq Scan on {table}")), "{view}:\n{plan}");
        }
    }
    world.run(
        "drop index heartbeat_runs_company_status_last_output_idx, heartbeat_runs_company_status_process_started_idx",
    );
    let without = plan_of(&mut world, "sweep.session_candidates");
    assert!(!without.contains("heartbeat_runs_company_status_"), "the control:\n{without}");
    // A query that locks or explains one run must not read the others.
    let id = world.text("id", "heartbeat_runs limit 1").expect("a run");
    for query in [
        format!("select * from sweep.session_facts where subject_id = '{id}'"),
        format!("select issue_id from sweep.sessions s where id = '{id}' for update of s skip locked"),
    ] {
        let plan = explain(&mut world, &query);
        for table in ["issues", "heartbeat_runs"] {
            assert!(!plan.contains(&format!("Seq Scan on {table}")), "{plan}");
        }
    }
}

/// A database that has just been filled has no statistics: the planner then guesses how much a condition leaves.
#[test]
fn without_statistics_no_issue_is_compared_with_each_wake() {
    let mut world = World::new(On::Postgres);
    world.run(
        "alter table issues set (autovacuum_enabled = off); alter table wakes set (autovacuum_enabled = off);
         insert into agents (id, name) select md5('agent ' || n)::uuid, 'Agent ' || n from generate_series(0, 9) n;
         insert into issues (identifier, title, status, assignee_agent_id)
             select 'ACM-' || n, 'x', 'in_progress', md5('agent ' || n % 10)::uuid from generate_series(1, 1000) n;
         insert into wakes (agent_id, issue_id, reason, requested_by)
             select assignee_agent_id, id, 'assigned', 'host' from issues limit 500",
    );
    let plan = "explain (analyze, costs off, timing off) select count(*) from issue_candidates";
    let lines: Vec<Line> = diesel::sql_query(plan).load(&mut world.db).expect("a plan");
    let removed = lines.iter().filter_map(|line| line.text.trim().strip_prefix("Rows Removed by Join Filter: "));
    let removed: u64 = removed.map(|rows| rows.parse::<u64>().expect("a number")).sum();
    assert!(removed < 10_000, "{removed}: {}", lines.iter().map(|line| format!("{}\n", line.text)).collect::<String>());
}

/// The queries of boards about all work in progress.
#[test]
fn the_states_of_all_work_are_found_without_reading_what_is_finished() {
    let mut world = with_history();
    world.run("update session_commands set updated_at = now() - interval '1 hour'; analyze session_commands");
    for kind in ["issue", "step", "session"] {
        let query = format!("select subject_id, tenant, agent_id, state, since from {kind}_states");
        let plan = explain(&mut world, &query);
        for table in ["issues", "runs", "plan_steps", "sessions", "session_commands"] {
            assert!(!plan.contains(&format!("Seq Scan on {table} ")), "{kind}:\n{plan}");
        }
    }
}

#[test]
fn a_tenants_states_are_asked_of_its_own_work_alone() {
    let mut world = with_history();
    let asked = |condition: &str| format!("explain (analyze, costs off, timing off) {condition}");
    let lines: Vec<Line> = diesel::sql_query(asked("select state from issue_states where tenant = 'nobody'"))
        .load(&mut world.db)
        .expect("a plan");
    let plan: String = lines.iter().map(|line| format!("{}\n", line.text)).collect();
    // Only the facts of issues that the first step leaves are read.
    assert!(plan.contains("tenant = 'nobody'::text"), "{plan}");
    let facts: Vec<&str> = plan.lines().filter(|line| line.contains("runs_by_issue")).collect();
    assert!(!facts.is_empty() && facts.iter().all(|line| line.contains("never executed")), "{plan}");
}

#[test]
fn what_a_reader_of_facts_does_not_ask_for_is_not_computed() {
    for (on, facts) in
        [(On::Postgres, "issue_facts"), (On::Postgres, "step_facts"), (On::Paperclip, "sweep.issue_facts")]
    {
        let mut world = World::new(on);
        // Two subjects are asked for: for one id, PostgreSQL 16 and newer join all that is grouped.
        let ids = [1, 2].map(|n| format!("'00000000-0000-4000-8000-00000000000{n}'")).join(", ");
        let mut plan =
            |column: &str| explain(&mut world, &format!("select {column} from {facts} where subject_id in ({ids})"));
        assert!(plan("attempts").contains("Aggregate"), "the control");
        let plan = plan("agent_status");
        assert!(!plan.contains("Aggregate") && !plan.contains("SubPlan"), "{facts}:\n{plan}");
    }
}
