//! The server executes a wake that sweep queues once, by the agent that has the issue, in the conversation that it
//! left.

use serde_json::Value;

use crate::paperclip::api::Adapter;
use crate::paperclip::sampler::Sampler;
use crate::paperclip::server::Server;
use crate::program::said_of;
use crate::{seconds, wait_for};

/// The server tries a crashed conversation again twice, half a minute apart. Then nobody does anything.
const RETRIES: usize = 3;

#[test]
fn a_wake_is_executed_once_with_the_right_agent_issue_and_session() {
    let server = Server::start();
    server.migrate();
    let (agent, other) =
        (server.make_agent("Ada", Adapter::ClaudeLocal), server.make_agent("Bob", Adapter::ClaudeLocal));
    let issue = server.make_issue(&agent, "crash, crash, crash, close");
    let bystander = server.make_issue(&other, "close");
    let sampler = Sampler::start(&server);
    wait_for("the server gives up", seconds(150), || {
        (server.runs(&issue).len() == RETRIES && !server.has_live_run(&issue)).then_some(())
    });

    // The grace covers what the server does right after a run.
    let continued = wait_for("it is continued", seconds(60), || {
        let report = server.sweep(&["--set", "orphan_grace=10s", "--no-guard"]);
        said_of(&report, &issue).filter(|said| said["outcome"] == "continued").cloned()
    });

    // The server writes the ends of the issue, the run and the wake one after the other.
    wait_for("issue, run and wake are done", seconds(60), || {
        let done = |run: &Value| run["status"] == "succeeded" && run["wake"] == "completed";
        (server.status(&issue) == "done" && server.continuations(&issue).iter().all(done)).then_some(())
    });
    assert_eq!(continued["agent_id"], agent, "{continued}");
    let ours = server.continuations(&issue);
    assert_eq!(ours.len(), 1, "{}", server.story(&issue));
    let played = server.played(&issue);
    let (before, after) = (&played[RETRIES - 1], played.last().expect("a run"));
    assert_eq!(played.len(), RETRIES + 1, "{}", server.story(&issue));
    assert_eq!((&after["run"], &after["agent"]), (&ours[0]["id"], &agent.as_str().into()));
    assert_eq!(after["resumed"], before["session"], "the session is taken up again: {}", server.story(&issue));
    assert_eq!(server.runs(&bystander).len(), 1, "{}", server.story(&bystander));
    assert_eq!(sampler.end().doubled_by_sweep(), Vec::<String>::new());
}
