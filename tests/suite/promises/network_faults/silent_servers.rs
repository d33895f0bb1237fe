//! Servers that let a client in, confirm what it sends, and answer nothing more: to the network all is well.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::UNAVAILABLE;
use crate::support::daemon::{Daemon, EACH_SECOND, daemon};
use crate::support::program::sweep;
use crate::support::proxy::Proxy;
use crate::support::world::{On, World};

/// The URL of one. Two seconds are the least that libpq allows.
fn silent_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || let_in(client));
        }
    });
    format!("postgres://ada@127.0.0.1:{port}/agents?sslmode=disable&connect_timeout=2")
}

fn let_in(mut client: TcpStream) {
    let mut buffer = [0; 4096];
    const AUTHENTICATION_OK: &[u8] = b"R\0\0\0\x08\0\0\0\0";
    const READY_FOR_QUERY: &[u8] = b"Z\0\0\0\x05I";
    let _startup = client.read(&mut buffer);
    let _ = client.write_all(&[AUTHENTICATION_OK, READY_FOR_QUERY].concat());
    while let Ok(1..) = client.read(&mut buffer) {}
}

const SAYS: &str = "cannot reach PostgreSQL: no answer within 6s";

#[test]
fn one_that_is_silent_is_unavailable_and_the_others_are_swept() {
    let (silent, mut world) = (silent_server(), World::new(On::Sqlite));
    let databases = ["--database", &silent, "--database", &world.url, "--output", "json"];
    let ran = sweep(databases).run();
    let database = |place: usize| ran.json()["databases"][place].clone();
    assert_eq!((database(0)["exit_code"].as_i64(), database(1)["exit_code"].as_i64()), (Some(69), Some(0)), "{ran}");
    assert_eq!((ran.code, database(0)["error"].as_str()), (UNAVAILABLE, Some(SAYS)), "{ran}");
    assert_eq!(world.count("sweeps"), 1);
    sweep(["status", "--database", &silent]).run().refused(UNAVAILABLE, &[SAYS]);
}

/// Each try leaves a connection that may still be answered: there are not ever more of them.
#[test]
fn a_daemon_goes_on_beside_one_that_is_silent() {
    let (silent, mut world) = (silent_server(), World::new(On::Sqlite));
    let mut daemon = Daemon::start(daemon(&silent, EACH_SECOND, ["--database", &world.url]));
    daemon.says("the database is unavailable, waiting: ");
    daemon.says_times(3, "sweep completed");
    daemon.ends_well();
    assert!(2 < world.count("sweeps"));
}

#[test]
fn a_signal_ends_a_sweep_whose_server_falls_silent() {
    let (mut world, proxy) = (World::new(On::Postgres), Proxy::start(None));
    let agent = world.agent("idle");
    world.orphans(&agent, 0..2000);
    let url = proxy.url(world.name(), "disable");
    let mut sweep = Daemon::start(sweep(["--database", &url]));
    sweep.says("continued");
    proxy.freeze();
    sweep.signal(Signal::TERM);
    thread::sleep(Duration::from_secs(1));
    assert!(sweep.runs(), "what is in hand has a moment");
    assert_eq!(sweep.ended().0, 143);
    assert_eq!(sweep.count("what is in hand has not ended within 20s"), 1, "{:?}", sweep.log());
    assert_eq!(world.count("recoveries"), world.count("wakes"), "half done");
}
