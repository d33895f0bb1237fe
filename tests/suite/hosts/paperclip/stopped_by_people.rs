//! A person who stops a run has answered: the issue waits for him until somebody says something newer.

use rstest::rstest;
use sweep::rules::Id;

use super::{end_run, orphan};
use crate::support::world::{On, World};

const BY_A_USER: &str = r#"result_json = '{"cancelledByActorType": "user", "cancelledByUserId": "maria"}'"#;

/// An orphan whose last run was cancelled ten minutes ago, with these marks.
fn cancelled(marks: &str) -> (World, Id, Id) {
    let mut world = World::new(On::Paperclip);
    let (issue, agent) = orphan(&mut world);
    world.issue_run(&issue, &agent, "failed", 50);
    let last = world.issue_run(&issue, &agent, "cancelled", 30);
    end_run(&mut world, &last, 10 * 60);
    world.set("heartbeat_runs", &last, marks);
    (world, issue, agent)
}

#[rstest]
#[case::on_the_board(BY_A_USER, "user maria stopped its run, at ")]
#[case::by_the_board(r#"result_json = '{"cancelledByActorType": "board"}'"#, "a person stopped its run")]
#[case::by_a_comment("error_code = 'operator_interrupted'", "a person stopped its run")]
#[case::in_a_chat("error_code = 'slack_session_stopped'", "a person, in a chat")]
#[case::with_a_result_that_is_too_large(
    "result_json = jsonb_build_object('x', (select string_agg(md5(i::text), '') from generate_series(1, 20000) i))",
    "somebody (what became of it is too large to look at)"
)]
fn a_persons_cancel_is_a_wait_for_that_person(#[case] marks: &str, #[case] words: &str) {
    let (mut world, issue, _) = cancelled(marks);
    for _ in 0..2 {
        let swept = world.sweep();
        assert_eq!(swept.outcome(&issue), "waiting", "{}", swept.subject(&issue));
        assert!(swept.subject(&issue)["reason"].as_str().unwrap_or_default().contains(words), "{}", swept.json);
    }
    assert_eq!((world.wakes_for(&issue), world.comments_on(&issue)), (0, 0));
    let state = world.text("state || ': ' || detail", &format!("sweep.issue_work_state where subject_id = '{issue}'"));
    assert!(state.as_ref().is_some_and(|state| state.starts_with("waiting: ") && state.contains(words)), "{state:?}");
}

#[rstest]
#[case::because_its_agent_was_paused("error_code = 'cancelled', error = 'Cancelled due to agent pause'")]
#[case::because_it_was_stale("error_code = 'issue_assignee_changed'")]
#[case::by_the_system(r#"result_json = '{"cancelledByActorType": "system"}'"#)]
#[case::with_a_result_that_is_none("result_json = '[1]'")]
fn a_cancel_of_the_servers_own_is_none(#[case] marks: &str) {
    let (world, issue, _) = cancelled(marks);
    assert_eq!(world.sweep().outcome(&issue), "continued");
}

/// A sweep after a person's cancel and this statement; `:i` the issue, `:a` its agent, `:c` the company.
fn outcome_after(statement: &str) -> String {
    let (mut world, issue, agent) = cancelled(BY_A_USER);
    let company = world.company.clone();
    world.run(&statement.replace(":c", &company.0).replace(":i", &issue.0).replace(":a", &agent.0));
    world.sweep().outcome(&issue).to_owned()
}

#[rstest]
#[case::a_comment(
    "insert into issue_comments (company_id, issue_id, author_type, author_user_id, body) values (':c', ':i', 'user', \
        'maria', 'Go on')"
)]
#[case::a_change(
    "insert into activity_log (company_id, actor_type, actor_id, action, entity_type, entity_id) values (':c', 'user', \
        'maria', 'issue.updated', 'issue', ':i')"
)]
#[case::a_wake(
    "insert into agent_wakeup_requests (company_id, agent_id, source, status, requested_by_actor_type, payload) values \
        (':c', ':a', 'on_demand', 'completed', 'user', '{\"issueId\": \":i\"}')"
)]
#[case::a_run(
    "insert into heartbeat_runs (company_id, agent_id, status, started_at, created_at, context_snapshot) values (':c', \
        ':a', 'failed', now() - interval '5 minutes', now() - interval '5 minutes', '{\"issueId\": \":i\"}')"
)]
fn it_ends_with_something_newer(#[case] statement: &str) {
    assert_eq!(outcome_after(statement), "continued");
}

#[rstest]
#[case::a_comment_of_the_agent(
    "insert into issue_comments (company_id, issue_id, author_type, author_agent_id, body) values (':c', ':i', \
        'agent', ':a', 'I was stopped')"
)]
#[case::a_notice_of_the_server(
    "insert into issue_comments (company_id, issue_id, author_type, body) values (':c', ':i', 'system', 'Stopped')"
)]
#[case::an_older_comment(
    "insert into issue_comments (company_id, issue_id, author_type, author_user_id, body, created_at) values (':c', \
        ':i', 'user', 'maria', 'Go on', now() - interval '11 minutes')"
)]
#[case::what_the_server_did(
    "insert into activity_log (company_id, actor_type, actor_id, action, entity_type, entity_id) values (':c', \
        'system', 'recovery', 'issue.updated', 'issue', ':i')"
)]
#[case::a_run_that_never_began(
    "insert into heartbeat_runs (company_id, agent_id, status, created_at, finished_at, context_snapshot) values \
        (':c', ':a', 'cancelled', now() - interval '5 minutes', now() - interval '5 minutes', '{\"issueId\": \":i\"}')"
)]
fn but_not_with_what_agents_and_the_server_say(#[case] statement: &str) {
    assert_eq!(outcome_after(statement), "waiting");
}

/// Two runs of an issue may overlap: what counts is when the person acted.
#[test]
fn a_run_that_began_before_the_cancel_and_ended_otherwise_is_nothing_newer() {
    let (mut world, issue, agent) = cancelled(BY_A_USER);
    let other = world.issue_run(&issue, &agent, "failed", 25);
    end_run(&mut world, &other, 20 * 60);
    assert_eq!(world.sweep().outcome(&issue), "waiting");
}

/// A hold stops the runs below it in the name of whoever put it there, and is taken back by whoever releases it.
#[rstest]
#[case::before_it("11 minutes", "waiting")]
#[case::after_it("9 minutes", "continued")]
fn a_cancel_by_a_hold_ends_with_the_hold(#[case] released: &str, #[case] outcome: &str) {
    let (mut world, issue, agent) = cancelled(BY_A_USER);
    let (company, parent) = (world.company.clone(), world.orphan(&agent));
    world.set("issues", &parent, "status = 'todo'");
    world.run(&format!(
        "update issues set parent_id = '{parent}' where id = '{issue}';
         insert into issue_tree_holds (company_id, root_issue_id, mode, status, released_at)
         values ('{company}', '{parent}', 'pause', 'released', now() - interval '{released}')"
    ));
    assert_eq!(world.sweep().outcome(&issue), outcome);
}

/// Whom sweep continued, and a person stopped then, has not recovered.
#[test]
fn a_continuation_that_a_person_stops_is_handed_over() {
    let mut world = World::new(On::Paperclip);
    let (issue, _) = orphan(&mut world);
    world.sweep();
    world.run(&format!("update heartbeat_runs set status = 'cancelled', finished_at = now(), {BY_A_USER}"));
    world.run("update agent_wakeup_requests set status = 'cancelled'");
    world.pass(10);

    let swept = world.sweep();

    assert_eq!(swept.outcome(&issue), "handed_over", "{}", swept.subject(&issue));
    assert_eq!(world.sweep().outcome(&issue), "waiting");
    assert_eq!(world.wakes_for(&issue), 1);
}
