//! P4–P6 for sessions that are silent or loop: how often sweeps nudge them, and when a person is notified.

use sweep::rules::Policy;

use crate::support::world::on_each_database;
use crate::support::world::sessions::LOOP;

on_each_database! {
    fn a_silent_session_gets_one_nudge_and_is_not_changed(world) {
        let agent = world.agent("idle");
        let session = world.session(Some(&agent), None);
        let row = format!("sessions where id = '{session}'");
        let before = world.text("updated_at", &row);

        let swept = world.sweep();

        assert_eq!((swept.outcome(&session), &swept.subject(&session)["finding"]), ("continued", &"silent".into()));
        assert_eq!(world.commands(&session, "nudge"), 1);
        assert_eq!((world.status("sessions", &session).as_str(), world.text("updated_at", &row)), ("active", before));
        let message = world.text("message", "session_commands").expect("a message");
        assert_eq!(message, Policy::default().nudge_message);
    }

    /// P4
    fn a_second_sweep_finds_nothing_to_do(world) {
        let agent = world.agent("idle");
        let sessions = [world.session(Some(&agent), None), world.session(None, None)];
        world.sweep();

        let again = world.sweep();

        for outcome in ["continued", "escalated", "recovered", "handed_over", "busy", "failed"] {
            assert_eq!(again.count("sessions", outcome), 0, "{outcome}: {}", again.json);
        }
        for session in sessions {
            assert_eq!(world.commands(&session, "nudge"), 1);
        }
    }

    /// P5
    fn a_session_that_does_not_answer_is_nudged_twice_then_escalated_once(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let session = world.session(Some(&agent), Some(&issue));
        let mut outcomes = Vec::new();
        for _ in 0..6 {
            outcomes.push(world.sweep().outcome(&session).to_owned());
            world.deliver_commands();
            world.pass(10);
        }

        assert_eq!(outcomes, ["continued", "continued", "escalated", "waiting", "waiting", "waiting"]);
        assert_eq!((world.commands(&session, "nudge"), world.comments_on(&issue)), (2, 1));
        assert_eq!(world.status("sessions", &session), "active", "it is left as it was");
        assert_eq!(world.status("issues", &issue), "in_progress", "its issue as well");
        assert_eq!(world.wakes_for(&issue), 0, "the session has it");
    }

    fn nudges_are_their_delay_apart(world) {
        let agent = world.agent("idle");
        let session = world.session(Some(&agent), None);
        world.sweep();
        world.deliver_commands();
        world.pass(1);

        assert_eq!(world.sweep().outcome(&session), "waiting");
        world.pass(1);
        assert_eq!(world.sweep().outcome(&session), "continued");
    }

    fn a_sign_of_life_is_recorded_as_a_recovery_and_the_count_begins_anew(world) {
        let agent = world.agent("idle");
        let session = world.session(Some(&agent), None);
        world.sweep();
        world.deliver_commands();
        world.progresses(&session);

        assert_eq!(world.sweep().outcome(&session), "recovered");
        assert_eq!(world.sweep().count("sessions", "recovered"), 0, "once");
        for nudges in [2, 3] {
            world.pass(10);
            world.sweep();
            world.deliver_commands();
            assert_eq!(world.commands(&session, "nudge"), nudges);
        }
        world.pass(10);
        assert_eq!(world.sweep().outcome(&session), "escalated");
    }

    /// The session woke up and fell silent again between two sweeps.
    fn a_relapse_that_no_sweep_saw_is_a_new_episode(world) {
        let agent = world.agent("idle");
        let session = world.session(Some(&agent), None);
        world.sweep();
        world.deliver_commands();
        world.pass(10);
        world.progresses(&session);
        world.pass(10);

        let swept = world.sweep();

        assert_eq!((swept.outcome(&session), &swept.subject(&session)["attempt"]), ("continued", &1.into()));
    }

    fn an_escalated_session_that_a_person_revived_is_recovered(world) {
        let agent = world.agent("idle");
        let session = world.session(Some(&agent), None);
        for _ in 0..3 {
            world.sweep();
            world.deliver_commands();
            world.pass(10);
        }
        world.progresses(&session);

        assert_eq!(world.sweep().outcome(&session), "recovered");
    }

    /// Activity alone proves nothing: decisions.md#a-looping-session-is-never-quiet
    fn a_loop_is_nudged_twice_then_escalated_however_busy_it_looks(world) {
        let agent = world.agent("idle");
        let session = world.session(Some(&agent), None);
        let mut outcomes = Vec::new();
        for _ in 0..5 {
            world.loops(&session);
            let swept = world.sweep();
            assert_eq!(swept.subject(&session)["finding"], "looping");
            outcomes.push(swept.outcome(&session).to_owned());
            world.deliver_commands();
            world.pass(10);
        }

        assert_eq!(outcomes, ["continued", "continued", "escalated", "waiting", "waiting"]);
        assert_eq!(world.commands(&session, "nudge"), 2);
    }

    /// A nudge's echo, or a word in answer, does not end the loop.
    fn a_loop_that_answers_with_one_line_is_the_same_episode(world) {
        let agent = world.agent("idle");
        let session = world.session(Some(&agent), None);
        let progress = world.ago(6);
        world.set("sessions", &session, &format!("last_progress_at = {progress}"));
        let mut outcomes = Vec::new();
        for _ in 0..4 {
            world.loops(&session);
            outcomes.push(world.sweep().outcome(&session).to_owned());
            world.deliver_commands();
            // Longer than a nudge's delay, but not so long that the session would be without progress.
            world.pass(3);
            let (now, output) = (world.ago(0), [LOOP; 8].join("\n") + "\nOK, going on.");
            world.set("sessions", &session, &format!("last_activity_at = {now}, recent_output = '{output}'"));
            assert_ne!(world.sweep().outcome(&session), "recovered");
        }

        assert_eq!(outcomes, ["continued", "continued", "escalated", "waiting"]);
    }

    fn a_loop_that_was_broken_is_recovered(world) {
        let agent = world.agent("idle");
        let session = world.session(Some(&agent), None);
        world.loops(&session);
        world.sweep();
        world.deliver_commands();
        world.progresses(&session);

        assert_eq!(world.sweep().outcome(&session), "recovered");
    }

    fn a_loop_of_a_session_that_makes_progress_is_none(world) {
        let agent = world.agent("idle");
        let session = world.session(Some(&agent), None);
        let (now, output) = (world.ago(0), [LOOP; 20].join("\n"));
        world.progresses(&session);
        world.set("sessions", &session, &format!("last_activity_at = {now}, recent_output = '{output}'"));

        let outcome = world.sweep().outcome(&session).to_owned();

        assert!(["healthy", "not examined"].contains(&outcome.as_str()), "{outcome}");
    }

    /// However often the session recovers, the cost of a day is bounded.
    fn no_session_is_nudged_more_than_the_daily_limit(world) {
        let agent = world.agent("idle");
        let session = world.session(Some(&agent), None);
        for _ in 0..9 {
            world.sweep();
            world.deliver_commands();
            world.progresses(&session);
            world.sweep();
            world.pass(10);
        }

        assert_eq!(world.commands(&session, "nudge"), 4);
    }

    /// P6
    fn a_session_that_nobody_may_disturb_gets_no_command(world) {
        let agent = world.agent("idle");
        for change in [
            "stall_paused = true",
            "status = 'paused'",
            "status = 'terminated'",
            "status = 'interrupted'",
            "status = 'created'",
        ] {
            let session = world.session(Some(&agent), None);
            world.set("sessions", &session, change);

            let outcome = world.sweep().outcome(&session).to_owned();

            assert!(["not examined", "waiting"].contains(&outcome.as_str()), "{change}: {outcome}");
            assert_eq!(world.commands(&session, "nudge"), 0, "{change}");
        }
    }

    /// P6
    fn a_session_of_an_agent_that_must_not_be_woken_is_skipped(world) {
        for status in ["paused", "terminated", "pending_approval"] {
            let agent = world.agent(status);
            let session = world.session(Some(&agent), None);

            assert_eq!(world.sweep().outcome(&session), "skipped", "{status}");
            assert_eq!(world.commands(&session, "nudge"), 0, "{status}");
        }
    }

    fn a_session_without_an_agent_is_nudged_as_well(world) {
        let session = world.session(None, None);

        assert_eq!(world.sweep().outcome(&session), "continued");
    }

    fn a_session_whose_issue_is_finished_or_waits_is_left_alone(world) {
        let agent = world.agent("idle");
        let tomorrow = world.ago(-1440);
        for change in ["status = 'done'", "status = 'cancelled'", "status = 'in_review'", "status = 'blocked'",
                       "waiting_for = 'approval'", &format!("wait_until = {tomorrow}")] {
            let issue = world.orphan(&agent);
            let session = world.session(Some(&agent), Some(&issue));
            world.set("issues", &issue, change);

            let outcome = world.sweep().outcome(&session).to_owned();

            assert!(["healthy", "waiting"].contains(&outcome.as_str()), "{change}: {outcome}");
            assert_eq!(world.commands(&session, "nudge"), 0, "{change}");
        }
    }

    fn its_own_threshold_wins_over_the_policy(world) {
        let agent = world.agent("idle");
        let session = world.session(Some(&agent), None);
        world.set("sessions", &session, "silent_after_seconds = 3600");
        assert_eq!(world.sweep().outcome(&session), "healthy");
        world.set("sessions", &session, "silent_after_seconds = 60");
        assert_eq!(world.sweep().outcome(&session), "continued");
    }

    /// The supervisor is gone with its session: decisions.md#a-command-that-is-not-taken
    fn a_command_that_nobody_takes_is_followed_by_an_escalation(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let session = world.session(Some(&agent), Some(&issue));
        world.sweep();
        world.pass(10);

        let swept = world.sweep();

        assert_eq!(swept.outcome(&session), "escalated");
        assert_eq!(swept.subject(&session)["reason"], "nobody delivers commands to it");
        assert_eq!((world.commands(&session, "nudge"), world.comments_on(&issue)), (1, 1));
    }
}
