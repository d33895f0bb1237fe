use std::fs::{create_dir, write};
use std::io::{Read, Write};
use std::time::Instant;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::*;
use crate::supervisor::probe::TerminalProbe;

/// Whether Claude Code, here a script, is alone in reading its keys when what it runs has begun. It knows its terminal
/// as `$t`; the script `child` only begins, and keeps what was opened for it, and so does `orphan` when `gone` exists.
/// No script runs `touch`, which would be a reader for a moment more.
fn reads_alone(runs: &str, command: &[&str]) -> bool {
    let home = tempfile::tempdir().expect("a home");
    let path = |name: &str| home.path().join(name);
    create_dir(path("sub")).expect("a directory");
    write(path("claude"), format!("[ $1 ] && : > $begun && read\nt=$(tty)\n{runs}\n")).expect("a file");
    write(path("sub/claude"), ": > $begun; read line").expect("a file");
    write(path("child"), ": > $begun; exec sleep 100").expect("a file");
    write(path("orphan"), "exec < /dev/tty; until [ -e gone ]; do :; done; . ./child").expect("a file");
    let pair = native_pty_system().openpty(PtySize::default()).expect("a terminal");
    let mut command = CommandBuilder::from_argv(command.iter().map(OsString::from).collect());
    command.cwd(home.path());
    command.env("begun", path("begun"));
    command.env("thread", THREAD);
    command.env("behind", BEHIND);
    let mut started = pair.slave.spawn_command(command).expect("a process");
    let id = i32::try_from(started.process_id().expect("a process")).expect("an id");
    let began = Instant::now();
    let agent = loop {
        let agent = Process::on_screen(id).filter(|process| process.is_agent() && path("begun").exists());
        if let Some(agent) = agent {
            break agent;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{runs}, {:?}", words(id));
        sleep(Duration::from_millis(5));
    };
    let reads_alone = super::reads_alone(&agent, id);
    // `script` ends what it has started when it is told to end.
    kill_process_group(Pid::from_raw(id).expect("an id"), Signal::TERM).expect("an end");
    started.kill().expect("an end");
    started.wait().expect("an end");
    reads_alone
}

const THREAD: &str = "import ctypes, os, threading, time
def reads():
    open(os.environ['begun'], 'w')
    time.sleep(100)
threading.Thread(target=reads).start()
ctypes.CDLL(None).pthread_exit(0)";

const BEHIND: &str = "import os, time
terminal, end = os.openpty()
name = os.ttyname(end)
os.system(f'(setsid setsid bash child 3< {name} < /dev/null &> /dev/null &)')
os.close(end)
time.sleep(100)";

const CLAUDE: [&str; 2] = ["bash", "claude"];

#[test]
fn a_child_that_could_read_the_terminal_is_seen_however_it_was_opened() {
    for child in [
        "bash child",
        "bash child < /dev/null 3< /dev/tty &> /dev/null",
        // So a pager opens it, and a program that asks for a passphrase.
        "bash child < /dev/null 3< $t &> /dev/null",
        "bash child < /dev/null 3<> $t &> /dev/null",
        "setsid -w bash child < /dev/null 3< $t &> /dev/null",
        // So gpg-agent's programs open it, which no agent has started.
        "(setsid setsid bash child 3< $t < /dev/null &> /dev/null &); read",
        // It has left the terminal that it has open.
        "(setsid setsid bash child 3< /dev/tty < /dev/null &> /dev/null &); read",
        // The agent has the other end of its terminal.
        "python3 -c \"$behind\" < /dev/null &> /dev/null",
        // Its first thread has ended.
        "python3 -c \"$thread\"",
        // `more` reads its stderr.
        "bash child < /dev/null > /dev/null",
        // It has no name at all.
        "bash -c \": > $begun; exec -a '' cat\"",
    ] {
        assert!(!reads_alone(child, &CLAUDE), "{child}");
    }
}

#[test]
fn a_child_that_cannot_read_the_terminal_is_no_reader() {
    for child in [
        "bash child < /dev/null &> /dev/null",
        "echo | bash child 2>&1 | read",
        "bash child < /dev/null > $t 2>&1",
        "bash child < /dev/null 3> $t &> /dev/null",
    ] {
        assert!(reads_alone(child, &CLAUDE), "{child}");
    }
}

#[test]
fn only_what_has_started_the_agent_may_start_a_daemon_beside_it() {
    let named = "bash -c 'exec -a dbus-run-session bash -c \"bash orphan; :\"'";
    for launcher in ["timeout --foreground 100 bash orphan", named] {
        let orphan = format!("({launcher} &> /dev/null &); : > gone; read");
        assert!(!reads_alone(&orphan, &CLAUDE), "{orphan}");
    }
    let daemon = "exec -a dbus-run-session bash -c 'sleep 100 < /dev/tty & bash claude; :'";
    assert!(reads_alone(": > $begun; read", &["bash", "-c", daemon]), "negative control");
}

/// A script of a person's own may start an agent and ask something itself.
#[test]
fn an_agent_beside_another_reader_is_not_alone() {
    let behind = "bash claude < /dev/null &> /dev/null & read";
    assert!(!reads_alone(": > $begun; sleep 100", &["bash", "-c", behind]), "an agent that reads nothing");
    for (runs, script) in [
        (": > $begun; read", "while read; do :; done < /dev/tty & script -qec 'bash claude' /dev/null"),
        // The child says that all has begun.
        ("read", "script -qec 'bash child; :' other < /dev/tty > /dev/null & script -qec 'bash claude' /dev/null"),
    ] {
        assert!(!reads_alone(runs, &["bash", "-c", script]), "{script}");
    }
    assert!(reads_alone(": > $begun; read", &["script", "-qec", "bash claude", "/dev/null"]), "negative control");
}

/// A script of a person's own may start an agent and ask something itself.
#[test]
fn what_has_started_the_agent_and_reads_itself_is_seen() {
    let reads = ": > $begun; read < /dev/tty";
    for asks in ["read", "read -e", "read -sN1", "read -t 100"] {
        let script = format!("bash claude & {asks}; :");
        assert!(!reads_alone(reads, &["bash", "-c", &script]), "{script}");
    }
    for waits in ["bash claude & wait", "bash claude; :"] {
        assert!(reads_alone(reads, &["bash", "-c", waits]), "negative control: {waits}");
    }
}

#[test]
fn an_agent_that_another_one_has_started_does_not_read_alone() {
    let child = "set -m; (exec -a claude bash -c ': > $begun; read'); :";
    assert!(!reads_alone(child, &CLAUDE));
}

#[test]
fn a_program_of_the_agents_name_is_a_part_of_it_where_both_were_installed_together() {
    let installs = "[ -e node_modules ] || { mkdir -p node_modules/{one,other} other; cp $BASH other/claude; \
         cp other/claude node_modules/other; cp claude node_modules/one; exec bash node_modules/one/claude; };";
    let alone = |program: &str| reads_alone(&format!("{installs} {program} -c ': > $begun; read'"), &CLAUDE);
    assert!(alone("node_modules/other/claude"));
    assert!(!alone("other/claude"));
}

#[test]
fn a_part_of_the_agent_is_no_other_program_of_its_name() {
    for part in ["bash claude again", "bash -c 'cd sub; exec bash ../claude again'"] {
        assert!(reads_alone(part, &CLAUDE), "{part}");
    }
    for other in [
        "bash sub/claude",
        "dash sub/claude",
        "bash -c ': > $begun; exec -a claude sleep 100'",
        "bash -c 'exec -a claude bash child'",
    ] {
        assert!(!reads_alone(other, &CLAUDE), "{other}");
    }
}

#[test]
fn scripts_of_an_npm_package_are_told_from_those_of_another() {
    let package = |file: &str| package(Path::new(file)).map(|it| it.display().to_string());
    let of_qwen = Some("/lib/node_modules/@qwen-code/qwen-code".to_owned());
    assert_eq!(package("/lib/node_modules/@qwen-code/qwen-code/cli-entry.js"), of_qwen);
    assert_eq!(package("/lib/node_modules/@qwen-code/qwen-code/dist/cli.js"), of_qwen);
    assert_eq!(package("/lib/node_modules/codex/bin/codex.js").as_deref(), Some("/lib/node_modules/codex"));
    assert_eq!(package("/home/ada/bin/claude"), None);
}

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
    let probe = TerminalProbe { terminal: pair.master.tty_name(), process: Some(id), command: Vec::new() };
    let agent = || Process::on_screen(id).filter(Process::is_agent);
    wait_until(|| home.path().join("begun").exists() && agent().is_some());
    let starters = starters(&agent().expect("an agent"), id);
    let launcher = starters.iter().find(|starter| is_one_of(&starter.words, &LAUNCHERS)).expect("a launcher");
    let signal = |signal| kill_process(Pid::from_raw(launcher.id).expect("an id"), signal).expect("a process");
    assert!(!probe.has_unread(), "negative control");

    signal(Signal::STOP);
    pair.master.take_writer().expect("a terminal").write_all(b"x").expect("a key");

    // On its way from the first terminal to the next the key is in none.
    let first = TerminalProbe { process: None, ..probe.clone() };
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
        assert_eq!(only_waits(&program, |it| it == program.terminal), waits, "{file}");
        started.kill().expect("an end");
        started.wait().expect("an end");
    }
}
