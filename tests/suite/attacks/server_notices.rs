//! Messages that a server sends libpq before the client has authenticated it: none reaches a terminal or a log as it
//! is.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::thread;

use rstest::rstest;

use crate::support::program::{migrate_at, sweep_at};
use crate::support::server::Server;
use crate::support::world::{On, World};

const UNAVAILABLE: i32 = 69;

/// Clears the terminal, names its window, and speaks in sweep's name.
const FORGED: &str = "\x1b[2J\x1b]0;forged\x07\n2026-01-01T00:00:00Z  INFO sweep completed: forged\nsweep: forged";

/// Builds a message of the protocol: <https://www.postgresql.org/docs/current/protocol-message-formats.html>
fn message(of: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("a short message");
    [&[of], &length.to_be_bytes()[..], body].concat()
}

/// Builds a notice, or an error, with the forged text.
fn said(of: u8, severity: &str) -> Vec<u8> {
    message(of, format!("S{severity}\0V{severity}\0C01000\0M{FORGED}\0\0").as_bytes())
}

/// Lets a client in, sends notices before and after, and then falls silent.
fn talk(mut client: TcpStream) -> std::io::Result<()> {
    let mut heard = [0; 4096];
    let _ = client.read(&mut heard)?;
    let let_in = [message(b'R', &[0; 4]), said(b'N', "WARNING"), message(b'Z', b"I")].concat();
    client.write_all(&[let_in, said(b'N', "NOTICE"), said(b'E', "FATAL")].concat())?;
    client.read(&mut heard).map(drop)
}

#[rstest]
#[case::for_people("text")]
#[case::for_programs("json")]
fn nothing_that_a_server_says_to_libpq_is_repeated_as_it_is(#[case] format: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || listener.incoming().map_while(Result::ok).for_each(|client| drop(talk(client))));
    let url = format!("postgres://app@127.0.0.1:{port}/db?sslmode=disable");

    let ran = sweep_at(&url, []).env("SWEEP_LOG_FORMAT", format).env("SWEEP_LOG", "debug").run();

    assert_eq!(ran.code, UNAVAILABLE, "{ran}");
    assert!(!ran.err.contains('\x1b') && !ran.err.contains('\x07'), "{:?}", ran.err);
    for line in ran.err.lines() {
        let is_of_sweep = line.starts_with("sweep: cannot reach PostgreSQL: ");
        let is_logged = line.contains("DEBUG") || line.starts_with("{\"timestamp\"");
        assert!(is_of_sweep || is_logged, "{line:?} in {:?}", ran.err);
    }
}

/// The owner of the database may have the server send more to each client, as soon as it is let in.
#[test]
fn nor_what_it_says_at_the_owners_wish() {
    let mut world = World::new(On::Postgres);
    let name = world.name().to_owned();
    world.run(&format!("alter database {name} set client_min_messages = debug5"));
    let ran = sweep_at(&world.url, []).run().done();
    assert!(ran.err.lines().all(|line| line.contains("Z  INFO ")), "{ran}");
}

/// libpq ignores such a file without a word; sweep warns of it.
#[test]
fn a_file_of_passwords_that_others_may_read_is_warned_of() {
    let server = Server::start();
    migrate_at(&server.url, []).run().done();
    let passwords = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&passwords, "*:*:*:*:hunter2\n").expect("a file");
    std::fs::set_permissions(passwords.path(), std::fs::Permissions::from_mode(0o640)).expect("a mode");
    let ran = sweep_at(&server.url, []).env("PGPASSFILE", passwords.path()).run().done();
    let path = passwords.path().display();
    assert_eq!(ran.err.matches(&format!("PGPASSFILE {path}: libpq leaves it out of account, since others")).count(), 1);
}
