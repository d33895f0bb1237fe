//! The server's conditions for starting a run. It would cancel sweep's run, so sweep waits, says why, and goes on when
//! the condition holds.

use serde_json::Value;

use crate::paperclip::api::Adapter;
use crate::paperclip::server::Server;
use crate::program::said_of;
use crate::{seconds, wait_for};

/// Makes an agent with an issue that its runs left in progress.
fn stranded(server: &Server, name: &str) -> (String, String) {
    let agent = server.make_agent(name, Adapter::Process);
    let issue = server.make_issue(&agent, "quit, quit, close");
    (agent, issue)
}

/// Sweeps until a sweep tells of an issue (a change of the issue a moment ago keeps sweeps away from it), and returns
/// what became of it and why.
fn swept(server: &Server, issue: &str) -> (String, String) {
    let said = wait_for("a sweep tells of it", seconds(30), || said_of(&server.sweep_at_once("5s"), issue).cloned());
    let text = |field: &str| said[field].as_str().unwrap_or_default().to_owned();
    (text("outcome"), text("reason"))
}

#[test]
fn what_the_server_would_not_start_waits_and_goes_on_afterwards() {
    let server = Server::start();
    server.migrate();
    let issues = ["Ada", "Bob", "Cid", "Dan"].map(|name| stranded(&server, name));
    for (_, issue) in &issues {
        wait_for("its runs have ended", seconds(90), || {
            (server.played(issue).len() == 2 && !server.has_live_run(issue)).then_some(())
        });
    }
    std::thread::sleep(seconds(20));
    let [by_project, on_demand, by_runs, by_manager] = &issues;
    let project = server.make_project("Fence");
    server.change(&by_project.1, "projectId", &project);
    server
        .database
        .change(&format!("update projects set paused_at = now(), pause_reason = 'budget' where id = '{project}'"));
    server.set_heartbeat(&on_demand.0, r#"{"enabled": false, "wakeOnDemand": false}"#);
    server.set_heartbeat(&by_runs.0, r#"{"enabled": false, "wakeOnDemand": true, "maxDailyRuns": 2}"#);
    server.terminate_the_manager_of(&by_manager.0);
    let reasons = [
        (by_project, "its project is stopped by its budget: Fence"),
        (on_demand, "its agent is woken neither on demand nor by a timer"),
        (by_runs, "its agent has used up its 2 runs of the day"),
        (by_manager, "a manager of its agent is terminated or missing, or is below it"),
    ];
    for ((_, issue), why) in &reasons {
        let (outcome, reason) = swept(&server, issue);
        assert!(outcome == "waiting" && reason.contains(why), "{outcome}, {reason}: {}", server.story(issue));
    }

    // The server would cancel sweep's run. The fourth agent is left out: the server asks about it only before it queues
    // a run.
    for (agent, issue) in [by_project, by_runs, by_manager] {
        server.database.change(&format!(
            "insert into sweep.wakes (agent_id, issue_id, reason)
             values ('{agent}', '{issue}', 'issue_continuation_needed')"
        ));
        wait_for("the server deals with it", seconds(60), || (!server.has_live_run(issue)).then_some(()));
        let last = server.runs(issue).pop().expect("a run");
        assert_eq!(
            (&last["status"], &last["started_at"]),
            (&"cancelled".into(), &Value::Null),
            "{}",
            server.story(issue)
        );
    }

    server.database.change("update projects set paused_at = null, pause_reason = null");
    server.set_heartbeat(&on_demand.0, r#"{"enabled": false, "wakeOnDemand": true}"#);
    server.set_heartbeat(&by_runs.0, r#"{"enabled": false, "wakeOnDemand": true, "maxDailyRuns": 200}"#);
    server.database.change(&format!("update agents set reports_to = null where id = '{}'", by_manager.0));
    for (_, issue) in &issues {
        wait_for("it goes on", seconds(120), || {
            // The server blocks an issue whose run it cancelled: a person has it go on.
            if server.status(issue) == "blocked" {
                server.change(issue, "status", "todo");
            }
            server.sweep_at_once("5s");
            (server.status(issue) == "done").then_some(())
        });
    }
}
