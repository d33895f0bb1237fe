//! A run that has ended may still hold its environment: its lease is not released, or its end is still being written. The server
//! cancels what is queued meanwhile, so that a wake would be spent for nothing.

use std::thread;

use serde_json::Value;

use crate::api::Adapter;
use crate::server::Server;
use crate::swept::said_of;
use crate::{seconds, wait_for};

/// An issue of a conversation that the server has given up, and its last run.
fn given_up(server: &Server) -> (String, String) {
    let agent = server.make_agent("Ada", Adapter::ClaudeLocal);
    let issue = server.make_issue(&agent, "crash, crash, crash, close");
    wait_for("the server gives up", seconds(150), || {
        (server.runs(&issue).len() == 3 && !server.has_live_run(&issue)).then_some(())
    });
    let last = server.runs(&issue).pop().expect("a run");
    (issue, last["id"].as_str().expect("an id").to_owned())
}

#[test]
fn nothing_is_queued_while_the_environment_of_the_last_run_is_not_released() {
    let server = Server::start();
    server.migrate();
    let (issue, run) = given_up(&server);
    // As a server that was killed leaves it.
    server.database.run(&format!(
        "update environment_leases set status = 'active', released_at = null where heartbeat_run_id = '{run}'"
    ));

    let sweep = || server.sweep(&["--orphan-grace", "5s", "--no-guard"]);
    thread::sleep(seconds(6));
    let report = sweep();
    // Time for the server to do what it does to a wake that comes too early.
    thread::sleep(seconds(12));
    assert_eq!(
        server.continuations(&issue),
        Vec::<Value>::new(),
        "{}\n{:?}",
        server.story(&issue),
        said_of(&report, &issue)
    );

    server.database.run(&format!(
        "update environment_leases set status = 'released', released_at = now() where heartbeat_run_id = '{run}'"
    ));
    wait_for("it is done", seconds(60), || {
        sweep();
        (server.status(&issue) == "done").then_some(())
    });
    assert_eq!(server.continuations(&issue).len(), 1, "{}", server.story(&issue));
}
