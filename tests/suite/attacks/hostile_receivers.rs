//! Servers that answer for a webhook: an answer without end fills neither memory nor time, and no address smuggles a
//! second request.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread;

use rstest::rstest;

use super::content::small;
use crate::support::program::sweep_at;
use crate::support::world::notifications::SECRET;
use crate::support::world::{On, World};

/// The URL of a receiver that sends this head, and then goes on for as long as anybody reads, for a gigabyte at most.
fn endless(head: &'static str, further: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.expect("a client");
            let mut request = BufReader::new(client.try_clone().expect("a client")).lines();
            while request.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let further = further.repeat(1 << 20 >> further.len().ilog2());
            let mut answer = client.write_all(head.as_bytes());
            for _ in 0..1024 {
                answer = answer.and_then(|()| client.write_all(further.as_bytes()));
            }
        }
    });
    url
}

#[rstest]
#[case::header("HTTP/1.1 200 OK\r\n", "X-Padding: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n")]
#[case::one_header("HTTP/1.1 200 OK\r\nX-Padding: ", "xxxxxxxx")]
#[case::reason("HTTP/1.1 500 ", "because ")]
#[case::body("HTTP/1.1 500 No\r\nContent-Length: 99999999999\r\n\r\n", "xxxxxxxx")]
#[case::chunks("HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n", "8\r\nxxxxxxxx\r\n")]
#[case::compressed("HTTP/1.1 500 No\r\nContent-Encoding: gzip\r\n\r\n\x1f", "xxxxxxxx")]
#[case::answers("", "HTTP/1.1 100 Continue\r\n\r\n")]
fn an_answer_without_end_fills_neither_memory_nor_time(#[case] head: &'static str, #[case] further: &'static str) {
    let mut world = World::new(On::Sqlite);
    let (_, step) = world.stalled_step(None);
    let url = endless(head, further);

    let ran = small(&world.url, []).env("SWEEP_WEBHOOK_URL", url).env("SWEEP_WEBHOOK_SECRET", SECRET).run().done();

    assert!(ran.err.contains("webhook was not notified of 1 notification, attempt"), "{ran}");
    assert!(ran.err.len() < 4_000, "{ran}");
    assert_eq!(world.count(&format!("recoveries where subject_id = '{step}'")), 1);
    let error = world.text("last_error", "notifications").expect("an error");
    assert!(error.len() <= 1_000, "{error}");
}

#[rstest]
#[case::lines("220-more\r\n")]
#[case::one_line("220-more")]
fn a_mail_server_s_answer_without_end_fills_neither_memory_nor_time(#[case] further: &'static str) {
    let mut world = World::new(On::Sqlite);
    world.stalled_step(None);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, further) = (client.expect("a client"), further.repeat(1 << 17));
            (0..1024).try_for_each(|_| client.write_all(further.as_bytes())).ok();
        }
    });
    let url = format!("smtp://127.0.0.1:{port}/?from=a@b.example&to=a@b.example");

    let ran = small(&world.url, []).env("SWEEP_EMAIL_URL", url).run().done();

    assert!(ran.err.contains("email was not notified of 1 notification, attempt 1: its answer is no SMTP"), "{ran}");
    assert!(ran.err.len() < 4_000, "{ran}");
}

#[rstest]
#[case::a_header("http://127.0.0.1:1/hook\r\nX-Evil: 1")]
#[case::a_request("http://127.0.0.1:1/ HTTP/1.1\r\nHost: x\r\n\r\nGET /")]
#[case::a_tab("http://127.0.0.1:1/\tHTTP/1.1")]
fn a_url_that_holds_more_than_an_address_is_refused_unseen(#[case] url: &str) {
    let world = World::new(On::Sqlite);
    let program = sweep_at(&world.url, []).env("SWEEP_WEBHOOK_URL", url).env("SWEEP_WEBHOOK_SECRET", SECRET);
    program.run().refused(78, &["SWEEP_WEBHOOK_URL", "malformed"]);
}
