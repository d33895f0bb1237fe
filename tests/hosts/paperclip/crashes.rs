//! The server is killed while its agents work. When it is back it finds their runs dead, and leaves their wakes and
//! environments as they were: nobody takes up a conversation that held an environment.

use std::thread;

use serde_json::Value;

use crate::paperclip::api::Adapter;
use crate::paperclip::sampler::Sampler;
use crate::paperclip::server::Server;
use crate::program::found_of;
use crate::{seconds, wait_for};

/// The server looks for dead runs that are older than a minute.
const FOUND_DEAD: std::time::Duration = seconds(120);

fn ended(server: &Server, issue: &str) -> bool {
    server.runs(issue).iter().all(|run| run["finished_at"] != Value::Null)
}

#[test]
fn a_conversation_that_died_with_the_server_is_left_to_the_server_and_else_to_a_person() {
    let mut server = Server::start();
    server.migrate();
    let (process, conversation) =
        (server.make_agent("Ada", Adapter::Process), server.make_agent("Bob", Adapter::ClaudeLocal));
    let issues = [server.make_issue(&process, "hang, close"), server.make_issue(&conversation, "hang, close")];
    wait_for("both are worked on", seconds(60), || {
        issues.iter().all(|issue| server.played(issue).len() == 1).then_some(())
    });
    server.crash();
    server.restart();
    let sampler = Sampler::start(&server);
    wait_for("the dead runs are found", FOUND_DEAD, || issues.iter().all(|issue| ended(&server, issue)).then_some(()));

    // The server itself blocks an issue that needs no conversation.
    let [_, stuck] = &issues;
    assert_eq!(server.status(stuck), "in_progress", "the server has dealt with it: {}", server.story(stuck));
    let runs = server.runs(stuck);
    assert_eq!((runs.len(), &runs[0]["wake"]), (1, &"claimed".into()), "{}", server.story(stuck));
    let explained = server.explain(stuck);
    assert_eq!(found_of(&explained, "no wake is pending"), "none", "the wake of a dead run keeps it: {explained}");
    let plans = "its environment is not released yet";
    assert_eq!(found_of(&explained, "its host is done with its last run"), plans, "{explained}");

    // The server takes the conversation's issue to the board, where it stays until that is settled.
    let daemon = server.daemon(&["--set", "orphan_grace=5s", "--schedule", "*/5 * * * * *", "--no-guard"]);
    wait_for("the server takes it to the board", seconds(60), || {
        let listed = server.attention().iter().any(|item| item.to_string().contains(stuck.as_str()));
        listed.then_some(())
    });
    server.make_older(stuck, 3);
    thread::sleep(seconds(20));
    assert_eq!((server.status(stuck), server.runs(stuck).len()), ("in_progress".into(), 1), "{}", server.story(stuck));
    let explained = server.explain(stuck);
    assert_eq!(found_of(&explained, "no wait is declared"), "the host's own recovery is active", "{explained}");

    // Once it is settled, a dead run still holds the environment, and every wake would be cancelled.
    server.database.change(&format!(
        "update issue_recovery_actions set status = 'resolved', resolved_at = now() where source_issue_id = '{stuck}'"
    ));
    wait_for("a person is notified", seconds(30), || (server.status(stuck) == "blocked").then_some(()));
    let reported = server.reported(stuck);
    assert_eq!(reported.len(), 1, "{reported:?}");
    for words in ["never released", "release the environment of run"] {
        assert!(reported[0]["body"].as_str().is_some_and(|body| body.contains(words)), "{reported:?}");
    }
    assert_eq!(server.runs(stuck).len(), 1, "{}", server.story(stuck));

    // A comment does not start the issue: the server keeps it until the environment is released.
    server.comment(stuck, "Go on, please.");
    thread::sleep(seconds(30));
    let deferred = server.database.text(&format!(
        "select count(*) from agent_wakeup_requests where payload ->> 'issueId' = '{stuck}' and status = \
            'deferred_issue_execution'"
    ));
    assert_eq!((server.runs(stuck).len(), deferred.as_deref()), (1, Some("1")), "{}", server.story(stuck));
    server.release_environments(stuck);
    server.comment(stuck, "And now?");
    wait_for("it goes on", seconds(60), || (server.status(stuck) == "done").then_some(()));
    assert_eq!(server.continuations(stuck), Vec::<Value>::new(), "{}", server.story(stuck));
    assert_eq!(sampler.end().doubled_by_sweep(), Vec::<String>::new());
    drop(daemon);
}
