//! Secrets in URLs: right ones, wrong ones, and ones in the wrong place.

use std::ffi::OsString;

use sweep::cli::{Cli, render_mistake};
use sweep::text::redact;

use super::*;
use crate::support::databases::over_tcp;
use crate::support::rounds::are_all_played;

/// URLs that are malformed, or to which nothing answers.
const URLS: [&str; 22] = [
    "postgres://app:hunter2@127.0.0.1:1/app",
    "postgres://app:hunter2@nowhere.invalid/app",
    "postgres://hunter2@127.0.0.1:1/app",
    "postgres://127.0.0.1:1/app?user=app&password=hunter2",
    "postgres://app:hunter2@[::1/app",
    "postgres://app:hunter2@127.0.0.1:x/app",
    "postgres://app:hunter2@127.0.0.1/app?sslmode=hard",
    "postgres://app:hunter2/app",
    "postgres://app:hunter2",
    "postgres://app:2hunter2/app",
    "postgres://app:hun@ter:hunter2@127.0.0.1/app",
    "postgres://app:12/hunter2@127.0.0.1/app",
    "postgres://app:hunter2 and more@127.0.0.1:1/app",
    "postgres://app:%zzhunter2@127.0.0.1/app",
    "postgres:/app:hunter2@127.0.0.1/app",
    "app:hunter2@127.0.0.1/app",
    "mysql://app:hunter2@127.0.0.1/app",
    "host=127.0.0.1 port=1 user=app password=hunter2",
    "host=127.0.0.1 port=1 password='hunter2 and more' user=app",
    "host=127.0.0.1 port=1 password=and hunter2",
    "password=hunter2 host=127.0.0.1 port=1 nonsense=1",
    "sqlite:///dev/null/sweep.db?key=1&password=hunter2",
];

const COMMANDS: [&[&str]; 2] = [&["--dry-run"], &["migrate"]];

/// Checks that a program refuses, and says why without the secret.
#[track_caller]
fn assert_refused(program: Program, what: &str) {
    let ran = loud(program, "json");
    assert_hidden(&ran, what);
    assert!([64, 69, 78].contains(&ran.code) && ran.err.contains("sweep: "), "{what}: {ran}");
}

#[test]
fn no_url_that_cannot_serve_is_shown_with_its_password() {
    for (n, url) in URLS.into_iter().enumerate() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), url).expect("its text");
        // Each way of naming a database meets each command, if not with each URL.
        let command = |way: usize| COMMANDS[(n + way) % 2].iter().copied();
        assert_refused(sweep(command(0).chain(["--database", url])), url);
        assert_refused(sweep(command(1)).env("DATABASE_URL", url), url);
        assert_refused(sweep(command(n / 2)).env("DATABASE_URL_FILE", file.path()), url);
    }
}

#[test]
fn no_url_in_the_wrong_place_is_repeated_with_its_password() {
    for (n, url) in URLS.into_iter().filter(|url| !url.starts_with("sqlite")).enumerate() {
        let misspelt = format!("--databse={url}");
        let lines: [&[&str]; 5] =
            [&[url], &["--limit", url], &["--dry-run", url], &[&misspelt], &["demo", "--database", url]];
        // Only the command `demo` itself knows that it takes no URL of a server.
        for line in &lines[..4] {
            let said = mistake(line);
            assert!(!shows_a_secret(&said), "{line:?}: {said}");
        }
        // A mistake is printed alike for every URL, so each URL is tried at three of the places.
        let is_played = |place: usize| are_all_played() || [0, 3, 6].contains(&((place + n) % 8));
        let places = lines.map(|line| sweep(line.iter().copied())).into_iter().chain([
            sweep([]).env("SWEEP_LIMIT", url),
            sweep([]).env("SWEEP_DATABASE", url).env("DATABASE_URL_FILE", url),
            sweep([]).env("DATABASE_URL_FILE", url),
        ]);
        for (_, program) in places.enumerate().filter(|(place, _)| is_played(*place)) {
            assert_refused(program, url);
        }
    }
}

/// The program's message about a wrong command line.
fn mistake(line: &[&str]) -> String {
    let arguments: Vec<OsString> = ["sweep"].iter().chain(line).map(OsString::from).collect();
    let error = Cli::read(arguments.clone()).expect_err("a mistake");
    redact(&render_mistake(&error, &arguments))
}

/// The control: the message repeats what was typed, and would show a password.
#[test]
fn a_mistake_is_said_with_what_was_typed() {
    assert!(mistake(&["--limit", "forty"]).contains("forty"));
    assert!(shows_a_secret(&mistake(&["--limit", "hunter2"])));
}

#[test]
fn a_password_that_the_server_refuses_is_not_shown() {
    for wrong in ["password=hunter2", "password='hunter2'"] {
        let url = over_tcp("postgres", wrong);
        let ran = loud(sweep(["--database", &url]), "text");
        assert_hidden(&ran, "a wrong password");
        ran.says_once(78, &["password authentication failed"]);
    }
}
