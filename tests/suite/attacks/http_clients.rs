//! Clients of the daemon's HTTP pages that are slow, many, or come from a web page elsewhere.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rstest::rstest;

use crate::support::daemon::{Daemon, NEVER, daemon};
use crate::support::wait::{SetAtEnd, wait_until};
use crate::support::world::{On, World};

/// How long a probe of Kubernetes waits by default.
const PROMPTLY: Duration = Duration::from_secs(1);

const HALF_A_REQUEST: &str = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n";

fn healthy() -> (World, Daemon) {
    let world = World::new(On::Sqlite);
    let daemon = Daemon::start(daemon(&world.url, NEVER, []));
    daemon.answers("/readyz", 200);
    (world, daemon)
}

/// A daemon whose database accepts connections and never answers: each reading of metrics takes seconds.
fn with_a_silent_database() -> (TcpListener, Daemon) {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("postgres://sweep@{}/sweep", silent.local_addr().expect("an address"));
    let daemon = Daemon::start(daemon(&url, NEVER, []));
    (silent, daemon)
}

/// Opens a connection, and sends a part of a request.
fn sent(daemon: &Daemon, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", daemon.port())).expect("a connection");
    stream.write_all(request.as_bytes()).expect("a request");
    stream
}

/// Reads the answer until the connection ends.
fn answer(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[track_caller]
fn assert_healthz_answers_promptly(daemon: &Daemon) {
    for _ in 0..10 {
        let began = Instant::now();
        assert_eq!(daemon.get("/healthz"), (200, "ok\n".to_owned()));
        assert!(began.elapsed() < PROMPTLY, "{:?}", began.elapsed());
    }
}

#[rstest]
#[case(65)]
#[case(200)]
fn clients_that_never_finish_their_request_do_not_keep_healthz_from_answering(#[case] crowd: usize) {
    let (_world, daemon) = healthy();
    let _slow: Vec<TcpStream> = (0..crowd).map(|_| sent(&daemon, HALF_A_REQUEST)).collect();
    assert_healthz_answers_promptly(&daemon);
}

#[test]
fn clients_that_connect_and_say_nothing_do_not_keep_healthz_from_answering() {
    let (_world, daemon) = healthy();
    let _silent: Vec<TcpStream> = (0..200).map(|_| sent(&daemon, "")).collect();
    assert_healthz_answers_promptly(&daemon);
}

/// Each client comes back as soon as it is sent away, so that all places are always taken.
#[test]
fn a_crowd_that_reconnects_at_once_does_not_keep_healthz_from_answering() {
    let (_world, daemon) = healthy();
    let (is_over, connected, address) = (AtomicBool::new(false), AtomicU64::new(0), ("127.0.0.1", daemon.port()));
    thread::scope(|scope| {
        let _end = SetAtEnd(&is_over);
        for _ in 0..200 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let Ok(mut stream) = TcpStream::connect(address) else { continue };
                    connected.fetch_add(1, Ordering::Relaxed);
                    let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
                    let _ = stream.write_all(HALF_A_REQUEST.as_bytes());
                    let _ = stream.read(&mut [0; 1024]);
                }
            });
        }
        wait_until("a crowd", || 200 <= connected.load(Ordering::Relaxed));
        assert_healthz_answers_promptly(&daemon);
    });
}

/// The clients' requests are complete, so that none of their connections is idle.
#[test]
fn many_who_wait_for_metrics_do_not_keep_healthz_from_answering() {
    let (_silent, daemon) = with_a_silent_database();
    let _waiting: Vec<TcpStream> = (0..200).map(|_| sent(&daemon, &request("/metrics", "localhost"))).collect();
    assert_healthz_answers_promptly(&daemon);
}

#[test]
fn a_request_under_way_does_not_give_way_to_clients_that_never_finish_theirs() {
    let (_silent, daemon) = with_a_silent_database();
    let waiting = sent(&daemon, &request("/metrics", "localhost"));
    assert_healthz_answers_promptly(&daemon);
    let _slow: Vec<TcpStream> = (0..200).map(|_| sent(&daemon, HALF_A_REQUEST)).collect();
    assert!(answer(waiting).starts_with("HTTP/1.1 200 OK"));
}

#[test]
fn a_request_has_two_seconds_for_its_header_however_steadily_it_comes() {
    let (_world, daemon) = healthy();
    let began = Instant::now();
    let mut dripping = sent(&daemon, HALF_A_REQUEST);
    dripping.set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout");
    let mut answered = [0; 1024];
    // A read that times out is an error as well: the connection is still open.
    while dripping.read(&mut answered).map_err(|error| error.kind()) == Err(std::io::ErrorKind::WouldBlock) {
        assert!(began.elapsed() < Duration::from_secs(5), "it is still served after {:?}", began.elapsed());
        let _ = dripping.write_all(b"X-More: 1\r\n");
    }
    assert!(Duration::from_millis(1900) < began.elapsed(), "{:?}", began.elapsed());

    let mut in_two_parts = sent(&daemon, HALF_A_REQUEST);
    in_two_parts.write_all(b"\r\n").expect("the rest");
    assert!(answer(in_two_parts).starts_with("HTTP/1.1 200 OK"));
}

/// A page's name leads to this machine, and the browser takes the daemon's answer for the page's own.
#[test]
fn a_web_page_whose_name_leads_to_this_machine_reads_nothing() {
    let (_world, daemon) = healthy();
    for path in ["/metrics", "/healthz", "/readyz", "/"] {
        let answer = answer(sent(&daemon, &request(path, "rebound.example:9464")));
        assert!(answer.starts_with("HTTP/1.1 421 Misdirected Request"), "{path}: {answer}");
        assert!(
            answer.ends_with(
                "Host: expected localhost, 127.0.0.1 or [::1], since this is served on this machine alone\n"
            )
        );
        assert!(!answer.contains("sweep_"), "{answer}");
    }
    for host in ["localhost", "LocalHost:1", "127.0.0.1:9464", "[::1]:9464"] {
        let answer = answer(sent(&daemon, &request("/metrics", host)));
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("sweep_build_info"), "{host}: {answer}");
    }
}

#[rstest]
#[case::none("GET /metrics HTTP/1.1\r\n\r\n", 400)]
#[case::none_in_http_1_0("GET /metrics HTTP/1.0\r\n\r\n", 400)]
#[case::empty("GET /metrics HTTP/1.1\r\nHost:\r\n\r\n", 421)]
#[case::two("GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", 400)]
#[case::two_the_other_way_round("GET /metrics HTTP/1.1\r\nHost: evil.example\r\nHost: localhost\r\n\r\n", 400)]
#[case::no_text("GET /metrics HTTP/1.1\r\nHost: localhost\u{e9}\r\n\r\n", 421)]
#[case::another_in_the_request_line("GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 421)]
#[case::another_in_the_header("GET http://localhost/metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421)]
#[case::both("GET http://localhost/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 200)]
fn whom_a_request_means_is_said_once_and_clearly(#[case] request: &str, #[case] status: u16) {
    let (_world, daemon) = healthy();
    let answer = answer(sent(&daemon, request));
    assert_eq!(answer.split(' ').nth(1), Some(status.to_string().as_str()), "{answer}");
    assert_eq!(answer.contains("sweep_build_info"), status == 200, "{answer}");
}

fn request(path: &str, host: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")
}
