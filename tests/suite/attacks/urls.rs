//! URLs that hold secrets, or lead where they should not.

use std::fs;
use std::path::{Path, PathBuf};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use rstest::rstest;
use serde_json::Value;

use crate::support::program::{BINARY, Ran, sweep, sweep_at};
use crate::support::world::{On, World};

const USAGE: i32 = 64;
const UNAVAILABLE: i32 = 69;
const CONFIG: i32 = 78;

/// The secret in each URL that holds one.
const HIDDEN: &str = "hunter2";

const WARNING: &str = "WARN --database holds a password, which every user of this machine can read";

#[rstest]
#[case::of_a_user("postgres://app:hunter2@127.0.0.1:1/app", 1)]
#[case::of_a_user_with_a_question_mark("postgresql://app:what?hunter2@127.0.0.1:1/app", 1)]
#[case::in_the_query("postgres://app@127.0.0.1:1/app?connect_timeout=2&password=hunter2", 1)]
#[case::in_the_query_in_disguise("postgres://app@127.0.0.1:1/app?p%61ssword=hunter2", 1)]
#[case::of_a_key("postgres://app@127.0.0.1:1/app?sslpassword=hunter2", 1)]
#[case::as_a_pair("host=127.0.0.1 port=1 password=hunter2", 1)]
#[case::as_a_quoted_pair("password = 'hunter2 and more' host=127.0.0.1 port=1", 1)]
#[case::none("postgres://app@127.0.0.1:1/app", 0)]
#[case::an_empty_one("postgres://app:@127.0.0.1:1/app?password=", 0)]
#[case::another_value("host=127.0.0.1 port=1 application_name='password=x'", 0)]
fn a_password_on_the_command_line_is_warned_of_once(#[case] url: &str, #[case] times: usize) {
    for command in [&[][..], &["--dry-run"], &["status"], &["migrate"]] {
        let ran = sweep(command.iter().copied().chain(["--database", url])).run();
        assert_eq!(ran.err.matches(WARNING).count(), times, "{ran}");
        assert!(!ran.err.contains(HIDDEN), "{ran}");
        ran.refused(UNAVAILABLE, &["Connection refused"]);
    }
    let elsewhere = sweep([]).env("DATABASE_URL", url).run();
    assert_eq!(elsewhere.err.matches(" WARN ").count(), 0, "{elsewhere}");
}

#[test]
fn the_warning_says_what_to_use_instead_and_stops_nothing() {
    let world = World::new(On::Postgres);
    let url = format!("{}&password=hunter2", world.url);
    let ran = sweep_at(&url, ["--set", "connections=4"]).run().done();
    let warnings: Vec<&str> = ran.err.lines().filter(|line| line.contains(" WARN --database")).collect();
    assert_eq!(warnings.len(), 1, "{ran}");
    for instead in ["DATABASE_URL_FILE", "DATABASE_URL", "passfile"] {
        assert!(warnings[0].contains(instead), "{ran}");
    }
    let embedded = World::new(On::Sqlite);
    let ran = sweep_at(&embedded.url, []).run().done();
    assert!(!ran.err.contains(" WARN "), "{ran}");
}

/// At a terminal, where a person types such a command, otherwise only errors are logged.
#[test]
fn the_warning_is_shown_at_a_terminal_as_well() {
    let pair = native_pty_system().openpty(PtySize { rows: 30, cols: 200, pixel_width: 0, pixel_height: 0 });
    let pair = pair.expect("a terminal");
    let mut command = CommandBuilder::new(BINARY);
    command.args(["--database", "postgres://app:hunter2@127.0.0.1:1/app"]);
    command.env_clear();
    command.env("HOME", "/nowhere");
    command.cwd("/");
    let mut reader = pair.master.try_clone_reader().expect("its output");
    let mut child = pair.slave.spawn_command(command).expect("sweep");
    drop(pair.slave);
    let mut printed = Vec::new();
    // Reading a terminal that nobody has open any more ends with an error.
    let _ = std::io::Read::read_to_end(&mut reader, &mut printed);
    assert_eq!(child.wait().expect("an end").exit_code(), UNAVAILABLE as u32);
    let printed = String::from_utf8_lossy(&printed);
    assert!(printed.contains("--database holds a password"), "{printed}");
}

#[rstest]
#[case::in_a_uri("postgres://app@127.0.0.1:65536/app", "the port 65536")]
#[case::behind_a_right_one("postgres://app@127.0.0.1:1,127.0.0.2:70000/app", "the port 70000")]
#[case::in_the_query("postgres://app@127.0.0.1/app?port=70000", "the port 70000")]
#[case::of_an_address("postgres://app@[::1]:99999/app", "the port 99999")]
#[case::as_a_pair("host=127.0.0.1 port=70000", "the port 70000")]
#[case::as_pairs("host=127.0.0.1,127.0.0.1 port='1, 70000'", "the port 70000")]
#[case::a_password("postgres://app:1234567890/app", "the port is no number from 1 to 65535")]
fn a_port_above_65535_is_refused(#[case] url: &str, #[case] says: &str) {
    let refused = |ran: Ran| {
        assert!(!ran.err.contains("1234567890"), "{ran}");
        ran.refused(CONFIG, &["cannot connect to PostgreSQL: ", says, "65535"]);
    };
    refused(sweep_at(url, []).run());
    refused(sweep([]).env("DATABASE_URL", url).run());
}

#[test]
fn a_port_above_65535_is_refused_wherever_else_one_is_set() {
    for url in ["https://hooks.example:65536/", "http://localhost:99999/", "https://[2606:4700::1111]:70000/x?a=b:1"] {
        for name in ["SWEEP_SLACK_URL", "SWEEP_WEBHOOK_URL", "SWEEP_PING_URL"] {
            let ran = sweep(["notify", "test"]).env(name, url).env("SWEEP_WEBHOOK_SECRET", "x").run();
            ran.refused(CONFIG, &[name, "its port is no number from 1 to 65535"]);
        }
    }
    for address in ["127.0.0.1:65536", "[::1]:70000"] {
        sweep(["daemon", "--http", address]).run().refused(USAGE, &["--http", "expected an address such as"]);
        sweep(["daemon"]).env("SWEEP_HTTP", address).run().refused(CONFIG, &["SWEEP_HTTP", "expected an address"]);
    }
    sweep([]).env("PGHOST", "127.0.0.1").env("PGPORT", "65536").run().refused(CONFIG, &["invalid port number"]);
}

/// Services of clouds that give credentials to any program on the machine.
#[rstest]
#[case::azure_wire_server("168.63.129.16")]
#[case::azure_wire_server_in_ipv6("[::ffff:168.63.129.16]")]
#[case::google_in_ipv6("[fd20:ce::254]")]
#[case::oracle_in_ipv6("[fd00:c1::a9fe:a9fe]")]
#[case::aws_pod_identity("[fd00:ec2::23]")]
fn no_notification_goes_to_the_services_of_a_cloud(#[case] host: &str) {
    for private in ["on", "off"] {
        let program = sweep(["notify", "test"]).env("SWEEP_PING_URL", format!("https://{host}/"));
        let ran = program.env("SWEEP_NOTIFY_PRIVATE", private).run();
        ran.refused(CONFIG, &["SWEEP_PING_URL: its address is link-local, "]);
    }
}

/// Secrets in a URL's query, in pairs, quoted, and in disguise.
const HOLDING: [&str; 12] = [
    "postgres://app@db/app?passfile=/home/hunter2&sslmode=require",
    "postgres://app@db/app?sslmode=require&options=-c%20app.key%3Dhunter2",
    "postgres://app@db/app?opt%69ons=hunter2&sslmode=require",
    "postgres://app@db/app?sslmode=require&sslkey=/keys/hunter2&sslpassword=hunter2",
    "postgres://app@db/app?sslmode=require&oauth_client_secret=hunter2",
    "postgres://app@db/app?sslmode=require&scram_client_key=hunter2&scram_server_key=hunter2",
    "postgres://app:hunter2@db/app?sslmode=require",
    "host=db passfile=/home/hunter2 sslmode=require",
    "host=db passfile='/home/x y/hunter2' options = '-c app.key=\\'hunter2\\' hunter2' sslmode=require",
    "options=-c\\ app.key=hunter2 sslmode=require",
    "sslmode=require sslkey=hunter2 sslpassword='hunter2 hunter2'",
    "sslmode=require password=hunter2 passfile=hunter2 options=hunter2",
];

#[test]
fn config_hides_what_holds_or_names_a_secret_and_shows_the_rest() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("url");
    for url in HOLDING {
        fs::write(&file, url).expect("a file");
        for layout in ["table", "json"] {
            let program = || sweep(["config", "--output", layout]);
            let kept = program().env("DATABASE_URL_FILE", &file);
            for ran in [program().env("DATABASE_URL", url).run().done(), kept.run().done()] {
                assert!(!(ran.out.clone() + &ran.err).contains(HIDDEN), "{url}: {ran}");
                assert!(ran.out.contains("sslmode=require") && ran.out.contains("***"), "{url}: {ran}");
            }
        }
    }
    // An address that cannot be parsed could hold anything.
    for url in ["host=db options='hunter2", "app:hun/hunter2@db?options=hunter2", "postgres://db/app?options=a&hunter2"]
    {
        let ran = sweep(["config"]).env("DATABASE_URL", url).run();
        assert!(!(ran.out.clone() + &ran.err).contains(HIDDEN), "{url}: {ran}");
    }
}

#[test]
fn config_hides_what_holds_or_names_a_secret_for_libpq() {
    for name in ["PGPASSWORD", "PGPASSFILE", "PGOPTIONS", "PGSSLKEY", "PGSERVICEFILE"] {
        let ran = sweep(["config", "--output", "json"]).env("PGHOST", "db").env(name, "hunter2").run().done();
        assert!(!ran.out.contains(HIDDEN), "{ran}");
        let reported = ran.json();
        let row = reported["settings"].as_array().expect("settings").iter().find(|row| row["name"] == name);
        assert_eq!(row.map(|row| (&row["value"], &row["secret"])), Some((&"***".into(), &Value::Bool(true))));
    }
}

#[rstest]
#[case::before_another_scheme("app:hun/hunter2@db://app")]
#[case::as_the_name_of_a_pair("app:hun/hunter2@db?sslmode=require")]
#[case::behind_a_password_that_is_not_quoted("host=db password=and hunter2=1")]
#[case::as_the_name_of_a_parameter("postgres://app@db/app?password=and&hunter2=1")]
fn what_stands_in_the_place_of_a_name_is_not_repeated(#[case] url: &str) {
    for ran in [sweep_at(url, []).run(), sweep([]).env("DATABASE_URL", url).run()] {
        assert!(!ran.err.contains(HIDDEN), "{ran}");
        assert!([USAGE, CONFIG].contains(&ran.code), "{ran}");
    }
}

/// README.md, and all files below docs/ and deploy/.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut found, mut directories) = (vec![root.join("README.md")], vec![root.join("docs"), root.join("deploy")]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { directories.push(path) } else { found.push(path) }
        }
    }
    found
}

#[test]
fn no_document_shows_a_url_with_a_password() {
    let with_password =
        regex::Regex::new(r"[a-z]://[^\s/@]*:[^\s/]*@|[?& ]password ?= ?[^\s{(]").expect("an expression");
    for url in ["postgres://app:…@db/app", "postgres://$USER:$PASSWORD@db", "postgres:///app?password=x", " password=x"]
    {
        assert!(with_password.is_match(url), "{url}");
    }
    let documents = documents();
    assert!(20 < documents.len());
    for path in documents {
        let text = String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned();
        let found = text.lines().find(|line| with_password.is_match(line));
        assert_eq!(found, None, "{}", path.display());
    }
}
