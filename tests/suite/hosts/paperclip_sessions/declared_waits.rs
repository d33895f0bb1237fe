//! What keeps a silent run waiting, and what does not although its issue waits for it.

use super::fixture::{silent_run_of_another_company, with_a_silent_run};
use crate::support::world::{On, World};

/// Lets each statement happen to a silent run of a company of its own, and sweeps them all: each outcome, and why.
/// `:i` the issue, `:r` the run; `:c` the company.
fn sweep_after_each(statements: &[&str]) -> Vec<(String, String)> {
    let mut world = World::new(On::Paperclip);
    let mut after = |statement: &&str| {
        let (company, issue, run) = silent_run_of_another_company(&mut world);
        world.run(&statement.replace(":c", &company.0).replace(":i", &issue.0).replace(":r", &run.0));
        (issue, run)
    };
    let runs: Vec<_> = statements.iter().map(&mut after).collect();
    let swept = world.sweep();
    let mut found = |(issue, run)| {
        let outcome = swept.outcome(&run).to_owned();
        assert_eq!(world.comments_on(&issue), i64::from(outcome == "escalated"), "{}", swept.subject(&run));
        (outcome, swept.subject(&run)["reason"].as_str().unwrap_or_default().to_owned())
    };
    runs.into_iter().map(&mut found).collect()
}

fn snooze(decision: &str, until: &str) -> String {
    format!(
        "insert into heartbeat_run_watchdog_decisions (company_id, run_id, decision, snoozed_until)
         values (':c', ':r', '{decision}', {until})"
    )
}

#[test]
fn what_nobody_is_to_be_notified_of_waits_and_the_report_says_why() {
    let tomorrow = "now() + interval '1 day'";
    let waits = [
        ("update issues set hidden_at = now() where id = ':i'".to_owned(), "its issue is hidden"),
        (
            "update issues set conversation_agent_id = assignee_agent_id, conversation_user_id = 'grace',
                               conversation_state = 'active' where id = ':i'"
                .to_owned(),
            "its issue is a conversation",
        ),
        ("update companies set status = 'paused' where id = ':c'".to_owned(), "its company is paused"),
        ("update companies set status = 'archived' where id = ':c'".to_owned(), "its company is archived"),
        (snooze("snooze", tomorrow), "snoozed until 20"),
        (snooze("continue", tomorrow), "snoozed until 20"),
        (snooze("snooze", "'infinity'"), "snoozed until 9999"),
        (
            format!("{};\n{}", snooze("snooze", tomorrow), snooze("snooze", "now() - interval '1 hour'")),
            "snoozed until 20",
        ),
    ];
    let statements = waits.each_ref().map(|(statement, _)| statement.as_str());
    for ((_, word), (outcome, reason)) in waits.iter().zip(sweep_after_each(&statements)) {
        assert_eq!(outcome, "waiting", "{word}: {reason}");
        assert!(reason.contains(word), "{word}: {reason}");
    }
}

/// It is running all the same: a dead run must not look alive for as long as its issue waits.
#[test]
fn what_its_issue_waits_for_keeps_nobody_from_hearing_of_a_silent_run() {
    let none = [
        "update issues set status = 'blocked' where id = ':i'",
        "update issues set status = 'in_review' where id = ':i'",
        "update issues set monitor_next_check_at = now() + interval '1 day' where id = ':i'",
        "update issues set assignee_agent_id = null where id = ':i'",
        "insert into issue_tree_holds (company_id, root_issue_id, mode) values (':c', ':i', 'pause')",
        "insert into issue_recovery_actions (company_id, source_issue_id, kind, cause, fingerprint, next_action)
         values (':c', ':i', 'k', 'c', 'f', 'n')",
        "insert into issue_thread_interactions (company_id, issue_id, kind, payload, continuation_policy)
         values (':c', ':i', 'ask_user_questions', '{}', 'wake_assignee')",
        "update companies set default_responsible_user_id = null where id = ':c'",
    ];
    let over = ["now() - interval '1 second'", "'-infinity'", "null"].map(|until| snooze("snooze", until));
    let dismissed = snooze("dismissed_false_positive", "now() + interval '1 day'");
    let statements: Vec<&str> =
        none.into_iter().chain(over.iter().map(String::as_str)).chain([dismissed.as_str()]).collect();
    for (statement, (outcome, reason)) in statements.iter().zip(sweep_after_each(&statements)) {
        assert_eq!(outcome, "escalated", "{statement}: {reason}");
    }
}

#[test]
fn a_snooze_is_an_answer_and_the_silence_after_it_is_reported_again() {
    let (mut world, issue, session) = with_a_silent_run();
    world.sweep();
    world.run(
        "insert into heartbeat_run_watchdog_decisions (company_id, run_id, decision, snoozed_until)
         select company_id, id, 'snooze', now() + interval '1 hour' from heartbeat_runs",
    );
    assert_eq!(world.sweep().outcome(&session), "handed_over");
    assert_eq!(world.sweep().outcome(&session), "waiting");
    world.run("update heartbeat_run_watchdog_decisions set snoozed_until = now() - interval '1 second'");
    assert_eq!(world.sweep().outcome(&session), "escalated");
    assert_eq!(world.comments_on(&issue), 2);
}
