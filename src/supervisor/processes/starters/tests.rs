use std::fs::write;
use std::io::{Read, Write};
use std::time::Instant;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::*;
use crate::supervisor::probe::Probe;

fn wait_until(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "never");
        sleep(Duration::from_millis(5));
    }
}

/// The inner one of two launchers passes nothing on for a while: what it finds later would answer a menu.
#[test]
fn a_key_in_a_terminal_between_two_launchers_is_unread() {
    let home = tempfile::tempdir().expect("a home");
    write(home.path().join("claude"), "stty raw -echo; : > begun; exec -a claude sleep 100").expect("a file");
    let pair = native_pty_system().openpty(PtySize::default()).expect("a terminal");
    let inner = "script -qc 'bash claude' /dev/null; :";
    let mut command = CommandBuilder::from_argv(["script", "-qc", inner, "/dev/null"].map(Into::into).to_vec());
    command.cwd(home.path());
    let mut started = pair.slave.spawn_command(command).expect("a process");
    let id = i32::try_from(started.process_id().expect("a process")).expect("an id");
    let probe = Probe { terminal: pair.master.tty_name(), process: Some(id), command: Vec::new() };
    let agent = || Process::on_screen(id).filter(Process::is_agent);
    wait_until(|| home.path().join("begun").exists() && agent().is_some());
    let starters = agent().expect("an agent").starters(id);
    let launcher = starters.iter().find(|starter| is_one_of(&starter.words, &LAUNCHERS)).expect("a launcher");
    let signal = |signal| kill_process(Pid::from_raw(launcher.id).expect("an id"), signal).expect("a process");
    assert!(!probe.has_unread(), "negative control");

    signal(Signal::STOP);
    pair.master.take_writer().expect("a terminal").write_all(b"x").expect("a key");

    // On its way from the first terminal to the next the key is in none.
    let first = Probe { process: None, ..probe.clone() };
    wait_until(|| probe.has_unread() && !first.has_unread() && probe.has_unread());
    probe.discard_unread();
    assert!(!probe.has_unread());
    signal(Signal::CONT);
    sleep(Duration::from_millis(300));
    assert!(!probe.has_unread(), "nothing was passed on");
    kill_process_group(Pid::from_raw(id).expect("an id"), Signal::TERM).expect("an end");
    started.kill().expect("an end");
    started.wait().expect("an end");
}

/// So programs of packages wait for what they have started, and for keys.
#[test]
fn a_program_that_waits_for_a_list_of_files_waits_for_a_key_if_its_terminal_is_among_them() {
    for (file, waits) in [("0", false), ("os.pipe()[0]", true)] {
        let script =
            format!("import os, select; files = select.epoll(); files.register({file}); print(); files.poll()");
        let pair = native_pty_system().openpty(PtySize::default()).expect("a terminal");
        let command = CommandBuilder::from_argv(["python3", "-c", &script].map(Into::into).to_vec());
        let mut started = pair.slave.spawn_command(command).expect("a process");
        let id = i32::try_from(started.process_id().expect("a process")).expect("an id");
        pair.master.try_clone_reader().expect("a terminal").read_exact(&mut [0]).expect("a line");
        sleep(Duration::from_millis(100));
        let program = Process::find(id).expect("a process");
        assert_eq!(program.only_waits(|it| it == program.terminal), waits, "{file}");
        started.kill().expect("an end");
        started.wait().expect("an end");
    }
}
