//! `sweep init` where somebody has set up something already: each file, secret and receiver of theirs stays. P24.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use rstest::rstest;
use rustix::process::geteuid;

use super::init::{directory, for_systemd, init, mode};
use crate::support::world::{On, World};

const SOME_FAILED: i32 = 1;

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
    assert_eq!(ran.code, SOME_FAILED, "{ran}");
    assert!(ran.out.contains("Left as it was: ") && !ran.out.contains("All is set up"), "{ran}");
    assert_eq!(fs::read_to_string(&settings).expect("a file"), line, "{ran}");
}

/// P24
#[test]
fn the_database_that_the_settings_of_a_service_name_stays() {
    let (to, mine) = (directory(), World::new(On::Sqlite));
    let settings = to.path().join("etc/sweep");
    fs::create_dir_all(&settings).expect("a directory");
    fs::write(settings.join("sweep.env"), format!("DATABASE_URL={}\n", mine.url)).expect("a file");
    fs::write(settings.join("database-url"), "").expect("a file");
    for_systemd(to.path()).run().done();
    assert_eq!(fs::read_to_string(settings.join("database-url")).expect("a file").trim(), mine.url);
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
    let ran = again().run();
    assert_eq!(ran.code, SOME_FAILED, "{ran}");
    assert!(ran.out.contains("Left as it was: ") && ran.out.contains("+ SWEEP_SLACK_URL_FILE="), "{ran}");
    assert_eq!(fs::read_to_string(&settings).expect("a file"), own, "{ran}");
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
