//! What a watched session says of its agent: what it asks, whether it gets anywhere, and where people read it.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::support::program::{BINARY, command_at, sweep};
use crate::support::wait::wait_for;
use crate::support::watcher::{STUCK, Watcher};
use crate::support::world::{On, World, on_each_database};

const PATIENT: [&str; 4] = ["--set", "session_silent_after=10m", "--set", "session_waiting_after=1s"];

const ASKING: &str = "printf 'Remove everything? [y/N] '; head -n 1 > got; n=0; \
                      while :; do n=$((n + 1)); echo \"step $n\"; sleep 0.1; done";

const WORDS: &str = "Remove everything? [y/N]";

on_each_database! {
    fn a_question_is_reported_once_with_its_words_and_is_over_when_it_is_gone(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let flags = [&PATIENT[..], &["--agent", "Ada", "--issue", &issue.0]].concat();
        let mut watcher = Watcher::watch_script(&world.url, &flags, ASKING);
        world.until_recovered("escalate");
        watcher.until_it_prints(&format!("{STUCK}It asks for a yes or no: “{WORDS}”."));

        assert_eq!(world.of_agent("agent_state").as_deref(), Some("waiting"));
        let comment = world.text("body", "comments").expect("a comment");
        assert!(
            comment.contains("of \"`Ada`\"") && comment.contains(&format!("asks for a yes or no: \"`{WORDS}`\"")),
            "{comment}"
        );
        let explained = command_at(&world.url, ["explain", "session", "agent"]).run().done();
        assert!(explained.out.contains("screen, rule generic/yes or no, line 1"), "{explained}");
        thread::sleep(Duration::from_millis(1500));
        assert_eq!((world.recovered("escalate"), world.agents_commands("true"), world.comments_on(&issue)), (1, 0, 1));
        assert_eq!(fs::read_to_string(watcher.file("got")).expect("what it read"), "");

        watcher.screen.types("y\r");
        world.until_recovered("recover");
        assert_eq!(world.of_agent("agent_question"), None);
        watcher.stop();
    }

    fn what_a_person_answers_at_once_is_no_news(world) {
        let mut watcher = Watcher::watch_script(&world.url, &["--set", "session_silent_after=10m"], ASKING);
        wait_for("a question", || (world.of_agent("agent_state").as_deref() == Some("waiting")).then_some(()));
        watcher.screen.types("n\r");
        wait_for("an answer", || world.of_agent("agent_state").is_none().then_some(()));
        watcher.stop();
        assert_eq!(world.recovered("escalate"), 0);
    }

    fn a_spinner_that_turns_for_ever_is_found_and_is_no_silence(world) {
        let script = r#"echo working; while :; do for c in / - '|'; do printf "\r$c thinking"; sleep 0.1; done; done"#;
        let watcher = Watcher::watch_script(&world.url, &["--set", "session_no_progress_after=2s"], script);
        world.until_recovered("escalate");

        let reason = world.text("reason", "recoveries where action = 'escalate'");
        assert_eq!(reason.as_deref(), Some("it moves, and does nothing new"));
        let explained = command_at(&world.url, ["explain", "session", "agent"]).run().done();
        assert!(
            explained.out.contains("without progress") && explained.out.contains("it made no progress"),
            "{explained}"
        );
        assert_eq!((world.agents_commands("true"), world.recovered("recover")), (0, 0));
        watcher.stop();
    }

    fn a_silent_agent_whose_children_compute_is_neither_silent_nor_without_progress(world) {
        // A third of the time is more than the tenth that counts as work, and leaves some to the other tests.
        let works = "n=0; while [ $n -lt 30000 ]; do n=$((n + 1)); done; sleep 0.05";
        let until = "end=$(($(date +%s) + 14)); while [ $(date +%s) -lt $end ]";
        let script = format!("echo working; ({until}; do {works}; done); exit 0");
        let flags = ["--set", "session_silent_after=12s", "--set", "session_no_progress_after=12s"];
        let ended = Watcher::watch_script(&world.url, &flags, &script).end();
        assert_eq!((ended.code, world.recovered("escalate")), (0, 0), "{}", ended.text);
    }

    fn an_agent_without_quota_waits_until_it_is_filled_again(world) {
        let session = world.session(None, None);
        let (soon, past) = (world.ago(-30), world.ago(30));
        let exhausted = format!("agent_state = 'exhausted', agent_state_kind = 'quota', agent_state_since = {past}");
        world.set("sessions", &session, &format!("{exhausted}, resumes_at = {soon}"));
        let explained = command_at(&world.url, ["explain", "session", &session.0]).run().done();
        assert!(explained.out.contains("quota is used up until"), "{explained}");
        assert_eq!(world.sweep().count("sessions", "escalated"), 0);

        world.set("sessions", &session, &format!("resumes_at = {past}"));
        assert_eq!(world.sweep().count("sessions", "escalated"), 1);
        assert_eq!(world.count("session_commands"), 0);
    }
}

#[test]
fn nothing_is_drawn_into_the_screen_of_an_agent_and_its_title_is_put_back() {
    let mut world = World::new(On::Sqlite);
    let shown = "\u{1b}]0;my agent\u{7}\u{1b}[?1049h\u{1b}[HProceed? [y/N] ";
    let script =
        r"stty -echo -icanon -opost; printf '\033]0;my agent\007\033[?1049h\033[HProceed? [y/N] '; head -c 1 > got";
    let mut watcher = Watcher::watch_script(&world.url, &PATIENT, script);
    world.until_recovered("escalate");
    watcher.until_it_prints("\u{1b}]9;");

    let during = watcher.screen.text();
    let (before, after) = during.split_once(shown).expect("its screen");
    let what = "It asks for a yes or no: “Proceed? [y/N]”.";
    let said = format!("\u{1b}]0;⚠ {what}\u{7}\u{7}\u{1b}]9;{what}\u{7}");
    assert_eq!((before, after), ("", said.as_str()), "a title, the bell, a notification");

    watcher.screen.types("n");
    let ended = watcher.end();
    assert!(ended.text.contains("\u{1b}]0;my agent\u{7}"), "{:?}", ended.text);
    let rest = ended.text.split_once(&said).expect("what was said").1;
    assert!(rest.contains(&format!("{STUCK}{what}")), "what could not be said before: {rest:?}");
}

#[test]
fn an_agents_hook_reports_to_its_watcher() {
    let mut world = World::new(On::Sqlite);
    let asks =
        r#"{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm -rf ./important"}}"#;
    let works = r#"{"state":"working"}"#;
    let script = format!(
        "echo working; echo '{asks}' | {BINARY} watch event; echo \"exit code $?\"; read x; {BINARY} watch event \
            '{works}'; cat"
    );
    let mut watcher = Watcher::watch_script(&world.url, &PATIENT, &script);
    watcher.until_it_prints("exit code 0");
    world.until_recovered("escalate");
    let reason = world.text("reason", "recoveries where action = 'escalate'").expect("a reason");
    assert_eq!(reason, "it asks for permission: \"rm -rf ./important\"");
    assert_eq!(world.of_agent("agent_state_evidence").as_deref(), Some("its event PermissionRequest"));

    watcher.screen.types("\r");
    world.until_recovered("recover");
    watcher.stop();

    let alone = sweep(["watch", "event", "{}"]).run();
    let says = alone.err.contains("no watcher started this process");
    assert!(alone.code == 0 && alone.out.is_empty() && says, "{alone}");
}
