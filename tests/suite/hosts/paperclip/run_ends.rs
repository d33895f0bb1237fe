//! The end of a run: what its server still plans, holds or has left behind.

use rstest::rstest;
use sweep::rules::Id;

use super::{add_lease, end_run, orphan};
use crate::support::in_process::Swept;
use crate::support::rounds::are_all_played;
use crate::support::world::{On, World};

/// A world with one issue and its run: see `add_ended_run`.
pub fn after_a_run(adapter: &str, status: &str, seconds: i64) -> (World, Id, Id) {
    let mut world = World::new(On::Paperclip);
    let (issue, run) = add_ended_run(&mut world, adapter, status, seconds);
    (world, issue, run)
}

/// An issue of an agent with this adapter, idle for an hour but for a run that ended so many seconds ago.
fn add_ended_run(world: &mut World, adapter: &str, status: &str, seconds: i64) -> (Id, Id) {
    let (issue, agent) = orphan(world);
    world.set("agents", &agent, &format!("adapter_type = '{adapter}'"));
    let run = world.issue_run(&issue, &agent, status, 30);
    end_run(world, &run, seconds);
    (issue, run)
}

/// Sweeps without a grace for orphans.
pub fn sweep_at_once(world: &World) -> Swept {
    let mut settings = world.options();
    settings.policy.orphan_grace = chrono::TimeDelta::zero();
    world.sweep_as(&settings)
}

fn reason(swept: &Swept, issue: &Id) -> String {
    swept.subject(issue)["reason"].as_str().unwrap_or_default().to_owned()
}

#[rstest]
#[case::a_moment_ago(1, "healthy")]
#[case::within_the_time_that_its_server_needs(13, "healthy")]
#[case::longer_ago(17, "continued")]
fn an_issue_is_left_alone_until_what_its_server_plans_has_had_its_time(#[case] seconds: i64, #[case] outcome: &str) {
    let (world, issue, _) = after_a_run("process", "succeeded", seconds);
    assert_eq!(sweep_at_once(&world).outcome(&issue), outcome);
}

/// The server lets go of an issue when all that follows its run is queued; one that has died never does.
#[test]
fn an_issue_that_its_ended_run_still_holds_is_left_alone() {
    let cases = [
        ("by execution", "execution_run_id", 60, "healthy"),
        ("by checkout", "checkout_run_id", 60, "healthy"),
        ("by a server that died", "execution_run_id", 150, "continued"),
    ];
    let mut world = World::new(On::Paperclip);
    let issues = cases.map(|(_, column, seconds, _)| {
        let (issue, run) = add_ended_run(&mut world, "process", "failed", seconds);
        world.set("issues", &issue, &format!("{column} = '{run}'"));
        issue
    });
    let swept = sweep_at_once(&world);
    for ((case, _, _, outcome), issue) in cases.iter().zip(&issues) {
        assert_eq!(swept.outcome(issue), *outcome, "{case}: {}", swept.subject(issue));
        assert_eq!(reason(&swept, issue).contains("has ended and still holds it"), *outcome == "healthy", "{case}");
    }
}

const ACTIVE: &str = "status = 'active'";

/// Environments: the agent's adapter, how its run ended and how many seconds ago, what became of the lease, and what
/// becomes of the issue.
const LEASES: [(&str, [&str; 2], i64, &str, &str); 10] = [
    ("its server has some time", ["claude_local", "failed"], 60, ACTIVE, "healthy"),
    ("it never will", ["claude_local", "failed"], 150, ACTIVE, "escalated"),
    ("it was interrupted", ["codex_local", "interrupted"], 150, ACTIVE, "escalated"),
    ("no conversation goes on there", ["process", "failed"], 150, ACTIVE, "continued"),
    ("it succeeded", ["claude_local", "succeeded"], 150, ACTIVE, "continued"),
    (
        "it is being cleaned up",
        ["claude_local", "failed"],
        900,
        "status = 'pending_cleanup', released_at = now()",
        "healthy",
    ),
    (
        "its server never comes to an end",
        ["process", "succeeded"],
        7200,
        "status = 'pending_cleanup', released_at = now(), updated_at = now()",
        "continued",
    ),
    ("by a time that never comes", ["process", "failed"], 7200, "updated_at = 'infinity'", "continued"),
    (
        "that failed",
        ["claude_local", "failed"],
        150,
        "status = 'failed', released_at = now(), cleanup_status = 'failed'",
        "escalated",
    ),
    ("it is released", ["claude_local", "failed"], 20, "status = 'released', released_at = now()", "continued"),
];

#[test]
fn nothing_is_queued_beside_an_environment_that_a_run_has_not_given_back() {
    let mut world = World::new(On::Paperclip);
    let issues = LEASES.map(|(_, [adapter, status], seconds, lease, _)| {
        let (issue, run) = add_ended_run(&mut world, adapter, status, seconds);
        add_lease(&mut world, &issue, &run, seconds);
        world.run(&format!("update environment_leases set {lease} where heartbeat_run_id = '{run}'"));
        issue
    });

    let swept = sweep_at_once(&world);

    for ((case, .., outcome), issue) in LEASES.iter().zip(&issues) {
        assert_eq!(swept.outcome(issue), *outcome, "{case}: {}", swept.subject(issue));
        assert_eq!(world.wakes_for(issue), i64::from(*outcome == "continued"), "{case}");
        let is_told = reason(&swept, issue).contains("its host would cancel every wake");
        assert_eq!(is_told, *outcome == "escalated", "{case}: {}", swept.subject(issue));
    }
}

/// A comment, another assignee and todo start nothing while it is not released, and its server's own retries are
/// cancelled.
#[test]
fn an_escalation_for_an_environment_says_what_to_release_and_comes_after_the_servers_own_retries() {
    let (mut world, issue, run) = after_a_run("claude_local", "failed", 600);
    add_lease(&mut world, &issue, &run, 600);
    let agent = Id(world.text("assignee_agent_id", &format!("issues where id = '{issue}'")).expect("an agent"));
    let retry = world.issue_run(&issue, &agent, "cancelled", 1);
    world.set("heartbeat_runs", &retry, "finished_at = now() - interval '21 seconds'");
    assert_eq!(sweep_at_once(&world).outcome(&issue), "healthy");

    world.set("heartbeat_runs", &retry, "finished_at = now() - interval '3 minutes'");
    assert_eq!(sweep_at_once(&world).outcome(&issue), "escalated");
    let action = world.text("unblock_descriptor ->> 'action'", &format!("issues where id = '{issue}'"));
    let words = format!("release the environment of run {}", &run.0[..8]);
    assert!(action.as_ref().is_some_and(|action| action.contains(&words)), "{action:?}");

    world.set("issues", &issue, "status = 'todo'");
    assert_eq!(sweep_at_once(&world).outcome(&issue), "healthy", "nothing has come of it yet");
    world.run("update environment_leases set status = 'released', released_at = now()");
    assert_eq!(sweep_at_once(&world).outcome(&issue), "recovered");
}

/// A finalization of which the server takes care now.
const FINALIZING: &str = "phase = 'finalizing', lease_owner = 'server-1'";

/// The server's finalization of a run, in this state, which changed so many seconds ago if the state does not say when.
fn add_finalization(world: &mut World, issue: &Id, run: &Id, state: &str, seconds: i64) {
    world.set("heartbeat_runs", run, &format!("native_issue_id = '{issue}'"));
    world.run(&format!(
        "insert into native_run_finalizations (run_id, company_id, issue_id, phase, updated_at)
         values ('{run}', '{}', '{issue}', 'completed', now() - interval '{seconds} seconds');
         update native_run_finalizations set {state} where run_id = '{run}'",
        world.company
    ));
}

#[test]
fn nothing_is_queued_beside_a_finalization() {
    let cases = [
        ("under way", FINALIZING, 60, "healthy"),
        ("its control waits", "phase = 'retryable_failure', control_deadline_at = now()", 60, "healthy"),
        ("it waits for evidence", "phase = 'retryable_failure', recovery_state = 'awaiting_evidence'", 60, "healthy"),
        ("for too long", FINALIZING, 7200, "escalated"),
        (
            "in a time to come",
            "phase = 'finalizing', lease_owner = 'server-1', updated_at = 'infinity'",
            20000,
            "escalated",
        ),
        ("done", "phase = 'completed'", 60, "continued"),
    ];
    let mut world = World::new(On::Paperclip);
    let issues = cases.map(|(_, state, seconds, _)| {
        let (issue, run) = add_ended_run(&mut world, "claude_local", "succeeded", seconds);
        add_finalization(&mut world, &issue, &run, state, seconds);
        issue
    });

    let swept = sweep_at_once(&world);

    for ((case, .., outcome), issue) in cases.iter().zip(&issues) {
        assert_eq!(swept.outcome(issue), *outcome, "{case}: {}", swept.subject(issue));
    }
}

/// Sets times to the first and to the last moment that PostgreSQL can store: an hour more than the last one overflows.
/// All times of a table are set at once, and in the long round each time by itself as well.
#[test]
fn no_time_in_a_row_of_its_host_ends_the_status() {
    let mut world = World::new(On::Paperclip);
    let knows_finalizations = world.count("pg_class where relname = 'native_run_finalizations'") == 1;
    for status in ["failed", "succeeded"] {
        let (issue, run) = add_ended_run(&mut world, "claude_local", status, 60);
        add_lease(&mut world, &issue, &run, 60);
        if knows_finalizations {
            add_finalization(&mut world, &issue, &run, FINALIZING, 60);
        }
    }
    world.run(
        "create table single as select attrelid::regclass as host_table, format('%I = TIME', attname) as set_times
         from pg_attribute join pg_class c on c.oid = attrelid
         where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and atttypid = 'timestamptz'::regtype
             and attnum > 0 and not attisdropped
             and query_to_xml(format('select from %s limit 1', attrelid::regclass), true, true, '')::text <> '';
         create table times as select host_table, string_agg(set_times, ', ') as set_times from single group by 1",
    );
    let all = world.count("single");
    assert!((20..100).contains(&all), "{all}");
    if are_all_played() {
        world.run("insert into times select * from single");
    }
    world.run("set session_replication_role = replica");
    for at in 0..world.count("times") {
        let row = format!("(select * from times order by 1, 2 offset {at} limit 1) t");
        let [table, set_times] = ["host_table", "set_times"].map(|part| world.text(part, &row).expect("a row"));
        world.run(&format!("create temp table kept as select * from {table}"));
        for time in ["'294276-12-31 23:59:59.999999'", "'4714-11-24 00:00Z BC'"] {
            let set_times = set_times.replace("TIME", time);
            println!("{table}: {set_times}");
            world.run(&format!("update {table} set {set_times}"));
            world.status_document();
        }
        world.run(&format!("delete from {table}; insert into {table} select * from kept; drop table kept"));
    }
}

/// Releases before 2026.831 have no such table.
#[test]
fn a_release_without_finalizations_is_swept_as_well() {
    let (mut world, issue, _) = after_a_run("claude_local", "failed", 60);
    world.run("drop table native_run_finalizations cascade");
    assert_eq!(sweep_at_once(&world).outcome(&issue), "continued");
}

/// No foreign key holds them to their company.
#[rstest]
#[case::that_holds_it("update issues set execution_run_id = ':r' where id = ':i'", "continued")]
#[case::that_a_wake_names("update agent_wakeup_requests set run_id = ':r'", "not examined")]
fn another_companys_run_says_nothing_of_an_issue(#[case] statement: &str, #[case] outcome: &str) {
    let mut world = World::new(On::Paperclip);
    let (issue, agent) = orphan(&mut world);
    if outcome != "continued" {
        world.issue_wake(&issue, &agent, "queued", 0);
    }
    let (company, other, run) = (Id::generate(), Id::generate(), Id::generate());
    world.run(&format!(
        "insert into companies (id, name, issue_prefix) values ('{company}', 'Other', 'OTH');
         insert into agents (id, company_id, name) values ('{other}', '{company}', 'Bob');
         insert into heartbeat_runs (id, company_id, agent_id, status, finished_at)
         values ('{run}', '{company}', '{other}', 'failed', now() - interval '1 minute')"
    ));
    world.run(&statement.replace(":r", &run.0).replace(":i", &issue.0));
    assert_eq!(sweep_at_once(&world).outcome(&issue), outcome);
}

/// After a crash the server leaves wakes claimed whose runs it has interrupted.
#[test]
fn a_wake_is_pending_only_while_its_run_is_absent_or_live() {
    let cases = [
        ("claimed", Some("interrupted"), "continued"),
        ("queued", Some("failed"), "continued"),
        ("claimed", Some("running"), "not examined"),
        ("queued", Some("scheduled_retry"), "not examined"),
        ("deferred_issue_execution", None, "healthy"),
    ];
    let mut world = World::new(On::Paperclip);
    let issues = cases.map(|(wake_status, run_status, _)| {
        let (issue, agent) = orphan(&mut world);
        let wake = world.issue_wake(&issue, &agent, wake_status, 30);
        if let Some(status) = run_status {
            let run = world.issue_run(&issue, &agent, status, 30);
            end_run(&mut world, &run, 600);
            world.set("agent_wakeup_requests", &wake, &format!("run_id = '{run}'"));
        }
        issue
    });
    let swept = world.sweep();
    for (case, issue) in cases.iter().zip(&issues) {
        assert_eq!(swept.outcome(issue), case.2, "{case:?}: {}", swept.json);
    }
}
