//! Servers that let a client in, confirm what it sends, and answer nothing more: to the network all is well.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use sweep::rules::Id;

use super::UNAVAILABLE;
use crate::support::daemon::{Daemon, EACH_SECOND, NEVER, daemon};
use crate::support::mcp::{Client, mcp};
use crate::support::program::sweep;
use crate::support::proxy::{Afterwards, Cut, Direction, Proxy};
use crate::support::receiver::{Answer, Receiver};
use crate::support::wait::wait_until;
use crate::support::world::{On, World};

/// The URL of a silent server. Two seconds is the least timeout that libpq allows.
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

/// Each try leaves a connection that may still be answered, and their number must not grow. A sweep of the others is no
/// sweep of all, and a cycle without the databases that are away has failed.
#[test]
fn a_daemon_goes_on_beside_one_that_is_silent() {
    let (silent, mut world, switch) = (silent_server(), World::new(On::Sqlite), Receiver::new());
    let program = daemon(&silent, EACH_SECOND, ["--database", &world.url]).env("SWEEP_PING_URL", switch.url());
    let mut daemon = Daemon::start(program.env("SWEEP_NOTIFY_PRIVATE", "on"));
    daemon.says("the database is unavailable, waiting: ");
    daemon.says_times(3, "sweep completed");
    let metrics = daemon.get("/metrics").1;
    assert!(metrics.contains("sweep_daemon_sweeps_total{ended=\"failed\"} 0"), "{metrics}");
    switch.wait_for(4);
    let ends = switch.requests().into_iter().map(|request| request.path).filter(|path| !path.ends_with("/start"));
    assert!(
        ends.clone().next().is_some() && ends.clone().all(|path| path.ends_with("/fail")),
        "{:?}",
        ends.collect::<Vec<_>>()
    );
    daemon.ends_well();
    assert!(2 < world.count("sweeps"));
}

fn orphan(world: &mut World) -> Id {
    let agent = world.agent("idle");
    world.orphan(&agent)
}

/// Starts a sweep through this proxy, of a database with much to do, which falls silent in the middle.
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
    orphan(&mut other);
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("sweep.prom");
    let program = sweep(["--database", &url, "--database", &other.url, "--set", "deadline=5s"]);
    let began = Instant::now();
    let mut sweep = falls_silent(program.env("SWEEP_METRICS_FILE", &file), &proxy);
    assert_eq!(sweep.ended().0, UNAVAILABLE);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let name = format!("database{{127.0.0.1:{}/{}}}", proxy.port(), world.name());
    sweep.says(&format!("{name}: the database has fallen silent: no answer within 10s"));
    assert_eq!((other.count("sweeps"), other.count("wakes")), (1, 1));
    assert_eq!(world.count("recoveries"), world.count("wakes"), "half done");
    // A database that was found silent is not asked again.
    assert_eq!(sweep.count("the metrics could not be written"), 1, "{:?}", sweep.log());
    assert!(std::fs::read_to_string(&file).expect("metrics").contains("recoveries_total"));
}

/// A slow receiver of one database's notifications takes no time of the other databases.
#[test]
fn a_receiver_that_hangs_takes_the_time_of_no_database() {
    let (mut worlds, receiver) = ([World::new(On::Sqlite), World::new(On::Sqlite)], Receiver::answering(Answer::Hang));
    worlds.iter_mut().for_each(|world| drop(orphan(world)));
    let [first, second] = worlds.each_ref().map(|world| world.url.as_str());
    let program = sweep(["--database", first, "--database", second, "--set", "deadline=8s", "--set", "attempts_max=0"]);
    program.env("SWEEP_SLACK_URL", receiver.url()).run().done();
    assert_eq!(worlds.each_mut().map(|world| world.count("notifications where attempts = 1")), [1, 1]);
}

#[test]
fn a_daemon_goes_on_beside_one_that_falls_silent_in_the_middle() {
    let ((_world, proxy, url), mut other) = (with_much_to_do(), World::new(On::Sqlite));
    let flags = ["--database", &other.url, "--set", "deadline=1s"];
    let mut daemon = falls_silent(daemon(&url, EACH_SECOND, flags), &proxy);
    daemon.says("the database is unavailable, waiting: the database has fallen silent: no answer within 6s");
    let before = other.count("sweeps");
    daemon.says_times(daemon.count("sweep completed") + 2, "sweep completed");
    assert!(before < other.count("sweeps"));
    daemon.ends_well();
}

/// Each question and change of a command ends soon, or not at all.
#[test]
fn a_command_gives_up_on_one_that_falls_silent() {
    let mut world = World::new(On::Postgres);
    let issue = orphan(&mut world).0;
    let directory = tempfile::tempdir().expect("a directory");
    let folder = directory.path().join("new").display().to_string();
    let commands = [
        vec!["status"],
        vec!["quarantine", "list"],
        vec!["quarantine", "release", "--all"],
        vec!["exempt", "list"],
        vec!["exempt", "add", "issue", &issue, "--reason", "a trip"],
        vec!["exempt", "remove", "issue", &issue],
        vec!["wake", &issue],
        vec!["host", "new", &folder],
        vec!["watch", "--", "true"],
    ];
    thread::scope(|scope| {
        for command in commands {
            let name = world.name();
            scope.spawn(move || {
                let proxy = Proxy::start(Some(IN_THE_FIRST_ANSWERS));
                let url = format!("{}&connect_timeout=2", proxy.url(name, "disable"));
                let ran = sweep(command).env("DATABASE_URL", url).env("SWEEP_STATEMENT_TIMEOUT", "500ms").run();
                ran.refused(UNAVAILABLE, &["the database has fallen silent: no answer within 7s"]);
            });
        }
    });
}

#[test]
fn a_tool_gives_up_on_one_that_falls_silent() {
    let (mut world, proxy) = (World::new(On::Postgres), Proxy::start(Some(IN_THE_FIRST_ANSWERS)));
    let issue = orphan(&mut world).0;
    let url = format!("{}&connect_timeout=2", proxy.url(world.name(), "disable"));
    let program = mcp(&url, ["--allow-changes", "--as", "ada"]).env("SWEEP_STATEMENT_TIMEOUT", "500ms");
    let arguments = json!({ "kind": "issue", "subject": issue, "reason": "a trip", "until": "2d" });
    let why = Client::start(program).refusal("exempt", arguments);
    assert!(why.contains("the database has fallen silent: no answer within 7s, and none for "), "{why}");
}

/// Freezes after the server has let the client in and the client knows its settings.
const IN_THE_FIRST_ANSWERS: Cut = Cut { direction: Direction::ToClient, byte: 1000, afterwards: Afterwards::Frozen };

/// A change of the schema may take long: it has no limit, and a signal ends it at once.
#[test]
fn a_signal_ends_a_migration_at_once() {
    let world = World::new(On::Postgres);
    for flags in [["migrate", "--quiet"].as_slice(), &["migrate", "--uninstall", "--yes"]] {
        let proxy = Proxy::start(Some(IN_THE_FIRST_ANSWERS));
        let mut program = sweep(flags.iter().copied()).env("DATABASE_URL", proxy.url(world.name(), "disable"));
        let mut migration = program.start();
        wait_until("an answer", || proxy.has_cut());
        kill_process(Pid::from_child(&migration), Signal::TERM).expect("a process");
        assert_eq!(migration.wait().expect("an end").signal(), Some(Signal::TERM.as_raw()));
    }
}

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
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("sweep.prom");
    let mut sweep = falls_silent(sweep(["--database", &url]).env("SWEEP_METRICS_FILE", file), &proxy);
    sweep.signal(Signal::TERM);
    thread::sleep(Duration::from_secs(1));
    assert!(sweep.runs(), "what is in hand has a moment");
    assert_eq!(sweep.ended().0, 143);
    assert_eq!(sweep.count("the database has fallen silent"), 1, "{:?}", sweep.log());
    assert_eq!(world.count("recoveries"), world.count("wakes"), "half done");
}

#[test]
fn a_signal_ends_a_delivery_whose_server_falls_silent() {
    let (mut world, proxy, slack) =
        (World::new(On::Postgres), Proxy::start(None), Receiver::answering(Answer::Slowly(500)));
    orphan(&mut world);
    let url = proxy.url(world.name(), "disable");
    let program = daemon(&url, NEVER, ["--at-start", "on", "--set", "attempts_max=0"]);
    let mut daemon = Daemon::start(program.env("SWEEP_SLACK_URL", slack.url()));
    slack.wait_for(1);
    proxy.freeze();
    daemon.ends_well();
}
