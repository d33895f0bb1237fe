//! A server that does fsync crashes at any moment of a sweep whose commits wait for the disk together.

use std::collections::BTreeSet;
use std::fs;
use std::sync::mpsc::channel;
use std::thread;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use rustix::process::{Pid, Signal, kill_process};
use sweep::rules::Id;

use super::failover::{sweep_disturbed_by, texts};
use crate::support::databases::{connect, run};
use crate::support::pooler::Pooler;
use crate::support::program::{command_at, sweep_at};
use crate::support::rounds::rounds;
use crate::support::server::Server;
use crate::support::wait::{wait_for, wait_until};

const SETTINGS: [&str; 2] = ["-c", "fsync=on"];

/// Keeps the server from writing its log in the background, so that a crash loses everything that nobody flushed.
///
/// The process is stopped where it waits: one that is stopped in the middle of a write holds the log's locks, and no
/// commit would end any more.
fn stop_the_walwriter(url: &str) {
    let of_the_walwriter = |column| {
        let query = format!("select {column}::text from pg_stat_activity where backend_type = 'walwriter'");
        texts(url, &query).pop().expect("a walwriter")
    };
    let pid = of_the_walwriter("pid").parse().ok().and_then(Pid::from_raw).expect("a process");
    let is_stopped = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
        stat.contains(") T ")
    };
    wait_until("a walwriter that is stopped where it waits", || {
        kill_process(pid, Signal::STOP).expect("a process");
        wait_until("a stopped walwriter", is_stopped);
        let waits = of_the_walwriter("coalesce(wait_event, '')") == "WalWriterMain";
        if !waits {
            kill_process(pid, Signal::CONT).expect("a process");
        }
        waits
    });
}

fn set(url: &str, query: &str) -> BTreeSet<String> {
    texts(url, query).into_iter().collect()
}

/// After the crash everything that was reported is there, and nothing is half applied; the host's commits are there as
/// well. The next sweep does what was lost, and doubles no wake.
#[test]
fn a_server_that_crashes_at_any_moment_loses_nothing_that_was_reported() {
    let server = Server::start_with(&SETTINGS).with_orphans(0);
    let tables = "agents, issues, wakes, activity, recoveries, failures, sweeps".replace(", ", ", sweep.");
    for round in rounds(0..10) {
        run(&mut connect(&server.url), &format!("truncate sweep.{tables} cascade"));
        server.add_orphans(300);
        let moment = random(200);
        stop_the_walwriter(&server.url);
        let context = format!("round {round}, after {moment}");
        let url = server.url.clone();
        let (sender, commits) = channel();
        let host = thread::spawn(move || {
            let mut db = PgConnection::establish(&url).expect("a connection");
            // In every other round the host commits nothing, so only the sweep flushes.
            for n in (0..).take_while(|_| round % 2 == 1) {
                let written = db.batch_execute(&format!("insert into sweep.agents (name) values ('host {n}')"));
                if written.is_err() || sender.send(format!("host {n}")).is_err() {
                    break;
                }
            }
        });

        let reported = sweep_disturbed_by(&server.url, moment, || {
            server.crash();
            server.restart_with(&SETTINGS);
        });

        host.join().expect("a host");
        let woken = set(&server.url, "select issue_id::text from sweep.wakes");
        assert_eq!(woken, set(&server.url, "select subject_id::text from sweep.recoveries"), "half applied, {context}");
        assert_eq!(woken, set(&server.url, "select entity_id::text from sweep.activity"), "half applied, {context}");
        let continued = reported.ids("continued");
        assert!(continued.is_subset(&woken), "lost: {:?}, {context}", continued.difference(&woken));
        assert!(reported.ids("failed").is_disjoint(&woken), "done, and called failed, {context}");
        let names = set(&server.url, "select name from sweep.agents");
        assert!(commits.try_iter().all(|name| names.contains(&name)), "the host lost a commit, {context}");

        sweep_at(&server.url, ["--no-guard", "--set", "wakes_per_agent_max=1000000"]).run().done();
        let wakes = texts(&server.url, "select count(*) || ' of ' || count(distinct issue_id) from sweep.wakes");
        assert_eq!(wakes, ["300 of 300"], "{context}");
    }
}

/// A pooler's session may be one in which another client turned off the wait for the disk.
#[test]
fn nor_does_it_through_a_pooler_whose_session_does_not_wait_for_the_disk() {
    let server = Server::start_with(&SETTINGS).with_orphans(2);
    let (directory, port) = (server.directory.path().display(), server.port());
    let at = format!("host={directory} port={port} user=postgres dbname=postgres");
    let pooler = Pooler::start_with(&format!("default_pool_size = 1\n[databases]\nown = {at}"));
    let url = pooler.url("own");
    stop_the_walwriter(&server.url);
    run(&mut connect(&url), "set synchronous_commit = off");
    let off = |arguments: &[&str]| command_at(&url, arguments.iter().copied()).run().done();

    off(&["exempt", "add", "issue", "T-1", "--reason", "on purpose"]);
    server.crash();
    server.restart_with(&SETTINGS);
    assert_eq!(texts(&server.url, "select reason from sweep.exemptions"), ["on purpose"]);

    stop_the_walwriter(&server.url);
    wait_for("the pooler", || PgConnection::establish(&url).ok());
    run(&mut connect(&url), "set synchronous_commit = off");
    off(&["--set", "wakes_per_agent_max=1000000"]);
    server.crash();
    server.restart_with(&SETTINGS);
    assert_eq!(texts(&server.url, "select count(*)::text from sweep.wakes"), ["1"]);
}

/// The negative control: a commit that nobody flushed is gone.
#[test]
fn a_commit_that_nobody_flushed_is_lost_in_the_crash() {
    let server = Server::start_with(&SETTINGS).with_orphans(1);
    stop_the_walwriter(&server.url);
    let mut db = PgConnection::establish(&server.url).expect("a connection");
    db.batch_execute(
        "set synchronous_commit = off; insert into sweep.agents (name) values ('nobody waited for this one')",
    )
    .expect("a commit");

    server.crash();
    server.restart();

    let there = texts(&server.url, "select name from sweep.agents where name like 'nobody%'");
    assert_eq!(there, Vec::<String>::new());
}

fn random(below: usize) -> usize {
    Id::generate().0.bytes().rev().take(8).fold(0, |all, digit| all * 31 + digit as usize) % below
}
