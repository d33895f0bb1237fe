//! Panes of a real tmux that fail the watcher, or show what should not be kept.

use std::fs::{Permissions, rename};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use crate::support::tmux::Tmux;
use crate::support::wait::wait_for;
use crate::support::watcher::{Watcher, path};
use crate::support::world::{On, World, on_each_database};

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
        wait_for("output", || world.of_agent("recent_output").filter(|output| output == "working"));

        without_its_server(&tmux, Duration::from_millis(1500));

        tmux.ask(&["send-keys", "-t", "%1", "again", "Enter"]);
        wait_for("more output", || world.of_agent("recent_output").filter(|output| output.contains("again")));
        assert_eq!(world.of_agent("ended_at"), None);
        watcher.stop();
    }

    fn a_tmux_that_does_not_answer_for_three_seconds_has_ended(world) {
        let tmux = Tmux::running("echo working; cat");
        let watcher = tmux.watch(world, &["--no-examine"]);
        wait_for("output", || world.of_agent("recent_output").filter(|output| output == "working"));

        without_its_server(&tmux, Duration::from_secs(5));

        assert_eq!(watcher.end().code, 1);
        assert!(world.of_agent("ended_at").is_some());
    }

    fn a_nudge_that_would_reach_other_panes_or_none_has_failed(world) {
        let tmux = Tmux::running("echo working; printf '> '; cat > got");
        tmux.ask(&["split-window", "-d", "-t", "%1", "cat > other"]);
        let watcher = tmux.watch(world, &["--no-examine"]);
        wait_for("output", || world.of_agent("recent_output").filter(|output| output == "working"));
        let set = |value| tmux.ask(&["set-option", "-w", "-t", "%1", "synchronize-panes", value]);
        set("on");
        world.queue("nudge", "to everybody");
        wait_for("a refusal", || (world.agents_commands("status = 'failed'") == 1).then_some(()));
        set("off");
        tmux.ask(&["select-pane", "-d", "-t", "%1"]);
        world.queue("nudge", "to nobody");
        wait_for("another refusal", || (world.agents_commands("status = 'failed'") == 2).then_some(()));
        tmux.ask(&["select-pane", "-e", "-t", "%1"]);
        world.queue("nudge", "to the agent");

        let read = |name: &str| std::fs::read_to_string(tmux.home.path().join(name)).unwrap_or_default();
        wait_for("the message", || (read("got") == "(sweep) to the agent\n").then_some(()));
        assert_eq!(read("other"), "");
        watcher.stop();
    }

    fn of_a_pane_no_secret_is_kept_that_is_wrapped_or_has_many_lines(world) {
        let wrapped = format!("{}GITHUB_TOKEN=hunter2hunter2hunter2", "x ".repeat(40));
        let key = "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----";
        let tmux = Tmux::running(&format!("echo '{wrapped}'; echo '{key}'; echo after; read x; exit 3"));
        let watcher = tmux.watch(world, &["--no-examine"]);
        let kept = wait_for("output", || world.of_agent("recent_output").filter(|output| output.contains("after")));
        assert!(kept.contains("GITHUB_TOKEN=***") && !kept.contains("hunter2"), "{kept}");

        tmux.ask(&["send-keys", "-t", "%1", "Enter"]);
        wait_for("an end", || world.of_agent("ended_at"));
        wait_for("a log", || {
            let logs = std::fs::read_dir(tmux.home.path().join(".local/share/sweep/sessions")).expect("a directory");
            let log = logs.map(|log| std::fs::read_to_string(log.expect("a log").path()).expect("a log")).next()?;
            assert!(!log.contains("hunter2"), "{log}");
            log.contains("after").then_some(())
        });
        watcher.stop();
    }
}

/// While tmux shows the history, `q` ends that, and what follows would reach the agent.
const PERSON: &str = "#!/bin/sh\nexport PATH=\"${PATH#*:}\"\n\
    case \"$*\" in *'weep) '*) tmux -u copy-mode -t %1;; esac\nexec tmux \"$@\"\n";

#[test]
fn when_somebody_begins_to_read_the_history_at_that_moment_no_key_is_typed() {
    let mut world = World::new(On::Sqlite);
    let tmux = Tmux::running("stty -echo -icanon; printf '> '; head -c 1 > first; printf '('; cat > got");
    let programs = tmux.home.path().join("programs");
    std::fs::create_dir(&programs).expect("a directory");
    std::fs::write(programs.join("tmux"), PERSON).expect("a file");
    std::fs::set_permissions(programs.join("tmux"), Permissions::from_mode(0o755)).expect("a mode");
    let search_path = format!("{}:{}", programs.display(), path());
    let words = ["--database", &world.url, "--name", "agent", "--tmux", "%1", "--no-examine"];
    let watcher = Watcher::given(Arc::clone(&tmux.home), &[("PATH", &search_path)], &words);
    wait_for("a prompt", || (world.count("sessions where takes_nudges") == 1).then_some(()));
    world.queue("nudge", "quit it");
    wait_for("a refusal", || (world.agents_commands("status = 'failed'") == 1).then_some(()));

    assert_eq!(tmux.ask(&["display-message", "-p", "-t", "%1", "#{pane_in_mode}"]), "1\n");
    assert_eq!(std::fs::read_to_string(tmux.home.path().join("got")).expect("what it read"), "");
    watcher.stop();
}
