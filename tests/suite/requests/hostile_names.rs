//! Names and messages that would change a terminal, close a quotation or hide a secret.

use crate::support::program::{Ran, command_at};
use crate::support::world::{World, on_each_database};

const USAGE: i32 = 64;

/// A name that would clear a screen, end a string of SQL, and forge a log line.
const NAME: &str = "ada\u{1b}[2J'; drop table recoveries; --\n2026-01-01T00:00:00Z ERROR \u{202e}forged";

fn ask(world: &World, words: &[&str]) -> Ran {
    command_at(&world.url, words.iter().copied()).env("SWEEP_LOG", "trace").run()
}

fn is_plain(text: &str) -> bool {
    !text.contains(['\u{1b}', '\u{202e}', '\u{7}']) && !text.lines().any(|line| line.starts_with("2026-01-01T"))
}

on_each_database! {
    fn the_name_of_who_asks_is_kept_and_shown_on_one_line_as_it_can_be_seen(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let woken = ask(world, &["wake", &issue.0, "--as", NAME]).done();
        let explained = ask(world, &["explain", "issue", &issue.0]).done();
        let json = ask(world, &["explain", "issue", &issue.0, "--output", "json"]).done();
        for ran in [&woken, &explained, &json] {
            assert!(is_plain(&ran.out) && is_plain(&ran.err), "{ran}");
        }
        let kept = world.text("requested_by || reason", "recoveries").expect("a row");
        assert!(is_plain(&kept) && kept.contains("drop table recoveries"), "{kept}");
        let shown = world.text("details", "activity").expect("a line of the host's");
        assert!(is_plain(&shown), "{shown}");
    }

    fn a_credential_in_a_name_is_hidden(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let name = "ada password=hunter2secret";
        let woken = ask(world, &["wake", &issue.0, "--as", name]).done();
        let kept = world.text("requested_by || reason", "recoveries").expect("a row");
        for text in [&woken.out, &woken.err, &kept] {
            assert!(!text.contains("hunter2secret"), "{text}");
        }
    }

    fn a_name_or_a_message_that_cannot_be_is_refused(world) {
        let session = world.session(None, None);
        let long = "x".repeat(201);
        for (option, value, says) in [
            ("--as", long.as_str(), "expected at most 200 characters"),
            ("--as", " ", "expected a few words"),
            ("--message", "\u{1b}[2Jyes", "expected one line without control characters"),
            ("--message", "one\ntwo", "expected one line without control characters"),
            ("--message", "", "expected a few words"),
        ] {
            ask(world, &["session", "nudge", &session.0, option, value]).refused(USAGE, &[says]);
        }
        assert_eq!(world.count("session_commands"), 0);
    }

    fn a_message_and_a_name_of_quotes_are_taken_as_they_are(world) {
        let session = world.session(None, None);
        world.set("sessions", &session, "identifier = 'it''s \"fine\"'");
        let message = "say 'yes'; -- or \"no\"";
        ask(world, &["session", "nudge", "it's \"fine\"", "--message", message, "--as", "o'brien"]).done();
        assert_eq!(world.text("message", "session_commands").as_deref(), Some(message));
        assert_eq!(world.text("requested_by", "recoveries").as_deref(), Some("o'brien"));
    }
}
