//! The databases of the tests: a server that `make test` started, a template for each host, a clone for each test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use diesel::connection::SimpleConnection;
use diesel::{Connection, PgConnection, RunQueryDsl, SqliteConnection};
use sweep::rules::Id;
use sweep::store::connect::open::Url;
use sweep::store::hosts::folders;
use sweep::store::hosts::migrate::{Wanted, migrate};
use sweep::store::{Access, Db, DbConnection};
use tempfile::TempDir;

use crate::support::starts::{self, Started};
use crate::support::world::On;

pub fn run(db: &mut Db, sql: &str) {
    db.batch_execute(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
}

/// A host's connection: it names its own tables without their schema.
pub fn connect(url: &str) -> Db {
    let mut db = establish(url);
    if let Db::Postgres(db) = &mut db {
        let native = url.contains("_native_");
        let path = if native { "sweep" } else { "public, sweep" };
        db.batch_execute(&format!("set search_path = {path}")).expect("a search path");
    }
    db
}

/// A connection like those of a sweep.
pub fn connect_as_sweep(url: &str) -> DbConnection {
    Url::parse(url).expect("a URL").connect(Access::Write).expect("a connection")
}

/// A connection that sweep did not make.
fn establish(url: &str) -> Db {
    match Url::parse(url).expect("a URL") {
        Url::Postgres(url, _) => Db::Postgres(PgConnection::establish(&url).expect("a connection")),
        Url::Sqlite(path) => {
            let mut db = SqliteConnection::establish(&path.display().to_string()).expect("a connection");
            db.batch_execute("PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON").expect("pragmas");
            Db::Sqlite(db)
        }
    }
}

/// The URL of the server that `make test` starts; without a server, tests fail.
#[expect(clippy::disallowed_methods, reason = "a test's own variable, no setting of sweep's")]
pub fn server() -> String {
    std::env::var("TEST_DATABASE_URL").expect("TEST_DATABASE_URL is not set: run the tests by `make test`")
}

/// The role of deploy/postgres/role.sql as which `tests/roles` has worlds swept. None: the server's owner.
#[expect(clippy::disallowed_methods, reason = "a test's own variable, no setting of sweep's")]
fn role() -> Option<String> {
    std::env::var("TEST_ROLE").ok()
}

/// The URL by which a sweep reaches a database. The server trusts every role on its socket.
pub fn as_swept(url: &str) -> String {
    role().map_or_else(|| url.to_owned(), |role| format!("{url}&user={role}"))
}

/// The directory of the server's socket, and the number in its name.
pub fn server_socket() -> (String, String) {
    let url = server();
    let parameter = |name: &str| {
        let pairs = url.split_once('?').map(|(_, query)| query).unwrap_or_default().split('&');
        let found = pairs.filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name);
        found.map(|(_, value)| value.replace("%2F", "/"))
    };
    let directory =
        parameter("host").expect("TEST_DATABASE_URL must name a Unix socket, as `make test` does: ?host=%2F…");
    (directory, parameter("port").unwrap_or("5432".to_owned()))
}

/// The server's URL with another database's name.
pub fn database_url(name: &str) -> String {
    let server = server();
    let (head, tail) = server.rsplit_once('/').expect("a URL with a path");
    match tail.split_once('?') {
        Some((_, query)) => format!("{head}/{name}?{query}"),
        None => format!("{head}/{name}"),
    }
}

/// The URL of a database over TCP, where the server has a certificate and asks for the password.
#[expect(clippy::disallowed_methods, reason = "tests' own variables, no settings of sweep's")]
pub fn over_tcp(database: &str, further: &str) -> String {
    let [port, password] = ["TEST_POSTGRES_PORT", "TEST_POSTGRES_PASSWORD"]
        .map(|name| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run the tests by `make test`")));
    format!(
        "host=localhost hostaddr=127.0.0.1 user=postgres dbname={database} port={port} password={password} {further}"
    )
}

pub fn connect_server() -> Db {
    establish(&server())
}

/// The name of an empty database, made once for each host and cloned for each test.
pub fn template(on: On) -> &'static str {
    static NATIVE: OnceLock<String> = OnceLock::new();
    static PAPERCLIP: OnceLock<String> = OnceLock::new();
    let (cell, host) = if on == On::Paperclip { (&PAPERCLIP, "paperclip") } else { (&NATIVE, "native") };
    cell.get_or_init(|| {
        let name = format!("sweep_template_{host}");
        new_database(&name);
        if on == On::Paperclip {
            load(&name, &paperclip_schema());
        }
        let host = folders::named(host);
        migrate(&mut connect_as_sweep(&database_url(&name)), &Wanted { host, ..Wanted::default() })
            .expect("migrations");
        if role().is_some() {
            psql(&name, &PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("deploy/postgres/role.sql"));
        }
        name
    })
}

/// Makes another template from the one of this host, with rows that several tests need.
pub fn template_with(on: On, what: &str, rows: &str) -> String {
    let empty = template(on);
    let name = format!("{empty}_{what}");
    let mut server = connect_server();
    run(&mut server, &format!("drop database if exists {name} with (force)"));
    run(&mut server, &format!("create database {name} template {empty} {}", by_files()));
    run(&mut connect(&database_url(&name)), rows);
    name
}

/// A directory for SQLite files, beside the server's, which is in memory if there is room.
#[expect(clippy::disallowed_methods, reason = "a test's own variable, no setting of sweep's")]
pub fn files() -> std::io::Result<TempDir> {
    std::env::var_os("TEST_FILES").map_or_else(tempfile::tempdir, tempfile::tempdir_in)
}

/// Writes an empty migrated SQLite file, of which one is made for all tests.
pub fn copy_of_template(path: &Path) {
    static TEMPLATE: OnceLock<Vec<u8>> = OnceLock::new();
    let create = |path: &Path| {
        let url = Url::parse(&format!("sqlite://{}", path.display())).expect("a URL");
        url.create().expect("a file");
        url
    };
    let template = TEMPLATE.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("template.db");
        let url = create(&path);
        migrate(&mut url.connect(Access::Write).expect("a connection"), &Wanted::default()).expect("migrations");
        // Closing the connection has emptied the write-ahead log.
        std::fs::read(path).expect("the file")
    });
    starts::record(Started::Database);
    create(path);
    std::fs::write(path, template).expect("the file");
}

/// Creates an empty database, in place of one of this name that an earlier run left.
pub fn new_database(name: &str) {
    starts::record(Started::Database);
    let mut server = connect_server();
    run(&mut server, &format!("drop database if exists {name} with (force)"));
    run(&mut server, &format!("create database {name} template template0"));
}

/// Paperclip's own schema, from its npm package; `tests/paperclip` prepares the file.
pub fn paperclip_schema() -> String {
    let schema = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/paperclip/schema.sql");
    let text = std::fs::read_to_string(&schema);
    text.unwrap_or_else(|_| panic!("{} is missing: `tests/paperclip` fetches it", schema.display()))
}

/// Runs SQL by psql in a database of this name.
pub fn load(name: &str, sql: &str) {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    std::io::Write::write_all(&mut file, sql.as_bytes()).expect("a file");
    psql(name, file.path());
}

fn psql(name: &str, file: &Path) {
    let psql = Command::new("psql")
        .args(["-q", "-X", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", "-f"])
        .arg(file)
        .arg(database_url(name))
        .output()
        .expect("psql");
    assert!(psql.status.success(), "{}", String::from_utf8_lossy(&psql.stderr));
}

/// The option that has PostgreSQL clone a database by its files, which takes half as long as through the log.
/// PostgreSQL 14 clones no other way, and has no such option.
fn by_files() -> &'static str {
    static IS_CHOSEN: OnceLock<bool> = OnceLock::new();
    let is_chosen = IS_CHOSEN.get_or_init(|| {
        let version = diesel::sql_query("select 1 where current_setting('server_version_num')::int >= 150000");
        version.execute(&mut connect_server()).expect("a version") == 1
    });
    if *is_chosen { "strategy file_copy" } else { "" }
}

/// Clones a database called `sweep_template_HOST` or `sweep_test_HOST_…`, and returns the URL of the clone.
pub fn clone_of(template: &str) -> String {
    starts::record(Started::Database);
    let host = template.split('_').nth(2).unwrap_or_default();
    let name = format!("sweep_test_{host}_{}", Id::generate().0.replace('-', ""));
    run(&mut connect_server(), &format!("create database {name} template {template} {}", by_files()));
    database_url(&name)
}
