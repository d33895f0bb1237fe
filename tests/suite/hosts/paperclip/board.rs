//! What people see on the board: an escalation with what is to be done, and what its server blocked without a word.

use rstest::rstest;
use sweep::rules::Id;

use super::orphan;
use crate::support::receiver::Receiver;
use crate::support::world::{On, World};

fn escalated() -> (World, Id) {
    let mut world = World::new(On::Paperclip);
    let (issue, _) = orphan(&mut world);
    let mut settings = world.options();
    settings.policy.attempts_max = 0;
    assert_eq!(world.sweep_as(&settings).outcome(&issue), "escalated");
    (world, issue)
}

/// The server's inbox shows only what has an owner and a time, and the server reads no presentation with an unknown
/// key.
#[test]
fn an_escalation_is_in_the_boards_inbox_with_what_is_to_be_done_and_its_comment_is_a_notice() {
    let (mut world, issue) = escalated();
    let of_issue = format!("issues where id = '{issue}' and blocked_transition_at is not null");
    assert_eq!(world.text("unblock_descriptor ->> 'owner'", &of_issue).as_deref(), Some("board"));
    let action = world.text("unblock_descriptor ->> 'action'", &of_issue).expect("an action");
    assert!(action.contains("set it to todo") && action.len() <= 2000 && action.trim() == action, "{action}");
    let keys = "(select string_agg(key, ',' order by key) from jsonb_object_keys(unblock_descriptor) key)";
    assert_eq!(world.text(keys, &of_issue).as_deref(), Some("action,owner"));

    let comment = format!("issue_comments where issue_id = '{issue}' and author_type = 'system'");
    let keys = "(select string_agg(key, ',' order by key) from jsonb_object_keys(presentation) key)";
    assert_eq!(world.text(keys, &comment).as_deref(), Some("detailsDefaultOpen,kind,title,tone"));
    assert_eq!(world.text("presentation ->> 'kind'", &comment).as_deref(), Some("system_notice"));
}

#[test]
fn the_comment_says_what_works_on_this_board_and_since_when_nothing_happened() {
    let (mut world, issue) = escalated();
    let body = world.text("body", &format!("issue_comments where issue_id = '{issue}'")).expect("a comment");
    assert!(body.contains("write a comment, assign somebody else or set it to todo"), "{body}");
    assert!(body.contains("Setting it to in progress wakes nobody"), "{body}");
    assert!(!body.contains("for 0s") && body.contains("since 20"), "{body}");
}

/// Five minutes ago.
fn blocked_by_the_server() -> (World, Id) {
    let mut world = World::new(On::Paperclip);
    let (issue, _) = orphan(&mut world);
    let company = world.company.clone();
    world.set("issues", &issue, "status = 'blocked'");
    world.run(&format!(
        "insert into activity_log (company_id, actor_type, actor_id, action, entity_type, entity_id, details, \
            created_at)
         values ('{company}', 'system', 'execution-recovery', 'issue.execution_recovery_settled', 'issue', '{issue}',
                 '{{\"outcome\": \"blocked\"}}', now() - interval '5 minutes')"
    ));
    (world, issue)
}

/// `:i` the issue, `:c` the company.
#[rstest]
#[case::nobody_said_why("select", 1)]
#[case::a_comment_says_why(
    "insert into issue_comments (company_id, issue_id, author_type, body) values (':c', ':i', 'system', 'x')",
    0
)]
#[case::a_person_has_answered(
    "insert into activity_log (company_id, actor_type, actor_id, action, entity_type, entity_id) values (':c', 'user', \
        'maria', 'issue.updated', 'issue', ':i')",
    0
)]
#[case::a_person_has_looked_at_it(
    "insert into activity_log (company_id, actor_type, actor_id, action, entity_type, entity_id) values (':c', 'user', \
        'maria', 'issue.read_marked', 'issue', ':i')",
    1
)]
#[case::a_blocker_says_why(
    "insert into issue_relations (company_id, issue_id, related_issue_id, type) select ':c', id, ':i', 'blocks' from \
        issues where status = 'in_progress'",
    0
)]
#[case::it_is_hidden("update issues set hidden_at = now()", 0)]
#[case::it_goes_on("update issues set status = 'todo'", 0)]
#[case::it_says_what_to_do("update issues set unblock_descriptor = '{\"owner\": \"board\", \"action\": \"Look\"}'", 0)]
fn what_the_server_blocked_without_a_word_is_notified_once_if_somebody_asked_for_it(
    #[case] further: &str,
    #[case] reported: i64,
) {
    let receiver = Receiver::new();
    let (mut world, issue) = blocked_by_the_server();
    let agent = world.agent("idle");
    let other = world.orphan(&agent);
    world.run(&format!("update issues set updated_at = now() where id = '{other}'"));
    let company = world.company.clone();
    world.run(&further.replace(":i", &issue.0).replace(":c", &company.0));
    let url = receiver.url();
    let not_asked = world.notifying(&[("SWEEP_WEBHOOK_URL", &url)]);
    let asked = world.notifying(&[("SWEEP_WEBHOOK_URL", url.as_str()), ("SWEEP_NOTIFY_ON", "host_blocked")]);
    let notified = format!("notifications where event = 'host_blocked' and subject_id = '{issue}'");

    world.sweep_as(&not_asked.sweep);
    assert_eq!(world.count(&notified), 0);
    world.sweep_as(&asked.sweep);
    world.sweep_as(&asked.sweep);

    assert_eq!(world.count(&notified), reported);
}
