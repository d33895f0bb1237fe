//! A person who stops a run has answered: the issue waits for him until somebody says something newer.

use rstest::rstest;
use sweep::rules::{Id, Kind};

use super::{end_run, orphan};
use crate::support::world::{On, World};

const BY_A_USER: &str = r#"result_json = '{"cancelledByActorType": "user", "cancelledByUserId": "maria"}'"#;

/// A world with one such orphan: see `add_cancelled`.
fn cancelled(marks: &str) -> (World, Id, Id) {
    let mut world = World::new(On::Paperclip);
    let (issue, agent) = add_cancelled(&mut world, marks);
    (world, issue, agent)
}

/// An orphan whose last run was cancelled ten minutes ago, with these marks, and its agent.
fn add_cancelled(world: &mut World, marks: &str) -> (Id, Id) {
    let (issue, agent) = orphan(world);
    world.issue_run(&issue, &agent, "failed", 50);
    let last = world.issue_run(&issue, &agent, "cancelled", 30);
    end_run(world, &last, 10 * 60);
    world.set("heartbeat_runs", &last, marks);
    (issue, agent)
}

#[test]
fn a_persons_cancel_is_a_wait_for_that_person() {
    let cases = [
        (BY_A_USER, "user maria stopped its run, at "),
        (r#"result_json = '{"cancelledByActorType": "board"}'"#, "a person stopped its run"),
        ("error_code = 'operator_interrupted'", "a person stopped its run"),
        ("error_code = 'slack_session_stopped'", "a person, in a chat"),
        (
            "result_json = (select jsonb_build_object('x', string_agg(md5(i::text), ''))
                            from generate_series(1, 20000) i)",
            "somebody (what became of it is too large to look at)",
        ),
    ];
    let mut world = World::new(On::Paperclip);
    let issues = cases.map(|(marks, _)| add_cancelled(&mut world, marks).0);
    for _ in 0..2 {
        let swept = world.sweep();
        for ((_, words), issue) in cases.iter().zip(&issues) {
            assert_eq!(swept.outcome(issue), "waiting", "{words}: {}", swept.subject(issue));
            let reason = swept.subject(issue)["reason"].as_str().unwrap_or_default();
            assert!(reason.contains(words), "{words}: {reason}");
        }
    }
    for ((_, words), issue) in cases.iter().zip(&issues) {
        assert_eq!((world.wakes_for(issue), world.comments_on(issue)), (0, 0), "{words}");
        let view = format!("sweep.issue_work_state where subject_id = '{issue}'");
        let state = world.text("state || ': ' || detail", &view).expect("a state");
        assert!(state.starts_with("waiting: ") && state.contains(words), "{words}: {state}");
    }
}

#[test]
fn a_cancel_of_the_servers_own_is_none() {
    let all = [
        "error_code = 'cancelled', error = 'Cancelled due to agent pause'",
        "error_code = 'issue_assignee_changed'",
        r#"result_json = '{"cancelledByActorType": "system"}'"#,
        "result_json = '[1]'",
    ];
    let mut world = World::new(On::Paperclip);
    let issues = all.map(|marks| add_cancelled(&mut world, marks).0);
    let swept = world.sweep();
    all.iter().zip(&issues).for_each(|(marks, issue)| assert_eq!(swept.outcome(issue), "continued", "{marks}"));
}

/// Each statement comes after the cancel of a person's, of an orphan of its own, and one sweep after all of them. `:i`
/// the issue, `:a` its agent, `:c` the company.
fn every_outcome_is(expected: &str, statements: &[&str]) {
    let mut world = World::new(On::Paperclip);
    let company = world.company.clone();
    let mut after = |statement: &&str| {
        let (issue, agent) = add_cancelled(&mut world, BY_A_USER);
        world.run(&statement.replace(":c", &company.0).replace(":i", &issue.0).replace(":a", &agent.0));
        issue
    };
    let issues: Vec<Id> = statements.iter().map(&mut after).collect();
    let swept = world.sweep();
    for (statement, issue) in statements.iter().zip(&issues) {
        assert_eq!(swept.outcome(issue), expected, "{statement}: {}", swept.subject(issue));
    }
}

/// A comment, a change, a wake and a run.
#[test]
fn it_ends_with_something_newer() {
    every_outcome_is(
        "continued",
        &[
            "insert into issue_comments (company_id, issue_id, author_type, author_user_id, body)
             values (':c', ':i', 'user', 'maria', 'Go on')",
            "insert into activity_log (company_id, actor_type, actor_id, action, entity_type, entity_id)
             values (':c', 'user', 'maria', 'issue.updated', 'issue', ':i')",
            "insert into agent_wakeup_requests (company_id, agent_id, source, status, requested_by_actor_type, payload)
             values (':c', ':a', 'on_demand', 'completed', 'user', '{\"issueId\": \":i\"}')",
            "insert into heartbeat_runs (company_id, agent_id, status, started_at, created_at, context_snapshot)
             values (':c', ':a', 'failed', now() - interval '5 minutes', now() - interval '5 minutes',
                     '{\"issueId\": \":i\"}')",
        ],
    );
}

/// What a person does without an answer: each of these is noted by the server in the name of a user.
#[test]
fn but_not_when_somebody_looks_at_it_or_tidies_up() {
    let actions = [
        "issue.read_marked", "issue.read_unmarked", "issue.inbox_archived", "issue.inbox_unarchived",
        "issue.attachment_added", "issue.attachment_removed", "issue.document_updated", "issue.document_deleted",
        "issue.feedback_vote_saved", "issue.file_resource_content_read", "issue.whatever_a_later_release_notes",
    ];
    let statements = actions.map(|action| {
        format!(
            "insert into activity_log (company_id, actor_type, actor_id, action, entity_type, entity_id)
             values (':c', 'user', 'maria', '{action}', 'issue', ':i')"
        )
    });
    every_outcome_is("waiting", &statements.each_ref().map(String::as_str));
}

/// A comment of the agent, a notice of the server, an older comment, what the server did, and a run that never began.
#[test]
fn but_not_with_what_agents_and_the_server_say() {
    every_outcome_is(
        "waiting",
        &[
            "insert into issue_comments (company_id, issue_id, author_type, author_agent_id, body)
             values (':c', ':i', 'agent', ':a', 'I was stopped')",
            "insert into issue_comments (company_id, issue_id, author_type, body)
             values (':c', ':i', 'system', 'Stopped')",
            "insert into issue_comments (company_id, issue_id, author_type, author_user_id, body, created_at)
             values (':c', ':i', 'user', 'maria', 'Go on', now() - interval '11 minutes')",
            "insert into activity_log (company_id, actor_type, actor_id, action, entity_type, entity_id)
             values (':c', 'system', 'recovery', 'issue.updated', 'issue', ':i')",
            "insert into heartbeat_runs (company_id, agent_id, status, created_at, finished_at, context_snapshot)
             values (':c', ':a', 'cancelled', now() - interval '5 minutes', now() - interval '5 minutes',
                     '{\"issueId\": \":i\"}')",
        ],
    );
}

/// The server's clock is a minute behind, and says that the run ended before the person commented, who did so first.
#[test]
fn what_a_person_said_before_the_stop_is_no_answer_although_the_servers_clock_says_so() {
    let (mut world, issue, _) = cancelled(BY_A_USER);
    let company = world.company.clone();
    world.run(&format!(
        "update heartbeat_runs set started_at = created_at - interval '60 seconds'
         where status = 'cancelled' and context_snapshot ->> 'issueId' = '{issue}';
         insert into issue_comments (company_id, issue_id, author_type, author_user_id, body, created_at)
         values ('{company}', '{issue}', 'user', 'maria', 'I stop this', now() - interval '9 minutes 30 seconds')"
    ));
    assert_eq!(world.sweep().outcome(&issue), "waiting");
}

/// The server cancels what others queue, again and again, before it begins.
#[test]
fn a_stop_is_not_forgotten_over_runs_that_never_began() {
    let (mut world, issue, agent) = cancelled(BY_A_USER);
    for minutes in 0..30 {
        let run = world.issue_run(&issue, &agent, "cancelled", 8);
        world.set("heartbeat_runs", &run, &format!("finished_at = now() - interval '{} seconds'", 200 + minutes));
    }
    assert_eq!(world.sweep().outcome(&issue), "waiting");
}

#[test]
fn a_stop_that_is_dated_in_the_future_ends_with_an_answer() {
    let (mut world, issue, _) = cancelled(BY_A_USER);
    let company = world.company.clone();
    world.run("update heartbeat_runs set finished_at = now() + interval '30 days' where status = 'cancelled'");
    assert_eq!(world.sweep().outcome(&issue), "waiting");
    world.run(&format!(
        "insert into issue_comments (company_id, issue_id, author_type, author_user_id, body)
         values ('{company}', '{issue}', 'user', 'maria', 'Go on')"
    ));
    assert!(!world.explained(Kind::Issue, &issue.0).to_string().contains("stopped its run"));
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

/// An issue that sweep continued, and a person stopped then, has not recovered.
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
