//! sweep's advice about an issue works: each advice is followed beside the real server, as it is printed, and the issue
//! is worked on again.

use std::process::Command;

use serde_json::Value;

use crate::paperclip::api::Adapter;
use crate::paperclip::server::Server;
use crate::{seconds, wait_for};

/// Waits until `sweep attention` names an issue, and returns its item.
fn item(server: &Server, issue: &str) -> Value {
    wait_for("it is shown to people", seconds(60), || {
        server.sweep(&["--set", "orphan_grace=5s", "--no-guard"]);
        server.needs_a_person(issue)
    })
}

/// The command of an item that has this beginning.
fn command<'a>(item: &'a Value, beginning: &str) -> &'a str {
    let commands = item["commands"].as_array().expect("a list");
    let found = commands.iter().filter_map(Value::as_str).find(|command| command.starts_with(beginning));
    found.unwrap_or_else(|| panic!("no {beginning}…: {item}"))
}

/// Runs a command as it is printed, in a shell that has the host's address and database in its environment.
fn paste(server: &Server, command: &str) {
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_sweep")).parent().expect("a folder");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env_clear().env("PATH", path).env("HOME", server.home.path());
    shell.env("DATABASE_URL", server.database.url()).env("SWEEP_HOST_URL", server.url());
    let output = shell.output().expect("a shell");
    assert!(output.status.success(), "{command}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[track_caller]
fn is_done(server: &Server, issue: &str) {
    wait_for("it is done", seconds(90), || (server.status(issue) == "done").then_some(()));
}

/// The server blocks an issue whose agent's process failed, and tells nobody. The issue goes on by a command to paste,
/// by `sweep wake`, and after what people try first: a comment, todo, another agent.
#[test]
fn what_the_server_blocked_itself_goes_on_by_the_call_that_is_advised() {
    let server = Server::start();
    server.migrate();
    let (agent, other) = (server.make_agent("Ada", Adapter::Process), server.make_agent("Bob", Adapter::Process));
    let issues = [(); 5].map(|()| server.make_issue(&agent, "crash, close"));
    let [pasted, woken, commented, set_to_do, reassigned] = issues.each_ref();
    for issue in &issues {
        wait_for("the server blocks it", seconds(60), || (server.status(issue) == "blocked").then_some(()));
    }
    server.comment(commented, "Go on, please.");
    server.change(set_to_do, "status", "todo");
    server.change(reassigned, "assigneeAgentId", &other);
    // A comment, todo and another agent start nothing.
    std::thread::sleep(seconds(30));
    for issue in &issues {
        assert_eq!(server.runs(issue).len(), 1, "{}", server.story(issue));
    }

    let shown = item(&server, pasted);
    assert_eq!((&shown["what"], &shown["cause"]), (&"blocked_by_host".into(), &"Process exited with code 1".into()));
    paste(&server, command(&shown, "curl "));
    is_done(&server, pasted);
    let shown = item(&server, commented);
    assert_eq!(shown["what"], "unstarted", "{shown}");
    assert!(shown["why"].as_str().is_some_and(|why| why.contains("deferred, and no run of it is live")), "{shown}");
    for issue in [woken, commented, set_to_do] {
        paste(&server, command(&item(&server, issue), "sweep wake "));
        is_done(&server, issue);
        assert_eq!(server.played(issue).len(), 2, "{}", server.story(issue));
    }
    let shown = item(&server, reassigned);
    assert!(
        shown["advice"].as_str().is_some_and(|words| words.contains("assign it to the agent of that run")),
        "{shown}"
    );
    server.change(reassigned, "assigneeAgentId", &agent);
    paste(&server, command(&item(&server, reassigned), "sweep wake "));
    is_done(&server, reassigned);
}

/// The advised statement releases the environment, and then a comment starts the issue.
#[test]
fn an_environment_that_was_never_released_is_released_as_advised_and_then_a_comment_helps() {
    let server = Server::start();
    server.migrate();
    let agent = server.make_agent("Ada", Adapter::ClaudeLocal);
    let issue = server.make_issue(&agent, "crash, crash, crash, close");
    wait_for("the server gives it up", seconds(150), || {
        let runs = server.runs(&issue);
        (runs.len() == 3 && runs.iter().all(|run| run["lease"] == "failed")).then_some(())
    });
    server.leave_environment(&issue);
    server.make_older(&issue, 3);
    wait_for("it is escalated", seconds(90), || {
        server.sweep(&["--set", "orphan_grace=5s", "--set", "retry_delay=0s", "--no-guard"]);
        (server.status(&issue) == "blocked").then_some(())
    });

    paste(&server, command(&item(&server, &issue), "psql "));
    server.comment(&issue, "Go on, please.");
    is_done(&server, &issue);
}

/// An agent could not be woken on demand when its work was assigned, and now can: the server starts that work within
/// its next ticks, and people are not told of it meanwhile.
#[test]
fn what_the_server_starts_by_itself_is_not_shown_to_people() {
    let server = Server::start();
    server.migrate();
    let agent = server.make_agent("Ada", Adapter::Process);
    server.set_heartbeat(&agent, r#"{"enabled": false, "wakeOnDemand": false}"#);
    let issue = server.make_issue(&agent, "close");
    wait_for("its wake is skipped", seconds(30), || {
        let skipped = server.database.text(&format!(
            "select count(*) from agent_wakeup_requests where payload ->> 'issueId' = '{issue}' and status = 'skipped'"
        ));
        (skipped.as_deref() != Some("0")).then_some(())
    });
    server.set_heartbeat(&agent, r#"{"enabled": false, "wakeOnDemand": true}"#);
    wait_for("the server starts it", seconds(60), || {
        server.sweep(&[]);
        assert_eq!(server.needs_a_person(&issue), None);
        (server.status(&issue) == "done").then_some(())
    });
    assert_eq!(server.continuations(&issue), Vec::<Value>::new(), "{}", server.story(&issue));
}
