//! A session and its issue: sweeps continue one of them, never both.

use sweep::rules::Id;

use super::crashed::{crashed_with_its_issue, relaunching};
use crate::support::world::on_each_database;

on_each_database! {
    fn an_issue_whose_session_is_at_work_is_no_orphan(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let session = world.session(Some(&agent), Some(&issue));
        world.progresses(&session);

        let swept = world.sweep();

        assert_eq!(swept.outcome(&issue), "not examined");
        assert_eq!((world.wakes_for(&issue), world.commands(&session, "nudge")), (0, 0));
    }

    /// The session is reported, and its work goes on elsewhere once the issue has been idle for long enough.
    fn a_crashed_session_leaves_its_issue_to_the_issue_rules(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let session = world.session(Some(&agent), Some(&issue));
        world.ends(&session, "1");

        let at_once = world.sweep();
        assert_eq!((at_once.outcome(&session), at_once.outcome(&issue)), ("escalated", "healthy"), "{}", at_once.json);
        world.pass(5);
        let later = world.sweep();

        assert_eq!((later.outcome(&session), later.outcome(&issue)), ("waiting", "continued"), "{}", later.json);
        assert_eq!(
            (world.commands(&session, "relaunch"), world.wakes_for(&issue), world.comments_on(&issue)),
            (0, 1, 1)
        );
    }

    /// A person has the issue now. That heals no session, and is no reason for a sweep to act:
    /// decisions.md#a-blocked-issue-heals-no-session
    fn a_crashed_session_whose_issue_was_escalated_is_not_called_recovered(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let session = world.session(Some(&agent), Some(&issue));
        world.ends(&session, "1");
        world.sweep();
        world.pass(5);
        world.sweep();
        world.end_continuations("failed");
        world.pass(10);
        world.sweep();
        assert_eq!(world.status("issues", &issue), "blocked");

        assert_eq!(world.sweep().outcome(&session), "waiting");
        assert_eq!(world.count(&format!("recoveries where subject_id = '{session}'")), 1);
    }

    fn a_relaunch_on_its_way_continues_the_issue_as_well(world) {
        let (session, issue) = crashed_with_its_issue(world);
        let settings = relaunching(world);

        let swept = world.sweep_as(&settings);
        let again = world.sweep_as(&settings);

        assert_eq!((swept.outcome(&session), swept.outcome(&issue)), ("continued", "healthy"), "{}", swept.json);
        assert_eq!(again.count("issues", "continued") + again.count("sessions", "continued"), 0);
        assert_eq!((world.commands(&session, "relaunch"), world.wakes_for(&issue)), (1, 0));
    }

    fn a_session_whose_issue_was_continued_first_is_not_relaunched(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let session = world.session(Some(&agent), Some(&issue));
        world.ends(&session, "1");
        world.pass(30);
        world.issue_wake(&issue, &agent, "queued", 0);

        let swept = world.sweep_as(&relaunching(world));
        assert_eq!(swept.subject(&session)["reason"], "a wake is queued");
        world.run("update wakes set status = 'completed'");
        world.issue_run(&issue, &agent, "running", 0);
        let swept = world.sweep_as(&relaunching(world));

        assert_eq!(swept.subject(&session)["reason"], "a run is live");
        assert_eq!(world.commands(&session, "relaunch"), 0);
    }

    fn two_sessions_of_one_issue_are_not_both_relaunched(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let sessions = [world.session(Some(&agent), Some(&issue)), world.session(Some(&agent), Some(&issue))];
        sessions.iter().for_each(|session| world.ends(session, "1"));

        world.sweep_as(&relaunching(world));

        let relaunches: i64 = sessions.iter().map(|session| world.commands(session, "relaunch")).sum();
        assert_eq!(relaunches, 1);
    }

    /// The session's agent went on to something else, or somebody took the issue over.
    fn a_session_of_an_agent_that_no_longer_has_the_issue_is_left_and_holds_nothing(world) {
        let (agent, other) = (world.agent("idle"), world.agent("idle"));
        for (broken, status) in [
            ("last_tool = null", "active"),
            ("exit_code = 1, ended_at = last_activity_at", "active"),
            ("last_tool = null", "paused"),
        ] {
            let issue = world.orphan(&agent);
            let session = world.session(Some(&agent), Some(&issue));
            world.set("sessions", &session, &format!("{broken}, status = '{status}'"));
            world.set("issues", &issue, &format!("assignee_agent_id = '{other}'"));

            let swept = world.sweep_as(&relaunching(world));

            assert_eq!(swept.outcome(&issue), "continued", "{broken}: {}", swept.json);
            assert_eq!(world.commands(&session, "nudge") + world.commands(&session, "relaunch"), 0, "{broken}");
        }
    }

    fn a_paused_session_whose_process_is_dead_holds_nothing(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let session = world.session(Some(&agent), Some(&issue));
        world.ends(&session, "137");
        world.set("sessions", &session, "status = 'paused'");
        world.pass(10);

        assert_eq!(world.sweep().outcome(&issue), "continued");
    }

    /// A sweep does not read all of the steps to learn which of them have a live run.
    fn a_crashed_session_is_not_relaunched_beside_more_than_fifty_steps_in_progress(world) {
        for (steps, outcome) in [(50, "continued"), (51, "healthy")] {
            let (session, issue) = crashed_with_its_issue(world);
            let (plan, _) = world.stalled_step(None);
            world.set("plans", &plan, &format!("issue_id = '{issue}'"));
            let rows = (2..=steps).map(|at| format!("('{}', '{plan}', {at}, 's', 'in_progress')", Id::generate()));
            let rows = rows.collect::<Vec<_>>().join(", ");
            world.run(&format!("insert into plan_steps (id, plan_id, position, title, status) values {rows}"));

            let swept = world.sweep_as(&relaunching(world));
            assert_eq!(swept.outcome(&session), outcome, "{steps} steps: {}", swept.subject(&session));
        }
    }

    fn a_crashed_session_is_not_relaunched_beside_a_run_of_its_issues_plan(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let session = world.session(Some(&agent), Some(&issue));
        let (plan, step) = world.stalled_step(Some(&agent));
        world.set("plans", &plan, &format!("issue_id = '{issue}'"));
        let run = Id::generate();
        world.run(&format!("insert into runs (id, agent_id, plan_step_id, status) values ('{run}', '{agent}', \
            '{step}', 'running')"));
        world.ends(&session, "1");

        assert_eq!(world.sweep_as(&relaunching(world)).subject(&session)["reason"], "a run is live");
    }

    fn an_issue_whose_session_was_paused_waits_for_it(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let session = world.session(Some(&agent), Some(&issue));
        world.set("sessions", &session, "status = 'paused'");

        let swept = world.sweep();

        assert_eq!(
            (swept.outcome(&issue), &swept.subject(&issue)["reason"]),
            ("waiting", &"it waits: its session is paused".into())
        );
    }

    fn an_issue_whose_session_was_closed_without_finishing_it_is_an_orphan(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let session = world.session(Some(&agent), Some(&issue));
        world.ends(&session, "0");
        world.set("sessions", &session, "status = 'terminated'");
        assert_eq!(world.sweep().outcome(&issue), "healthy", "it ended a moment ago");
        world.pass(5);

        assert_eq!(world.sweep().outcome(&issue), "continued");
    }
}
