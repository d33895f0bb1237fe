//! Rows in any number, and documents of any depth.

use sweep::rules::Id;

use super::small;
use crate::support::world::{On, World};

/// SQL for how many rows of a table a transaction has fetched by its indexes.
const FETCHED: &str = "select coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables where relid = ";

/// How many rows of a table a sweep fetches to read an issue.
fn fetched(world: &mut World, table: &str, issue: &Id) -> i64 {
    world.run("begin");
    world.run(&format!("do $$ begin perform * from sweep.issue_facts where subject_id = '{issue}'; end $$"));
    let fetched = world.text(&format!("({FETCHED} '{table}'::regclass)"), "(select 1) one").expect("a number");
    world.run("commit");
    fetched.parse().expect("a number")
}

#[test]
fn of_many_runs_of_one_issue_the_latest_thousand_are_read() {
    for (on, table) in [(On::Postgres, "sweep.runs"), (On::Paperclip, "public.heartbeat_runs")] {
        let mut world = World::new(on);
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let run = world.issue_run(&issue, &agent, "failed", 90);
        let (columns, key) = match on {
            On::Paperclip => ("company_id, agent_id, status, context_snapshot", "context_snapshot ->> 'issueId'"),
            _ => ("agent_id, status, issue_id", "issue_id::text"),
        };
        world.run(&format!(
            "set session_replication_role = replica;
             insert into {table} (id, {columns}, created_at)
             select gen_random_uuid(), {columns}, created_at - n * interval '1 second'
             from {table}, generate_series(1, 20000) n where id = '{run}';
             analyze {table}"
        ));
        assert_eq!(world.count(&format!("{table} where {key} = '{issue}'")), 20_001);

        let read = fetched(&mut world, table, &issue);
        assert!(read < 6_000, "{table}: {read}");
        let last_run = world.text("last_run_id", &format!("sweep.issue_facts where subject_id = '{issue}'"));
        assert_eq!(last_run, Some(run.0), "the latest is among them");
        assert_eq!(world.sweep().outcome(&issue), "continued");
    }
}

/// Makes a chain of parents whose topmost issue is on hold.
fn chain(world: &mut World, length: u32) -> Id {
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let company = world.company.clone();
    world.run(&format!(
        "set session_replication_role = replica;
         insert into issues (id, company_id, title, status, parent_id)
         select md5('{issue}' || n)::uuid, '{company}', 'Above', 'todo', case when n < {length} then md5('{issue}' || \
         n + 1)::uuid end
         from generate_series(1, {length}) n;
         update issues set parent_id = md5('{issue}' || 1)::uuid where id = '{issue}';
         insert into issue_tree_holds (company_id, root_issue_id, mode, status)
         values ('{company}', md5('{issue}' || {length})::uuid, 'pause', 'active');
         set session_replication_role = origin;
         analyze issues"
    ));
    issue
}

#[test]
fn above_its_hundredth_ancestor_nobody_looks_and_that_is_said() {
    let mut world = World::new(On::Paperclip);
    let (deep, shallow) = (chain(&mut world, 10_000), chain(&mut world, 99));

    let read = fetched(&mut world, "public.issues", &deep);
    assert!(read < 1_000, "{read}");
    let swept = world.sweep();

    assert_eq!(swept.outcome(&deep), "skipped", "{}", swept.json);
    assert_eq!(swept.subject(&deep)["reason"], "it has more than 100 ancestors, and any of them may be on hold");
    // The control: a hold on a nearer ancestor is found.
    assert_eq!(swept.outcome(&shallow), "waiting", "{}", swept.json);
}

/// A sweep reads the live runs and pending wakes of all companies together: nobody may make that take long.
#[test]
fn documents_too_large_to_unpack_cost_the_work_of_their_own_agent_only() {
    let mut world = World::new(On::Paperclip);
    let (busy, waking, other) = (world.agent("idle"), world.agent("idle"), world.agent("idle"));
    let [at_work, woken, good] = [&busy, &waking, &other].map(|agent| world.orphan(agent));
    let run = world.issue_run(&at_work, &busy, "running", 5);
    let wake = world.issue_wake(&woken, &waking, "queued", 5);
    let huge = "jsonb_build_object('issueId', '{}', 'x', repeat('0123456789', 2000000))";
    world.set_run(&run, &format!("context_snapshot = {}", huge.replace("{}", &at_work.0)));
    world.set("agent_wakeup_requests", &wake, &format!("payload = {}", huge.replace("{}", &woken.0)));

    let swept = world.sweep();

    assert_eq!(swept.outcome(&good), "continued", "{}", swept.json);
    for issue in [&at_work, &woken] {
        assert_eq!(swept.outcome(issue), "skipped", "{}", swept.json);
        assert_eq!(swept.subject(issue)["reason"], "a run or a wake of its agent is too large to look at");
    }
}

#[test]
fn documents_of_any_depth_hide_no_other_row() {
    let mut world = World::new(On::Paperclip);
    let agent = world.agent("idle");
    let (deep, other) = (world.orphan(&agent), world.orphan(&agent));
    let run = world.issue_run(&deep, &agent, "failed", 90);
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    world.set_run(
        &run,
        &format!("context_snapshot = jsonb_build_object('issueId', '{deep}', 'deep', '{}'::jsonb)", nested(5_000)),
    );
    world.issue_wake(&deep, &agent, "completed", 90);
    world.run(&format!(
        "update agent_wakeup_requests set payload = payload || jsonb_build_object('deep', '{}'::jsonb)",
        nested(5_000)
    ));

    let swept = world.sweep();

    assert_eq!([&deep, &other].map(|id| swept.outcome(id)), ["continued"; 2], "{}", swept.json);
}

#[test]
fn a_hundred_thousand_comments_are_nothing_to_a_sweep() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    world.run(&format!(
        "insert into comments (issue_id, author, body) select '{issue}', 'mallory', 'x' from generate_series(1, 100000)"
    ));
    assert_eq!(fetched(&mut world, "sweep.comments", &issue), 0);
    assert_eq!(world.sweep().outcome(&issue), "continued");
}

/// A sweep records the ledger's counts, and the metrics show them, only for kinds and destinations that exist.
#[test]
fn names_that_nobody_knows_in_sweeps_own_tables_cost_nothing() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    world.run(
        "set session_replication_role = replica;
         insert into recoveries (id, sweep_id, kind, subject_id, action, attempt, reason, episode_began_at, created_at,
                                 settled_at)
         select gen_random_uuid(), gen_random_uuid(), repeat('k', 90) || n, gen_random_uuid(), 'continue', 1, 'x',
                now(), now() - interval '90 minutes', now()
         from generate_series(1, 100000) n;
         insert into failures (kind, subject_id, reason, quarantined_at)
         select repeat('k', 90) || n, gen_random_uuid(), 'x', now() from generate_series(1, 100000) n",
    );
    let directory = tempfile::tempdir().expect("a directory");
    let metrics = directory.path().join("metrics").display().to_string();
    for _ in 0..2 {
        let ran = small(&world.url, ["--output", "json", "--set", &format!("metrics_file={metrics}")]).run();
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    assert_eq!(world.wakes_for(&issue), 1);
    let shown = std::fs::read_to_string(metrics).expect("metrics");
    assert!(shown.len() < 20_000 && !shown.contains("kkk"), "{shown}");
}

#[test]
fn the_steps_of_a_plan_are_read_one_by_one() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let (plan, step) = world.stalled_step(Some(&agent));
    world.run(&format!(
        "set session_replication_role = replica;
         update plans set status = 'stalled';
         insert into plan_steps (plan_id, position, title, status)
         select '{plan}', 10 + n, 'Later', 'pending' from generate_series(1, 200000) n"
    ));
    let ran = small(&world.url, ["status", "--plan", &plan.0, "--output", "json"]).run();
    assert_eq!(ran.code, 0, "{}", ran.err);
    let shown = ran.json();
    assert_eq!((&shown["derived"], &shown["steps"][0]["id"]), (&"stalled".into(), &step.0.into()));
}

/// One company may write anything into its own rows about the issues of another.
#[test]
fn a_company_neither_holds_up_nor_reads_another_ones_issue() {
    let mut world = World::new(On::Paperclip);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    world.set("issues", &issue, "title = 'A secret', identifier = null");
    let ours = world.company.clone();
    let (theirs, their_agent, approval) = (Id::generate(), Id::generate(), Id::generate());
    world.run(&format!(
        "insert into companies (id, name, issue_prefix, default_responsible_user_id) values ('{theirs}', 'Evil', \
            'EVI', 'user-6');
         insert into agents (id, company_id, name) values ('{their_agent}', '{theirs}', 'Mallory');
         insert into approvals (id, company_id, type, status, payload) values ('{approval}', '{theirs}', 'x', \
         'pending', '{{}}');
         insert into issue_approvals (company_id, issue_id, approval_id) values ('{theirs}', '{issue}', '{approval}')"
    ));
    let (blocked, below) = (world.orphan(&their_agent), world.orphan(&their_agent));
    for id in [&blocked, &below] {
        world.set("issues", id, &format!("company_id = '{theirs}'"));
    }
    let held = world.orphan(&agent);
    world.set("issues", &held, "status = 'todo', title = 'A secret', identifier = null");
    world.set("issues", &below, &format!("parent_id = '{held}'"));
    world.run(&format!(
        "insert into issue_relations (company_id, issue_id, related_issue_id, type) values ('{theirs}', '{issue}', \
            '{blocked}', 'blocks');
         insert into issue_tree_holds (company_id, root_issue_id, mode, status) values ('{ours}', '{held}', 'pause', \
         'active')"
    ));

    let swept = world.sweep();

    assert_eq!([&issue, &blocked, &below].map(|id| swept.outcome(id)), ["continued"; 3], "{}", swept.json);
    assert!(!swept.json.to_string().contains("A secret"), "{}", swept.json);
}
