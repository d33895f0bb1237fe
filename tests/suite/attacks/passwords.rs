//! Servers that ask for the password in clear text without TLS do not get it.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rstest::rstest;

use crate::support::databases::{connect, run};
use crate::support::program::{Program, migrate_at, sweep, sweep_at};
use crate::support::server::Server;

const UNAVAILABLE: i32 = 69;
const CONFIG: i32 = 78;
const NOT_GIVEN: &str = "asks for the password in clear text over a connection without TLS, so it was not given";

/// An impostor in the server's place: without TLS it asks for the password, and keeps all that it is sent.
struct Impostor {
    port: u16,
    heard: Receiver<Vec<u8>>,
}

impl Impostor {
    fn start() -> Impostor {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (hears, heard) = channel();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let hears = hears.clone();
                thread::spawn(move || hears.send(ask_for_password(client)));
            }
        });
        Impostor { port, heard }
    }

    fn heard(&self) -> String {
        receive_all(&self.heard)
    }
}

/// Everything that clients have sent; they are gone, but their last bytes may not have been read yet.
fn receive_all(heard: &Receiver<Vec<u8>>) -> String {
    let mut all = heard.recv_timeout(Duration::from_secs(30)).expect("a client");
    while let Ok(more) = heard.recv_timeout(Duration::from_millis(200)) {
        all.extend(more);
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// <https://www.postgresql.org/docs/current/protocol-message-formats.html>
fn ask_for_password(mut client: impl Read + Write) -> Vec<u8> {
    const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
    const AUTHENTICATION_CLEARTEXT_PASSWORD: [u8; 9] = [b'R', 0, 0, 0, 8, 0, 0, 0, 3];
    let (mut heard, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = client.read(&mut buffer) {
        heard.extend(&buffer[..length]);
        // A client that gave its password would answer each further request with it.
        if buffer[0] == b'p' {
            break;
        }
        let answer = if buffer[..length] == SSL_REQUEST { &b"N"[..] } else { &AUTHENTICATION_CLEARTEXT_PASSWORD };
        if client.write_all(answer).is_err() {
            break;
        }
    }
    heard
}

/// Sets the password in the environment, where libpq finds it for any form of address.
fn with_password(program: Program) -> Program {
    program.env("PGPASSWORD", "hunter2secret")
}

#[rstest]
#[case::by_uri("postgres://app@127.0.0.1:PORT/db")]
#[case::by_uri_with_the_password_in_it("postgres://app:hunter2secret@127.0.0.1:PORT/db")]
#[case::by_pairs("host=127.0.0.1 port=PORT user=app dbname=db")]
#[case::without_tls("postgres://app@127.0.0.1:PORT/db?sslmode=disable")]
#[case::with_tls_last("postgres://app@127.0.0.1:PORT/db?sslmode=allow")]
fn an_impostor_who_asks_for_the_password_does_not_get_it(#[case] url: &str) {
    let impostor = Impostor::start();
    let url = url.replace("PORT", &impostor.port.to_string());
    for arguments in [&[][..], &["--dry-run"]] {
        let ran = with_password(sweep_at(&url, arguments.iter().copied())).run();
        ran.says_once(CONFIG, &[NOT_GIVEN, "sslmode=verify-full", "require_auth=password"]);
    }
    let heard = impostor.heard();
    assert!(heard.contains("app") && !heard.contains("hunter2"), "{heard:?}");
}

#[test]
fn nor_when_libpqs_own_variables_name_the_server() {
    let impostor = Impostor::start();
    let program =
        with_password(sweep(["--dry-run"]).env("PGHOST", "127.0.0.1").env("PGPORT", impostor.port.to_string()));
    program.env("PGUSER", "app").run().says_once(CONFIG, &[NOT_GIVEN]);
    assert!(!impostor.heard().contains("hunter2"));
}

/// These values of libpq's variable allow clear text, but only over TLS.
#[rstest]
#[case::clear_text_alone("password", "PGREQUIREAUTH=password")]
#[case::among_others("scram-sha-256,password", "authentication method requirement \"scram-sha-256\" failed")]
#[case::all_but_another("!none", NOT_GIVEN)]
#[case::all_but_this("!password", NOT_GIVEN)]
fn nor_when_libpqs_own_variable_allows_clear_text(#[case] allowed: &str, #[case] says: &str) {
    let impostor = Impostor::start();
    let (port, service) = (impostor.port, tempfile::NamedTempFile::new().expect("a file"));
    std::fs::write(&service, format!("[here]\nhost=127.0.0.1\nport={port}\nuser=app\n")).expect("a file");
    let by_url = sweep_at(&format!("postgres://app@127.0.0.1:{port}/db"), []);
    for program in [by_url, sweep(["--dry-run"]).env("PGSERVICE", "here").env("PGSERVICEFILE", service.path())] {
        with_password(program).env("PGREQUIREAUTH", allowed).run().says_once(CONFIG, &[says]);
    }
    // This client sends something that the impostor hears.
    with_password(sweep_at(&format!("host=127.0.0.1 port={port} user=app"), [])).run();
    assert!(!impostor.heard().contains("hunter2"));
}

#[test]
fn nor_when_a_file_of_libpqs_services_allows_it() {
    let impostor = Impostor::start();
    let service = tempfile::NamedTempFile::new().expect("a file");
    let text = format!("[here]\nhost=127.0.0.1\nport={}\nuser=app\nrequire_auth=password\n", impostor.port);
    std::fs::write(&service, text).expect("a file");
    let program = sweep(["--dry-run"]).env("PGSERVICE", "here").env("PGSERVICEFILE", service.path());
    with_password(program).run().says_once(CONFIG, &[NOT_GIVEN]);
    assert!(!impostor.heard().contains("hunter2"));
}

/// A socket in a directory that everybody may write to is as open as a port, and libpq never speaks TLS there, whatever
/// the URL asks for.
#[rstest]
#[case("")]
#[case("&sslmode=require")]
fn nor_over_a_socket(#[case] further: &str) {
    let directory = tempfile::tempdir().expect("a directory");
    let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).expect("a socket");
    let (hears, heard) = channel();
    thread::spawn(move || {
        listener.incoming().map_while(Result::ok).try_for_each(|client| hears.send(ask_for_password(client)))
    });
    let url = format!("postgres://app@/db?host={}{further}", directory.path().display());
    with_password(sweep_at(&url, [])).run().says_once(CONFIG, &[NOT_GIVEN]);
    assert!(!receive_all(&heard).contains("hunter2"));
}

/// The control: an operator who allows it gives the password away, and the impostor hears it.
#[test]
fn whoever_says_in_the_url_that_it_may_be_given_gives_it() {
    let impostor = Impostor::start();
    let url = format!("postgres://app@127.0.0.1:{}/db?require_auth=password", impostor.port);
    with_password(sweep_at(&url, [])).run();
    assert!(impostor.heard().contains("hunter2secret"));
}

/// A real server that knows its clients in each of the possible ways.
#[test]
fn peers_trust_scram_md5_and_passwords_over_tls_go_on_working() {
    let server = Server::start();
    migrate_at(&server.url, []).run().done();
    run(
        &mut connect(&server.url),
        "create role by_password superuser login password 'hunter2secret'; create role by_trust superuser login;
         set password_encryption = 'md5'; create role by_md5 superuser login password 'hunter2secret'",
    );
    let ca = server.directory.path().join("ca.crt").display().to_string();
    server.lets_in(
        "local all all trust\nhostssl all by_password all password\nhostnossl all by_password all password\n\
         host all by_trust all trust\nhost all by_md5 all md5\nhost all all all scram-sha-256",
    );
    let at = |user: &str, further: &str| {
        let url = format!(
            "host=localhost hostaddr=127.0.0.1 port={} user={user} dbname=postgres sslrootcert={ca} {further}",
            server.port()
        );
        with_password(sweep_at(&url, ["--dry-run"])).run()
    };
    for sslmode in ["", "sslmode=prefer", "sslmode=require", "sslmode=verify-full"] {
        for user in ["by_password", "by_trust", "by_md5"] {
            at(user, sslmode).done();
        }
    }
    for user in ["by_trust", "by_md5"] {
        at(user, "sslmode=disable").done();
    }
    at("by_password", "sslmode=disable").says_once(CONFIG, &[NOT_GIVEN]);
    at("by_password", "sslmode=disable require_auth=password").done();
    let url = server.tcp("sslmode=require user=by_password password=hunter2secret");
    sweep_at(&url, ["--dry-run"]).env("PGREQUIREAUTH", "password").run().done();
    at("by_password", "sslmode=verify-full require_auth=scram-sha-256")
        .says_once(CONFIG, &["authentication method requirement"]);
    sweep_at(&server.tcp("sslmode=disable"), ["--dry-run"]).run().done();
    sweep_at(&server.url, []).run().done();
}

#[rstest]
#[case::another_machine("host=192.0.2.1 connect_timeout=1", 1)]
#[case::of_several_one("host=127.0.0.1,192.0.2.1 port=1,1 connect_timeout=1", 1)]
#[case::encrypted_for_anybody("host=192.0.2.1 connect_timeout=1 sslmode=require", 1)]
#[case::verified("host=192.0.2.1 connect_timeout=1 sslmode=verify-full", 0)]
#[case::this_machine("host=localhost port=1", 0)]
#[case::a_socket("host=/nonexistent", 0)]
fn a_remote_server_that_is_not_verified_is_warned_of_once(#[case] url: &str, #[case] warnings: usize) {
    let ran = sweep_at(url, []).run();
    ran.says_once(UNAVAILABLE, &["cannot reach PostgreSQL"]);
    assert_eq!(ran.err.matches("add sslmode=verify-full").count(), warnings, "{ran}");
}
