//! LISTEN beside the rest: reloads, the guard, a destination that does not answer.

use std::net::TcpListener;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rstest::rstest;
use rustix::process::Signal;

use crate::support::daemon::{Daemon, EACH_SECOND, NEVER, daemon};
use crate::support::wait::wait_for;
use crate::support::world::{On, World};

const LISTENING: &str = "listening for runs that end";

fn hears(daemon: &Daemon, run_ends: usize) {
    let line = format!("\nsweep_daemon_run_ends_total {run_ends}\n");
    wait_for("the end of a run is heard", || daemon.get("/metrics").1.contains(&line).then_some(()));
}

#[test]
fn a_reload_does_not_interrupt_listening() {
    let world = World::new(On::Postgres);
    let mut daemon = Daemon::start(daemon(&world.url, NEVER, ["--listen", "on"]));
    daemon.says(LISTENING);
    for n in 1..=5 {
        daemon.signal(Signal::HUP);
        daemon.says_times(n, "the settings were read again");
        assert!(daemon.get("/metrics").1.contains("\nsweep_daemon_listening 1\n"));
    }
    sleep(Duration::from_secs(1));
    daemon.ends_well();
    assert_eq!(daemon.count(LISTENING), 1, "{:?}", daemon.log());
}

/// One by one, what it holds back would be done all the same.
#[test]
fn while_the_guard_holds_a_kind_back_no_run_end_is_reacted_to() {
    let mut world = World::with_listen(On::Postgres);
    let agent = world.agent("idle");
    let issues: Vec<_> = (0..22).map(|_| world.orphan(&agent)).collect();
    let run = world.issue_run(&issues[0], &agent, "running", 30);
    let arguments = ["--listen", "on", "--at-start", "on", "--set", "guard_share=0.5"];
    let mut daemon = Daemon::start(daemon(&world.url, NEVER, arguments));
    daemon.says("WARN Guard: ");
    daemon.says("sweep completed");
    daemon.says(LISTENING);
    world.end_run(&run);
    hears(&daemon, 1);
    sleep(Duration::from_secs(1));
    daemon.ends_well();
    assert_eq!(world.count("wakes"), 0);
}

#[rstest]
#[case::only_others(&["--only", "steps"], 1)]
#[case::off(&["--set", "issues=off"], 1)]
#[case::only_sessions(&["--only", "sessions"], 0)]
#[case::all_off(&["--set", "issues=off", "--set", "steps=off"], 0)]
fn a_daemon_that_does_not_sweep_issues_does_not_do_so_when_their_runs_end(
    #[case] further: &[&str],
    #[case] listens: usize,
) {
    let mut world = World::with_listen(On::Postgres);
    let (issue, run) = world.issue_at_work();
    let arguments = [&["--listen", "on"], further].concat();
    let mut daemon = Daemon::start(daemon(&world.url, EACH_SECOND, arguments));
    daemon.says("sweep completed");
    daemon.answers("/readyz", 200);
    if 0 < listens {
        daemon.says(LISTENING);
    }
    world.end_run(&run);
    let swept = daemon.count("sweep completed");
    daemon.says_times(swept + 3, "sweep completed");
    daemon.ends_well();
    assert_eq!((world.wakes_for(&issue), daemon.count(LISTENING)), (0, listens), "{:?}", daemon.log());
}

/// Longer than two reactions may take, shorter than one request to it.
const SOON: Duration = Duration::from_secs(7);

#[test]
fn people_who_cannot_be_notified_do_not_hold_up_a_reaction() {
    let mut world = World::with_listen(On::Postgres);
    let at_work = [world.issue_at_work(), world.issue_at_work(), world.issue_at_work()];
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/hook", silent.local_addr().expect("an address"));
    let arguments = ["--listen", "on", "--set", "attempts_max=0"];
    let daemon = Daemon::start(daemon(&world.url, NEVER, arguments).env("SWEEP_SLACK_URL", url));
    daemon.says(LISTENING);
    let began = Instant::now();
    for (n, (issue, run)) in (1..).zip(&at_work) {
        world.end_run(run);
        hears(&daemon, n);
        wait_for("an escalation", || (world.status("issues", issue) == "blocked").then_some(()));
    }
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}
