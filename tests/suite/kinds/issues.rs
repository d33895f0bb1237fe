//! What a sweep promises about an issue, on every host alike.

use crate::support::world::{On, on_each_host};

on_each_host! {
    fn an_orphan_gets_exactly_one_wake_and_keeps_its_assignee_and_status(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);

        let swept = world.sweep();

        assert_eq!(swept.outcome(&issue), "continued");
        assert_eq!(world.wakes_for(&issue), 1);
        assert_eq!(world.status("issues", &issue), "in_progress");
        assert_eq!(world.text("assignee_agent_id", &format!("issues where id = '{issue}'")), Some(agent.0));
        assert_eq!(world.comments_on(&issue), 0, "a continuation is silent");
    }

    /// P4
    fn a_second_sweep_finds_nothing_to_do(world) {
        let agent = world.agent("idle");
        let issues = [world.orphan(&agent), world.orphan(&agent)];
        world.sweep();

        let again = world.sweep();

        for outcome in ["continued", "escalated", "recovered", "handed_over", "busy", "failed"] {
            assert_eq!(again.count("issues", outcome), 0, "{outcome}");
        }
        for issue in issues {
            assert_eq!(world.wakes_for(&issue), 1);
        }
    }

    /// The negative control of P4: a sweeper whose wake and ledger are deleted does everything again.
    fn a_sweep_that_leaves_no_trace_is_repeated_by_the_next(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let first = world.sweep();
        world.run("delete from recoveries");
        match world.on {
            On::Paperclip => world.run("delete from heartbeat_runs; delete from agent_wakeup_requests"),
            On::Postgres | On::Sqlite => world.run("delete from wakes"),
        }

        let again = world.sweep();

        assert_eq!((first.outcome(&issue), again.outcome(&issue)), ("continued", "continued"));
    }

    /// P5
    fn a_continuation_that_does_not_help_is_followed_by_exactly_one_escalation(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.sweep();
        for status in ["failed", "succeeded", "failed"] {
            world.end_continuations(status);
            world.pass(10);
            world.sweep();
        }

        assert_eq!(world.wakes_for(&issue), 1);
        assert_eq!(world.comments_on(&issue), 1);
        assert_eq!(world.status("issues", &issue), "blocked");
        assert_eq!(world.count(&format!("recoveries where subject_id = '{issue}'")), 2, "one attempt, one escalation");
        assert_eq!(world.text("assignee_agent_id", &format!("issues where id = '{issue}'")), Some(agent.0));
    }

    fn a_continuation_in_flight_is_neither_repeated_nor_called_a_recovery(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.sweep();
        world.end_continuations("running");

        let swept = world.sweep();

        assert_eq!(swept.count("issues", "recovered"), 0);
        assert_eq!(world.wakes_for(&issue), 1);
    }

    fn an_issue_that_its_continuation_finished_is_recovered_once(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.sweep();
        world.end_continuations("succeeded");
        world.set("issues", &issue, "status = 'done'");

        let swept = world.sweep();
        let again = world.sweep();

        assert_eq!(swept.outcome(&issue), "recovered");
        assert_eq!(again.outcome(&issue), "not examined");
        assert_eq!(world.count(&format!("recoveries where subject_id = '{issue}' and settled_at is null")), 0);
    }

    fn an_escalated_issue_that_a_person_set_back_to_work_begins_a_new_episode(world) {
        let agent = world.agent("idle");
        let issue = world.escalated_issue(&agent);
        assert_eq!(world.status("issues", &issue), "blocked");
        world.pass(10);
        world.set("issues", &issue, "status = 'in_progress'");

        let swept = world.sweep();

        assert_eq!(swept.outcome(&issue), "continued");
        assert_eq!(world.wakes_for(&issue), 2);
    }

    /// However often people or runs restart the episode, the cost of a day is bounded.
    fn no_issue_is_continued_more_than_the_daily_limit(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        for _ in 0..7 {
            world.sweep();
            world.end_continuations("failed");
            world.pass(10);
            world.issue_run(&issue, &agent, "failed", 5);
            world.set("issues", &issue, "status = 'in_progress'");
        }

        assert_eq!(world.wakes_for(&issue), 4);
    }

    fn an_escalation_may_comment_only(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let mut settings = world.options();
        settings.policy.escalation = sweep::rules::Escalation::CommentOnly;
        world.sweep_as(&settings);
        world.end_continuations("failed");
        world.pass(10);

        let swept = world.sweep_as(&settings);
        world.pass(10);
        let again = world.sweep_as(&settings);

        assert_eq!(swept.outcome(&issue), "escalated");
        assert_eq!(again.outcome(&issue), "waiting", "a person has been notified");
        assert_eq!(world.status("issues", &issue), "in_progress");
        assert_eq!(world.comments_on(&issue), 1);
    }

    /// P6
    fn an_agent_that_cannot_work_is_never_woken(world) {
        for status in ["paused", "terminated", "pending_approval"] {
            let agent = world.agent(status);
            let issue = world.orphan(&agent);

            let swept = world.sweep();

            let (outcome, comments) = if status == "terminated" { ("abandoned", 1) } else { ("skipped", 0) };
            assert_eq!(swept.outcome(&issue), outcome, "{status}");
            assert_eq!(world.wakes_for(&issue), 0, "{status}");
            assert_eq!(world.comments_on(&issue), comments, "{status}");
        }
    }

    fn every_agent_that_can_work_is_woken(world) {
        for status in ["active", "idle", "running", "error"] {
            let agent = world.agent(status);
            let issue = world.orphan(&agent);
            world.sweep();
            assert_eq!(world.wakes_for(&issue), 1, "{status}");
        }
    }

    fn work_that_is_alive_is_left_alone(world) {
        let agent = world.agent("running");
        let mut alive = Vec::new();
        for status in ["queued", "scheduled_retry", "running"] {
            let issue = world.orphan(&agent);
            world.issue_run(&issue, &agent, status, 50);
            alive.push(issue);
        }
        let just_touched = world.orphan(&agent);
        let moment = world.ago(1);
        world.set("issues", &just_touched, &format!("updated_at = {moment}"));
        let run_ended_a_moment_ago = world.orphan(&agent);
        world.issue_run(&run_ended_a_moment_ago, &agent, "failed", 1);
        let in_the_future = world.orphan(&agent);
        let tomorrow = world.ago(-1440);
        world.set("issues", &in_the_future, &format!("updated_at = {tomorrow}"));
        let a_persons = world.orphan(&agent);
        world.set("issues", &a_persons, "assignee_user_id = 'grace'");
        let nobodys = world.orphan(&agent);
        world.set("issues", &nobodys, "assignee_agent_id = null");
        alive.extend([just_touched, run_ended_a_moment_ago, in_the_future, a_persons, nobodys]);
        for status in ["backlog", "todo", "in_review", "blocked", "done", "cancelled"] {
            let issue = world.orphan(&agent);
            world.set("issues", &issue, &format!("status = '{status}'"));
            alive.push(issue);
        }

        let swept = world.sweep();

        for issue in alive {
            assert!(["healthy", "not examined"].contains(&swept.outcome(&issue)), "{}", swept.subject(&issue));
            assert_eq!(world.wakes_for(&issue), 0);
        }
    }

    fn a_wake_that_is_pending_is_enough_and_one_that_is_stuck_is_reported(world) {
        let agent = world.agent("idle");
        let (queued, stuck) = (world.orphan(&agent), world.orphan(&agent));
        world.issue_wake(&queued, &agent, "queued", 5);
        world.issue_wake(&stuck, &agent, "claimed", 180);

        let swept = world.sweep();

        assert_eq!(swept.outcome(&queued), "healthy");
        assert_eq!(swept.subject(&stuck)["reason"], "stuck wake: queued for 3h");
        assert_eq!(swept.outcome(&stuck), "waiting");
        assert_eq!(world.wakes_for(&queued) + world.wakes_for(&stuck), 0);
    }

    fn the_limit_is_exact_and_takes_the_oldest_first(world) {
        let agent = world.agent("idle");
        let issues: Vec<_> = (0..6).map(|_| world.orphan(&agent)).collect();
        for (hours, issue) in issues.iter().enumerate() {
            let at = world.ago(60 * (hours as i64 + 1));
            world.set("issues", issue, &format!("updated_at = {at}"));
        }
        let mut settings = world.options();
        settings.limit = Some(2);

        let swept = world.sweep_as(&settings);

        assert_eq!(swept.count("issues", "continued"), 2);
        assert_eq!(swept.json["stopped_by"], "limit");
        let oldest_left = world.text("oldest_left_at", "sweeps").expect("a time");
        let of_the_third = world.text("updated_at", &format!("issues where id = '{}'", issues[3])).expect("a time");
        assert_eq!(oldest_left, of_the_third);
        assert_eq!((swept.outcome(&issues[5]), swept.outcome(&issues[4])), ("continued", "continued"));
    }

    fn one_issue_can_be_swept_by_its_id(world) {
        let agent = world.agent("idle");
        let (one, other) = (world.orphan(&agent), world.orphan(&agent));
        let mut settings = world.options();
        settings.selection = sweep::sweep::Selection::Subjects(vec![(sweep::rules::Kind::Issue, one.0.clone())]);

        let swept = world.sweep_as(&settings);

        assert_eq!(swept.outcome(&one), "continued");
        assert_eq!(world.wakes_for(&other), 0);
    }

    fn the_host_can_read_what_was_done_in_its_activity_and_in_the_ledger(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.sweep();

        let log = if world.on == crate::support::world::On::Paperclip { "activity_log" } else { "activity" };
        assert_eq!(world.count(&format!("{log} where entity_id = '{issue}'")), 1);
        assert_eq!(world.count(&format!("recoveries where subject_id = '{issue}' and action = 'continue'")), 1);
        assert_eq!(world.count("sweeps where finished_at is not null and ended = 'completed'"), 1);
    }
}
