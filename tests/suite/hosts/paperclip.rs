//! What is Paperclip's own: the shape of a wake that its server executes, what an escalation must clear, what it calls
//! a wait, and what must never be woken.

mod board;
mod gates;
mod host_calls;
mod links;
mod releases;
mod run_ends;
mod server_clock;
mod stopped_by_people;
mod unstarted;

use sweep::rules::Id;

use crate::support::world::{On, World};

fn orphan(world: &mut World) -> (Id, Id) {
    let agent = world.agent("idle");
    (world.orphan(&agent), agent)
}

/// Lets each statement happen to an orphan of a company of its own, and holds one sweep of them all to the outcome and
/// to a reason that has the statement's word. `:i` the issue, `:b` another one, `:c` the company.
#[track_caller]
fn one_sweep_leaves_each(statements: &[(&str, &str)], outcome: &str) {
    let mut world = World::new(On::Paperclip);
    let (control, _) = orphan(&mut world);
    let mut issues = Vec::new();
    for (statement, _) in statements {
        let company = world.begin_another_company();
        let (issue, agent) = orphan(&mut world);
        let other = world.orphan(&agent);
        world.set("issues", &other, "status = 'todo'");
        world.run(&statement.replace(":c", &company.0).replace(":i", &issue.0).replace(":b", &other.0));
        issues.push(issue);
    }

    let swept = world.sweep();

    assert_eq!(swept.outcome(&control), "continued", "the control");
    for ((_, word), issue) in statements.iter().zip(issues) {
        assert_eq!(swept.outcome(&issue), outcome, "{word}: {}", swept.subject(&issue));
        let reason = swept.subject(&issue)["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(word), "{word}: {reason}");
        assert_eq!(world.wakes_for(&issue), 0);
    }
}

/// A run that began at once ended so many seconds ago.
fn end_run(world: &mut World, run: &Id, seconds: i64) {
    let at = format!("now() - interval '{seconds} seconds'");
    world.set("heartbeat_runs", run, &format!("started_at = created_at, finished_at = {at}, updated_at = {at}"));
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

#[test]
fn a_wake_is_a_request_and_a_run_in_the_shape_that_the_server_executes() {
    let mut world = World::new(On::Paperclip);
    let (issue, agent) = orphan(&mut world);
    let other = world.agent("idle");
    let last = world.issue_run(&issue, &agent, "failed", 40);
    world.issue_run(&issue, &other, "failed", 30);
    world.sweep();

    let request = |column: &str| format!("{column} from agent_wakeup_requests where requested_by_actor_id = 'sweep'");
    let expected = [
        ("status", "queued".to_owned()),
        ("source", "automation".to_owned()),
        ("trigger_detail", "system".to_owned()),
        ("reason", "issue_continuation_needed".to_owned()),
        ("agent_id::text", agent.0.clone()),
        ("payload ->> 'issueId'", issue.0.clone()),
        ("payload ->> 'retryReason'", "issue_continuation_needed".to_owned()),
        ("payload ->> 'retryOfRunId'", last.0.clone()),
    ];
    for (column, value) in expected {
        let (column, from) =
            (column, request(column).split_once(" from ").map(|(_, from)| from.to_owned()).expect("from"));
        assert_eq!(world.text(column, &from), Some(value), "wake: {column}");
    }
    let run_of = "heartbeat_runs r join agent_wakeup_requests w on w.run_id = r.id and w.id = r.wakeup_request_id";
    let expected = [
        ("r.status", "queued"),
        ("r.invocation_source", "automation"),
        ("r.trigger_detail", "system"),
        ("r.retry_of_run_id", &last.0),
        ("r.responsible_user_id", "user-1"),
        ("r.context_snapshot ->> 'issueId'", &issue.0),
        ("r.context_snapshot ->> 'taskId'", &issue.0),
        ("r.context_snapshot ->> 'taskKey'", &issue.0),
        ("r.context_snapshot ->> 'wakeReason'", "issue_continuation_needed"),
        ("r.context_snapshot ->> 'retryReason'", "issue_continuation_needed"),
        ("r.context_snapshot ->> 'wakeSource'", "automation"),
        ("r.context_snapshot ->> 'wakeTriggerDetail'", "system"),
        ("r.context_snapshot ->> 'source'", "issue.continuation_recovery"),
        ("r.context_snapshot ->> 'retryOfRunId'", &last.0),
    ];
    for (column, value) in expected {
        assert_eq!(world.text(column, run_of).as_deref(), Some(value), "run: {column}");
    }
}

#[test]
fn an_escalation_clears_the_locks_so_that_the_server_starts_nothing() {
    let mut world = World::new(On::Paperclip);
    let (issue, agent) = orphan(&mut world);
    let dead = world.issue_run(&issue, &agent, "failed", 50);
    let hour = world.ago(60);
    world.set(
        "issues",
        &issue,
        &format!(
            "checkout_run_id = '{dead}', execution_run_id = '{dead}', execution_agent_name_key = 'ada', \
            execution_locked_at = {hour}"
        ),
    );
    let mut settings = world.options();
    settings.policy.attempts_max = 0;

    let swept = world.sweep_as(&settings);

    assert_eq!(swept.outcome(&issue), "escalated");
    let cleared = "status = 'blocked' and checkout_run_id is null and execution_run_id is null
        and execution_agent_name_key is null and execution_locked_at is null and blocked_transition_at is not null";
    assert_eq!(world.count(&format!("issues where id = '{issue}' and {cleared}")), 1);
    assert_eq!(world.count(&format!("issue_comments where issue_id = '{issue}' and author_type = 'system'")), 1);
    assert_eq!(world.count(&format!("activity_log where entity_id = '{issue}' and actor_type = 'system'")), 1);
}

#[test]
fn a_run_is_live_by_its_context_or_by_the_issues_checkout_or_execution() {
    let mut world = World::new(On::Paperclip);
    let (control, agent) = orphan(&mut world);
    let issues = ["checkout_run_id", "execution_run_id"].map(|column| {
        let (issue, other) = (world.orphan(&agent), world.orphan(&agent));
        world.set("issues", &other, "status = 'done'");
        let run = world.issue_run(&other, &agent, "running", 50);
        world.set("issues", &issue, &format!("{column} = '{run}'"));
        (column, issue)
    });
    let swept = world.sweep();
    issues.iter().for_each(|(column, issue)| assert_eq!(world.wakes_for(issue), 0, "{column}"));
    assert_eq!((swept.count("issues", "continued"), swept.outcome(&control)), (1, "continued"));
}

/// One statement for each wait that paperclip.md lists; `:i` the issue, `:b` another one, `:c` the company.
#[test]
fn an_issue_that_declares_a_wait_is_left_and_the_report_says_for_what() {
    let waits = [
        (
            "insert into issue_relations (company_id, issue_id, related_issue_id, type) values (':c', ':b', ':i', \
                'blocks')",
            "blocked by",
        ),
        (
            "insert into issue_thread_interactions (company_id, issue_id, kind, payload, continuation_policy)
          values (':c', ':i', 'ask_user_questions', '{}', 'wake_assignee')",
            "question",
        ),
        (
            "with a as (insert into approvals (company_id, type, payload) values (':c', 'x', '{}') returning id)
          insert into issue_approvals (company_id, issue_id, approval_id) select ':c', ':i', id from a",
            "approval",
        ),
        (
            "insert into issue_recovery_actions (company_id, source_issue_id, kind, cause, fingerprint, next_action)
          values (':c', ':i', 'k', 'c', 'f', 'n')",
            "recovery",
        ),
        ("update issues set monitor_next_check_at = now() + interval '1 day' where id = ':i'", "monitor"),
        (
            "update issues set parent_id = ':b' where id = ':i';
          insert into issue_tree_holds (company_id, root_issue_id, mode) values (':c', ':b', 'pause')",
            "hold",
        ),
    ];
    one_sweep_leaves_each(&waits, "waiting");
}

#[test]
fn a_blocker_that_is_finished_is_no_wait() {
    let mut world = World::new(On::Paperclip);
    let company = world.company.clone();
    let issues = ["done", "cancelled"].map(|status| {
        let (issue, agent) = orphan(&mut world);
        let other = world.orphan(&agent);
        world.set("issues", &other, &format!("status = '{status}'"));
        world.run(&format!(
            "insert into issue_relations (company_id, issue_id, related_issue_id, type) values ('{company}', \
                '{other}', '{issue}', 'blocks')"
        ));
        (status, issue)
    });
    let swept = world.sweep();
    issues.iter().for_each(|(status, issue)| assert_eq!(swept.outcome(issue), "continued", "{status}"));
}

#[test]
fn an_issue_whose_wake_would_do_harm_is_skipped_with_the_reason() {
    let obstacles = [
        ("update issues set hidden_at = now() where id = ':i'", "hidden"),
        ("update companies set status = 'paused' where id = ':c'", "company is paused"),
        ("update companies set default_responsible_user_id = null where id = ':c'", "no user is responsible"),
        (
            "insert into companies (id, name, issue_prefix) values ('00000000-0000-4000-8000-000000000001', 'Other', \
            'OTH');
          update agents set company_id = '00000000-0000-4000-8000-000000000001' where company_id = ':c'",
            "another company",
        ),
    ];
    one_sweep_leaves_each(&obstacles, "skipped");
}

#[test]
fn a_continuation_that_the_host_queued_itself_counts_as_an_attempt() {
    let mut world = World::new(On::Paperclip);
    let (issue, agent) = orphan(&mut world);
    let run = world.issue_run(&issue, &agent, "failed", 30);
    let context = format!("{{\"issueId\": \"{issue}\", \"retryReason\": \"issue_continuation_needed\"}}");
    world.set("heartbeat_runs", &run, &format!("context_snapshot = '{context}'"));

    assert_eq!(world.sweep().outcome(&issue), "escalated");
    assert_eq!(world.wakes_for(&issue), 0);
}

#[test]
fn a_database_without_the_indexes_on_the_issue_in_json_works_as_well() {
    let mut world = World::new(On::Paperclip);
    let indexes = "select indexname as value from pg_indexes where schemaname = 'public' and indexdef like '%issueId%'";
    let drop = format!(
        "do $$ declare i text; begin for i in {indexes} loop execute format('drop index public.%I', i); end loop; end \
            $$"
    );
    assert!(0 < world.count("pg_indexes where schemaname = 'public' and indexdef like '%issueId%'"));
    world.run(&drop);
    let (issue, agent) = orphan(&mut world);
    let alive = world.orphan(&agent);
    world.issue_run(&alive, &agent, "running", 50);

    let swept = world.sweep();

    assert_eq!(swept.outcome(&issue), "continued");
    assert_eq!(world.wakes_for(&alive), 0);
}

#[test]
fn plan_steps_are_reported_as_not_provided() {
    let world = World::new(On::Paperclip);
    let swept = world.sweep();
    assert_eq!(swept.json["kinds"]["steps"]["provided"], false);
    assert_eq!(swept.json["kinds"]["issues"]["provided"], true);
    assert_eq!(swept.json["host"], "paperclip");
}
