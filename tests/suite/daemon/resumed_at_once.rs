//! A run ends, and its work goes on at once, without being asked for; the schedule finds what was not heard.

use std::time::Duration;

use rstest::rstest;
use sweep::rules::Id;

use crate::support::daemon::{Daemon, EACH_SECOND, NEVER, daemon};
use crate::support::wait::wait_for;
use crate::support::world::{On, World};

const LISTENING: &str = "listening for runs that end";

fn listening(url: &str, schedule: &str, further: &[&str]) -> Daemon {
    let daemon = Daemon::start(daemon(url, schedule, further.iter().copied()));
    daemon.says(LISTENING);
    daemon
}

fn waits_for_wake(world: &mut World, issue: &Id) {
    wait_for("a wake", || (0 < world.wakes_for(issue)).then_some(()));
}

#[rstest]
#[case::native(On::Postgres)]
#[case::sqlite(On::Sqlite)]
#[case::paperclip(On::Paperclip)]
fn the_issue_of_a_run_that_ended_is_resumed_without_waiting_for_the_schedule(#[case] on: On) {
    let mut world = World::with_listen(on);
    let ((issue, run), (other, _)) = (world.issue_at_work(), world.issue_at_work());
    let agent = world.agent("idle");
    let orphan = world.orphan(&agent);
    let mut daemon = listening(&world.url, NEVER, &[]);
    assert!(daemon.get("/metrics").1.contains("\nsweep_daemon_listening 1\n"));

    world.end_run(&run);
    waits_for_wake(&mut world, &issue);

    let metrics = daemon.get("/metrics").1;
    assert!(metrics.contains("\nsweep_daemon_run_ends_total 1\n"), "{metrics}");
    daemon.ends_well();
    assert_eq!([&issue, &other, &orphan].map(|id| world.wakes_for(id)), [1, 0, 0]);
}

/// Cancelled: by a machine, since a host that lets people cancel says so itself. Lost: whoever notices later that a
/// process has died closes its run, and dates that to its last sign of life.
#[rstest]
#[case::native(On::Postgres)]
#[case::sqlite(On::Sqlite)]
#[case::paperclip(On::Paperclip)]
fn however_a_run_ends_its_issue_is_resumed_at_once(#[case] on: On) {
    let mut world = World::with_listen(on);
    let ends =
        [("succeeded", 0), ("failed", 0), ("timed_out", 0), ("cancelled", 0), ("interrupted", 0), ("interrupted", 30)];
    let work = ends.map(|end| (end, world.issue_at_work()));
    let (left, _) = world.issue_at_work();
    let mut daemon = listening(&world.url, NEVER, &[]);
    for ((status, minutes), (_, run)) in &work {
        world.end_run_as(run, status, *minutes);
    }
    for (_, (issue, _)) in &work {
        waits_for_wake(&mut world, issue);
    }
    daemon.ends_well();
    assert_eq!(work.map(|(_, (issue, _))| world.wakes_for(&issue)), [1; 6]);
    assert_eq!(world.wakes_for(&left), 0, "its run is live");
}

#[rstest]
#[case::native(On::Postgres)]
#[case::sqlite(On::Sqlite)]
fn the_issue_of_a_run_that_is_lost_is_resumed_when_its_worker_starts_again(#[case] on: On) {
    let mut world = World::with_listen(on);
    let ((issue, run), (other, _)) = (world.issue_at_work(), world.issue_at_work());
    let [start, long_ago] = [world.ago(0), world.ago(60)];
    let [first, second] = [(); 2].map(|()| sweep::rules::Id::generate());
    let started = |id, at| format!("insert into workers (id, name, started_at) values ('{id}', 'builder', {at})");
    world.run(&started(&first, &long_ago));
    world.set_run(&run, &format!("worker_id = '{first}', lease_seconds = 3600, heartbeat_at = {start}"));
    let mut daemon = listening(&world.url, NEVER, &[]);
    world.run(&started(&second, &start));
    waits_for_wake(&mut world, &issue);
    daemon.ends_well();
    assert_eq!([&issue, &other].map(|id| world.wakes_for(id)), [1, 0]);
    assert_eq!(world.status("runs", &run), "interrupted");
}

/// The other step is stalled as well, and of no interest: no run of it has ended.
#[rstest]
#[case::native(On::Postgres)]
#[case::sqlite(On::Sqlite)]
fn the_step_of_a_run_that_ended_goes_on_at_once(#[case] on: On) {
    let mut world = World::with_listen(on);
    let agents = [world.agent("idle"), world.agent("idle"), world.agent("idle")];
    let [(_, step), (_, young), (_, other)] = agents.each_ref().map(|agent| world.stalled_step(Some(agent)));
    let now = world.ago(0);
    world.set("plan_steps", &young, &format!("started_at = {now}"));
    let runs = [(&step, &agents[0]), (&young, &agents[1])].map(|(step, agent)| world.step_run(step, agent, "running"));
    let mut daemon = listening(&world.url, NEVER, &[]);
    runs.iter().for_each(|run| world.end_run(run));
    let wakes = |world: &mut World, step: &Id| world.count(&format!("wakes where plan_step_id = '{step}'"));
    wait_for("a wake", || (0 < wakes(&mut world, &step)).then_some(()));
    daemon.ends_well();
    // A step is stalled when it is in progress for long enough, however its run ended.
    assert_eq!([&step, &young, &other].map(|step| wakes(&mut world, step)), [1, 0, 0]);
}

#[rstest]
#[case::native(On::Postgres)]
#[case::sqlite(On::Sqlite)]
fn what_is_switched_off_is_left_to_the_schedule(#[case] on: On) {
    let mut world = World::with_listen(on);
    let (issue, run) = world.issue_at_work();
    let mut daemon = Daemon::start(daemon(&world.url, NEVER, ["--listen", "off"]));
    daemon.answers("/readyz", 200);
    world.end_run(&run);
    std::thread::sleep(Duration::from_secs(3));
    daemon.ends_well();
    assert_eq!((world.wakes_for(&issue), daemon.count(LISTENING)), (0, 0));
}

/// A Paperclip without the trigger: nobody asked for it, so this is no error, and is said once.
#[test]
fn a_host_that_does_not_tell_is_swept_by_the_schedule_alone_which_is_said_once() {
    let mut world = World::new(On::Paperclip);
    let (issue, run) = world.issue_at_work();
    let further = ["--set", "orphan_grace=1s", "--set", "run_silent_after=1h"];
    let mut daemon = Daemon::start(daemon(&world.url, EACH_SECOND, further));
    let said = "INFO runs that end are not heard of, the schedule finds them: nothing notifies of runs that end: run \
                `sweep migrate --with-listen`";
    daemon.says(said);
    world.end_run_as(&run, "failed", 1);
    waits_for_wake(&mut world, &issue);
    assert!(daemon.get("/metrics").1.contains("\nsweep_daemon_listening 0\n"));
    daemon.ends_well();
    assert_eq!((daemon.count("are not heard of"), daemon.count("WARN runs")), (1, 0), "{:?}", daemon.log());
}

#[test]
fn who_insists_on_it_is_refused_where_nothing_tells() {
    let world = World::new(On::Paperclip);
    let program = daemon(&world.url, NEVER, ["--listen", "on"]);
    program.run().refused(78, &["nothing notifies of runs that end", "sweep migrate --with-listen"]);
}

/// A second end in the same episode is followed by an escalation, as any sweep has it.
#[rstest]
#[case::native(On::Postgres)]
#[case::sqlite(On::Sqlite)]
fn it_is_continued_as_often_as_by_any_sweep_and_then_escalated(#[case] on: On) {
    let mut world = World::with_listen(on);
    let (issue, run) = world.issue_at_work();
    let mut daemon = listening(&world.url, NEVER, &["--set", "retry_delay=0s"]);
    world.end_run(&run);
    waits_for_wake(&mut world, &issue);

    world.run("update wakes set status = 'completed'");
    let second = Id::generate();
    world.run(&format!(
        "insert into runs (id, agent_id, issue_id, wake_id, status) select '{second}', agent_id, issue_id, id, \
         'running' from wakes"
    ));
    world.end_run(&second);
    wait_for("an escalation", || (world.status("issues", &issue) == "blocked").then_some(()));
    daemon.ends_well();
    assert_eq!((world.wakes_for(&issue), world.comments_on(&issue)), (1, 1));
}

/// The program that ended the run may be about to say what follows.
#[test]
fn an_issue_that_its_host_finishes_within_the_grace_is_left_alone() {
    let mut world = World::with_listen(On::Postgres);
    let ((done, run), (touched, second), (left, third)) =
        (world.issue_at_work(), world.issue_at_work(), world.issue_at_work());
    // As a host says it that takes its time.
    world.run(
        "create or replace view host_behavior as
         select 8::float8 as run_end_grace_seconds, 'set it to in progress or todo'::text as resume_advice",
    );
    let mut daemon = listening(&world.url, NEVER, &[]);
    [&run, &second, &third].into_iter().for_each(|run| world.end_run(run));
    world.set("issues", &done, "status = 'done'");
    // Later than half the grace: what was touched before that is idle again by then.
    std::thread::sleep(Duration::from_secs(6));
    world.set("issues", &touched, "updated_at = now()");
    waits_for_wake(&mut world, &left);
    daemon.ends_well();
    assert_eq!([&done, &touched].map(|issue| world.wakes_for(issue)), [0, 0]);
}

#[test]
fn what_ended_while_the_connection_was_lost_is_found_by_the_schedule() {
    let mut world = World::with_listen(On::Postgres);
    let (issue, run) = world.issue_at_work();
    let mut daemon = listening(&world.url, EACH_SECOND, &["--set", "orphan_grace=1s"]);
    // Only this connection of the daemon's has nothing to do for so long.
    let lost = "(select pg_terminate_backend(pid) from pg_stat_activity
                 where datname = current_database() and application_name = 'sweep' and state = 'idle'
                   and state_change < clock_timestamp() - interval '300 milliseconds') lost";
    wait_for("the connection that listens", || (0 < world.count(lost)).then_some(()));
    world.end_run(&run);
    daemon.says("WARN runs that end are not heard of, the schedule finds them: ");
    waits_for_wake(&mut world, &issue);
    daemon.says_times(2, LISTENING);
    assert!(daemon.get("/metrics").1.contains("\nsweep_daemon_run_ends_total 0\n"), "it was not heard");

    let (next, run) = world.issue_at_work();
    world.end_run(&run);
    waits_for_wake(&mut world, &next);
    daemon.ends_well();
}

/// When a host goes down, all its runs end at once: what the guard would not let pass is not done one by one either.
#[rstest]
#[case::native(On::Postgres)]
#[case::sqlite(On::Sqlite)]
fn a_storm_of_run_ends_is_left_to_the_schedule_and_its_guard(#[case] on: On) {
    let mut world = World::with_listen(on);
    let at_work: Vec<(Id, Id)> = (0..24).map(|_| world.issue_at_work()).collect();
    let mut daemon = listening(&world.url, NEVER, &[]);
    let now = world.ago(0);
    world.run(&format!("update runs set status = 'interrupted', finished_at = {now}"));
    daemon.says("WARN runs end in numbers and leave work stranded");

    let (later, run) = world.issue_at_work();
    world.end_run(&run);
    wait_for("the last end", || daemon.get("/metrics").1.contains("\nsweep_daemon_run_ends_total 25\n").then_some(()));
    std::thread::sleep(Duration::from_secs(1));
    daemon.ends_well();
    let wakes: i64 = at_work.iter().map(|(issue, _)| issue).chain([&later]).map(|issue| world.wakes_for(issue)).sum();
    assert_eq!(wakes, 20);
    assert_eq!(daemon.count("runs end in numbers"), 1, "{:?}", daemon.log());
}

#[test]
fn only_what_is_swept_is_listened_for() {
    let mut world = World::with_listen(On::Postgres);
    let ((issue, run), (ours, second)) = (world.issue_at_work(), world.issue_at_work());
    world.set("issues", &ours, "tenant = 'ours'");
    let mut daemon = listening(&world.url, NEVER, &["--tenant", "ours"]);
    world.end_run(&run);
    world.end_run(&second);
    waits_for_wake(&mut world, &ours);
    daemon.ends_well();
    assert_eq!(world.wakes_for(&issue), 0);
}
