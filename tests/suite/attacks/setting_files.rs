//! Files of settings and secrets: which ones are refused, and which texts no error repeats.

use std::fs::{Permissions, set_permissions, write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rstest::rstest;
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::daemon::{Daemon, NEVER};
use crate::support::program::{Program, Ran, sweep, sweep_at};
use crate::support::world::{On, World};

const USAGE: i32 = 64;
const CONFIG: i32 = 78;

/// A secret in each line that cannot be parsed.
const HIDDEN: &str = "hunter2";

/// Writes a file of these bytes, in a directory of its own.
fn write_file(bytes: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("sweep.env");
    write(&path, bytes).expect("a file");
    (directory, path)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

fn config(path: &Path) -> Program {
    sweep(["config", "--output", "json", "--config", text(path)])
}

/// The value of a setting, by `sweep config`.
fn value_of(ran: &Ran, name: &str) -> Value {
    let reported = ran.json();
    let rows = reported["settings"].as_array().expect("settings");
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}: {ran}"))["value"].clone()
}

/// Runs a program to its end; one that waits for a pipe or reads without end is killed.
fn promptly(mut program: Program) -> Ran {
    let mut child = program.start();
    let deadline = Instant::now() + Duration::from_secs(20);
    while child.try_wait().expect("a process").is_none() {
        if deadline < Instant::now() {
            child.kill().expect("a process of ours");
            child.wait().expect("an end");
            panic!("it waits");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().expect("an end");
    program.ended(output)
}

#[rstest]
#[case::without_an_equals_sign("SWEEP_LIMIT=3\nSWEEP_WEBHOOK_SECRET hunter2\n", "line 2: expected NAME=VALUE")]
#[case::behind_a_space("SWEEP_WEBHOOK_SECRET hunter2=\n", "line 1: expected NAME=VALUE")]
#[case::the_end_of_a_longer_one("\n# key\n\nhunter2hunter2==\n", "line 4: expected NAME=VALUE")]
#[case::of_somebody_else("PGPASSWORD_HUNTER2=hunter2\n", "line 1: expected NAME=VALUE")]
#[case::exported("export SWEEP_PING_URL=https://hc.example/hunter2\n", "line 1: expected NAME=VALUE")]
#[case::misspelt("SWEEP_SLAK_URL='hunter2\n", "line 1: SWEEP_SLAK_URL: no such setting; did you mean SWEEP_SLACK_URL?")]
#[case::in_lower_case(
    "SWEEP_slack_url=hunter2\n",
    "line 1: SWEEP_slack_url: no such setting; did you mean SWEEP_SLACK_URL?"
)]
#[case::twice("DATABASE_URL=a=hunter2\n\nDATABASE_URL=b=hunter2\n", "line 3: DATABASE_URL is set in line 1 already")]
#[case::of_another_encoding(b"SWEEP_LIMIT=1\nSWEEP_WEBHOOK_SECRET=hunter2\xff\n", "line 2: expected UTF-8")]
fn a_line_that_cannot_be_parsed_is_named_and_never_repeated(#[case] bytes: impl AsRef<[u8]>, #[case] says: &str) {
    let (_directory, path) = write_file(bytes);
    let by_variable = sweep([]).env("SWEEP_CONFIG", &path);
    for (program, option) in
        [(config(&path), "--config"), (sweep(["--config", text(&path)]), "--config"), (by_variable, "SWEEP_CONFIG")]
    {
        let ran = program.env("SWEEP_LOG", "trace").run();
        assert!(!ran.err.to_lowercase().contains(HIDDEN), "{ran}");
        ran.refused(CONFIG, &[&format!("{option} {}: {says}", path.display())]);
    }
}

#[test]
fn a_daemon_that_reads_its_file_again_does_not_log_what_it_cannot_parse() {
    let world = World::new(On::Sqlite);
    let settings = format!("SWEEP_SCHEDULE={NEVER}\nSWEEP_HTTP=off\n");
    let (_directory, path) = write_file(&settings);
    let mut daemon = Daemon::start(sweep(["daemon", "--config", text(&path), "--database", &world.url]));
    daemon.says("schedule");
    for (n, line) in ["SWEEP_WEBHOOK_SECRET 'hunter2", "SWEEP_PING_URL: hunter2=1"].into_iter().enumerate() {
        write(&path, format!("{settings}{line}\n")).expect("a file");
        daemon.signal(Signal::HUP);
        let logged = daemon.says_times(n + 1, "ERROR the settings stay as they were: ");
        assert!(logged.contains(&format!("{}: line 3: expected NAME=VALUE", path.display())), "{logged}");
    }
    daemon.ends_well();
    assert!(!daemon.log().join("\n").contains(HIDDEN), "{:?}", daemon.log());
}

#[rstest]
#[case::a_dollar("You owe $HOME ${PATH} $5")]
#[case::quotes("\"Go on\" or 'stop'")]
#[case::in_quotes("'all of it'")]
#[case::backslashes(r"C:\new \$HOME \")]
#[case::a_hash("see #12 # and #13")]
#[case::an_equals_sign("a = b == c")]
fn a_value_is_what_it_looks_like(#[case] value: &str) {
    let (_directory, path) = write_file(format!("  SWEEP_NUDGE_MESSAGE = {value} \r\n\n # A comment\nSWEEP_LIMIT=\n"));
    let ran = config(&path).env("HOME", "/nowhere").run().done();
    assert_eq!(value_of(&ran, "SWEEP_NUDGE_MESSAGE"), value);
    assert_eq!(value_of(&ran, "SWEEP_LIMIT"), Value::Null, "empty is unset");
}

#[rstest]
#[case("deploy/systemd/sweep.env", 14)]
#[case("deploy/kubernetes/base/settings.env", 0)]
fn a_file_that_is_shipped_is_accepted_with_any_of_its_lines(#[case] shipped: &str, #[case] commented: usize) {
    let shipped = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(shipped)).expect("a file");
    let settings: Vec<&str> =
        shipped.lines().filter_map(|line| line.strip_prefix('#').filter(|line| line.starts_with("SWEEP_"))).collect();
    assert!(commented <= settings.len(), "{settings:?}");
    let (_directory, path) = write_file(shipped.replace("#SWEEP_", "SWEEP_"));
    let with_its_database = |path: &Path| config(path).env("DATABASE_URL", "postgres://sweeper@localhost/agents");
    with_its_database(&path).run().done();
    for setting in std::iter::once("").chain(settings) {
        let (_directory, path) = write_file(match setting {
            "" => shipped.clone(),
            setting => shipped.replace(&format!("#{setting}"), setting),
        });
        let ran = with_its_database(&path).run().done();
        if let Some((name, value)) = setting.split_once('=') {
            assert_eq!(value_of(&ran, name), value);
        }
    }
}

/// systemd would remove quotes and interpret backslashes, and sweep does not.
#[rstest]
#[case("deploy/systemd/sweep.env")]
#[case("deploy/kubernetes/base/settings.env")]
fn a_file_that_is_shipped_means_the_same_as_an_environment_file_of_systemd(#[case] shipped: &str) {
    let shipped = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(shipped)).expect("a file");
    for line in shipped.lines().map(|line| line.trim_start_matches('#')).filter(|line| line.starts_with("SWEEP_")) {
        let (name, value) = line.split_once('=').expect("NAME=VALUE");
        assert_eq!((name, value), (name.trim(), value.trim()), "{line}");
        assert!(!value.contains(['"', '\'', '\\', '$', '#', ';']), "{line}");
    }
}

#[test]
fn quotes_around_a_value_are_warned_of_and_the_value_is_not_repeated() {
    let (_directory, path) = write_file("SWEEP_NUDGE_MESSAGE='hunter2'\nSWEEP_PAGE_HOST=\"\nSWEEP_ISSUES=on\n");
    let ran = sweep(["--dry-run", "--config", text(&path)]).run();
    let warned: Vec<&str> = ran.err.lines().filter(|line| line.contains("quotes")).collect();
    assert_eq!(warned.len(), 1, "{ran}");
    assert!(warned[0].contains("line 1: the quotes around the value of SWEEP_NUDGE_MESSAGE are a part of it"), "{ran}");
    assert!(!ran.err.contains(HIDDEN), "{ran}");
}

/// Paths that are no file of a reasonable size, each with the words of the refusal.
fn no_files(directory: &TempDir) -> Vec<(PathBuf, &'static str)> {
    let at = |name: &str| directory.path().join(name);
    let made = std::process::Command::new("mkfifo").arg(at("pipe")).status().expect("mkfifo");
    assert!(made.success());
    symlink(at("pipe"), at("link")).expect("a link");
    std::fs::File::create(at("large")).and_then(|file| file.set_len(20 << 20)).expect("a file");
    vec![
        (at("pipe"), "Is a pipe, expected a regular file"),
        (at("link"), "Is a pipe, expected a regular file"),
        ("/dev/zero".into(), "Is a device, expected a regular file"),
        (directory.path().into(), "Is a directory, expected a regular file"),
        (at("large"), "is larger than "),
    ]
}

#[test]
fn what_is_no_small_file_is_refused_at_once_wherever_a_file_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    for (path, says) in no_files(&directory) {
        promptly(sweep(["--config", text(&path)])).refused(CONFIG, &["--config ", text(&path), says]);
        promptly(sweep([]).env("SWEEP_CONFIG", &path)).refused(CONFIG, &["SWEEP_CONFIG ", text(&path), says]);
        promptly(sweep(["--apply", text(&path)])).refused(USAGE, &["--apply ", text(&path), says]);
        for name in ["DATABASE_URL", "SWEEP_SLACK_URL", "SWEEP_WEBHOOK_URL", "SWEEP_PING_URL"] {
            let name = format!("{name}_FILE");
            let ran = promptly(sweep(["notify", "test"]).env(&name, &path).env("SWEEP_WEBHOOK_SECRET", "x"));
            if name != "DATABASE_URL_FILE" {
                ran.refused(CONFIG, &[&name, text(&path), says]);
            }
            promptly(sweep([]).env(&name, &path).env("SWEEP_WEBHOOK_SECRET", "x"))
                .refused(CONFIG, &[&name, text(&path), says]);
        }
        let webhook = sweep([]).env("SWEEP_WEBHOOK_URL", "https://ops.example/");
        promptly(webhook.env("SWEEP_WEBHOOK_SECRET_FILE", &path))
            .refused(CONFIG, &["SWEEP_WEBHOOK_SECRET_FILE", text(&path), says]);
    }
}

#[test]
fn a_file_of_a_mebibyte_is_read_and_one_byte_more_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("sweep.env");
    let comment = |bytes: usize| write(&path, format!("#{}", "x".repeat(bytes - 1))).expect("a file");
    comment(1 << 20);
    config(&path).run().done();
    comment((1 << 20) + 1);
    config(&path).run().refused(CONFIG, &["is larger than 1 MiB"]);
}

/// Kubernetes mounts files as such links, and systemd its credentials.
#[test]
fn a_link_to_a_file_is_the_file() {
    let (directory, path) = write_file("SWEEP_LIMIT=7\n");
    symlink(directory.path(), directory.path().join("..data")).expect("a link");
    let link = directory.path().join("linked");
    symlink("..data/sweep.env", &link).expect("a link");
    set_permissions(&path, Permissions::from_mode(0o400)).expect("rights");
    assert_eq!(value_of(&config(&link).run().done(), "SWEEP_LIMIT"), "7");
}

#[test]
fn a_plan_of_a_fleet_is_read_and_one_without_an_end_is_not() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    world.orphan(&agent);
    let plan = sweep_at(&world.url, ["--dry-run", "--output", "json"]).run().done();
    let mut plan: Value = plan.json();
    let rows = plan["subjects"].as_array_mut().expect("rows");
    let mut healthy = rows[0].clone();
    healthy["outcome"] = "healthy".into();
    rows.extend(std::iter::repeat_n(healthy, 10_000));
    let (_directory, path) = write_file(plan.to_string());
    let size = path.metadata().expect("a file").len();
    assert!((2 << 20) < size, "{size}");
    sweep_at(&world.url, ["--apply", text(&path), "--dry-run"]).run().done();
    sweep_at(&world.url, ["--apply", "-"]).with_stdin(&path).run().done();
    assert_eq!(world.count("wakes"), 1);

    std::fs::File::options().append(true).open(&path).and_then(|file| file.set_len(20 << 20)).expect("a file");
    let endless = sweep_at(&world.url, ["--apply", "-"]).with_stdin(&path);
    promptly(endless).refused(USAGE, &["--apply -: is larger than 16 MiB"]);
}

#[test]
fn a_config_file_that_others_may_write_is_refused_for_secrets_and_warned_of_otherwise() {
    for setting in [
        "DATABASE_URL=sqlite:///nowhere", "DATABASE_URL_FILE=/nowhere", "SWEEP_SLACK_URL=https://hooks.example/",
        "SWEEP_PING_URL_FILE=/nowhere", "SWEEP_WEBHOOK_SECRET=x",
    ] {
        let (_directory, path) = write_file(format!("SWEEP_LIMIT=1\n{setting}\n"));
        set_permissions(&path, Permissions::from_mode(0o646)).expect("rights");
        let name = setting.split('=').next().expect("a name");
        let says = [text(&path), "line 2", name, "others may write"];
        sweep(["--config", text(&path)]).run().refused(CONFIG, &says);
        config(&path).run().refused(CONFIG, &says);
    }

    let world = World::new(On::Sqlite);
    let (_directory, path) = write_file("SWEEP_LIMIT=1\nDATABASE_URL=\n");
    let warnings = |mode: u32| {
        set_permissions(&path, Permissions::from_mode(mode)).expect("rights");
        let ran = sweep_at(&world.url, ["--config", text(&path)]).run().done();
        ran.err.lines().filter(|line| line.contains(" WARN --config ") && line.contains("others may write")).count()
    };
    assert_eq!([0o646, 0o666, 0o644, 0o600].map(warnings), [1, 1, 0, 0]);
}

#[test]
fn a_file_of_a_secret_that_others_may_write_is_refused() {
    let world = World::new(On::Sqlite);
    let (_directory, path) = write_file(&world.url);
    let run = |mode: u32| {
        set_permissions(&path, Permissions::from_mode(mode)).expect("rights");
        sweep(["--dry-run"]).env("DATABASE_URL_FILE", &path).run()
    };
    run(0o622).refused(CONFIG, &["DATABASE_URL_FILE", text(&path), "others may write"]);
    run(0o644).done();
}

/// A secret where the path of its file belongs is not repeated.
#[test]
fn a_secret_in_the_place_of_its_file_is_not_repeated() {
    for name in ["DATABASE_URL_FILE", "SWEEP_SLACK_URL_FILE", "SWEEP_PING_URL_FILE"] {
        let ran = sweep([]).env(name, "whsec_hunter2").run();
        assert!(!ran.err.contains(HIDDEN), "{ran}");
        ran.refused(CONFIG, &[name, "No such file or directory"]);
        let ran = sweep(["config"]).env(name, "whsec_hunter2").run();
        assert!(!(ran.out.clone() + &ran.err).contains(HIDDEN), "{ran}");
    }
}
