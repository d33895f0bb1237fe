//! P5 for sessions whose process ended: which are relaunched, and which are left to a person.

use sweep::rules::{Id, Policy};
use sweep::sweep::Options;

use crate::support::world::{On, World, on_each_database};

/// Settings of a sweep that relaunches crashed sessions.
pub fn relaunching(world: &World) -> Options {
    let settings = world.options();
    Options { policy: Policy { auto_relaunch: true, ..settings.policy.clone() }, ..settings }
}

/// Makes a session whose process crashed half an hour ago, and its issue: `(session, issue)`.
pub fn crashed_with_its_issue(world: &mut World) -> (Id, Id) {
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let session = world.session(Some(&agent), Some(&issue));
    world.ends(&session, "1");
    world.pass(30);
    (session, issue)
}

on_each_database! {
    fn a_crashed_session_is_escalated_at_once_unless_relaunching_is_on(world) {
        let agent = world.agent("idle");
        for exit_code in ["1", "137", "null"] {
            let session = world.session(Some(&agent), None);
            world.ends(&session, exit_code);

            let swept = world.sweep();

            assert_eq!(
                (swept.outcome(&session), &swept.subject(&session)["finding"]),
                ("escalated", &"crashed".into())
            );
            assert_eq!(world.commands(&session, "relaunch"), 0);
        }
    }

    fn a_session_that_ended_well_is_left_alone(world) {
        let agent = world.agent("idle");
        let session = world.session(Some(&agent), None);
        world.ends(&session, "0");

        assert_eq!(world.sweep().outcome(&session), "not examined");
    }

    /// A process that crashes as soon as it is started proves nothing by starting.
    fn a_crashed_session_is_relaunched_once_then_escalated(world) {
        let agent = world.agent("idle");
        let session = world.session(Some(&agent), None);
        let settings = relaunching(world);
        let mut outcomes = Vec::new();
        for _ in 0..4 {
            world.ends(&session, "1");
            outcomes.push(world.sweep_as(&settings).outcome(&session).to_owned());
            world.deliver_commands();
            world.pass(3);
        }

        assert_eq!(outcomes, ["continued", "escalated", "waiting", "waiting"]);
        assert_eq!(world.commands(&session, "relaunch"), 1);
    }

    /// The person knows of the first crash; that the session fails again is news.
    fn a_session_that_a_person_started_again_and_that_fails_at_once_is_reported_again(world) {
        let agent = world.agent("idle");
        let session = world.session(Some(&agent), None);
        world.ends(&session, "1");
        assert_eq!(world.sweep().outcome(&session), "escalated");
        world.pass(60);
        let start = world.ago(4);
        world.set("sessions", &session, &format!("started_at = {start}, ended_at = null, exit_code = null"));
        world.progresses(&session);
        world.ends(&session, "1");

        assert_eq!(world.sweep().outcome(&session), "escalated");
    }

    /// The supervisor has taken the command, and the process is not up yet.
    fn a_relaunch_that_was_taken_a_moment_ago_is_still_on_its_way(world) {
        let (session, issue) = crashed_with_its_issue(world);
        let settings = relaunching(world);
        world.sweep_as(&settings);
        let now = world.ago(0);
        world.run(&format!("update session_commands set status = 'delivered', updated_at = {now}"));

        let swept = world.sweep_as(&settings);

        assert_eq!((swept.outcome(&session), swept.outcome(&issue)), ("waiting", "healthy"), "{}", swept.json);
        world.pass(5);
        let swept = world.sweep_as(&settings);
        assert_eq!(
            (swept.outcome(&session), swept.outcome(&issue)),
            ("escalated", "continued"),
            "it never came up: {}",
            swept.json
        );
        assert_eq!((world.commands(&session, "relaunch"), world.wakes_for(&issue)), (1, 1));
    }

    fn a_relaunched_session_that_goes_on_working_is_recovered(world) {
        let agent = world.agent("idle");
        let session = world.session(Some(&agent), None);
        let settings = relaunching(world);
        world.ends(&session, "1");
        world.sweep_as(&settings);
        world.deliver_commands();
        assert_ne!(world.sweep_as(&settings).outcome(&session), "recovered", "it has only just been started");
        world.pass(6);
        world.progresses(&session);

        assert_eq!(world.sweep_as(&settings).outcome(&session), "recovered");
    }

    fn a_session_that_ended_is_recovered_when_its_owner_closes_it(world) {
        let agent = world.agent("idle");
        let session = world.session(Some(&agent), None);
        world.ends(&session, "1");
        world.sweep();
        world.set("sessions", &session, "status = 'terminated'");

        assert_eq!(world.sweep().outcome(&session), "recovered");
        assert_eq!(world.count(&format!("recoveries where subject_id = '{session}' and settled_at is null")), 0);
    }
}

/// P9: sessions that are over cost nothing.
#[test]
fn sessions_that_ended_well_or_whose_issue_is_finished_are_not_examined() {
    for on in [On::Postgres, On::Sqlite] {
        let mut world = World::new(on);
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.set("issues", &issue, "status = 'done'");
        let (well, finished) = (world.session(None, None), world.session(Some(&agent), Some(&issue)));
        world.ends(&well, "0");
        world.ends(&finished, "1");
        let swept = world.sweep();
        assert_eq!((swept.outcome(&well), swept.outcome(&finished)), ("not examined", "not examined"), "{on:?}");
    }
}
