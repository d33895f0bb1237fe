//! A server that is stopped where it is (SIGSTOP), in the middle of a sweep: it holds up nobody, it is named with what
//! was done until then, and nothing of the sweep is done later.

use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use serde_json::Value;
use sweep::store::{Abort, Access, Timeouts};

use super::UNAVAILABLE;
use crate::support::daemon::{Daemon, EACH_SECOND, daemon};
use crate::support::databases::connect_as_sweep;
use crate::support::json::parse_valid;
use crate::support::program::sweep;
use crate::support::scratch::psql;
use crate::support::server::Server;
use crate::support::wait::{wait_for, wait_until};
use crate::support::world::{On, World};

/// Five seconds after its deadline a sweep is given up, and the process ends a moment later.
const DEADLINE: Duration = Duration::from_secs(3);
const ENDED: Duration = Duration::from_secs(12);

fn number(server: &Server, query: &str) -> i64 {
    psql(&server.url, query).expect("an answer").trim().parse().expect("a number")
}

fn ended_at_once(urls: &[&str], server: &Server) -> Value {
    let databases = urls.iter().flat_map(|url| ["--database", url]);
    let flags = ["--set", "deadline=3s", "--set", "connections=2", "--output", "json"];
    let (began, mut sweep) = (Instant::now(), Daemon::start(sweep(databases.chain(flags))));
    sweep.says(" continued: ");
    server.freeze();
    let (code, out) = sweep.ended();
    let took = began.elapsed();
    assert!(DEADLINE < took && took < ENDED, "{took:?}");
    assert_eq!((code, sweep.count("the database has fallen silent: no answer within 8s")), (UNAVAILABLE, 1), "{out}");
    parse_valid(&out)
}

/// Whichever of several it is, and alone. The control is the server itself, which goes on with what it was asked.
#[test]
fn a_server_that_is_stopped_is_given_up_soon_after_the_deadline_and_nothing_is_done_later() {
    let (server, mut others) = (Server::start().with_orphans(10), [World::new(On::Sqlite), World::new(On::Postgres)]);
    let [first, last] = others.each_ref().map(|world| world.url.clone());
    for urls in
        [[server.url.as_str()].as_slice(), &[&server.url, &last], &[&first, &server.url], &[&first, &server.url, &last]]
    {
        psql(&server.url, "update sweep.issues set identifier = id::text").expect("other names");
        server.add_orphans(3000);
        let before = number(&server, "select count(*) from sweep.wakes");
        let report = ended_at_once(urls, &server);
        let is_alone = urls.len() == 1;
        let place = urls.iter().position(|url| *url == server.url).expect("a place");
        let of_server = if is_alone { report } else { report["databases"][place].clone() };
        let subjects = of_server["subjects"].as_array().expect("subjects");
        assert!(!subjects.is_empty() && of_server["ended"] == "failed", "{of_server}");
        assert!(is_alone || of_server["exit_code"] == UNAVAILABLE, "{of_server}");
        let told = subjects.iter().filter(|subject| subject["outcome"] == "continued").count() as i64;
        assert_eq!(of_server["kinds"]["issues"]["continued"], told, "{}", of_server["kinds"]);

        server.thaw();
        let is_over = "select count(*) = 1 from pg_stat_activity where backend_type = 'client backend'";
        wait_until("its connections are over", || psql(&server.url, is_over).is_ok_and(|over| over.trim() == "t"));
        let done = number(&server, "select count(*) from sweep.wakes");
        assert_eq!(number(&server, "select count(*) from sweep.recoveries"), done, "half done");
        assert!(before + told <= done, "{told} were told after {before}, and {done} are there");
    }
    let swept = others.each_mut().map(|world| world.count("sweeps where ended = 'completed'"));
    assert_eq!(swept, [2, 2], "the others");
}

/// What has time is committed: the control.
#[test]
fn nothing_is_begun_or_committed_for_whoever_has_given_up() {
    for on in [On::Postgres, On::Sqlite] {
        let mut world = World::new(on);
        let url = world.url.clone();
        let write = |time: Duration, wait: Duration| {
            let mut db = connect_as_sweep(&url);
            let timeouts = Timeouts { given_up_at: Some(Instant::now() + time), ..Timeouts::default() };
            let written = db.in_transaction(Access::Write, &timeouts, |db| {
                std::thread::sleep(wait);
                db.batch_execute("insert into agents (id, name) values ('5e551000-0000-4000-8000-000000000001', 'Ada')")
            });
            written.map_err(Abort::error).err().map(|error| error.to_string())
        };
        let late = "nobody waits for it any more: it took too long";
        assert_eq!(write(Duration::ZERO, Duration::ZERO).as_deref(), Some(late));
        // A server ends the connection itself, since nothing is asked in the transaction.
        let refused = write(Duration::from_millis(400), Duration::from_millis(450)).expect("a refusal");
        assert_eq!(refused == late, on == On::Sqlite, "{refused}");
        assert_eq!(world.count("agents"), 0);
        assert_eq!(write(Duration::from_secs(60), Duration::ZERO), None);
        assert_eq!(world.count("agents"), 1);
    }
}

/// Ten times of the schedule: the other is swept at each, also before the daemon knows that the server is silent.
#[test]
fn a_daemon_keeps_the_schedule_of_the_others_beside_a_server_that_is_stopped() {
    let (server, mut other) = (Server::start().with_orphans(6000), World::new(On::Postgres));
    let flags = ["--database", &other.url, "--set", "deadline=4s", "--set", "connections=2"];
    let mut daemon = Daemon::start(daemon(&server.url, EACH_SECOND, flags));
    daemon.says(" continued: ");
    server.freeze();
    let (began, before) = (Instant::now(), other.count("sweeps"));
    wait_for("ten sweeps", || (before + 10 <= other.count("sweeps")).then_some(()));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let away = daemon.says("the database is unavailable, waiting: the database has fallen silent: no answer within 9s");
    assert!(away.contains("/postgres}: "), "{away}");
    assert_eq!(daemon.answers("/readyz", 503), "the database postgres is unavailable\n");
    daemon.answers("/healthz", 200);
    server.thaw();
    daemon.says("the database is back after ");
    daemon.answers("/readyz", 200);
    daemon.ends_well();
}
