//! Servers that let a client in, confirm what it sends, and answer nothing more: to the network all is well.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::UNAVAILABLE;
use crate::support::daemon::{Daemon, EACH_SECOND, daemon};
use crate::support::program::sweep;
use crate::support::proxy::{Afterwards, Cut, Direction, Proxy};
use crate::support::wait::{wait_for, wait_until};
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

/// A sweep through this proxy, of a database with much to do, which falls silent in the middle.
fn falls_silent(program: crate::support::program::Program, proxy: &Proxy) -> Daemon {
    let sweep = Daemon::start(program);
    sweep.says("continued");
    proxy.freeze();
    sweep
}

fn with_much_to_do() -> (World, Proxy, String) {
    let (mut world, proxy) = (World::new(On::Postgres), Proxy::start(None));
    let agent = world.agent("idle");
    world.orphans(&agent, 0..2000);
    let url = proxy.url(world.name(), "disable");
    (world, proxy, url)
}

#[test]
fn one_that_falls_silent_has_its_share_of_the_deadline_and_the_others_theirs() {
    let ((mut world, proxy, url), mut other) = (with_much_to_do(), World::new(On::Sqlite));
    let bounds = ["--deadline", "4s", "--statement-timeout", "1s"];
    let program = sweep(["--database", &url, "--database", &other.url].into_iter().chain(bounds));
    let began = Instant::now();
    let mut sweep = falls_silent(program, &proxy);
    assert_eq!(sweep.ended().0, UNAVAILABLE);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let said = sweep.says("the database has fallen silent: no answer within 8 s");
    assert!(said.contains(&format!("database{{127.0.0.1:{}/{}}}", proxy.port(), world.name())), "{said}");
    assert_eq!(other.count("sweeps"), 1);
    assert_eq!(world.count("recoveries"), world.count("wakes"), "half done");
}

#[test]
fn a_daemon_goes_on_beside_one_that_falls_silent_in_the_middle() {
    let ((_world, proxy, url), mut other) = (with_much_to_do(), World::new(On::Sqlite));
    let bounds = ["--deadline", "2s", "--statement-timeout", "500ms"];
    let flags = ["--database", &other.url].into_iter().chain(bounds);
    let mut daemon = falls_silent(daemon(&url, EACH_SECOND, flags), &proxy);
    daemon.says("the database has fallen silent");
    daemon.says("the database is unavailable, waiting: ");
    let before = other.count("sweeps");
    daemon.says_times(3, "sweep completed");
    assert!(before < other.count("sweeps"));
    daemon.ends_well();
}

/// What only looks gives up as well.
#[test]
fn what_looks_at_one_that_falls_silent_gives_up() {
    let (_world, proxy, url) = with_much_to_do();
    thread::scope(|scope| {
        scope.spawn(|| {
            wait_for("a connection that is in use", || (2000 < proxy.passed(Direction::ToClient).len()).then_some(()));
            proxy.freeze();
        });
        let url = format!("{url}&connect_timeout=2");
        let looks = sweep(["status", "--database", &url]).env("SWEEP_STATEMENT_TIMEOUT", "500ms").run();
        looks.refused(UNAVAILABLE, &["the database has fallen silent: no answer within 7s"]);
    });
}

/// The server has let the client in, and knows its settings.
const IN_THE_FIRST_ANSWERS: Cut = Cut { direction: Direction::ToClient, byte: 1000, afterwards: Afterwards::Frozen };

#[test]
fn a_signal_ends_a_verification_whose_server_falls_silent() {
    let (world, proxy) = (World::new(On::Postgres), Proxy::start(Some(IN_THE_FIRST_ANSWERS)));
    let url = proxy.url(world.name(), "disable");
    let mut verification = Daemon::start(sweep(["host", "verify", "native", "--database", &url]));
    wait_until("an answer", || proxy.has_cut());
    verification.signal(Signal::TERM);
    assert_eq!(verification.ended().0, 143);
}

#[test]
fn a_signal_ends_a_sweep_whose_server_falls_silent() {
    let (mut world, proxy, url) = with_much_to_do();
    let mut sweep = falls_silent(sweep(["--database", &url]), &proxy);
    sweep.signal(Signal::TERM);
    thread::sleep(Duration::from_secs(1));
    assert!(sweep.runs(), "what is in hand has a moment");
    assert_eq!(sweep.ended().0, 143);
    assert_eq!(sweep.count("the database has fallen silent"), 1, "{:?}", sweep.log());
    assert_eq!(world.count("recoveries"), world.count("wakes"), "half done");
}
