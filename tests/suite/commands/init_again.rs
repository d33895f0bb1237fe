//! `sweep init` where somebody has set up something already: each file, secret and receiver of theirs stays. P24.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use rstest::rstest;
use rustix::process::geteuid;

use super::init::{directory, for_systemd, init, mode};
use crate::support::databases::over_tcp;
use crate::support::program::{BINARY, sweep};
use crate::support::world::{On, World};

const CONFIG: i32 = 78;

/// What the environment names is set up, each of it.
#[test]
fn every_receiver_of_the_environment_is_set_up() {
    let to = directory();
    let ran = init(to.path(), &["--run-by", "systemd"])
        .env("SWEEP_TEAMS_URL", "https://teams.example/hunter2")
        .env("SWEEP_EMAIL_URL", "smtps://u:hunter2@mail.example/?from=a@b.example&to=c@d.example")
        .env("SWEEP_PAGERDUTY_URL", "https://hunter2@events.pagerduty.com/v2/enqueue")
        .run()
        .done();
    let unit = fs::read_to_string(to.path().join("etc/systemd/system/sweep.service.d/notify.conf")).expect("a unit");
    for secret in ["teams-url", "email-url", "pagerduty-url"] {
        let text = fs::read_to_string(to.path().join("etc/sweep").join(secret)).expect("a secret");
        assert!(text.contains("hunter2") && unit.contains(&format!("LoadCredential={secret}:")), "{secret}: {unit}");
    }
    assert!(!unit.contains("slack") && !ran.out.contains("hunter2"), "{ran}");
    let doctor = ran.out.lines().find(|line| line.contains("sweep doctor")).expect("a command");
    assert!(doctor.contains(" SWEEP_TEAMS_URL_FILE=") && !doctor.contains("SLACK"), "{ran}");
}

/// A secret that a person keeps in the settings is read by nobody else afterwards.
#[test]
fn a_file_that_is_there_keeps_its_mode_and_its_group() {
    let (to, mine) = (directory(), World::new(On::Sqlite));
    let arguments = ["--run-by", "none", "--database", &mine.url];
    init(to.path(), &arguments).run().done();
    let settings = to.path().join("sweep.env");
    fs::set_permissions(&settings, Permissions::from_mode(0o640)).expect("a file");
    let group = geteuid().is_root().then_some(54_321);
    chown(&settings, None, group).expect("a file");
    let group = settings.metadata().expect("a file").gid();

    let ran = init(to.path(), &[&arguments[..], &["--shadow", "off"]].concat()).run().done();

    assert!(!fs::read_to_string(&settings).expect("a file").contains("=shadow"), "{ran}");
    assert_eq!((mode(&settings), settings.metadata().expect("a file").gid()), (0o640, group), "{ran}");
    assert!(ran.out.contains("sweep.env (there already, mode 640)"), "{ran}");
}

/// P24
#[rstest]
#[case::in_a_file_of_its_own(true)]
#[case::in_the_settings(false)]
fn the_database_that_the_settings_name_stays(#[case] is_in_a_file: bool) {
    let (to, mine) = (directory(), World::new(On::Sqlite));
    let url_file = to.path().join("mine");
    fs::write(&url_file, &mine.url).expect("a file");
    let line = match is_in_a_file {
        true => format!("DATABASE_URL_FILE={}\n", url_file.display()),
        false => format!("DATABASE_URL={}\n", mine.url),
    };
    let settings = to.path().join("sweep.env");
    fs::write(&settings, &line).expect("a file");

    let ran = init(to.path(), &["--run-by", "none"]).run().done();
    assert_eq!(fs::read_to_string(&settings).expect("a file"), line, "{ran}");
    assert!(!to.path().join("database-url").exists(), "{ran}");
    assert!(ran.out.contains(&mine.url), "{ran}");

    let other = World::new(On::Sqlite);
    let ran = init(to.path(), &["--run-by", "none"]).env("DATABASE_URL", &other.url).run();
    ran.refused(CONFIG, &["sweep.env: something else is set there"]);
    assert_eq!(fs::read_to_string(&settings).expect("a file"), line);
    assert!(!to.path().join("database-url").exists());
}

/// P24
#[test]
fn the_database_that_the_settings_of_a_service_name_stays() {
    let to = directory();
    let settings = to.path().join("etc/sweep");
    fs::create_dir_all(&settings).expect("a directory");
    fs::create_dir_all(to.path().join("srv")).expect("a directory");
    let mine = "sqlite:///srv/mine.db";
    fs::write(settings.join("sweep.env"), format!("DATABASE_URL={mine}\n")).expect("a file");
    fs::write(settings.join("database-url"), "").expect("a file");
    let ran = for_systemd(to.path()).run().done();
    assert_eq!(fs::read_to_string(settings.join("database-url")).expect("a file").trim(), mine);
    assert!(to.path().join("srv/mine.db").exists() && ran.out.contains("give the service a User="), "{ran}");
}

/// Some editors begin a file with a byte order mark, or end its lines by two characters.
#[test]
fn settings_keep_the_byte_order_mark_and_the_ends_of_their_lines() {
    let (to, mine) = (directory(), World::new(On::Sqlite));
    let settings = to.path().join("sweep.env");
    fs::write(&settings, format!("\u{FEFF}DATABASE_URL={}\r\n#SWEEP_LOG=warn\r\nSWEEP_STEPS=shadow", mine.url))
        .expect("a file");
    init(to.path(), &["--run-by", "none", "--shadow", "on"]).run().done();
    let expected = "#SWEEP_LOG=warn\r\nSWEEP_STEPS=shadow\r\nSWEEP_SESSIONS=shadow\r\nSWEEP_ISSUES=shadow\r\n";
    let expected = format!("\u{FEFF}DATABASE_URL={}\r\n{expected}", mine.url);
    assert_eq!(fs::read_to_string(&settings).expect("a file"), expected);
}

/// P24
#[test]
fn the_file_of_a_secret_that_the_settings_name_stays() {
    let (to, mine) = (directory(), World::new(On::Sqlite));
    init(to.path(), &["--run-by", "none", "--database", &mine.url]).run().done();
    let settings = to.path().join("sweep.env");
    let own = fs::read_to_string(&settings).expect("a file") + "SWEEP_SLACK_URL_FILE=/x/mine\n";
    fs::write(&settings, &own).expect("a file");
    let again = || init(to.path(), &["--run-by", "none"]).env("SWEEP_SLACK_URL", "https://hooks.example/x");
    again().run().refused(CONFIG, &["sweep.env: something else is set there"]);
    assert_eq!(fs::read_to_string(&settings).expect("a file"), own);
    assert!(!to.path().join("slack-url").exists());
}

/// P24
#[test]
fn no_secret_of_a_persons_file_is_shown() {
    let root = directory();
    let units = root.path().join("etc/systemd/system");
    fs::create_dir_all(&units).expect("a directory");
    let own = "[Service]\nEnvironment=DATABASE_URL=postgres://u:hunter2@h/db\nEnvironment=PGPASSWORD=hunter2\n  \
               # was SWEEP_SLACK_URL: https://x/hunter2\n";
    fs::write(units.join("sweep.service"), own).expect("a file");
    let ran = for_systemd(root.path()).run().done();
    assert!(ran.out.contains("- Environment=DATABASE_URL=***") && !ran.out.contains("hunter2"), "{ran}");
    assert_eq!(fs::read_to_string(units.join("sweep.service")).expect("a file"), own);
}

#[test]
fn a_secret_that_others_may_read_is_closed_to_them() {
    let root = directory();
    for_systemd(root.path()).run().done();
    let secret = root.path().join("etc/sweep/database-url");
    fs::set_permissions(&secret, Permissions::from_mode(0o644)).expect("a file");
    let ran = for_systemd(root.path()).run().done();
    assert!(ran.out.contains("database-url (there already with mode 644, mode 600)"), "{ran}");
    assert_eq!(mode(&secret), 0o600);
}

/// Whatever form a person has given them.
#[test]
fn the_charts_values_come_into_shadow_each_but_for_those_that_are_off() {
    let (to, world) = (directory(), World::new(On::Postgres));
    let values = to.path().join("values.yaml");
    let set_up = |shadow: &str| {
        let arguments = ["--run-by", "helm", "--shadow", shadow];
        init(to.path(), &arguments).env("DATABASE_URL", over_tcp(world.name(), "sslmode=require")).run()
    };
    fs::write(&values, "settings:\n  SWEEP_SESSIONS: 'on'\n  SWEEP_ISSUES: \"off\" # never\nmode: daemon\n")
        .expect("a file");
    set_up("on").done();
    let shadow =
        "settings:\n  SWEEP_STEPS: shadow\n  SWEEP_SESSIONS: shadow\n  SWEEP_ISSUES: \"off\" # never\nmode: daemon\n";
    assert_eq!(fs::read_to_string(&values).expect("values"), shadow);
    set_up("off").done();
    assert_eq!(fs::read_to_string(&values).expect("values"), shadow.replace("shadow", "\"on\""));

    fs::write(&values, "settings: {}\n").expect("a file");
    set_up("on").refused(CONFIG, &["values.yaml: expected a line “settings:”"]);
}

#[test]
fn a_receiver_in_a_private_network_is_allowed_in_the_settings_as_well() {
    let (to, mine) = (directory(), World::new(On::Sqlite));
    let notifying = || {
        let init = init(to.path(), &["--run-by", "none", "--database", &mine.url]);
        init.env("SWEEP_SLACK_URL", "https://10.0.0.5/hooks/x")
    };
    notifying().run().refused(CONFIG, &["SWEEP_SLACK_URL: its address is in a private network"]);
    notifying().env("SWEEP_NOTIFY_PRIVATE", "on").run().done();
    sweep(["--config", to.path().join("sweep.env").to_str().expect("a path")]).run().done();
}

#[test]
fn the_commands_that_come_next_can_be_typed() {
    let parent = directory();
    let to = parent.path().join("my setup");
    for run_by in ["none", "systemd"] {
        let ran = init(&to, &["--run-by", run_by]).env("XDG_DATA_HOME", parent.path()).run().done();
        let doctor = ran.out.lines().find(|line| line.contains("sweep doctor")).unwrap_or_else(|| panic!("{ran}"));
        let directory = Path::new(BINARY).parent().expect("a directory").display();
        let typed = format!("PATH={directory}:$PATH; {doctor} --output json");
        let output = Command::new("sh").args(["-c", &typed]).output().expect("a shell");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("each can be used"), "{doctor}: {output:?}");
    }
}

/// P24
#[test]
fn another_receiver_is_added_to_those_of_before() {
    let root = directory();
    let with = |name: &str| {
        let url = format!("https://hooks.example/{name}");
        let given = for_systemd(root.path()).env(&format!("SWEEP_{name}_URL"), url);
        given.env("SWEEP_WEBHOOK_SECRET", "a long enough secret, which nobody guesses").run()
    };
    with("WEBHOOK").done();
    let receivers = root.path().join("etc/systemd/system/sweep.service.d/notify.conf");
    let own = fs::read_to_string(&receivers).expect("a file") + "Environment=SWEEP_HOST_URL=https://board.example\n";
    fs::write(&receivers, &own).expect("a file");

    with("SLACK").done();

    let text = fs::read_to_string(&receivers).expect("a file");
    for line in own.lines().chain(["LoadCredential=slack-url:/etc/sweep/slack-url"]) {
        assert_eq!(text.lines().filter(|found| *found == line).count(), 1, "{line}: {text}");
    }
    assert!(text.contains("Environment=SWEEP_SLACK_URL_FILE=%d/slack-url\n"), "{text}");
    assert!(with("SLACK").done().out.contains("All is set up"), "a third run");
    assert_eq!(fs::read_to_string(&receivers).expect("a file"), text);
}
