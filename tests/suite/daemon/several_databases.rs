//! A daemon of several databases: new files are found, and one that is away or wrong keeps none of the others waiting.

use crate::support::daemon::{Daemon, EACH_SECOND, NEVER, daemon};
use crate::support::databases::{copy_of_template, files};
use crate::support::program::{Program, migrate_at};
use crate::support::proxy::Proxy;
use crate::support::receiver::{Answer, Receiver};
use crate::support::scratch::{Scratch, url_of};
use crate::support::server::Server;
use crate::support::wait::wait_for;
use crate::support::world::{On, World};

const CONFIG: i32 = 78;

/// A daemon of these databases.
fn daemon_of<'a>(urls: &[&'a str], schedule: &'a str, further: &[&'a str]) -> Program {
    let others = urls[1..].iter().flat_map(|url| ["--database", url]);
    daemon(urls[0], schedule, others.chain(further.iter().copied()))
}

#[test]
fn a_new_board_is_found_at_the_next_time_and_one_without_a_schema_is_reported_and_left_alone() {
    let directory = files().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    copy_of_template(&path("a.db"));
    let pattern = url_of(&path("*.db"));
    let mut daemon = Daemon::start(daemon(&pattern, EACH_SECOND, []));
    daemon.says("a.db}: sweep completed");
    daemon.answers("/readyz", 200);

    let (new, other) = (path("b.db"), path("c.db"));
    std::fs::write(&other, "").expect("a file");
    copy_of_template(&path("b.new"));
    std::fs::rename(path("b.new"), &new).expect("a file");

    daemon.says("b.db}: sweep completed");
    daemon.says("b.db}: listening for runs that end");
    daemon.says("c.db}: no sweep: ");
    let swept = daemon.count("b.db}: sweep completed");
    daemon.says_times(swept + 2, "b.db}: sweep completed");
    assert_eq!(daemon.count("no sweep: "), 1, "{:?}", daemon.log());
    assert_eq!(std::fs::metadata(&other).expect("a file").len(), 0);
    // Everybody may ask: no directory is named.
    let unready = "the database c.db cannot be swept; the log says why\n";
    assert_eq!(daemon.answers("/readyz", 503), unready);

    migrate_at(&url_of(&other), []).run().done();
    daemon.says("c.db}: sweep completed");
    daemon.answers("/readyz", 200);
    std::fs::remove_file(&new).expect("a file");
    daemon.says("no longer swept, since it is gone: ");
    daemon.answers("/readyz", 200);
    daemon.ends_well();
}

#[test]
fn one_that_is_away_is_named_and_swept_when_it_is_back_and_the_others_go_on() {
    let (server, world) = (Server::start(), World::new(On::Postgres));
    migrate_at(&server.url, []).run().done();
    let mut daemon = Daemon::start(daemon_of(&[&server.url, &world.url], EACH_SECOND, &["--at-start", "on"]));
    daemon.says("sweep completed");
    daemon.answers("/readyz", 200);

    server.crash();
    let away = daemon.says("the database is unavailable, waiting: ");
    assert!(away.contains("/postgres}: "), "{away}");
    let ready = daemon.answers("/readyz", 503);
    assert_eq!(ready, "the database postgres is unavailable\n");
    let swept = daemon.count("sweep completed");
    daemon.says_times(swept + 2, &format!("{}}}: sweep completed", world.name()));
    let metrics = daemon.get("/metrics").1;
    let up = |name: &str, value: &str| {
        let is_it =
            |line: &&str| line.starts_with("sweep_daemon_database_up{") && line.contains(&format!("\"{name}\""));
        assert!(metrics.lines().find(is_it).is_some_and(|line| line.ends_with(value)), "{metrics}");
    };
    up("postgres", "} 0");
    up(world.name(), "} 1");
    assert!(metrics.contains(&format!("\"{}\",kind=\"issue\"}}", world.name())), "{metrics}");

    server.restart();
    daemon.says("the database is back after ");
    daemon.answers("/readyz", 200);
    daemon.ends_well();
    assert_eq!(daemon.count("the database is unavailable"), 1, "{:?}", daemon.log());
}

/// Its schedule leaves the others no pause.
#[test]
fn one_that_is_away_is_asked_although_the_others_are_always_due() {
    let (world, proxy, other) = (World::new(On::Postgres), Proxy::start(None), World::new(On::Sqlite));
    let switch = Receiver::answering(Answer::Slowly(1500));
    let url = format!("{}&connect_timeout=2", proxy.url(world.name(), "disable"));
    proxy.freeze();
    let program = daemon_of(&[&url, &other.url], EACH_SECOND, &[]).env("SWEEP_PING_URL", switch.url());
    let mut daemon = Daemon::start(program.env("SWEEP_NOTIFY_PRIVATE", "on"));
    daemon.says("the database is unavailable, waiting: ");
    daemon.says_times(2, "sweep completed");
    proxy.thaw();
    daemon.says("the database is back after ");
    daemon.says(&format!("{}}}: sweep completed", world.name()));
    daemon.ends_well();
}

/// The control of what follows: with nothing to wait for it ends.
#[test]
fn at_the_start_it_ends_only_if_every_database_refuses_it() {
    let (one, other, world) = (Scratch::empty(), Scratch::empty(), World::new(On::Sqlite));
    let mut refused = Daemon::start(daemon_of(&[&one.url, &other.url], NEVER, &[]));
    assert_eq!(refused.ended().0, CONFIG);
    let line = refused.says("sweep: ");
    assert!(line.contains(one.name()) && line.contains(other.name()), "{line}");

    let mut daemon = Daemon::start(daemon_of(&[&one.url, &world.url], NEVER, &["--at-start", "on"]));
    daemon.says("sweep completed");
    assert!(daemon.says("no sweep: ").contains(one.name()), "{:?}", daemon.log());
    daemon.ends_well();
}

#[test]
fn runs_that_end_are_heard_of_in_each_database() {
    let mut worlds = [On::Postgres, On::Sqlite, On::Postgres].map(World::with_listen);
    let urls = worlds.each_ref().map(|world| world.url.clone());
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let work = worlds.each_mut().map(World::issue_at_work);
    let mut daemon = Daemon::start(daemon_of(&urls, NEVER, &[]));
    daemon.says_times(3, "listening for runs that end");

    for (world, (issue, run)) in worlds.iter_mut().zip(&work) {
        world.end_run(run);
        wait_for("a wake", || (0 < world.wakes_for(issue)).then_some(()));
    }

    let metrics = daemon.get("/metrics").1;
    let listening: Vec<&str> = metrics.lines().filter(|line| line.starts_with("sweep_daemon_listening{")).collect();
    assert_eq!(listening.iter().filter(|line| line.ends_with(" 1")).count(), 3, "{listening:?}");
    assert_eq!(listening.len(), 3, "{listening:?}");
    daemon.ends_well();
    let other = daemon_of(&urls, NEVER, &["--listen", "on"]).env("SWEEP_LISTEN_URL", &worlds[0].url);
    other.run().refused(CONFIG, &["SWEEP_LISTEN_URL is of one database, and several are named"]);
}

#[test]
fn the_dead_mans_switch_hears_of_all_of_them_at_once() {
    let (worlds, receiver) = ([World::new(On::Sqlite), World::new(On::Postgres)], Receiver::new());
    let urls = worlds.each_ref().map(|world| world.url.as_str());
    let program = daemon_of(&urls, NEVER, &["--at-start", "on"]).env("SWEEP_PING_URL", receiver.url());
    let mut daemon = Daemon::start(program.env("SWEEP_NOTIFY_PRIVATE", "on"));
    daemon.says_times(2, "sweep completed");
    receiver.wait_for(2);
    daemon.ends_well();
    let paths: Vec<String> = receiver.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/services/hunter2/start", "/services/hunter2"]);
}
