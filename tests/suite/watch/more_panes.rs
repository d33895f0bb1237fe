//! Panes of a real tmux that fail the watcher, or show what should not be kept.

use std::fs::rename;
use std::thread::sleep;
use std::time::Duration;

use super::fixture::until;
use super::panes::Tmux;
use crate::world::on_each_database;

/// While tmux's socket is elsewhere it has no server.
fn without_its_server(tmux: &Tmux, lasts: Duration) {
    let directory =
        std::fs::read_dir(tmux.home.path()).expect("a directory").map(|entry| entry.expect("an entry").path());
    let [sockets] = directory.filter(|path| path.join("default").exists()).collect::<Vec<_>>().try_into().expect("one");
    rename(sockets.join("default"), sockets.join("away")).expect("a socket");
    sleep(lasts);
    rename(sockets.join("away"), sockets.join("default")).expect("a socket");
}

on_each_database! {
    fn a_tmux_that_does_not_answer_for_a_moment_has_not_ended(world) {
        let tmux = Tmux::running("echo working; cat");
        let watcher = tmux.watch(world, &["--no-examine"]);
        until("output", || world.of_agent("recent_output").filter(|output| output == "working"));

        without_its_server(&tmux, Duration::from_millis(1500));

        tmux.ask(&["send-keys", "-t", "%1", "again", "Enter"]);
        until("more output", || world.of_agent("recent_output").filter(|output| output.contains("again")));
        assert_eq!(world.of_agent("ended_at"), None);
        watcher.stop();
    }

    fn a_tmux_that_does_not_answer_for_three_seconds_has_ended(world) {
        let tmux = Tmux::running("echo working; cat");
        let watcher = tmux.watch(world, &["--no-examine"]);
        until("output", || world.of_agent("recent_output").filter(|output| output == "working"));

        without_its_server(&tmux, Duration::from_secs(5));

        assert_eq!(watcher.end().code, 1);
        assert!(world.of_agent("ended_at").is_some());
    }
}
