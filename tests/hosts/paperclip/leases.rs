//! A run that has ended may still hold its environment: its lease is not released, or its end is still being written.
//! The server cancels runs that are queued meanwhile, so a wake would be spent for nothing.

use std::thread;

use serde_json::Value;

use crate::paperclip::api::Adapter;
use crate::paperclip::server::Server;
use crate::program::{found_of, said_of};
use crate::{seconds, wait_for};

const CANCELLED: &str = "execution_reconciliation_required";

#[test]
fn nothing_is_queued_while_the_environment_of_a_run_is_not_released_and_a_person_is_notified_when_it_never_is() {
    let server = Server::start();
    server.migrate();
    let agents = ["Ada", "Bob", "Cid"].map(|name| server.make_agent(name, Adapter::ClaudeLocal));
    let issues = agents.each_ref().map(|agent| server.make_issue(agent, "crash, crash, crash, close"));
    wait_for("the server gives them up", seconds(150), || {
        // The server releases an environment a second after the end of the run.
        let given_up = |issue: &String| {
            let runs = server.runs(issue);
            runs.len() == 3 && runs.iter().all(|run| run["lease"] == "failed")
        };
        issues.iter().all(given_up).then_some(())
    });
    issues.iter().for_each(|issue| server.leave_environment(issue));

    // A wake that is queued all the same is cancelled.
    let [woken, released, leased] = &issues;
    server.database.change(&format!(
        "insert into sweep.wakes (agent_id, issue_id, reason) values ('{}', '{woken}', 'issue_continuation_needed')",
        agents[0]
    ));
    wait_for("the server deals with it", seconds(60), || (!server.has_live_run(woken)).then_some(()));
    let ours = server.continuations(woken);
    assert_eq!(ours.last().map(|run| &run["error_code"]), Some(&CANCELLED.into()), "{}", server.story(woken));

    let sweep = || server.sweep(&["--set", "orphan_grace=5s", "--set", "retry_delay=0s", "--no-guard"]);
    thread::sleep(seconds(20));
    let report = sweep();
    for issue in [released, leased] {
        let ours = server.continuations(issue);
        assert_eq!(ours, Vec::<Value>::new(), "{}\n{:?}", server.story(issue), said_of(&report, issue));
        let explained = server.explain(issue);
        let found = found_of(&explained, "its host is done with its last run");
        assert_eq!(found, "its environment is not released yet", "{explained}");
    }

    server.release_environments(released);
    server.make_older(leased, 3);
    wait_for("the one is done, and the other escalated", seconds(60), || {
        sweep();
        (server.status(released) == "done" && server.status(leased) == "blocked").then_some(())
    });
    assert_eq!(server.continuations(released).len(), 1, "{}", server.story(released));
    assert_eq!(server.continuations(leased), Vec::<Value>::new(), "{}", server.story(leased));
    let reported = server.reported(leased);
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(reported[0]["body"].as_str().is_some_and(|body| body.contains("would cancel every wake")), "{reported:?}");
}
