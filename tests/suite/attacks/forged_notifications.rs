//! A notification by a role that may only connect hurries nothing.

use rstest::rstest;

use crate::support::daemon::{Daemon, NEVER, daemon};
use crate::support::databases::{connect, run};
use crate::support::scratch::Role;
use crate::support::wait::wait_for;
use crate::support::world::{On, World};

/// The notifications claim that runs ended just now; of one issue no run ever ended, and of the other one did an hour
/// ago.
#[rstest]
#[case::native(On::Postgres)]
#[case::paperclip(On::Paperclip)]
fn a_notification_of_a_run_that_has_not_just_ended_wakes_nobody_within_the_grace(#[case] on: On) {
    let mut world = World::with_listen(on);
    let agent = world.agent("idle");
    let touched = [world.orphan(&agent), world.orphan(&agent)];
    let long_over = world.issue_run(&touched[1], &agent, "failed", 90);
    let (an_hour_ago, a_minute_ago) = (world.ago(60), world.ago(1));
    world.set_run(&long_over, &format!("finished_at = {an_hour_ago}"));
    let (working, live) = world.issue_at_work();
    for issue in touched.iter().chain([&working]) {
        world.set("issues", issue, &format!("updated_at = {a_minute_ago}"));
    }
    let mallory = Role::new();
    let mut stranger = connect(&mallory.at(&world.url));
    let daemon = Daemon::start(daemon(&world.url, NEVER, ["--listen", "on"]));
    daemon.says("listening for runs that end");

    for issue in &touched {
        run(&mut stranger, &format!("notify sweep_run_ended, '{issue}'"));
    }
    let heard = || daemon.get("/metrics").1.contains("\nsweep_daemon_run_ends_total 2\n").then_some(());
    wait_for("both are heard of", heard);

    // The control: a run of this issue does end, and sweep would have examined the others in the same time.
    world.end_run(&live);
    wait_for("a wake", || (0 < world.wakes_for(&working)).then_some(()));
    assert_eq!(touched.map(|issue| world.wakes_for(&issue)), [0, 0], "{:?}", daemon.log());
}
