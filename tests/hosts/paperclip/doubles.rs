//! Right after a run has ended the server plans its own next one, and does not look for wakes of others. A wake queued
//! within that time would make two agents work on one issue.

use std::thread;

use crate::paperclip::api::Adapter;
use crate::paperclip::sampler::Sampler;
use crate::paperclip::server::Server;
use crate::{seconds, wait_for};

#[test]
fn an_issue_whose_run_ends_without_a_word_never_has_two_runs_or_two_wakes_at_once() {
    let server = Server::start();
    server.migrate();
    let agents: Vec<String> = ["Ada", "Bob", "Cid"].map(|name| server.make_agent(name, Adapter::Process)).into();
    let conversation = server.make_agent("Dee", Adapter::ClaudeLocal);
    let daemon = server.daemon(&["--no-guard"]);
    let sampler = Sampler::start(&server);

    // Most issues are of the kind for which the server itself asks for a word.
    let mut issues = Vec::new();
    for _ in 0..8 {
        for agent in &agents {
            issues.push(server.make_issue(agent, "quit"));
        }
        issues.push(server.make_issue(&conversation, "quit"));
        thread::sleep(seconds(1));
    }
    wait_for("each has been played", seconds(120), || {
        issues.iter().all(|issue| !server.played(issue).is_empty()).then_some(())
    });
    wait_for("sweep has continued one", seconds(120), || {
        issues.iter().any(|issue| !server.continuations(issue).is_empty()).then_some(())
    });
    thread::sleep(seconds(30));
    let continued = issues.iter().filter(|issue| !server.continuations(issue).is_empty()).count();
    println!("{continued} of {} were continued by sweep", issues.len());

    let sampled = sampler.end();
    println!("{} looks, {:?} apart at most", sampled.samples, sampled.longest_gap);
    let doubled = sampled.doubled_by_sweep();
    assert!(doubled.is_empty(), "{} of {}:\n{}", doubled.len(), issues.len(), doubled.join("\n"));
    drop(daemon);
}
