//! The operator's terminal: all bytes pass both ways as they are, and it is afterwards as it was before.

use std::fs;

use portable_pty::PtySize;
use rustix::process::Signal;

use crate::support::program::sweep;
use crate::support::wait::wait_for;
use crate::support::watcher::Watcher;
use crate::support::world::{On, World};

/// Every byte, invalid UTF-8, escape sequences and megabytes of lines.
fn everything() -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    bytes.extend(b"\x1b]0;title\x07\x1b]52;c;aGVsbG8=\x07\x1b[?1049h\x1b[2J\xff\xfe\xc3\x28");
    (0..60_000).for_each(|n| bytes.extend(format!("line {n} of many, so that there are megabytes\n").bytes()));
    bytes
}

const PRINT_EVERYTHING: &str = "stty -opost; cat everything";

fn world() -> World {
    World::new(On::Sqlite)
}

#[test]
fn output_passes_byte_for_byte_through_a_terminal() {
    let world = world();
    let patient = ["--set", "session_silent_after=10m"];
    let watcher =
        Watcher::watch_script(&world.url, &patient, "echo ready; read x; stty -opost -echo; cat everything; exit 0");
    fs::write(watcher.file("everything"), everything()).expect("a file");
    let mut watcher = watcher;
    watcher.until_it_prints("ready");
    watcher.screen.types("\r");

    assert_eq!(watcher.end_on_screen(), 0);

    let expected = [b"ready\r\n\r\n".to_vec(), everything()].concat();
    wait_for("all of it", || (expected.len() <= watcher.screen.bytes().len()).then_some(()));
    assert!(watcher.screen.bytes() == expected, "other bytes");
}

#[test]
fn output_passes_byte_for_byte_into_a_file() {
    let world = world();
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("everything"), everything()).expect("a file");
    let out = fs::File::create(directory.path().join("out")).expect("a file");

    let script = ["watch", "--database", &world.url, "--", "sh", "-c", PRINT_EVERYTHING];
    let status = std::process::Command::new(crate::support::program::BINARY)
        .args(script)
        .env("HOME", directory.path())
        .current_dir(directory.path())
        .stdin(std::process::Stdio::null())
        .stdout(out)
        .status();

    assert!(status.expect("sweep").success());
    assert!(fs::read(directory.path().join("out")).expect("a file") == everything(), "other bytes");
}

#[test]
fn without_a_terminal_the_size_is_the_usual_one_and_stdin_is_typed() {
    let (world, directory) = (world(), tempfile::tempdir().expect("a directory"));
    fs::write(directory.path().join("in"), "hello\n").expect("a file");
    let script = "stty size; read x; echo \"got $x\"";
    let ran = sweep(["watch", "--database", &world.url, "--", "sh", "-c", script])
        .with_stdin(&directory.path().join("in"))
        .run();
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.out.contains("24 80\r\n") && ran.out.contains("got hello\r\n"), "{ran}");
}

#[test]
fn the_agent_learns_the_size_of_the_window_and_every_new_one() {
    let world = world();
    let script = "trap 'stty size' WINCH; stty size; while :; do sleep 0.05; done";
    let watcher = Watcher::watch_script(&world.url, &[], script);
    watcher.until_it_prints("30 100\r\n");

    let size = PtySize { rows: 41, cols: 123, pixel_width: 0, pixel_height: 0 };
    watcher.screen.master.resize(size).expect("a size");
    watcher.until_it_prints("41 123\r\n");
    watcher.stop();
}

#[test]
fn keys_reach_the_agent_as_they_are_and_control_c_is_one_of_them() {
    let world = world();
    let mut watcher = Watcher::watch_script(
        &world.url,
        &[],
        "trap 'echo interrupted' INT; echo ready; until read x && [ \"$x\" ]; do :; done; echo \"got $x\"; cat",
    );
    watcher.until_it_prints("ready");

    watcher.screen.types("\u{3}");
    watcher.until_it_prints("interrupted");
    watcher.screen.types("héllo\r");
    watcher.until_it_prints("got héllo");
    watcher.stop();
}

#[test]
fn the_terminal_is_afterwards_as_it_was_before() {
    let world = world();
    let ends: [(&str, &str, Option<Signal>, u32); 5] = [
        ("a good end", "echo ready", None, 0),
        ("a crash", "echo ready; exit 9", None, 9),
        ("SIGTERM", "echo ready; sleep 1000", Some(Signal::TERM), 143),
        ("SIGHUP", "echo ready; sleep 1000", Some(Signal::HUP), 129),
        ("SIGINT, not heeded", "trap '' INT HUP TERM; echo ready; while :; do sleep 1; done", Some(Signal::INT), 130),
    ];
    for (name, script, signal, code) in ends {
        let mut watcher = Watcher::with(&["--database", &world.url, "--", "sh", "-c", &format!("read x; {script}")]);
        let before = wait_for("raw mode", || {
            let modes = watcher.screen.modes();
            (!watcher.screen.text().is_empty() || is_raw(&modes)).then_some(modes)
        });
        assert!(is_raw(&before), "{name}");
        watcher.screen.types("\r");
        watcher.until_it_prints("ready");
        signal.into_iter().for_each(|signal| watcher.signal(signal));
        assert_eq!(watcher.end_on_screen(), code, "{name}");
        let fresh = crate::support::terminal::Screen::new().modes();
        assert_eq!(watcher.screen.modes(), fresh, "{name}");
    }
}

/// True if the modes of `stty -g` are raw: the local modes, the last group before the keys, have neither canonical nor
/// echo.
fn is_raw(modes: &str) -> bool {
    let local = modes.split(':').nth(3).and_then(|group| u32::from_str_radix(group, 16).ok()).expect("modes");
    const ICANON_AND_ECHO: u32 = 0o2 | 0o10;
    local & ICANON_AND_ECHO == 0
}

/// A shell ignores SIGTERM while it waits for its children.
#[test]
fn what_does_not_heed_the_operators_signal_is_killed() {
    let world = world();
    let watcher =
        Watcher::watch_script(&world.url, &[], "trap '' TERM HUP; echo $$ ready; while :; do sleep 0.1; done");
    watcher.until_it_prints("ready");
    let process = watcher.screen.text().split_whitespace().next().expect("a number").to_owned();
    assert_eq!(watcher.stop().code, 143);
    assert!(!std::path::Path::new(&format!("/proc/{process}")).exists());
}
