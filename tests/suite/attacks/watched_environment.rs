//! What a watched agent learns from its parent's environment.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;

use crate::support::program::{BINARY, Program, Ran, sweep};
use crate::support::tmux::Tmux;
use crate::support::wait::wait_for;
use crate::support::watcher::{Watcher, path};
use crate::support::world::{On, World, on_each_database};

/// The secret in each value that is sweep's own.
const SECRET: &str = "hunter2";

/// sweep's own variables: settings, and those that lead to its database. DATABASE_URL precedes DATABASE_URL_FILE, which
/// is then never read.
const OURS: [(&str, &str); 6] = [
    ("DATABASE_URL_FILE", "/run/hunter2"),
    ("PGPASSFILE", "/home/hunter2/.pgpass"),
    ("PGPASSWORD", "hunter2"),
    ("SWEEP_METRICS_FILE", "/run/hunter2.prom"),
    ("SWEEP_PING_URL", "https://ping.example/hunter2"),
    ("SWEEP_SLACK_URL", "https://hooks.slack.com/services/T0/B0/hunter2"),
];

const NAMES: &str =
    "DATABASE_URL, DATABASE_URL_FILE, PGPASSFILE, PGPASSWORD, SWEEP_METRICS_FILE, SWEEP_PING_URL, SWEEP_SLACK_URL";

/// Variables that only look like sweep's. Each must be seen, or the test would have looked at nothing.
const OTHERS: [(&str, &str); 4] =
    [("LANTERN", "lit"), ("PAGER", "lit"), ("DATABASE_URL_OF_THE_AGENT", "lit"), ("MY_SWEEP_LOG", "lit")];

/// True if a text holds nothing of sweep's own.
fn is_clean(text: &str) -> bool {
    !text.contains(SECRET) && !text.contains("DATABASE_URL=")
}

fn variables(url: &str) -> Vec<(&str, &str)> {
    [&[("DATABASE_URL", url)], &OURS[..], &OTHERS].concat()
}

/// `sweep watch` without a terminal.
fn watch(url: &str, words: &[&str]) -> Program {
    let mut program = sweep(["watch"].into_iter().chain(words.iter().copied())).env("PATH", path());
    for (name, value) in variables(url) {
        program = program.env(name, value);
    }
    program
}

fn lines_that_begin<'a>(ran: &'a Ran, start: &str) -> Vec<&'a str> {
    ran.out.lines().filter(|line| line.starts_with(start)).collect()
}

on_each_database! {
    fn an_agent_inherits_none_of_sweeps_settings_and_secrets_and_that_is_reported_once(world) {
        let url = world.url.clone();
        let ran = watch(&url, &["--", "env"]).run();

        assert!(ran.code == 0 && is_clean(&ran.out) && is_clean(&ran.err), "{ran}");
        for start in ["SWEEP_", "PG", "DATABASE_URL=", "DATABASE_URL_FILE="] {
            assert_eq!(lines_that_begin(&ran, start), [""; 0]);
        }
        for (name, _) in OTHERS {
            assert_eq!(lines_that_begin(&ran, name), [format!("{name}=lit")]);
        }
        let reported: Vec<&str> = ran.err.lines().filter(|line| line.contains("inherit")).collect();
        let wide = "SWEEP_CONNECTIONS, SWEEP_GUARD_SHARE, SWEEP_METRICS";
        let names = NAMES.replace("SWEEP_METRICS", wide) + ", SWEEP_WAKES_PER_AGENT_MAX";
        assert_eq!(reported, [format!("sweep: the command does not inherit {names} (unless --inherit-env is given)")]);
    }

    fn an_agent_inherits_all_with_inherit_env_and_nothing_is_reported(world) {
        let url = world.url.clone();
        let ran = watch(&url, &["--inherit-env", "--", "env"]).run();

        for (name, value) in variables(&url) {
            assert_eq!(lines_that_begin(&ran, &format!("{name}=")), [format!("{name}={value}")]);
        }
        assert!(ran.code == 0 && !ran.err.contains("inherit"), "{ran}");
    }

    fn an_agent_that_is_started_again_inherits_no_more_than_before(world) {
        let (url, home) = (world.url.clone(), Arc::new(tempfile::tempdir().expect("a home")));
        let script = "env; test -e ran || { touch ran; exit 3; }";
        let arguments = ["--name", "agent", "--set", "auto_relaunch=on", "--", "sh", "-c", script];
        let ended = Watcher::given(home, &variables(&url), &arguments).end();

        let text = ended.text;
        assert_eq!((ended.code, text.matches("LANTERN=lit").count()), (0, 2), "{text}");
        assert!(is_clean(&text), "{text}");
        assert_eq!(text.matches("does not inherit").count(), 1, "{text}");
        assert!(text.starts_with(&format!("sweep: the command does not inherit {NAMES} (")), "{text}");
    }

    /// A process of the same user may read what another was started with, as long as that runs.
    fn the_calls_of_tmux_inherit_none_of_it_and_no_open_file(world) {
        let tmux = Tmux::running("while :; do n=$((n + 1)); echo \"step $n\"; sleep 0.1; done");
        let (url, programs) = (world.url.clone(), eavesdropper(&tmux.home));
        let path = format!("{}:{}", programs.display(), path());
        let words = ["--name", "agent", "--tmux", "%1"];
        let mut variables = variables(&url);
        variables.push(("PATH", &path));
        let watcher = Watcher::given(Arc::clone(&tmux.home), &variables, &words);
        let seen = |name: &str| fs::read_to_string(programs.join(name)).unwrap_or_default();
        wait_for("calls while the row is kept", || {
            let output = world.of_agent("recent_output").unwrap_or_default();
            (output.contains("step") && 20 < seen("calls").lines().count()).then_some(())
        });
        let ended = watcher.stop();

        let environment = seen("environment");
        let environment: BTreeSet<&str> = environment.lines().collect();
        assert!(
            environment.contains("LANTERN=lit") && environment.iter().all(|line| is_clean(line)),
            "{environment:#?}"
        );
        let open = seen("open");
        let kinds: BTreeSet<&str> = open.lines().map(|link| link.split(':').next().unwrap_or_default()).collect();
        assert_eq!(kinds, BTreeSet::from(["/dev/null", "pipe"]));
        assert!(!ended.text.contains("inherit"), "{}", ended.text);
    }

    fn an_agent_has_no_file_terminal_or_signal_of_sweeps(world) {
        let directory = tempfile::tempdir().expect("a directory");
        let log = directory.path().join("log").display().to_string();
        let watcher = Watcher::watch_script(&world.url, &["--log", &log], "echo pid $$ $PPID; exec sleep 1000");
        let process = wait_for("its number", || {
            let text = watcher.screen.text();
            let mut numbers = text.strip_prefix("pid ")?.strip_suffix("\r\n")?.split(' ').map(str::to_owned);
            Some((numbers.next()?, numbers.next()?))
        });
        let of_agent = |name: &str| Path::new("/proc").join(&process.0).join(name);
        wait_for("the agent itself", || {
            fs::read_link(of_agent("exe")).ok().filter(|exe| !exe.ends_with("sh") && !exe.ends_with("dash"))
        });

        // A process that is being loaded has a library open.
        let open: BTreeSet<_> = wait_for("its three files", || {
            let files = fs::read_dir(of_agent("fd")).ok()?;
            let open: BTreeSet<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
            (open == (0..3).map(|n| of_agent("fd").join(n.to_string())).collect()).then_some(open)
        });
        let links: BTreeSet<_> = open.iter().map(|file| fs::read_link(file).expect("a link")).collect();
        assert!(links.len() == 1 && links.iter().all(|link| link.starts_with("/dev/pts/")), "{links:?}");
        assert!(links.iter().all(|link| Some(link) != watcher.screen.master.tty_name().as_ref()), "{links:?}");

        let (agents, sweeps) = (terminal_of(&process.0), terminal_of(&process.1));
        assert!(agents.0 == process.0 && agents.0 != sweeps.0 && agents.1 != sweeps.1, "{agents:?}, {sweeps:?}");
        for signals in ["SigBlk", "SigIgn"] {
            // Processes inherit what the process that started the tests blocks or ignores. Programs in Rust ignore
            // SIGPIPE.
            let inherited = signal_mask("self", signals) & !(1 << (13 - 1));
            assert_eq!(signal_mask(&process.0, signals) & !inherited, 0, "{signals}");
        }
        assert_eq!(
            fs::read_link(of_agent("cwd")).expect("a directory"),
            watcher.file("").canonicalize().expect("a home")
        );
        watcher.stop();
    }
}

/// The signals that a process blocks (`SigBlk`) or ignores (`SigIgn`), one bit each.
fn signal_mask(process: &str, signals: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let mask = status.lines().find_map(|line| line.strip_prefix(signals)?.strip_prefix(":\t"));
    u64::from_str_radix(mask.expect("signals"), 16).expect("a mask")
}

/// The session of a process and its controlling terminal.
fn terminal_of(process: &str) -> (String, String) {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("a process");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    (fields[3].to_owned(), fields[4].to_owned())
}

/// Makes a `tmux` that records what it is started with, in a directory of its own.
fn eavesdropper(home: &TempDir) -> std::path::PathBuf {
    let directory = home.path().join("programs");
    fs::create_dir(&directory).expect("a directory");
    let at = directory.display();
    // The shell has its script open as well.
    let script = format!(
        "#!/bin/sh\necho call >> {at}/calls\nenv >> {at}/environment\n\
         for file in /proc/$$/fd/*; do readlink $file; done | grep -v '^{at}/tmux$' >> {at}/open\n\
         PATH=${{PATH#*:}} exec tmux \"$@\"\n"
    );
    fs::write(directory.join("tmux"), script).expect("a script");
    fs::set_permissions(directory.join("tmux"), fs::Permissions::from_mode(0o755)).expect("its mode");
    directory
}

#[test]
fn settings_in_a_file_reach_no_agent_and_nothing_is_reported() {
    let world = World::new(On::Sqlite);
    let settings = tempfile::NamedTempFile::new().expect("a file");
    fs::write(settings.path(), "SWEEP_METRICS_FILE=/run/hunter2.prom\n").expect("settings");
    let file = settings.path().to_str().expect("a path");
    let ended = Watcher::watch_script(&world.url, &["--config", file], "env | grep -c ^SWEEP; true").end();
    assert_eq!((ended.code, ended.text.as_str()), (0, "0\r\n"));
}

#[test]
fn a_pane_has_an_environment_of_its_own() {
    let words = ["watch", "--tmux", "%1", "--inherit-env"];
    sweep(words).run().refused(64, &["--inherit-env", "--tmux"]);
}

/// Reads what it can of a process of the same user: the one with this number, or else its parent.
const SPY: &str = "exec 2> /dev/null; at=/proc/${1:-$PPID}; for name in environ mem fd/0; do true < $at/$name && echo \
    opened $name; done; \
    tr '\\0' '\\n' < $at/environ; ls $at/fd > /dev/null && echo listed its files; echo looked";

/// Checks that the spy tried, and saw nothing.
#[track_caller]
fn assert_saw_nothing(spy: &str) {
    assert_eq!(spy.trim_end(), "looked");
}

#[test]
fn an_agent_cannot_read_the_environment_the_memory_or_the_files_of_its_watcher() {
    let home = home_of_nobody();
    let url = format!("sqlite://{}/nobodys.db", home.path().display());
    let run =
        |words: &[&str]| text_of(as_nobody(&home, words).env("DATABASE_URL", &url).env("SWEEP_METRICS_FILE", SECRET));
    run(&["./sweep", "migrate"]);

    let ordinary = run(&["sh", "-c", "sh -c \"$0\"; true", SPY]);
    for seen in [SECRET, "opened environ", "listed its files"] {
        assert!(ordinary.contains(seen), "{ordinary}");
    }

    assert_saw_nothing(&run(&["./sweep", "watch", "--", "sh", "-c", SPY]));
}

#[test]
fn nobody_else_can_read_them_of_any_command() {
    let home = home_of_nobody();
    // A command that is connected is well under way, and waits for a server that never answers.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("postgres://sweep:hunter2@{}/sweep", silent.local_addr().expect("an address"));
    for words in [&[][..], &["status"], &["migrate"], &["explain", "issue", "ACM-1"], &["daemon", "--http", "off"]] {
        let mut child =
            as_nobody(&home, &[&["./sweep"], words].concat()).env("DATABASE_URL", &url).spawn().expect("it starts");
        let connection = silent.accept().expect("a connection");
        let spy = text_of(&mut as_nobody(&home, &["sh", "-c", SPY, "spy", &child.id().to_string()]));
        drop((child.kill(), child.wait(), connection));
        assert_saw_nothing(&spy);
    }
}

fn text_of(command: &mut Command) -> String {
    String::from_utf8_lossy(&command.output().expect("it starts").stdout).into_owned()
}

fn home_of_nobody() -> TempDir {
    let home = tempfile::tempdir().expect("a directory");
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).expect("its mode");
    // Another process copies the program: a program that is open for writing cannot be started, and a process that
    // another test starts meanwhile would keep this process's file open.
    assert!(Command::new("cp").arg(BINARY).arg(home.path().join("sweep")).status().expect("cp").success());
    if rustix::process::geteuid().is_root() {
        let chown = Command::new("chown").arg("nobody").arg(home.path()).status();
        assert!(chown.expect("chown").success());
    }
    home
}

/// Runs `sweep` at this home, as another user if the tests run as root, which may read everything.
fn as_nobody(home: &TempDir, words: &[&str]) -> Command {
    let is_root = rustix::process::geteuid().is_root();
    let user: &[&str] =
        if is_root { &["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] } else { &["env"] };
    let mut command = Command::new(user[0]);
    command.args(&user[1..]).args(words).env_clear().env("HOME", home.path()).env("PATH", path());
    command.current_dir(home.path()).stdin(Stdio::null()).stderr(Stdio::null());
    command
}
