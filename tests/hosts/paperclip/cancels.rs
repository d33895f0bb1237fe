//! A run that somebody stopped: its issue stays in progress on purpose, and only a person takes the cancel back.

use std::thread;

use serde_json::Value;

use crate::paperclip::api::Adapter;
use crate::paperclip::server::Server;
use crate::program::found_of;
use crate::{seconds, wait_for};

#[test]
fn what_a_person_cancelled_is_left_alone_until_a_person_says_more() {
    let server = Server::start();
    server.migrate();
    let agent = server.make_agent("Ada", Adapter::ClaudeLocal);
    let issue = server.make_issue(&agent, "hang, close");
    wait_for("it is worked on", seconds(60), || (server.played(&issue).len() == 1).then_some(()));
    let daemon = server.daemon(&["--set", "orphan_grace=5s", "--schedule", "*/5 * * * * *", "--no-guard"]);
    let run = server.runs(&issue)[0]["id"].as_str().expect("an id").to_owned();

    server.cancel_run(&run);
    wait_for("the run is cancelled", seconds(30), || (server.runs(&issue)[0]["status"] == "cancelled").then_some(()));
    thread::sleep(seconds(25));

    assert_eq!(server.continuations(&issue), Vec::<Value>::new(), "the cancel was undone: {}", server.story(&issue));
    assert_eq!(server.status(&issue), "in_progress", "the server leaves it so; {}", server.story(&issue));
    let explained = server.explain(&issue);
    let found = found_of(&explained, "no wait is declared");
    assert!(found.contains("stopped its run"), "it is said that a person did: {explained}");

    // To look at the issue is no answer.
    server.look_at(&issue);
    thread::sleep(seconds(15));
    assert_eq!(
        server.continuations(&issue),
        Vec::<Value>::new(),
        "who looked has it continued: {}",
        server.story(&issue)
    );

    server.comment(&issue, "Go on, please.");
    wait_for("a comment gets it going", seconds(60), || (server.status(&issue) == "done").then_some(()));
    assert_eq!(server.continuations(&issue), Vec::<Value>::new(), "that was the server's: {}", server.story(&issue));
    drop(daemon);
}
