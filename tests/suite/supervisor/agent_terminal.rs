//! What an agent in a terminal depends on: who reads its output, the keys of its operator, and how it is stopped.

use std::fs::{self, File};
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::program::BINARY;
use crate::support::wait::wait_for;
use crate::support::watcher::Watcher;
use crate::support::world::{On, World, on_each_database};

const AWAITING: &str = "sweep: the agent crashed; waiting to be relaunched by a sweep";

fn watch(world: &World, script: &str) -> Command {
    let mut command = Command::new(BINARY);
    command.args(["watch", "--database", &world.url, "--name", "agent"]);
    command.args(["--set", "session_silent_after=1s", "--set", "nudge_delay=1s", "--", "sh", "-c", script]);
    command.env("HOME", env!("CARGO_TARGET_TMPDIR")).stdin(Stdio::null());
    command
}

#[test]
fn a_reader_that_pauses_loses_no_output() {
    let world = World::new(On::Sqlite);
    let mut child = watch(&world, "seq 1 100000").stdout(Stdio::piped()).spawn().expect("sweep");
    thread::sleep(Duration::from_secs(3));

    let mut text = String::new();
    child.stdout.take().expect("stdout").read_to_string(&mut text).expect("text");

    assert_eq!(text.lines().last(), Some("100000"));
    assert_eq!(text.lines().count(), 100_000);
    assert!(child.wait().expect("an end").success());
}

#[test]
fn children_that_go_on_printing_do_not_keep_the_watcher_for_ever() {
    let world = World::new(On::Sqlite);
    let script = "(trap '' HUP; for i in $(seq 200); do echo more; sleep 0.1; done) & exit 0";
    let began = Instant::now();

    let ended = Watcher::watch_script(&world.url, &[], script).end();

    assert_eq!(ended.code, 0);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[test]
fn the_last_line_of_a_crash_is_kept_though_it_has_no_end() {
    let world = World::new(On::Sqlite);
    let ended = Watcher::watch_script(&world.url, &[], "echo working; printf 'fatal: disk full'; exit 3").end();
    let log = fs::read_to_string(ended.log().expect("a log")).expect("a log");
    assert_eq!(log, "working\nfatal: disk full\n");
}

/// In this mode a write that would have to wait is refused.
#[test]
fn a_stdout_that_keeps_nobody_waiting_gets_everything() {
    let world = World::new(On::Sqlite);
    let (read, write) = std::io::pipe().expect("a pipe");
    rustix::io::ioctl_fionbio(&write, true).expect("a mode");
    let mut command = watch(&world, "seq 1 100000");
    let mut child = command.stdout(write).spawn().expect("sweep");
    drop(command);
    thread::sleep(Duration::from_millis(500));

    let mut text = String::new();
    File::from(std::os::fd::OwnedFd::from(read)).read_to_string(&mut text).expect("text");

    assert_eq!(text.lines().count(), 100_000);
    assert!(child.wait().expect("an end").success());
}

on_each_database! {
    fn an_agent_whose_reader_pauses_is_at_work(world) {
        let mut child = watch(world, "seq 1 100000").stdout(Stdio::piped()).spawn().expect("sweep");
        thread::sleep(Duration::from_secs(4));

        assert_eq!((world.agents_commands("true"), world.recovered("escalate")), (0, 0));
        std::io::copy(&mut child.stdout.take().expect("stdout"), &mut std::io::sink()).expect("output");
        assert!(child.wait().expect("an end").success());
        assert_eq!(world.of_agent("status").as_deref(), Some("terminated"));
    }

    fn an_agent_that_its_operator_interrupts_has_not_crashed(world) {
        for (key, code) in [("\u{3}", 130), ("\u{1c}", 131)] {
            let flags = ["--set", "auto_relaunch=on"];
            let mut watcher = Watcher::watch_script(&world.url, &flags, "echo ready; exec sleep 1000");
            watcher.until_it_prints("ready");
            thread::sleep(Duration::from_millis(200));
            watcher.screen.types(key);
            let ended = watcher.end();

            assert_eq!(ended.code, code, "{}", ended.text);
            assert!(!ended.text.contains("crashed"), "{}", ended.text);
            assert_eq!(world.of_agent("status").as_deref(), Some("interrupted"));
            assert_eq!((world.agents_commands("true"), world.recovered("escalate")), (0, 0));
            assert_eq!(ended.log(), None);
            world.run("update sessions set identifier = null");
        }
    }

    fn an_agent_may_take_its_time_to_heed_the_operators_signal(world) {
        let script = "trap 'sleep 0.5; echo saved; exit 0' TERM; trap 'exit 9' HUP; echo ready; while :; do sleep \
            0.05; done";
        let watcher = Watcher::watch_script(&world.url, &[], script);
        watcher.until_it_prints("ready");
        let ended = watcher.stop();
        assert!(ended.text.contains("saved"), "{}", ended.text);
    }

    fn a_relaunch_that_only_a_sweep_can_order_is_awaited_aloud_and_control_c_ends_the_wait(world) {
        let flags = ["--no-examine", "--set", "auto_relaunch=on"];
        let mut watcher = Watcher::watch_script(&world.url, &flags, "exit 3");
        watcher.until_it_prints(AWAITING);
        thread::sleep(Duration::from_secs(1));

        watcher.screen.types("\u{3}");
        let ended = watcher.end();

        assert_eq!(ended.code, 130, "{}", ended.text);
        assert_eq!(ended.text.matches(AWAITING).count(), 1, "{}", ended.text);
    }

    fn keys_that_a_crashed_process_did_not_read_are_not_for_the_next_one(world) {
        let script = "echo run >> runs; [ $(wc -l < runs) = 1 ] && { stty -echo; echo ready; sleep 2; exit 3; }; \
                      echo again; read x; echo \"got $x\"; exit 0";
        let flags = ["--set", "auto_relaunch=on", "--set", "session_silent_after=10m"];
        let mut watcher = Watcher::watch_script(&world.url, &flags, script);
        watcher.until_it_prints("ready");
        // More than a terminal holds.
        (0..40).for_each(|_| watcher.screen.types(&"before\r".repeat(100)));
        watcher.until_it_prints("again");
        watcher.screen.types("after\r");
        wait_for("an answer", || watcher.screen.text().contains("got ").then_some(()));

        let ended = watcher.end();
        assert!(ended.text.contains("got after"), "{}", ended.text);
    }
}
