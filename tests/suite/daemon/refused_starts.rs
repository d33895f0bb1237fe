//! What a daemon refuses at its start: each says what is wrong, and where.

use std::net::TcpListener;

use crate::support::daemon::{NEVER, daemon};
use crate::support::program::sweep;
use crate::support::scratch::{Scratch, new_file};
use crate::support::world::{On, World};

const USAGE: i32 = 64;
const CONFIG: i32 = 78;

#[test]
fn wrong_settings_are_refused_by_name() {
    let cases = [
        ("SWEEP_SCHEDULE", "every five minutes", "expected a schedule such as */5 * * * *"),
        ("SWEEP_SCHEDULE", "61 * * * *", "expected a schedule such as */5 * * * *"),
        ("SWEEP_SCHEDULE", "0 0 30 2 *", "there is no such time"),
        ("SWEEP_TIMEZONE", "Europe/Atlantis", "expected a time zone such as UTC, Europe/Berlin"),
        ("SWEEP_TIMEZONE", "CET+1", "expected a time zone such as UTC, Europe/Berlin"),
        ("SWEEP_JITTER", "-1s", "expected a duration"),
        ("SWEEP_AT_START", "yes", "expected on or off"),
        ("SWEEP_HTTP", "9464", "expected an address such as 127.0.0.1:9464"),
        ("SWEEP_HTTP", "localhost:9464", "expected an address such as 127.0.0.1:9464"),
        ("SWEEP_LISTEN", "1", "expected auto, on or off"),
    ];
    for (name, value, expected) in cases {
        let ran = sweep(["daemon", "--database", "sqlite:///nonexistent/x.db"]).env(name, value).run();
        ran.refused(CONFIG, &[&format!("{name}: “{value}”: {expected}")]);
        let setting = name.trim_start_matches("SWEEP_").to_lowercase();
        let by_set = format!("--set={setting}={value}");
        let ran = sweep(["daemon", "--database", "sqlite:///nonexistent/x.db", &by_set]).run();
        ran.refused(USAGE, &[&format!("--set {setting}={value}: {expected}")]);
        if setting == "jitter" {
            continue;
        }
        let option = format!("--{}={value}", setting.replace('_', "-"));
        let ran = sweep(["daemon", "--database", "sqlite:///nonexistent/x.db", &option]).run();
        ran.refused(USAGE, &[value, option.split('=').next().unwrap_or_default(), expected]);
    }
}

#[test]
fn flags_that_make_no_sense_for_a_daemon_do_not_exist_there() {
    for flag in ["--dry-run", "--apply=plan.json", "--issue=ACM-1", "--output=json", "--detailed-exitcode"] {
        sweep(["daemon", flag]).run().refused(USAGE, &[flag.split('=').next().unwrap_or_default()]);
    }
}

#[test]
fn a_port_that_is_taken_is_reported() {
    let world = World::new(On::Sqlite);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let ran = sweep(["daemon", "--database", &world.url, "--http", &address]).run();
    ran.says_once(CONFIG, &[&format!("SWEEP_HTTP: cannot listen on {address}: "), "in use", "or off"]);
}

/// Waiting would not help.
#[test]
fn a_database_that_cannot_be_swept_ends_it_at_the_start() {
    let scratch = Scratch::empty();
    let ran = daemon(&scratch.url, NEVER, []).run();
    ran.says_once(CONFIG, &["sweep migrate"]);
    let (_directory, _, url) = new_file();
    daemon(&url, NEVER, []).run().says_once(CONFIG, &["sweep migrate"]);
    daemon("sqlite:///nonexistent/x.db", NEVER, []).run().says_once(CONFIG, &["/nonexistent/x.db"]);
}
