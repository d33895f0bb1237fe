//! What people ask for by a command of a session that a real `sweep watch` keeps.

use crate::support::program::command_at;
use crate::support::wait::wait_for;
use crate::support::watcher::{READ, Watcher};
use crate::support::world::{World, on_each_database};

fn ask(world: &World, request: &str) {
    command_at(&world.url, ["session", request, "agent", "--as", "ada"]).run().done();
}

/// Its watcher writes again and again that it lives: ten times, which takes it longer than a second.
fn until_it_was_kept(world: &mut World) {
    for _ in 0..10 {
        let before = world.of_agent("updated_at");
        wait_for("a heartbeat of its watcher", || (world.of_agent("updated_at") != before).then_some(()));
    }
}

/// It keeps what is typed at its prompt.
fn reader() -> String {
    format!("echo working; while {READ}; do echo \"$x\" >> got; done")
}

/// A session that no sweep would disturb in the time of a test.
const CALM: [&str; 2] = ["--set", "session_silent_after=10m"];

on_each_database! {
    fn a_session_that_is_paused_is_kept_and_not_disturbed_until_it_is_resumed(world) {
        let watcher = Watcher::watch_script(&world.url, &CALM, &reader());
        watcher.until_it_prints("working");
        ask(world, "pause");
        // From now on a second without a sign of life would be too long for it.
        world.run("update sessions set silent_after_seconds = 1");

        until_it_was_kept(world);

        assert_eq!(world.agents_commands("true"), 0);
        assert_eq!((world.of_agent("status"), world.recovered("hand_over")), (Some("active".to_owned()), 1));
        ask(world, "resume");
        let got = || std::fs::read_to_string(watcher.file("got")).ok().filter(|got| !got.is_empty());
        assert!(wait_for("a nudge", got).contains("You seem to be stuck."));
        assert_eq!(world.recovered("recover"), 1);
        watcher.stop();
    }

    fn a_sign_of_life_that_a_person_notes_is_in_no_watchers_way(world) {
        let script = "echo working; read x; echo \"got $x\"; read y";
        let mut watcher = Watcher::watch_script(&world.url, &CALM, script);
        watcher.until_it_prints("working");
        ask(world, "heartbeat");
        until_it_was_kept(world);
        watcher.screen.types("more\r");
        wait_for("its output", || world.of_agent("recent_output").filter(|text| text.contains("got more")));
        assert_eq!(watcher.stop().code, 143);
        assert_eq!(world.of_agent("status").as_deref(), Some("interrupted"));
    }

    fn what_a_person_has_typed_is_typed_and_counts_as_an_attempt(world) {
        let watcher = Watcher::watch_script(&world.url, &CALM, &reader());
        wait_for("a prompt", || (world.count("sessions where takes_nudges") == 1).then_some(()));
        command_at(&world.url, ["session", "nudge", "agent", "--message", "Mind the gate", "--as", "ada"]).run().done();

        let got = || std::fs::read_to_string(watcher.file("got")).ok().filter(|got| !got.is_empty());
        assert_eq!(wait_for("the message", got), "(sweep) Mind the gate\n");
        assert_eq!(world.text("requested_by", "recoveries where action = 'continue'").as_deref(), Some("ada"));
        watcher.stop();
    }

    fn a_process_that_crashed_is_started_again_by_its_watcher(world) {
        let relaunches = ["--no-examine", "--set", "auto_relaunch=on"];
        let flags = [&CALM[..], &relaunches].concat();
        let script = "echo start >> starts; if [ $(wc -l < starts) -lt 2 ]; then exit 1; fi; echo up; read x";
        let watcher = Watcher::watch_script(&world.url, &flags, script);
        let starts = || std::fs::read_to_string(watcher.file("starts")).ok().map_or(0, |text| text.lines().count());
        // Its watcher leaves it to a sweep, which does not come.
        wait_for("a crash", || (starts() == 1 && world.of_agent("ended_at").is_some()).then_some(()));
        ask(world, "relaunch");

        watcher.until_it_prints("up");
        assert_eq!(starts(), 2);
        wait_for("a session that runs", || world.of_agent("ended_at").is_none().then_some(()));
        watcher.stop();
    }
}
