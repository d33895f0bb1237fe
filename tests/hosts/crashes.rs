//! The server is killed while its agents work. When it is back it finds their runs dead, and leaves their wakes as they were.

use serde_json::Value;

use crate::api::Adapter;
use crate::sampler::Sampler;
use crate::server::Server;
use crate::{seconds, wait_for};

/// The server looks for dead runs that are older than a minute.
const FOUND_DEAD: std::time::Duration = seconds(120);

fn ended(server: &Server, issue: &str) -> bool {
    server.runs(issue).iter().all(|run| run["finished_at"] != Value::Null)
}

#[test]
fn work_that_a_crash_of_the_server_interrupted_is_nobodys_only_until_the_next_sweep() {
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

    let stuck: Vec<&String> = issues.iter().filter(|issue| server.status(issue) == "in_progress").collect();
    assert!(!stuck.is_empty(), "the server has dealt with all of it: {}", server.story(&issues[0]));
    for issue in &stuck {
        let explained = server.explain(issue);
        assert!(!explained.to_string().contains("a wake is queued"), "the wake of a dead run keeps it: {explained}");
    }
    let daemon = server.daemon(&["--orphan-grace", "5s", "--schedule", "*/5 * * * * *", "--no-guard"]);
    for issue in stuck {
        wait_for("it gets going, or a person is told", seconds(90), || {
            matches!(server.status(issue).as_str(), "done" | "blocked").then_some(())
        });
    }
    assert_eq!(sampler.end().doubled_by_sweep(), Vec::<String>::new());
    drop(daemon);
}
