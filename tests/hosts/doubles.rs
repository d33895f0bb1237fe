//! Right after a run has ended the server plans its own next one, and does not look for anybody else's. Whoever queues a wake within
//! that time makes two agents work on one issue.

use std::thread;

use crate::api::Adapter;
use crate::sampler::Sampler;
use crate::server::Server;
use crate::{seconds, wait_for};

#[test]
fn an_issue_whose_run_ends_without_a_word_never_has_two_runs_or_two_wakes_at_once() {
    let server = Server::start();
    server.migrate();
    let (process, conversation) =
        (server.make_agent("Ada", Adapter::Process), server.make_agent("Bob", Adapter::ClaudeLocal));
    let daemon = server.daemon(&["--no-guard"]);
    let sampler = Sampler::start(&server);

    let mut issues = Vec::new();
    // Most of all those of which the server itself asks for a word.
    for _ in 0..5 {
        for plays in ["quit", "quit", "comment"] {
            issues.push(server.make_issue(&process, plays));
        }
        for plays in ["quit", "crash, close"] {
            issues.push(server.make_issue(&conversation, plays));
        }
        thread::sleep(seconds(1));
    }
    wait_for("each has been played", seconds(60), || {
        issues.iter().all(|issue| !server.played(issue).is_empty()).then_some(())
    });
    thread::sleep(seconds(40));

    let sampled = sampler.end();
    println!("{} looks, {:?} apart at most", sampled.samples, sampled.longest_gap);
    let doubled = sampled.doubled_by_sweep();
    assert!(doubled.is_empty(), "{} of {}:\n{}", doubled.len(), issues.len(), doubled.join("\n"));
    drop(daemon);
}
