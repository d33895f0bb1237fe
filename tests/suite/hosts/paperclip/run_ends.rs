//! The end of a run: what its server still plans, holds or has left behind.

use rstest::rstest;
use sweep::rules::Id;

use super::{end_run, orphan};
use crate::support::in_process::Swept;
use crate::support::world::{On, World};

/// An issue of an agent with this adapter, idle for an hour but for a run that ended so many seconds ago.
fn after_a_run(adapter: &str, status: &str, seconds: i64) -> (World, Id, Id) {
    let mut world = World::new(On::Paperclip);
    let (issue, agent) = orphan(&mut world);
    world.set("agents", &agent, &format!("adapter_type = '{adapter}'"));
    let run = world.issue_run(&issue, &agent, status, 30);
    end_run(&mut world, &run, seconds);
    (world, issue, run)
}

/// Whatever its grace is.
fn sweep_at_once(world: &World) -> Swept {
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
#[rstest]
#[case::by_execution("execution_run_id", 60, "healthy")]
#[case::by_checkout("checkout_run_id", 60, "healthy")]
#[case::by_a_server_that_died("execution_run_id", 150, "continued")]
fn an_issue_that_its_ended_run_still_holds_is_left_alone(
    #[case] column: &str,
    #[case] seconds: i64,
    #[case] outcome: &str,
) {
    let (mut world, issue, run) = after_a_run("process", "failed", seconds);
    world.set("issues", &issue, &format!("{column} = '{run}'"));
    let swept = sweep_at_once(&world);
    assert_eq!(swept.outcome(&issue), outcome, "{}", swept.subject(&issue));
    assert_eq!(reason(&swept, &issue).contains("has ended and still holds it"), outcome == "healthy");
}

/// The run has leased an environment, of which something was last written so many seconds ago.
fn add_lease(world: &mut World, issue: &Id, run: &Id, seconds: i64) {
    let company = world.company.clone();
    // Earlier releases want to know which environment.
    world.run("alter table environment_leases alter column environment_id drop not null");
    world.run(&format!(
        "insert into environment_leases (company_id, issue_id, heartbeat_run_id, updated_at)
         values ('{company}', '{issue}', '{run}', now() - interval '{seconds} seconds')"
    ));
}

const ACTIVE: &str = "status = 'active'";

#[rstest]
#[case::its_server_has_some_time("claude_local", "failed", 60, ACTIVE, "healthy")]
#[case::it_never_will("claude_local", "failed", 150, ACTIVE, "escalated")]
#[case::it_was_interrupted("codex_local", "interrupted", 150, ACTIVE, "escalated")]
#[case::no_conversation_goes_on_there("process", "failed", 150, ACTIVE, "continued")]
#[case::it_succeeded("claude_local", "succeeded", 150, ACTIVE, "continued")]
#[case::it_is_being_cleaned_up(
    "claude_local",
    "failed",
    900,
    "status = 'pending_cleanup', released_at = now()",
    "healthy"
)]
#[case::its_server_never_comes_to_an_end(
    "process",
    "succeeded",
    7200,
    "status = 'pending_cleanup', released_at = now(), updated_at = now()",
    "continued"
)]
#[case::by_a_time_that_never_comes("process", "failed", 7200, "updated_at = 'infinity'", "continued")]
#[case::that_failed(
    "claude_local",
    "failed",
    150,
    "status = 'failed', released_at = now(), cleanup_status = 'failed'",
    "escalated"
)]
#[case::it_is_released("claude_local", "failed", 20, "status = 'released', released_at = now()", "continued")]
fn nothing_is_queued_beside_an_environment_that_a_run_has_not_given_back(
    #[case] adapter: &str,
    #[case] status: &str,
    #[case] seconds: i64,
    #[case] lease: &str,
    #[case] outcome: &str,
) {
    let (mut world, issue, run) = after_a_run(adapter, status, seconds);
    add_lease(&mut world, &issue, &run, seconds);
    world.run(&format!("update environment_leases set {lease}"));

    let swept = sweep_at_once(&world);

    assert_eq!(swept.outcome(&issue), outcome, "{}", swept.subject(&issue));
    assert_eq!(world.wakes_for(&issue), i64::from(outcome == "continued"));
    if outcome == "escalated" {
        assert!(reason(&swept, &issue).contains("its host would cancel every wake"), "{}", swept.subject(&issue));
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
    assert!(action.as_ref().is_some_and(|action| action.contains(&format!("release the environment of run {run}"))));

    world.set("issues", &issue, "status = 'todo'");
    assert_eq!(sweep_at_once(&world).outcome(&issue), "healthy", "nothing has come of it yet");
    world.run("update environment_leases set status = 'released', released_at = now()");
    assert_eq!(sweep_at_once(&world).outcome(&issue), "recovered");
}

#[rstest]
#[case::under_way("phase = 'finalizing', lease_owner = 'server-1'", 60, "healthy")]
#[case::its_control_waits("phase = 'retryable_failure', control_deadline_at = now()", 60, "healthy")]
#[case::it_waits_for_evidence("phase = 'retryable_failure', recovery_state = 'awaiting_evidence'", 60, "healthy")]
#[case::for_too_long("phase = 'finalizing', lease_owner = 'server-1'", 7200, "escalated")]
#[case::in_a_time_to_come(
    "phase = 'finalizing', lease_owner = 'server-1', updated_at = 'infinity'",
    20000,
    "escalated"
)]
#[case::done("phase = 'completed'", 60, "continued")]
fn nothing_is_queued_beside_a_finalization(#[case] state: &str, #[case] seconds: i64, #[case] outcome: &str) {
    let (mut world, issue, run) = after_a_run("claude_local", "succeeded", seconds);
    world.set("heartbeat_runs", &run, &format!("native_issue_id = '{issue}'"));
    let company = world.company.clone();
    world.run(&format!(
        "insert into native_run_finalizations (run_id, company_id, issue_id, phase, updated_at)
         values ('{run}', '{company}', '{issue}', 'completed', now() - interval '{seconds} seconds')"
    ));
    world.run(&format!("update native_run_finalizations set {state}"));

    let swept = sweep_at_once(&world);

    assert_eq!(swept.outcome(&issue), outcome, "{}", swept.subject(&issue));
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
#[rstest]
#[case::interrupted("claimed", Some("interrupted"), "continued")]
#[case::failed("queued", Some("failed"), "continued")]
#[case::live("claimed", Some("running"), "not examined")]
#[case::planned("queued", Some("scheduled_retry"), "not examined")]
#[case::without_a_run("deferred_issue_execution", None, "healthy")]
fn a_wake_is_pending_only_while_its_run_is_absent_or_live(
    #[case] wake_status: &str,
    #[case] run_status: Option<&str>,
    #[case] outcome: &str,
) {
    let mut world = World::new(On::Paperclip);
    let (issue, agent) = orphan(&mut world);
    let wake = world.issue_wake(&issue, &agent, wake_status, 30);
    if let Some(status) = run_status {
        let run = world.issue_run(&issue, &agent, status, 30);
        end_run(&mut world, &run, 600);
        world.set("agent_wakeup_requests", &wake, &format!("run_id = '{run}'"));
    }
    assert_eq!(world.sweep().outcome(&issue), outcome);
}
