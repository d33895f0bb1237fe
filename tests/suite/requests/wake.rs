//! `sweep wake`: a person has an agent go on, without a sweep's patience and beyond its bounds.

use sweep::rules::{Id, Kind};

use super::{USAGE, ask, refused};
use crate::support::program::{command_at, explain};
use crate::support::views_and_rules::exempt;
use crate::support::world::{On, World, on_each_database, on_each_host};

fn identifier(world: &mut World, issue: &Id) -> String {
    world.text("identifier", &format!("issues where id = '{issue}'")).expect("an identifier")
}

on_each_host! {
    fn an_issue_that_a_person_wakes_gets_the_wake_and_the_row_of_a_sweep_and_says_who_asked(world) {
        let agent = world.agent("idle");
        let (issue, other) = (world.orphan(&agent), world.orphan(&agent));
        let (name, now) = (identifier(world, &issue), world.ago(0));
        world.set("issues", &issue, &format!("updated_at = {now}, started_at = {now}"));
        assert_eq!(world.dry_run().outcome(&issue), "healthy", "it is not idle for long enough");

        let woken = ask(world, "wake", &name, &[]).done();

        assert_eq!(woken.out, format!("A wake is queued: issue {name}, asked for by ada\n"));
        assert_eq!((world.wakes_for(&issue), world.wakes_for(&other)), (1, 0));
        let rows = world.texts("action || ' ' || attempt || ' ' || reason || '; ' || requested_by", "recoveries");
        assert_eq!(rows, [Some("continue 1 woken, asked for by ada; ada".to_owned())]);
        let explained = explain(&world.url, Kind::Issue, &name);
        assert_eq!(explained["recoveries"][0]["requested_by"], "ada");
        let swept = world.sweep();
        assert_eq!((swept.outcome(&issue), swept.outcome(&other)), ("healthy", "continued"));
        assert_eq!(world.wakes_for(&issue), 1);
    }

    /// P5
    fn a_persons_wake_counts_as_an_attempt_of_its_episode(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        ask(world, "wake", &issue.0, &[]).done();
        world.end_continuations("failed");
        world.pass(10);

        let swept = world.sweep();

        assert_eq!((swept.outcome(&issue), world.wakes_for(&issue)), ("escalated", 1));
    }

    fn neither_the_attempts_nor_an_escalation_that_nobody_answered_bind_a_person(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        for attempt in 1..=6 {
            ask(world, "wake", &issue.0, &[]).done();
            assert_eq!(world.wakes_for(&issue), attempt);
            world.end_continuations("failed");
            world.pass(10);
        }
        assert_eq!(world.count("recoveries where action = 'continue'"), 6);
        assert_eq!(world.count("recoveries where settled_at is null"), 1, "each settles the one before it");
    }

    fn an_issue_that_was_escalated_is_not_woken_while_it_is_blocked_and_it_is_said_how_it_goes_on(world) {
        let agent = world.agent("idle");
        let issue = world.escalated_issue(&agent);
        refused(world, "wake", &issue.0, &["it is blocked", "it is unblocked: "]);

        world.set("issues", &issue, "status = 'in_progress'");
        ask(world, "wake", &issue.0, &[]).done();
        assert_eq!(world.wakes_for(&issue), 2);
        assert_eq!(world.count("recoveries where action = 'escalate' and settled_at is null"), 0);
    }

    fn what_is_not_in_progress_or_not_an_agents_is_not_woken(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        for status in ["todo", "done", "in_review"] {
            world.set("issues", &issue, &format!("status = '{status}'"));
            refused(world, "wake", &issue.0, &[&format!("it is {}", status.replace('_', " ")), "it is set to work"]);
        }
        world.set("issues", &issue, "status = 'in_progress', assignee_agent_id = null");
        refused(world, "wake", &issue.0, &["no agent is assigned", "an agent is assigned"]);
        world.set("issues", &issue, "assignee_user_id = 'user-1'");
        refused(world, "wake", &issue.0, &["a person has it", "an agent has it, and no person"]);
    }

    fn what_somebody_is_about_already_is_not_woken(world) {
        let agent = world.agent("idle");
        let (running, queued, stuck) = (world.orphan(&agent), world.orphan(&agent), world.orphan(&agent));
        world.issue_run(&running, &agent, "running", 5);
        world.issue_wake(&queued, &agent, "queued", 1);
        world.issue_wake(&stuck, &agent, "queued", 120);
        refused(world, "wake", &running.0, &["a run is live", "its run ends"]);
        refused(world, "wake", &queued.0, &["a wake is queued", "its wake is taken up, or cancelled"]);
        refused(world, "wake", &stuck.0, &["stuck wake: queued for 2h", "see why the host leaves it"]);
    }

    fn what_waits_or_is_exempt_is_not_woken(world) {
        let agent = world.agent("idle");
        let (waiting, on_purpose, no_longer) = (world.orphan(&agent), world.orphan(&agent), world.orphan(&agent));
        world.declare_waits(std::slice::from_ref(&waiting));
        exempt(world, "issue", &on_purpose, None);
        exempt(world, "issue", &no_longer, Some(5));
        refused(world, "wake", &waiting.0, &["it waits: ", "the wait ends"]);
        refused(world, "wake", &on_purpose.0, &["exempt: on purpose", "sweep exempt remove"]);
        ask(world, "wake", &no_longer.0, &[]).done();
    }

    /// P6
    fn an_agent_that_must_not_be_woken_is_not_woken_by_a_person_either(world) {
        for status in ["paused", "terminated", "pending_approval"] {
            let agent = world.agent(status);
            let issue = world.orphan(&agent);
            refused(world, "wake", &issue.0, &[&format!("Ada is {}", status.replace('_', " "))]);
        }
    }

    fn a_host_that_is_not_done_with_the_last_run_is_not_disturbed(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let run = world.issue_run(&issue, &agent, "failed", 10);
        // An end in the future keeps the moment from passing, however slow the machine is.
        let soon = if world.on == On::Sqlite { world.ago(-1) } else { "now() + interval '10 seconds'".to_owned() };
        world.set_run(&run, &format!("finished_at = {soon}"));
        refused(world, "wake", &issue.0, &["its last run ended a moment ago", "time: its host has "]);
    }

    fn what_is_not_there_cannot_be_woken(world) {
        let nowhere = Id::generate();
        for name in ["ACM-99", &nowhere.0] {
            let kinds = if world.on == On::Paperclip { "issue" } else { "issue or step" };
            ask(world, "wake", name, &[]).refused(USAGE, &[&format!("there is no {kinds} {name} in this database")]);
        }
    }

    fn for_programs_it_prints_the_subject_and_who_asked(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);

        let woken = ask(world, "wake", &issue.0, &["--output", "json", "--quiet"]).done().json();

        assert_eq!((&woken["request"], &woken["requested_by"]), (&"wake".into(), &"ada".into()));
        let subject = &woken["subject"];
        assert_eq!((&subject["id"], &subject["outcome"]), (&issue.0.clone().into(), &"continued".into()));
        assert_eq!((&subject["attempt"], &subject["reason"]), (&1.into(), &"woken, asked for by ada".into()));
    }
}

mod own_tables {
    use super::*;

    on_each_database! {
        fn a_step_that_a_person_wakes_stalls_its_plan_as_a_sweep_does(world) {
            let agent = world.agent("idle");
            let (plan, step) = world.stalled_step(Some(&agent));
            let now = world.ago(0);
            world.set("plan_steps", &step, &format!("started_at = {now}, updated_at = {now}"));

            let woken = ask(world, "wake", "Launch #1", &["--quiet"]).done();

            assert_eq!(woken.out, "");
            assert_eq!((world.wakes_for(&step), world.status("plans", &plan).as_str()), (1, "stalled"));
            refused(world, "wake", &step.0, &["a wake is queued"]);
        }

        fn a_step_without_an_agent_or_of_a_plan_that_is_over_is_not_woken(world) {
            let (plan, step) = world.stalled_step(None);
            refused(world, "wake", &step.0, &["the plan has no agent to wake", "its plan gets an agent"]);
            world.set("plans", &plan, "status = 'completed'");
            refused(world, "wake", &step.0, &["its plan is completed", "its plan is executing again"]);
        }

        fn a_name_that_an_issue_and_a_step_have_is_refused(world) {
            let agent = world.agent("idle");
            let (issue, _) = (world.orphan(&agent), world.stalled_step(Some(&agent)));
            world.set("issues", &issue, "identifier = 'Launch #1'");
            let says = ["both an issue and a step are called Launch #1", &issue.0, "give the id"];
            ask(world, "wake", "Launch #1", &[]).refused(USAGE, &says);
            ask(world, "wake", &issue.0, &[]).done();
        }

        fn who_asks_is_the_login_unless_it_is_said(world) {
            let agent = world.agent("idle");
            let issue = world.orphan(&agent);
            command_at(&world.url, ["wake", &issue.0]).run().done();
            let login = std::process::Command::new("id").arg("-un").output().expect("id runs").stdout;
            let login = String::from_utf8(login).expect("a name").trim().to_owned();
            assert_eq!(world.text("requested_by", "recoveries"), Some(login));
        }
    }
}
