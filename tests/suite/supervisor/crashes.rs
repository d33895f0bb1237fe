//! What people read of a process that crashed, and how they take it off their list.

use std::sync::Arc;

use serde_json::Value;

use crate::support::program::command_at;
use crate::support::watcher::Watcher;
use crate::support::world::{On, World, on_each_database};

/// Why the one session that needs a person does so: by `sweep attention`, and by `sweep status`.
fn reasons(world: &World) -> [Value; 2] {
    let (attention, status) = (world.attention(), world.status_document());
    assert_eq!((&attention["items_total"], &status["escalations_total"]), (&1.into(), &1.into()));
    [attention["items"][0]["why"].clone(), status["escalations"][0]["why"].clone()]
}

on_each_database! {
    fn a_crash_is_listed_as_one_with_its_exit_code_or_signal(world) {
        for (script, says) in [
            ("exit 3", "it crashed with exit code 3"),
            ("kill -9 $$", "it crashed with exit code 137 (signal 9)"),
        ] {
            Watcher::watch_script(&world.url, &[], script).end();
            assert_eq!(reasons(world), [says, says]);
            let reason = world.text("reason", "recoveries order by created_at desc limit 1");
            assert_eq!(reason.as_deref(), Some(says), "what the log and notifications say");
            let explained = command_at(&world.url, ["explain", "session", "agent"]).run().done();
            assert!(explained.out.contains(says.split_once("crashed ").expect("an end").1), "{explained}");
        }
    }

    /// The people who were told that it is silent must not look for an agent that hangs.
    fn a_session_that_crashes_after_its_escalation_is_listed_as_a_crash(world) {
        let mut watcher = Watcher::watch_script(&world.url, &["--set", "nudges_max=0"], "echo working; read a; exit 4");
        world.until_recovered("escalate");
        watcher.screen.types("\r");
        watcher.end();

        let says = "it crashed with exit code 4";
        assert_eq!(reasons(world), [says, says]);
    }

    fn a_crash_that_a_person_has_seen_is_off_the_list_until_the_session_is_started_again(world) {
        let home = Arc::new(tempfile::tempdir().expect("a home"));
        let crash = || {
            let arguments = ["--database", &world.url, "--name", "agent", "--", "sh", "-c", "exit 3"];
            Watcher::at_home(Arc::clone(&home), &arguments).end();
        };
        crash();
        let item = &world.attention()["items"][0];
        assert!(item["advice"].as_str().is_some_and(|advice| advice.contains("sweep watch")), "{item}");
        assert_eq!(item["commands"][1], "sweep session pause agent");

        command_at(&world.url, ["session", "pause", "agent"]).run().done();
        assert_eq!((&world.attention()["items_total"], &world.status_document()["escalations_total"]),
            (&0.into(), &0.into()));

        crash();
        assert_eq!(world.attention()["items_total"], 1, "its pause ended with the process before");
    }
}

/// A crash for which the supervisor writes no code, since it was by a signal.
#[test]
fn an_end_that_nobody_saw_is_a_crash_too() {
    let mut world = World::new(On::Sqlite);
    let session = world.session(None, None);
    world.ends(&session, "null");
    world.sweep();
    let says = "it crashed by a signal, or unseen";
    assert_eq!(reasons(&world), [says, says]);
}
