//! Secrets in URLs: right ones, wrong ones, and ones in the wrong place.

use super::*;
use crate::support::server::Server;

/// Nobody listens there, or they are malformed.
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

/// It is refused, and says why without the secret.
#[track_caller]
fn assert_refused(program: Program, what: &str) {
    let ran = loud(program, "json");
    assert_hidden(&ran, what);
    assert!([64, 69, 78].contains(&ran.code) && ran.err.contains("sweep: "), "{what}: {ran}");
}

#[test]
fn no_url_that_cannot_serve_is_shown_with_its_password() {
    for url in URLS {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), url).expect("its text");
        for command in COMMANDS {
            let command = || command.iter().copied();
            assert_refused(sweep(command().chain(["--database", url])), url);
            assert_refused(sweep(command()).env("DATABASE_URL", url), url);
            assert_refused(sweep(command()).env("DATABASE_URL_FILE", file.path()), url);
        }
    }
}

#[test]
fn no_url_in_the_wrong_place_is_repeated_with_its_password() {
    for url in URLS.into_iter().filter(|url| !url.starts_with("sqlite")) {
        assert_refused(sweep([url]), url);
        assert_refused(sweep(["--limit", url]), url);
        assert_refused(sweep(["--dry-run", url]), url);
        assert_refused(sweep([format!("--databse={url}").as_str()]), url);
        assert_refused(sweep(["demo", "--database", url]), url);
        assert_refused(sweep([]).env("SWEEP_LIMIT", url), url);
        assert_refused(sweep([]).env("SWEEP_DATABASE", url).env("DATABASE_URL_FILE", url), url);
        assert_refused(sweep([]).env("DATABASE_URL_FILE", url), url);
    }
}

#[test]
fn a_password_that_the_server_refuses_is_not_shown() {
    let server = Server::start();
    for url in [server.tcp("password=hunter2"), server.tcp("password='hunter2'")] {
        let ran = loud(sweep(["--database", &url]), "text");
        assert_hidden(&ran, "a wrong password");
        ran.says_once(78, &["password authentication failed"]);
    }
}
