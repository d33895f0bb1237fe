//! Only work that goes on or is finished is called recovered; work that its host or a person took is handed over.

use sweep::rules::Id;

use crate::support::in_process::Swept;
use crate::support::world::{On, World, on_each_database, on_each_host};

/// Ends the continuation of an issue, applies this change, and sweeps.
fn sweep_after(world: &mut World, assignment: &str) -> (Id, Swept) {
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    world.sweep();
    world.end_continuations("succeeded");
    world.set("issues", &issue, assignment);
    let swept = world.sweep();
    (issue, swept)
}

#[track_caller]
fn is_handed_over_once(world: &mut World, assignment: &str, reason: &str) {
    let (issue, swept) = sweep_after(world, assignment);
    let reported = swept.subject(&issue);
    assert_eq!(
        (&reported["outcome"], &reported["decision"]),
        (&"handed_over".into(), &"handed_over".into()),
        "{assignment}"
    );
    assert_eq!(reported["reason"], reason, "{assignment}");
    assert_eq!((swept.count("issues", "handed_over"), swept.count("issues", "recovered")), (1, 0), "{assignment}");
    assert_eq!(world.sweep().outcome(&issue), "not examined", "{assignment}");
    let rows = format!("recoveries where subject_id = '{issue}'");
    assert_eq!(world.count(&format!("{rows} and action = 'hand_over' and settled_at is not null")), 1, "{assignment}");
    assert_eq!(world.count(&format!("{rows} and (settled_at is null or action = 'recover')")), 0, "{assignment}");
}

on_each_host! {
    fn an_issue_that_its_host_blocked_after_a_continuation_is_handed_over_and_not_recovered(world) {
        is_handed_over_once(world, "status = 'blocked'", "it is blocked");
    }

    fn an_issue_that_a_person_cancelled_or_put_off_is_handed_over(world) {
        is_handed_over_once(world, "status = 'cancelled'", "it is cancelled");
        is_handed_over_once(world, "status = 'backlog'", "it is backlog");
    }

    fn an_issue_that_a_person_took_over_is_handed_over(world) {
        is_handed_over_once(world, "assignee_agent_id = null, assignee_user_id = 'grace'", "a person has it");
        is_handed_over_once(world, "assignee_agent_id = null", "no agent is assigned");
    }

    fn an_issue_that_waits_for_somebody_is_handed_over(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.sweep();
        world.end_continuations("succeeded");
        world.declare_waits(std::slice::from_ref(&issue));

        assert_eq!(world.sweep().outcome(&issue), "handed_over");
    }

    fn an_issue_that_is_done_in_review_or_to_be_taken_up_again_has_recovered(world) {
        for status in ["done", "in_review", "todo"] {
            let (issue, swept) = sweep_after(world, &format!("status = '{status}'"));
            assert_eq!(swept.outcome(&issue), "recovered", "{status}");
        }
        assert_eq!(
            (world.count("recoveries where action = 'recover'"), world.count("recoveries where action = 'hand_over'")),
            (3, 0)
        );
    }

    fn an_issue_that_goes_on_after_it_was_escalated_has_recovered_and_one_that_is_cancelled_is_handed_over(world) {
        for (status, outcome) in [("done", "recovered"), ("cancelled", "handed_over")] {
            let (issue, swept) = sweep_after(world, "title = 'left as it is'");
            assert_eq!(swept.outcome(&issue), "healthy", "its run has just ended");
            world.pass(10);
            assert_eq!(world.sweep().outcome(&issue), "escalated");
            world.set("issues", &issue, &format!("status = '{status}'"));
            assert_eq!(world.sweep().outcome(&issue), outcome, "{status}");
        }
    }

    /// The attempts count even if the host takes the issue and gives it back several times in an episode.
    fn an_issue_that_comes_back_from_its_host_is_looked_at_again_and_its_attempts_still_count(world) {
        let (issue, _) = sweep_after(world, "status = 'blocked'");
        world.set("issues", &issue, "status = 'in_progress'");
        world.pass(10);

        assert_eq!(world.sweep().outcome(&issue), "escalated");
        for status in ["cancelled", "in_progress", "blocked"] {
            world.set("issues", &issue, &format!("status = '{status}'"));
            world.sweep();
        }
        assert_eq!(world.count(&format!("recoveries where subject_id = '{issue}' and settled_at is null")), 0);
    }

    fn the_hosts_activity_log_shows_a_handover_as_such(world) {
        let (issue, _) = sweep_after(world, "status = 'blocked'");
        let log = if world.on == On::Paperclip { "activity_log" } else { "activity" };
        assert_eq!(world.count(&format!("{log} where action = 'issue.hand_over' and entity_id = '{issue}'")), 1);
    }
}

mod on_plans_and_sessions {
    use super::*;

    on_each_database! {
        fn a_step_of_a_plan_that_was_cancelled_is_handed_over_and_its_plan_left(world) {
            let agent = world.agent("idle");
            let (plan, step) = world.stalled_step(Some(&agent));
            world.sweep();
            world.end_continuations("succeeded");
            world.set("plans", &plan, "status = 'cancelled'");

            assert_eq!(world.sweep().outcome(&step), "handed_over");
            assert_eq!(world.status("plans", &plan), "cancelled");
        }

        fn a_plan_goes_on_executing_when_its_stalled_step_has_failed_and_is_handed_over(world) {
            let agent = world.agent("idle");
            let (plan, step) = world.stalled_step(Some(&agent));
            world.sweep();
            assert_eq!(world.status("plans", &plan), "stalled");
            world.end_continuations("failed");
            world.set("plan_steps", &step, "status = 'failed'");

            assert_eq!(world.sweep().outcome(&step), "handed_over");
            assert_eq!(world.status("plans", &plan), "executing");
        }

        /// A handover ends an episode like a recovery.
        fn a_session_that_was_handed_over_and_given_back_begins_a_new_episode(world) {
            let agent = world.agent("idle");
            let session = world.session(Some(&agent), None);
            for nudge in [1, 2] {
                assert_eq!(world.sweep().subject(&session)["attempt"], nudge);
                world.deliver_commands();
                world.pass(10);
            }
            let (yes, no) = if world.on == On::Sqlite { ("1", "0") } else { ("true", "false") };
            world.set("sessions", &session, &format!("stall_paused = {yes}"));
            assert_eq!(world.sweep().outcome(&session), "handed_over");
            world.set("sessions", &session, &format!("stall_paused = {no}"));
            world.pass(10);

            let swept = world.sweep();

            assert_eq!((swept.outcome(&session), &swept.subject(&session)["attempt"]), ("continued", &1.into()));
        }

        fn a_session_that_was_stopped_on_purpose_is_handed_over(world) {
            let agent = world.agent("idle");
            let session = world.session(Some(&agent), None);
            world.sweep();
            world.set("sessions", &session, "status = 'interrupted'");

            assert_eq!(world.sweep().outcome(&session), "handed_over");
        }
    }
}

#[test]
fn what_paperclip_took_into_its_own_recovery_is_handed_over() {
    let mut world = World::new(On::Paperclip);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    world.sweep();
    world.end_continuations("failed");
    let company = world.company.clone();
    world.run(&format!(
        "insert into issue_recovery_actions (company_id, source_issue_id, kind, cause, fingerprint, next_action)
         values ('{company}', '{issue}', 'k', 'c', 'f', 'n')"
    ));

    let swept = world.sweep();

    assert_eq!(swept.outcome(&issue), "handed_over");
    assert_eq!(swept.subject(&issue)["reason"], "it waits: the host's own recovery is active");
}
