//! Work that a tenant can have much of costs in proportion to its amount, and never the product of two amounts: a
//! tenant with 8,000 sessions on one issue would take a sweep's whole time.
//!
//! No clock measures this: PostgreSQL counts the rows that a query reads, and SQLite the steps of its program.

mod paperclip;

use std::process::Command;

use rstest::rstest;

use crate::support::plans::rows_looked_at;
use crate::support::program::sweep_at;
use crate::support::world::{On, World};

/// The issue, the agent and the plan to which everything belongs, and the numbers up to N.
const OWNERS: &str = "
    insert into agents (id, name) values (ID('agent'), 'Ada'), (ID('other'), 'Bob');
    insert into issues (id, identifier, title, status, assignee_agent_id, updated_at)
        values (ID('issue'), 'E-1', 'x', 'in_progress', ID('agent'), YESTERDAY);
    insert into plans (id, title, status, agent_id, issue_id)
        values (ID('plan'), 'p', 'executing', ID('agent'), ID('issue'));";

/// N crashed sessions.
const SESSIONS: &str = "
    insert into sessions (id, issue_id, agent_id, status, started_at, ended_at, exit_code)
        select ID('s' || i), ID('issue'), ID('agent'), 'active', YESTERDAY, LATER, 1 from n;";

/// N live sessions of an agent that does not have the issue.
const ANOTHERS: &str = "
    insert into sessions (id, issue_id, agent_id, status, started_at)
        select ID('o' || i), ID('issue'), ID('other'), 'active', YESTERDAY from n;";

const RELAUNCHES: &str = "
    insert into session_commands (id, session_id, command, requested_by) select id, id, 'relaunch', 'x' from sessions;";

const STEPS: &str = "
    insert into plan_steps (id, plan_id, position, title, status, started_at)
        select ID('t' || i), ID('plan'), i, 's', 'in_progress', YESTERDAY from n;";

/// A live run for each step.
const LIVE: &str = "
    insert into runs (id, agent_id, plan_step_id, status, created_at)
        select id, ID('agent'), id, 'running', YESTERDAY from plan_steps;";

const PLANS: &str = "
    insert into plans (id, title, status, agent_id, issue_id)
        select ID('p' || i), 'p', 'executing', ID('agent'), ID('issue') from n;";

/// N other issues of the agent.
const ISSUES: &str = "
    insert into issues (id, identifier, title, status, assignee_agent_id, updated_at)
        select ID('i' || i), 'F-' || i, 'x', 'in_progress', ID('agent'), YESTERDAY from n;";

/// N wakes of the issue.
const WAKES: &str = "
    insert into wakes (id, agent_id, issue_id, reason, requested_by, status)
        select ID('w' || i), ID('agent'), ID('issue'), 'issue_continuation_needed', 'x', 'queued' from n;";

/// A wake for each step.
const WAKES_OF_STEPS: &str = "
    insert into wakes (id, agent_id, plan_step_id, reason, requested_by, status)
        select id, ID('agent'), id, 'x', 'x', 'queued' from plan_steps;";

/// N wakes of one step.
const WAKES_OF_A_STEP: &str = "
    insert into plan_steps (id, plan_id, position, title, status, started_at)
        values (ID('t0'), ID('plan'), 0, 's', 'in_progress', YESTERDAY);
    insert into wakes (id, agent_id, plan_step_id, reason, requested_by, status)
        select ID('w' || i), ID('agent'), ID('t0'), 'x', 'x', 'queued' from n;";

/// Has the wakes taken, and their runs ended.
const TAKEN: &str = "
    update wakes set status = 'claimed';
    insert into runs (id, agent_id, issue_id, wake_id, status, created_at, finished_at)
        select id, agent_id, issue_id, id, 'succeeded', YESTERDAY, LATELY from wakes;";

const RUNS: &str = "
    insert into runs (id, agent_id, issue_id, status, created_at, finished_at)
        select ID('r' || i), ID('agent'), ID('issue'), 'succeeded', YESTERDAY, LATELY from n;";

/// N rows of the ledger about the issue.
const LEDGER: &str = "
    insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, wake_id,
                            created_at, settled_at)
        select ID('l' || i), ID('sweep'), 'issue', ID('issue'), 'continue', 'x', YESTERDAY, i, ID('of' || i), LATER,
               LATELY from n;";

#[rstest]
#[case::crashed_sessions(&[SESSIONS])]
#[case::live_sessions(&[SESSIONS, "update sessions set ended_at = null, exit_code = null;"])]
#[case::sessions_of_another_agent(&[ANOTHERS])]
#[case::crashed_sessions_and_those_of_another_agent(&[SESSIONS, ANOTHERS])]
#[case::sessions_and_their_relaunches(&[SESSIONS, RELAUNCHES])]
#[case::sessions_and_nudges_of_one(&[SESSIONS, "
    insert into session_commands (id, session_id, command, requested_by)
        select ID('c' || i), ID('s1'), 'nudge', 'x' from n;"])]
#[case::sessions_and_runs(&[SESSIONS, RUNS])]
#[case::sessions_and_wakes(&[SESSIONS, WAKES])]
#[case::sessions_and_wakes_taken(&[SESSIONS, WAKES, TAKEN])]
#[case::sessions_and_wakes_of_nobody(&[SESSIONS, WAKES, "update agents set status = 'terminated';"])]
#[case::sessions_and_steps(&[SESSIONS, STEPS])]
#[case::sessions_and_wakes_of_a_step(&[SESSIONS, WAKES_OF_A_STEP, TAKEN])]
#[case::sessions_and_plans(&[SESSIONS, PLANS])]
#[case::sessions_and_plans_of_another_tenant(&[SESSIONS, PLANS, "update plans set tenant = 'evil';"])]
#[case::sessions_and_issues(&[SESSIONS, ISSUES])]
#[case::steps(&[STEPS])]
#[case::steps_and_their_wakes(&[STEPS, WAKES_OF_STEPS])]
#[case::steps_and_their_wakes_taken(&[STEPS, WAKES_OF_STEPS, TAKEN])]
#[case::steps_and_wakes_of_the_issue(&[STEPS, WAKES])]
#[case::steps_and_wakes_of_the_issue_taken(&[STEPS, WAKES, TAKEN])]
#[case::steps_and_sessions_with_relaunches(&[STEPS, SESSIONS, RELAUNCHES])]
#[case::steps_and_their_live_runs_and_issues(&[STEPS, LIVE, ISSUES])]
#[case::steps_and_their_live_runs_and_issues_with_plans(&[STEPS, LIVE, ISSUES, "
    insert into plans (id, title, status, agent_id, issue_id)
        select id, 'p', 'completed', ID('agent'), id from issues where identifier <> 'E-1';
    insert into plan_steps (id, plan_id, position, title, status)
        select p.id, p.id, 1, 's', 'completed' from plans p where p.status = 'completed';"])]
#[case::plans_and_their_steps(&[PLANS, "
    insert into plan_steps (id, plan_id, position, title, status, started_at)
        select id, id, 1, 's', 'in_progress', YESTERDAY from plans;"])]
#[case::wakes_and_runs(&[WAKES, RUNS, "update wakes set status = 'deferred';"])]
#[case::wakes_and_runs_beside_live_ones_of_nothing(&[WAKES, RUNS, "
    update wakes set status = 'deferred';
    insert into runs (id, agent_id, status) select ID('live' || i), ID('agent'), 'running' from n;"])]
#[case::steps_and_wakes_of_one(&[STEPS, WAKES_OF_A_STEP, "update wakes set status = 'completed';"])]
#[case::runs_of_a_wake(&[RUNS, WAKES, "update runs set wake_id = ID('w1');"])]
#[case::runs_and_ledger(&[RUNS, LEDGER])]
#[case::continuations_and_ledger(&[WAKES, TAKEN, LEDGER])]
#[case::steps_runs_and_ledger(&[STEPS, RUNS, "
    update runs set issue_id = null,
                    plan_step_id = (select id from plan_steps where 'x' || position = 'x1');", LEDGER])]
#[case::wakes_of_a_step_and_its_ledger(&[WAKES_OF_A_STEP, TAKEN, LEDGER, "
    update recoveries set kind = 'step', subject_id = ID('t0');"])]
#[case::escalated_issues(&[ISSUES, "
    update issues set status = 'blocked' where identifier <> 'E-1';
    insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, blocked_subject)
        select id, id, 'issue', id, 'escalate', 'x', YESTERDAY, 1, true from issues where status = 'blocked';", "
    insert into issues (id, identifier, title, status, assignee_agent_id, updated_at)
        select ID('j' || i), 'G-' || i, 'x', 'in_progress', ID('agent'), YESTERDAY from n;"])]
fn what_is_many_of_one_tenant_is_looked_at_in_proportion(
    #[case] fills: &[&str],
    #[values(On::Sqlite, On::Postgres)] on: On,
) {
    is_in_proportion(on, &["session", "issue", "step"], &|n| format!("{OWNERS} {} {}", numbers(on, n), fills.concat()));
}

/// A sweep reads a thousand runs of an issue, which has more.
#[test]
fn issues_beside_thousands_of_runs_of_one_are_looked_at_in_proportion() {
    let on = On::Postgres;
    compare([1500, 3000], 0, on, &["issue"], &|n| format!("{OWNERS} {} {ISSUES} {RUNS}", numbers(on, n)));
}

/// In each of forty stalled plans one step is stalled and all others go on; each look sees steps of all plans.
#[test]
fn the_steps_of_a_plan_are_asked_who_holds_it_once_in_a_sweep() {
    let read = |steps: u32| {
        let mut world = World::new(On::Postgres);
        world.run(&format!(
            "insert into plans (title, status) select 'p', 'stalled' from generate_series(1, 40);
             insert into plan_steps (plan_id, position, title, status, started_at)
                 select p.id, n, 's', 'in_progress',
                        now() - case n when 1 then interval '1 day' else n * interval '1 second' end
                 from plans p, generate_series(1, {steps}) n;
             insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt,
                                     created_at)
                 select id, id, 'step', id, 'escalate', 'x', now() - interval '1 day', 0, now() - interval '1 hour'
                 from plan_steps;
             analyze; select pg_stat_reset()"
        ));
        let ran = sweep_at(&world.url, ["--dry-run", "--no-guard", "--output", "json"]).run().done();
        assert_eq!(ran.json()["kinds"]["steps"]["healthy"], 40 * (steps - 1), "{ran}");
        let read = "sum(seq_tup_read + idx_tup_fetch)::text";
        let read = world.text(read, "pg_stat_user_tables where relname = 'plan_steps'").expect("a number");
        read.parse::<f64>().expect("a number")
    };
    let (fewer, more) = (read(25), read(50));
    assert!(more <= 2.5 * fewer, "of so many {fewer}, and of twice as many {more}");
}

/// SQL for the numbers up to `n`.
fn numbers(on: On, n: u32) -> String {
    match on {
        On::Sqlite => format!(
            "create temporary table n as with recursive n (i) as (select 1 union all select i + 1 from n where i < {n})
             select i from n;"
        ),
        On::Postgres | On::Paperclip => format!("create temporary table n as select i from generate_series(1, {n}) i;"),
    }
}

/// Replaces the words for ids and times by SQL of a database. No time is within this second, or the speed of a query
/// would decide what it finds.
fn said_on(on: On, sql: &str) -> String {
    let (id, times) = match on {
        On::Sqlite => (
            "(",
            ["'-1 day'", "'-1 hour'", "'-1 minute'"].map(|ago| format!("strftime('%Y-%m-%dT%H:%M:%fZ', 'now', {ago})")),
        ),
        On::Postgres | On::Paperclip => {
            ("pg_temp.id(", ["1 day", "1 hour", "1 minute"].map(|ago| format!("now() - interval '{ago}'")))
        }
    };
    let words = ["YESTERDAY", "LATER", "LATELY"].iter().zip(&times);
    words.fold(sql.replace("ID(", id), |sql, (word, time)| sql.replace(word, time))
}

/// Checks that twice as much of everything costs about twice as much to read together, and one subject costs the same.
#[track_caller]
fn is_in_proportion(on: On, kinds: &[&str], fill: &dyn Fn(u32) -> String) {
    compare([300, 600], 0, on, kinds, fill);
}

/// Compares the costs of `n` and `twice` of everything. Taking one subject may read `of_its_own` rows more.
#[track_caller]
fn compare([n, twice]: [u32; 2], of_its_own: u32, on: On, kinds: &[&str], fill: &dyn Fn(u32) -> String) {
    let views = kinds.iter().flat_map(|kind| ["candidates", "states", "work_state"].map(|of| format!("{kind}_{of}")));
    let others = ["unserved_continuations", "false_rescues", "untaken_wakes"].map(str::to_owned);
    let of_host = Some("left_issues".to_owned()).filter(|_| on == On::Paperclip);
    let all = views.chain(others).chain(of_host).map(|view| format!("select * from {view}"));
    // A sweep reads a page of subjects, and then single ones.
    let pages = kinds.iter().map(|kind| {
        let ids = format!("select subject_id from {kind}_candidates");
        let are_wanted = if on == On::Sqlite { format!("in ({ids})") } else { format!("= any (array({ids}))") };
        format!("select * from {kind}_decided_facts where subject_id {are_wanted}")
    });
    let one = |id| said_on(on, &format!("select * from KIND_decided_facts where subject_id = ID('{id}')"));
    let taken = [("session", "s7"), ("step", "t7"), ("issue", "i7")].iter().filter(|(kind, _)| kinds.contains(kind));
    let whole: Vec<String> = all.chain(pages).collect();
    let single: Vec<String> = taken.map(|(kind, id)| one(id).replace("KIND", kind)).collect();
    let cost = |n: u32| {
        let mut world = World::new(on);
        let id = "create function pg_temp.id(name text) returns uuid language sql immutable return md5(name)::uuid;";
        // A transaction of sweep's begins like this.
        let (before, after) = if on == On::Sqlite { ("", "") } else { (id, "analyze; set random_page_cost = 1.1") };
        world.run(&format!("{before} {} {after}", said_on(on, &fill(n))));
        let costs =
            |queries: &[String], world: &mut World| queries.iter().map(|query| work(world, query)).collect::<Vec<_>>();
        let of_many = costs(&whole, &mut world);
        // A take tells a host's facts that one subject is read.
        if on != On::Sqlite {
            world.run("set sweep.facts_of = 'one'");
        }
        (of_many, costs(&single, &mut world))
    };
    let (fewer, more) = (cost(n), cost(twice));
    // PostgreSQL plans small tables in another way than large ones.
    let a_plans_own = if on == On::Sqlite { 1000.0 } else { 6000.0 };
    for ((query, fewer), more) in whole.iter().zip(fewer.0).zip(more.0) {
        assert!(more <= 2.5 * fewer + a_plans_own, "{query}: of so many {fewer}, and of twice as many {more}");
    }
    for ((query, fewer), more) in single.iter().zip(fewer.1).zip(more.1) {
        let fewer = fewer + f64::from(of_its_own);
        assert!(more <= 1.1 * fewer + 100.0, "{query}: beside so many {fewer}, and beside twice as many {more}");
    }
}

/// The cost of a query: rows read, or steps taken.
fn work(world: &mut World, query: &str) -> f64 {
    match world.on {
        On::Sqlite => steps_taken(world, query),
        On::Postgres | On::Paperclip => rows_looked_at(world, query),
    }
}

fn steps_taken(world: &World, query: &str) -> f64 {
    let path = world.url.strip_prefix("sqlite://").expect("a path");
    let query = format!("select count(*) from (select * from ({query}) limit -1)");
    let ran = Command::new("sqlite3").args(["-cmd", ".stats vmstep", path, &query]).output().expect("sqlite3");
    let said = String::from_utf8(ran.stdout).expect("a text");
    let steps = said.lines().find_map(|line| line.strip_prefix("VM-steps: ")?.parse().ok());
    steps.unwrap_or_else(|| panic!("{query}: {said}"))
}
