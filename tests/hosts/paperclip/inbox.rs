//! An escalated issue is on the board's list, with what to do about it, and looks like the server's own notices.

use crate::paperclip::api::Adapter;
use crate::paperclip::server::Server;
use crate::program::said_of;
use crate::{seconds, wait_for};

#[test]
fn an_escalation_is_on_the_boards_list_and_a_comment_gets_the_issue_going() {
    let server = Server::start();
    server.migrate();
    let agent = server.make_agent("Ada", Adapter::Process);
    let issue = server.make_issue(&agent, "quit, quit, close");
    wait_for("its runs have ended", seconds(60), || {
        (server.played(&issue).len() == 2 && !server.has_live_run(&issue)).then_some(())
    });
    wait_for("it is escalated", seconds(60), || {
        let report = server.sweep(&["--set", "orphan_grace=5s", "--set", "attempts_max=0", "--no-guard"]);
        said_of(&report, &issue).filter(|said| said["outcome"] == "escalated").map(|_| ())
    });

    let reported = server.reported(&issue);
    assert_eq!(reported.len(), 1, "one comment: {reported:?}");
    assert_eq!(reported[0]["presentation"]["kind"], "system_notice", "{reported:?}");
    let listed = server.attention();
    let mentions = |item: &&serde_json::Value| item.to_string().contains(&issue);
    let item = listed.iter().find(mentions).unwrap_or_else(|| panic!("not on the board's list: {listed:?}"));
    let why = item["whyNow"].as_str().unwrap_or_default();
    let descriptor =
        server.database.text(&format!("select unblock_descriptor ->> 'action' from issues where id = '{issue}'"));
    assert_eq!(Some(why), descriptor.as_deref(), "the reason is sweep's: {item}");

    server.comment(&issue, "Try once more.");
    let began = std::time::Instant::now();
    wait_for("it is worked on", seconds(20), || (server.played(&issue).len() == 3).then_some(()));
    println!("worked on {:?} after the comment", began.elapsed());
    wait_for("it is done", seconds(60), || (server.status(&issue) == "done").then_some(()));
}
