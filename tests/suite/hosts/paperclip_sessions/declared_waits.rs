//! What keeps a silent run waiting, and what does not although its issue waits for it.

use super::fixture::with_a_silent_run;
use crate::support::databases::run;

/// `:i` the issue, `:r` the run; `:c` the company.
fn sweep_after(statement: &str) -> (String, String) {
    let (mut world, issue, session) = with_a_silent_run();
    let company = world.text("id", "companies").expect("a company");
    run(&mut world.db, &statement.replace(":c", &company).replace(":i", &issue.0).replace(":r", &session.0));
    let swept = world.sweep();
    let outcome = swept.outcome(&session).to_owned();
    let reported = i64::from(outcome == "escalated");
    assert_eq!(world.comments_on(&issue), reported, "{statement}");
    (outcome, swept.subject(&session)["reason"].as_str().unwrap_or_default().to_owned())
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
        ("update companies set status = 'paused'".to_owned(), "its company is paused"),
        ("update companies set status = 'archived'".to_owned(), "its company is archived"),
        (snooze("snooze", tomorrow), "snoozed until 20"),
        (snooze("continue", tomorrow), "snoozed until 20"),
        (snooze("snooze", "'infinity'"), "snoozed until 9999"),
        (
            format!("{};\n{}", snooze("snooze", tomorrow), snooze("snooze", "now() - interval '1 hour'")),
            "snoozed until 20",
        ),
    ];
    for (statement, word) in waits {
        let (outcome, reason) = sweep_after(&statement);
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
        "update companies set default_responsible_user_id = null",
    ];
    let over = ["now() - interval '1 second'", "'-infinity'", "null"].map(|until| snooze("snooze", until));
    let dismissed = snooze("dismissed_false_positive", "now() + interval '1 day'");
    for statement in none.into_iter().chain(over.iter().map(String::as_str)).chain([dismissed.as_str()]) {
        assert_eq!(sweep_after(statement).0, "escalated", "{statement}");
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
