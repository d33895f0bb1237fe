//! `sweep init`: what it writes was shown before, what is there already stays, and every step may be declined. P24.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use rstest::rstest;
use rustix::process::geteuid;
use tempfile::TempDir;

use crate::support::databases::over_tcp;
use crate::support::program::{BINARY, Program, Ran, sweep};
use crate::support::scratch::{Role, Scratch};
use crate::support::terminal::Asked;
use crate::support::world::{On, World};

const USAGE: i32 = 64;
const CONFIG: i32 = 78;

/// `sweep init --yes --to DIRECTORY` with further arguments.
pub fn init(to: &Path, arguments: &[&str]) -> Program {
    let to = to.to_str().expect("a plain path");
    sweep(["init", "--yes", "--to", to].into_iter().chain(arguments.iter().copied()))
}

pub fn for_systemd(root: &Path) -> Program {
    init(root, &["--run-by", "systemd"])
}

pub fn directory() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

/// The text of each file below a directory, by its path, but for databases.
fn files(directory: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(at) = directories.pop() {
        for path in fs::read_dir(at).expect("a directory").map(|entry| entry.expect("an entry").path()) {
            let name = path.strip_prefix(directory).expect("a path below").display().to_string();
            match fs::read_to_string(&path) {
                _ if path.is_dir() => directories.push(path),
                Ok(text) if !name.contains(".db") => drop(found.insert(name, text)),
                _ => {}
            }
        }
    }
    found
}

pub fn mode(path: &Path) -> u32 {
    path.metadata().expect("a file").permissions().mode() & 0o777
}

fn names(files: &BTreeMap<String, String>) -> Vec<&str> {
    files.keys().map(String::as_str).collect()
}

/// P24
#[test]
fn with_yes_all_is_set_up_by_the_files_of_deploy() {
    let root = directory();
    let ran = for_systemd(root.path()).run().done();

    let written = files(root.path());
    let expected = [
        "etc/sweep/database-url", "etc/sweep/sweep.env", "etc/systemd/system/sweep.service",
        "etc/systemd/system/sweep.timer",
    ];
    assert_eq!(names(&written), expected);
    assert_eq!(written["etc/sweep/database-url"], "sqlite:///var/lib/sweep/sweep.db\n");
    assert_eq!(written["etc/sweep/sweep.env"], include_str!("../../../deploy/systemd/sweep.env"));
    // A service sees no program in a home.
    let service = written["etc/systemd/system/sweep.service"].replace(BINARY, "/usr/local/bin/sweep");
    assert_eq!(service, include_str!("../../../deploy/systemd/sweep.service"));
    assert!(ran.out.contains(&format!("ExecStart={BINARY}")) || ran.out.contains("install the program as"), "{ran}");
    let modes = expected.map(|name| mode(&root.path().join(name)));
    assert_eq!(modes, [0o600, 0o644, 0o644, 0o644]);
    assert_eq!(mode(&root.path().join("var/lib/sweep")), 0o700);
    for part in ["Dry run of ", "systemctl enable --now sweep.timer", "Migrated (host native)"] {
        assert!(ran.out.contains(part), "{part}: {ran}");
    }
    let database = format!("sqlite://{}", root.path().join("var/lib/sweep/sweep.db").display());
    sweep(["--database", &database]).env("SWEEP_CONFIG", root.path().join("etc/sweep/sweep.env")).run().done();
}

/// P24: each line of each file stands in what was printed before.
#[test]
fn nothing_is_written_that_was_not_shown() {
    let scratch = Scratch::empty();
    let role = Role::new();
    scratch.run(&format!("grant create on database {} to {}", scratch.name(), role.name));
    let url = role.at(&scratch.url);
    for run_by in ["systemd", "cronjob", "none"] {
        let to = directory();
        let program = init(to.path(), &["--run-by", run_by]).env("DATABASE_URL", &url);
        let ran = program.env("SWEEP_SLACK_URL", "https://hooks.example/services/hunter2").run().done();
        assert!(!ran.out.contains("password=secret") && !ran.out.contains("hunter2"), "{ran}");
        assert!(!ran.err.contains("password=secret") && !ran.err.contains("hunter2"), "{ran}");
        let written = files(to.path());
        assert!(4 <= written.len() || run_by == "none", "{written:?}");
        for (name, text) in &written {
            let path = to.path().join(name);
            assert!(ran.out.contains(&path.display().to_string()), "{name}: {ran}");
            match name.ends_with("-url") {
                true => assert_eq!(mode(&path), 0o600, "{name}"),
                false => text.lines().for_each(|line| assert!(ran.out.contains(line), "{name}: {line}")),
            }
        }
        let secrets = written.values().filter(|text| text.contains("secret") && text.contains("postgres://"));
        assert_eq!(secrets.count(), 1, "the URL stands in its own file: {written:?}");
    }
}

/// The negative control: a file that was not shown is noticed by its lines.
#[test]
fn a_line_that_was_not_shown_is_noticed() {
    let root = directory();
    let ran = for_systemd(root.path()).run().done();
    fs::write(root.path().join("etc/sweep/more"), "SWEEP_LIMIT=3\n").expect("a file");
    let written = files(root.path());
    let unseen = written.values().flat_map(|text| text.lines()).filter(|line| !ran.out.contains(line));
    assert_eq!(unseen.collect::<Vec<_>>(), ["SWEEP_LIMIT=3"]);
}

/// P24
#[test]
fn it_can_be_run_again_and_what_a_person_has_set_stays() {
    let root = directory();
    for_systemd(root.path()).run().done();
    let first = files(root.path());
    for_systemd(root.path()).run().done();
    assert_eq!(files(root.path()), first);

    let (settings, unit) =
        (root.path().join("etc/sweep/sweep.env"), root.path().join("etc/systemd/system/sweep.timer"));
    let own = first["etc/sweep/sweep.env"].clone() + "SWEEP_ORPHAN_GRACE=9m\n";
    fs::write(&settings, own.replace("SWEEP_STEPS=shadow", "SWEEP_STEPS=off")).expect("a file");
    fs::write(&unit, "[Timer]\nOnCalendar=hourly\n").expect("a file");
    let ran = init(root.path(), &["--run-by", "systemd", "--shadow", "off"]).run().done();

    let text = fs::read_to_string(&settings).expect("a file");
    assert!(text.contains("SWEEP_ORPHAN_GRACE=9m\n") && text.contains("SWEEP_STEPS=off\n"), "{text}");
    assert!(!text.contains("=shadow"), "{text}");
    assert!(ran.out.contains("  - SWEEP_ISSUES=shadow\n"), "{ran}");
    assert_eq!(fs::read_to_string(&unit).expect("a file"), "[Timer]\nOnCalendar=hourly\n");
    assert!(ran.out.contains("Left as it was: ") && ran.out.contains("  - OnCalendar=hourly\n"), "{ran}");
}

#[test]
fn the_url_of_another_database_is_not_replaced_unasked() {
    let root = directory();
    for_systemd(root.path()).run().done();
    let other = for_systemd(root.path()).env("DATABASE_URL", "sqlite:///var/lib/sweep/other.db");
    other.run().refused(CONFIG, &["etc/sweep/database-url: something else is set there", "without --yes"]);
    assert_eq!(files(root.path())["etc/sweep/database-url"], "sqlite:///var/lib/sweep/sweep.db\n");
    assert!(!root.path().join("var/lib/sweep/other.db").exists());
}

#[test]
fn no_database_is_created_in_a_place_of_another_users() {
    let (to, theirs) = (directory(), directory());
    if geteuid().is_root() {
        chown(theirs.path(), Some(54_321), None).expect("a stranger's directory");
    }
    fs::set_permissions(theirs.path(), Permissions::from_mode(0o777)).expect("a directory");
    let database = format!("sqlite://{}", theirs.path().join("new.db").display());
    let ran = init(to.path(), &["--run-by", "none", "--database", &database]).run();
    let why = if geteuid().is_root() { "belongs to another user (54321)" } else { "others may write" };
    ran.says_once(CONFIG, &[why]);
    assert_eq!(fs::read_dir(theirs.path()).expect("a directory").count(), 0);
    assert_eq!(fs::read_dir(to.path()).expect("a directory").count(), 0);
}

#[test]
fn a_place_with_a_control_character_is_refused() {
    let to = directory();
    let place = to.path().join("two\nlines");
    init(&place, &["--run-by", "none"]).run().refused(USAGE, &["--to", "control character"]);
    assert!(!place.exists());
}

#[test]
fn beside_a_packages_units_only_the_settings_are_written() {
    let root = directory();
    let make = |name: &str, text: &str| {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    };
    make("usr/lib/systemd/system/sweep.timer", "");
    make("etc/sweep/sweep.env", include_str!("../../../deploy/systemd/sweep.env"));
    make("etc/sweep/database-url", "");
    let before = names(&files(root.path())).len();

    let ran = init(root.path(), &[]).env("SWEEP_SLACK_URL", "https://hooks.example/x").run().done();

    let written = files(root.path());
    assert_eq!(written["etc/sweep/database-url"], "sqlite:///var/lib/sweep/sweep.db\n");
    assert_eq!(written["etc/sweep/slack-url"], "https://hooks.example/x\n");
    let receivers = &written["etc/systemd/system/sweep.service.d/notify.conf"];
    assert_eq!(receivers, &written["etc/systemd/system/sweep-daemon.service.d/notify.conf"]);
    assert!(receivers.contains("LoadCredential=slack-url:/etc/sweep/slack-url"), "{receivers}");
    assert!(!receivers.contains("webhook-url:") && !receivers.contains("ping"), "{receivers}");
    assert_eq!(written.len(), before + 3, "{written:?}");
    assert!(ran.out.contains("systemctl enable --now sweep.timer"), "{ran}");
}

#[test]
fn without_a_terminal_and_without_yes_nothing_is_written() {
    let to = directory();
    let place = to.path().to_str().expect("a path");
    sweep(["init", "--to", place, "--run-by", "none"]).run().refused(USAGE, &["nothing was written", "--yes"]);
    assert_eq!(fs::read_dir(to.path()).expect("a directory").count(), 0);
}

/// Answers each question of a terminal in turn, as its words come up.
fn answered(to: &Path, arguments: &[&str], answers: &[(&str, &str)]) -> (u32, String) {
    let database = format!("sqlite://{}", to.join("new.db").display());
    let (place, database) = (to.join("files").display().to_string(), database.as_str());
    let all = [&["init", "--to", &place, "--database", database], arguments].concat();
    let mut asked = Asked::alone((50, 200), &all);
    for (question, answer) in answers {
        asked.until_it_shows(question);
        asked.types(answer);
    }
    asked.ends()
}

const RUN_BY: (&str, &str) = ("What runs sweeps", "none\r");
const SHADOW: (&str, &str) = ("Shadow first", "\r");
const NOTIFY: (&str, &str) = ("Who is notified", "\r");

/// P24
#[rstest]
#[case::everything("no\r", "no\r", false, false)]
#[case::the_files("yes\r", "no\r", true, false)]
#[case::the_schema("no\r", "yes\r", false, true)]
#[case::nothing("yes\r", "yes\r", true, true)]
fn each_step_may_be_declined(#[case] schema: &str, #[case] write: &str, #[case] database: bool, #[case] written: bool) {
    let to = directory();
    let steps = [("Migrate this database?", schema), ("new files, as shown?", write)];
    let (code, text) = answered(to.path(), &[], &[&[RUN_BY, SHADOW, NOTIFY], &steps[..]].concat());
    assert_eq!(code, u32::from(!(database && written)), "{text}");
    assert_eq!(to.path().join("new.db").exists(), database, "{text}");
    assert_eq!(to.path().join("files").exists(), written, "{text}");
    assert_eq!(text.contains("Dry run of "), database, "{text}");
    assert_eq!(text.contains("What comes next"), database && written, "{text}");
}

#[test]
fn ctrl_c_at_a_step_ends_it() {
    let to = directory();
    let (code, text) = answered(to.path(), &[], &[RUN_BY, SHADOW, NOTIFY, ("Migrate this database?", "\u{3}")]);
    assert_eq!(code, 130, "{text}");
    assert_eq!(fs::read_dir(to.path()).expect("a directory").count(), 0, "{text}");
}

#[test]
fn the_end_of_the_input_at_a_question_writes_nothing() {
    for key in ["\u{4}", "\u{3}"] {
        let to = directory();
        let (code, text) = answered(to.path(), &[], &[RUN_BY, ("Shadow first", key)]);
        assert_eq!(code, if key == "\u{3}" { 130 } else { 1 }, "{text}");
        assert_eq!(fs::read_dir(to.path()).expect("a directory").count(), 0, "{text}");
    }
}

#[test]
fn a_secret_that_is_typed_is_not_shown_and_a_wrong_answer_is_asked_again() {
    let to = directory();
    let steps = [
        ("Who is notified", "pigeon\r"),
        ("expected slack, teams, email, pagerduty, webhook or none", "slack\r"),
        ("not shown", "https://hooks.example/hunter2\r"),
        ("Migrate this database?", "yes\r"),
        ("new files, as shown?", "yes\r"),
    ];
    let (code, text) = answered(to.path(), &["--run-by", "none", "--shadow", "off"], &steps);
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains("hunter2"), "{text}");
    let secret = to.path().join("files/slack-url");
    assert_eq!(
        (mode(&secret), fs::read_to_string(&secret).expect("a file").trim()),
        (0o600, "https://hooks.example/hunter2")
    );
    let settings = fs::read_to_string(to.path().join("files/sweep.env")).expect("settings");
    assert!(!settings.contains("=shadow") && settings.contains("SWEEP_SLACK_URL_FILE="), "{settings}");
    let ran = sweep(["--config", to.path().join("files/sweep.env").to_str().expect("a path")]).run().done();
    assert!(ran.out.contains("Swept "), "{ran}");
}

/// Runs `sweep init` as a user who is not root, where the tests are.
fn as_somebody(to: &Path) -> Ran {
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    let copy = to.join("sweep");
    fs::copy(BINARY, &copy).expect("a copy");
    let mut command = Command::new(copy);
    let place = to.join("files");
    command.args(["init", "--yes", "--run-by", "none", "--to"]).arg(place);
    command.arg("--database").arg(format!("sqlite://{}", to.join("new.db").display()));
    if geteuid().is_root() {
        command.uid(54_321).gid(54_321);
    }
    Program::from_command(command).run()
}

#[test]
fn a_directory_that_cannot_be_written_to_is_said_before_anything_is_done() {
    let to = directory();
    fs::create_dir(to.path().join("files")).expect("a directory");
    fs::set_permissions(to.path(), Permissions::from_mode(0o755)).expect("a directory");
    fs::set_permissions(to.path().join("files"), Permissions::from_mode(0o555)).expect("a directory");
    let ran = as_somebody(to.path());
    ran.says_once(CONFIG, &["files: cannot be written to, and "]);
    assert!(!to.path().join("new.db").exists(), "{ran}");
    assert_eq!(fs::read_dir(to.path().join("files")).expect("a directory").count(), 0);
}

/// A link, and what another user owns, lead to where somebody else wants it.
#[test]
fn no_link_is_followed_and_no_other_users_place_is_written_to() {
    let (to, elsewhere) = (directory(), directory());
    let target = elsewhere.path().join("target");
    fs::write(&target, "as it was\n").expect("a file");
    let settings = to.path().join("sweep.env");
    symlink(&target, &settings).expect("a link");
    let ran = init(to.path(), &["--run-by", "none"]).run();
    ran.says_once(CONFIG, &["sweep.env: is a link"]);
    assert_eq!(fs::read_to_string(&target).expect("a file"), "as it was\n");

    if geteuid().is_root() {
        fs::remove_file(&settings).expect("a link");
        fs::write(&settings, "SWEEP_LIMIT=1\n").expect("a file");
        chown(&settings, Some(54_321), None).expect("a stranger's file");
        init(to.path(), &["--run-by", "none"]).run().says_once(CONFIG, &["belongs to another user (54321)"]);
        let theirs = to.path().join("theirs");
        fs::create_dir(&theirs).expect("a directory");
        symlink(elsewhere.path(), theirs.join("etc")).expect("a link");
        chown(&theirs, Some(54_321), None).expect("a stranger's directory");
        for_systemd(&theirs).run().says_once(CONFIG, &["theirs", "belongs to another user (54321)"]);
        assert_eq!(fs::read_dir(elsewhere.path()).expect("a directory").count(), 1);
    }
    let shared: PathBuf = to.path().join("shared");
    fs::create_dir(&shared).expect("a directory");
    fs::set_permissions(&shared, Permissions::from_mode(0o777)).expect("a directory");
    init(&shared, &["--run-by", "none"]).run().says_once(CONFIG, &["others may write to this directory"]);
    assert_eq!(fs::read_dir(&shared).expect("a directory").count(), 0);
}

#[test]
fn a_password_on_the_command_line_is_refused() {
    let to = directory();
    let url = "postgres://ada:hunter2@127.0.0.1:1/agents";
    let ran = init(to.path(), &["--run-by", "none", "--database", url]).run();
    assert!(!ran.err.contains("hunter2"), "{ran}");
    ran.refused(USAGE, &["--database holds a password", "DATABASE_URL_FILE"]);
}

#[test]
fn a_database_is_reached_as_the_service_will_reach_it() {
    let to = directory();
    let url = "postgres://sweep@127.0.0.1:1/agents";
    let ran = init(to.path(), &["--run-by", "systemd"]).env("DATABASE_URL", url).run();
    ran.says_once(69, &["cannot reach PostgreSQL"]);
    let world = World::new(On::Postgres);
    let over_tcp = over_tcp(world.name(), "");
    let ran = init(to.path(), &["--run-by", "systemd"]).env("DATABASE_URL", over_tcp).run();
    ran.says_once(CONFIG, &["certificate verify failed"]);
    assert_eq!(fs::read_dir(to.path()).expect("a directory").count(), 0);
}

#[test]
fn a_cron_job_needs_a_server() {
    let to = directory();
    init(to.path(), &["--run-by", "cronjob"]).run().refused(USAGE, &["name a database of PostgreSQL"]);
}

#[test]
fn a_cron_job_and_a_chart_get_what_deploy_has_for_them() {
    let world = World::new(On::Postgres);
    let url = over_tcp(world.name(), "sslmode=require");
    let set_up = |run_by: &str, more: &[&str]| {
        let to = directory();
        let arguments = [&["--run-by", run_by], more].concat();
        let ran = init(to.path(), &arguments).env("DATABASE_URL", &url).run().done();
        (files(to.path()), ran)
    };
    let (job, ran) = set_up("cronjob", &[]);
    assert_eq!(job["cronjob.yaml"], include_str!("../../../deploy/kubernetes/base/cronjob.yaml"));
    assert_eq!(job["settings.env"], include_str!("../../../deploy/kubernetes/base/settings.env"));
    assert!(job["secret/database-url"].contains(world.name()) && ran.out.contains("kubectl apply -k "), "{ran}");

    let values = include_str!("../../../deploy/helm/sweep/values.yaml");
    let (chart, ran) = set_up("helm", &[]);
    assert_eq!((names(&chart), chart["values.yaml"].as_str()), (vec!["secret/database-url", "values.yaml"], values));
    assert!(ran.out.contains("helm install sweep "), "{ran}");
    let (chart, _) = set_up("helm", &["--shadow", "off"]);
    assert_eq!(chart["values.yaml"], values.replace("S: shadow", "S: \"on\""));
}

#[test]
fn paperclips_tables_are_recognised_and_nothing_outside_the_schema_changes() {
    let scratch = Scratch::paperclip();
    let before = scratch.catalog_of_host();
    let to = directory();
    let ran = init(to.path(), &["--run-by", "none"]).env("DATABASE_URL", &scratch.url).run().done();
    assert!(ran.out.contains("host paperclip"), "{ran}");
    assert_eq!(scratch.catalog_of_host(), before);
}
