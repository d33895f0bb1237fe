//! What waits is delivered between two sweeps.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::support::daemon::{Daemon, NEVER, daemon};
use crate::support::program::sweep_at;
use crate::support::wait::wait_for;
use crate::support::world::{On, World};

#[test]
fn a_notification_that_could_not_be_delivered_is_tried_again_before_the_next_sweep() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    world.orphan(&agent);
    let slack = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/hook", slack.local_addr().expect("an address"));
    // Nobody answers before the listener below does; the request times out, or is told to come again.
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("an address");
    let ran =
        sweep_at(&world.url, ["--set", "attempts_max=0"]).env("SWEEP_SLACK_URL", format!("http://{nobody}/hook")).run();
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(world.count("notifications where attempts = 1 and delivered_at is null"), 1, "{ran}");
    world.run("update notifications set due_at = now()");

    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let (mut stream, _) = slack.accept().expect("a connection");
        let mut buffer = [0; 4096];
        let n = stream.read(&mut buffer).expect("a request");
        let _ = sender.send(String::from_utf8_lossy(&buffer[..n]).into_owned());
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    });
    let mut daemon = Daemon::start(daemon(&world.url, NEVER, []).env("SWEEP_SLACK_URL", url));

    let request = receiver.recv_timeout(Duration::from_secs(60)).expect("a request");
    assert!(request.starts_with("POST /hook HTTP/1.1"), "{request}");
    let delivered = "notifications where delivered_at is not null";
    wait_for("a delivery", || (world.count(delivered) == 1).then_some(()));
    assert_eq!(daemon.count("sweep completed"), 0);
    daemon.ends_well();
}
