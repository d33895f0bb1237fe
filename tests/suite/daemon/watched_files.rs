//! Runs that end in a SQLite file: whoever notes them, in whatever journal; and a file at rest is left alone.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rstest::rstest;
use sweep::rules::Id;
use sweep::store::connect::listen::HEARD_MAX;

use crate::daemon::run_end_triggers::listener;
use crate::support::daemon::{Daemon, NEVER, daemon};
use crate::support::databases::copy_of_template;
use crate::support::wait::{wait_for, wait_until};
use crate::support::world::{On, World};

const SOON: Duration = Duration::from_secs(10);
const BRIEFLY: Duration = Duration::from_millis(500);
/// Longer than a file has to be at rest until it is closed.
const LONG: Duration = Duration::from_secs(4);

fn path(world: &World) -> PathBuf {
    PathBuf::from(world.url.trim_start_matches("sqlite://"))
}

/// Whether a process has this file, or its log, open.
fn has_open(pid: u32, world: &World) -> bool {
    let path = path(world).canonicalize().expect("a file").display().to_string();
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).expect("a process").flatten();
    entries
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .any(|open| open.display().to_string().starts_with(&path))
}

#[rstest]
fn in_each_journal_a_run_that_ends_is_noticed(#[values("wal", "delete", "truncate", "persist")] journal: &str) {
    let mut world = World::new(On::Sqlite);
    world.run(&format!("pragma journal_mode = {journal}"));
    let ((issue, run), (other, second)) = (world.issue_at_work(), world.issue_at_work());
    let mut listener = listener(&world);
    assert_eq!(listener.wait(BRIEFLY).expect("silence"), BTreeSet::new());
    world.end_run(&run);
    assert_eq!(listener.wait(SOON).expect("news"), BTreeSet::from([issue]));
    // The file is at rest by then.
    assert_eq!(listener.wait(LONG).expect("silence"), BTreeSet::new());
    world.end_run(&second);
    assert_eq!(listener.wait(SOON).expect("news"), BTreeSet::from([other]));
}

#[test]
fn a_run_that_began_and_ended_between_two_looks_is_noticed() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let mut listener = listener(&world);
    world.run("begin immediate");
    let run = world.issue_run(&issue, &agent, "running", 0);
    world.end_run(&run);
    world.run("commit");
    assert_eq!(listener.wait(SOON).expect("news"), BTreeSet::from([issue]));
}

#[test]
fn what_is_rolled_back_is_not_noticed() {
    let mut world = World::new(On::Sqlite);
    let (_, run) = world.issue_at_work();
    let mut listener = listener(&world);
    world.run("begin immediate");
    world.end_run(&run);
    world.run("rollback");
    assert_eq!(listener.wait(BRIEFLY).expect("silence"), BTreeSet::new());
}

/// The ends of runs that nobody reads would fill the file otherwise, and those that are read the memory.
#[test]
fn of_very_many_ends_the_latest_are_kept_and_noticed() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let mut listener = listener(&world);
    world.run(&format!(
        "with recursive n(n) as (select 1 union all select n + 1 from n where n < 1500)
         insert into issues (id, title) select 'issue-' || n, '' from n;
         insert into runs (id, agent_id, issue_id, status) select 'run-' || id, '{agent}', id, 'running' from issues
         where id like 'issue-%';
         update runs set status = 'failed'"
    ));
    let run = world.issue_run(&issue, &agent, "running", 0);
    world.end_run(&run);
    let mut noticed = BTreeSet::new();
    while !noticed.contains(&issue) {
        noticed.extend(listener.wait(SOON).expect("news"));
    }
    assert!(noticed.len() <= HEARD_MAX + 1, "{}", noticed.len());
    assert_eq!(world.count("run_ends"), 1000);
}

/// Restored from a backup, say: what was seen there has other numbers.
#[test]
fn when_the_noted_ends_are_numbered_anew_the_next_one_is_noticed() {
    let mut world = World::new(On::Sqlite);
    let (at_work, (issue, run)) = ([(); 3].map(|()| world.issue_at_work()), world.issue_at_work());
    at_work.iter().for_each(|(_, run)| world.end_run(run));
    let mut listener = listener(&world);
    world.run("delete from run_ends");
    assert_eq!(listener.wait(BRIEFLY).expect("silence"), BTreeSet::new());
    world.end_run(&run);
    assert_eq!(listener.wait(SOON).expect("news"), BTreeSet::from([issue]));
}

#[test]
fn another_file_in_its_place_is_an_error_and_not_silence() {
    let world = World::new(On::Sqlite);
    let mut listener = listener(&world);
    let other = path(&world).with_extension("new");
    copy_of_template(&other);
    fs::rename(&other, path(&world)).expect("a file");
    let error = format!("{:#}", listener.wait(SOON).expect_err("another file"));
    assert!(error.contains("another file bears its name"), "{error}");
    fs::remove_file(path(&world)).expect("a file");
    assert!(listener.wait(SOON).is_err());
}

/// A daemon that kept a connection would keep the log of a program that has ended; and its own commits must not make
/// it look again and again.
#[test]
fn a_daemon_lets_go_of_a_file_at_rest_and_still_notices_what_ends() {
    let mut world = World::new(On::Sqlite);
    let work = [world.issue_at_work(), world.issue_at_work()];
    let mut daemon = Daemon::start(daemon(&world.url, NEVER, []));
    daemon.says("listening for runs that end");
    for (issue, run) in &work {
        wait_until("the file is closed", || !has_open(daemon.pid(), &world));
        world.end_run(run);
        wait_for("a wake", || (0 < world.wakes_for(issue)).then_some(()));
    }
    wait_until("the file is closed", || !has_open(daemon.pid(), &world));
    std::thread::sleep(BRIEFLY);
    assert!(!has_open(daemon.pid(), &world), "and stays closed");
    daemon.ends_well();
    let both: Vec<i64> = work.iter().map(|(issue, _): &(Id, Id)| world.wakes_for(issue)).collect();
    assert_eq!(both, [1, 1]);
}
