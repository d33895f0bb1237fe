//! Files of settings and secrets that belong to another user, who may change tomorrow where the password and the
//! messages go. The tests give a file away as root; another user names a file that root has given away.

use std::fs::write;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use rustix::process::geteuid;
use tempfile::TempDir;

use crate::support::program::{Program, Ran, sweep, sweep_at};
use crate::support::world::{On, World};

const CONFIG: i32 = 78;

/// A user who is neither root nor runs the tests.
const STRANGER: u32 = 54_321;

/// Writes a file that belongs to another user.
fn foreign(text: &str) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("file");
    write(&path, text).expect("a file");
    give_away(&path);
    (directory, path)
}

/// Gives a file away. Without root, it is root of a user namespace, whose subordinate users include the stranger.
fn give_away(path: &Path) {
    if geteuid().is_root() {
        return chown(path, Some(STRANGER), None).expect("a file of somebody else's");
    }
    let unshare = Command::new("unshare").args(["--map-root-user", "--map-auto", "chown", "1"]).arg(path).status();
    assert!(unshare.expect("unshare").success(), "subordinate users are needed: /etc/subuid, newuidmap");
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[track_caller]
fn is_refused(ran: Ran, setting: &str, path: &Path) {
    ran.refused(
        CONFIG,
        &[setting, text(path), "belongs to another user (", "expected a file of root's or of this user's"],
    );
}

#[rstest]
#[case("DATABASE_URL_FILE")]
#[case("SWEEP_SLACK_URL_FILE")]
#[case("SWEEP_WEBHOOK_URL_FILE")]
#[case("SWEEP_WEBHOOK_SECRET_FILE")]
#[case("SWEEP_PING_URL_FILE")]
fn a_secret_is_not_read_from_a_file_of_another_user(#[case] setting: &str) {
    let (_directory, path) = foreign("https://receiver.example/hook");
    let with = |program: Program| program.env("SWEEP_WEBHOOK_SECRET", "x").env(setting, &path);
    let program = if setting == "SWEEP_WEBHOOK_SECRET_FILE" {
        sweep([]).env("SWEEP_WEBHOOK_URL", "https://receiver.example/hook").env(setting, &path)
    } else {
        with(sweep([]))
    };
    is_refused(program.run(), setting, &path);
}

#[test]
fn nor_the_token_of_the_page_nor_where_the_daemon_listens() {
    let (_directory, path) = foreign("postgres://sweeper@db.example/agents");
    let page = sweep(["page", "--database", "sqlite:///nowhere", "--http", "192.0.2.1:1"]);
    is_refused(page.env("SWEEP_PAGE_TOKEN_FILE", &path).run(), "SWEEP_PAGE_TOKEN_FILE", &path);
    let daemon = sweep(["daemon", "--database", "postgres://sweeper@127.0.0.1:1/agents", "--schedule", "@daily"]);
    is_refused(daemon.env("SWEEP_LISTEN_URL_FILE", &path).run(), "SWEEP_LISTEN_URL_FILE", &path);
}

#[test]
fn nor_are_settings() {
    let world = World::new(On::Sqlite);
    let (_directory, path) = foreign("SWEEP_LIMIT=1\n");
    is_refused(sweep_at(&world.url, ["--config", text(&path)]).run(), "--config", &path);
    is_refused(sweep_at(&world.url, []).env("SWEEP_CONFIG", &path).run(), "SWEEP_CONFIG", &path);
}

/// libpq would read these files, whoever wrote them.
#[rstest]
#[case("PGPASSFILE", "passfile")]
#[case("PGSERVICEFILE", "servicefile")]
fn nor_what_libpq_reads(#[case] variable: &str, #[case] parameter: &str) {
    let (_directory, path) = foreign("");
    let url = "postgres://sweeper@127.0.0.1:1/agents";
    is_refused(sweep_at(url, []).env(variable, &path).run(), variable, &path);
    let url = format!("{url}?{parameter}={}", text(&path));
    is_refused(sweep_at(&url, []).run(), parameter, &path);
}

/// A SQLite file may belong to anybody: sweep opens it with no more rights than its own user has.
#[test]
fn a_database_may_belong_to_another_user() {
    let world = World::new(On::Sqlite);
    let path = world.url.strip_prefix("sqlite://").expect("a file");
    give_away(Path::new(path));
    sweep_at(&world.url, ["--dry-run"]).run().done();
}
