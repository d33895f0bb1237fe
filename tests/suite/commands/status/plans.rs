//! The status of one plan, for each case of its definition.

use sweep::rules::Id;
use sweep::store::Timeouts;
use sweep::store::connect::open::Url;
use sweep::store::read::plan::{PlanList, PlanReport, PlanTotals, StepWindow};

use crate::support::program::sweep;
use crate::support::world::{On, World, on_each_database};

const USAGE: i32 = 64;

fn plan_report(world: &World, id: &Id) -> PlanReport {
    let url = Url::parse(&world.url).expect("a URL");
    let report = PlanReport::read_from(&url, &id.0, None, None, &Timeouts::default());
    report.unwrap_or_else(|error| panic!("{error:#}"))
}

fn plans(world: &World, name: Option<&str>, after: Option<&str>) -> PlanList {
    let url = Url::parse(&world.url).expect("a URL");
    PlanList::read_from(&url, (name, after), &Timeouts::default()).unwrap_or_else(|error| panic!("{error:#}"))
}

fn ids(list: &PlanList) -> Vec<&Id> {
    list.plans.iter().map(|plan| &plan.id).collect()
}

/// A plan with steps of these statuses, each touched so many minutes ago.
fn plan_of(world: &mut World, status: &str, steps: &[(&str, i64)]) -> Id {
    let plan = Id::generate();
    world.run(&format!("insert into plans (id, title, status) values ('{plan}', 'Launch', '{status}')"));
    for (n, (status, minutes)) in steps.iter().enumerate() {
        let (id, at) = (Id::generate(), world.ago(*minutes));
        world.run(&format!(
            "insert into plan_steps (id, plan_id, position, title, status, started_at, updated_at)
             values ('{id}', '{plan}', {n}, 'Step {n}', '{status}', {at}, {at})"
        ));
    }
    plan
}

on_each_database! {
    fn a_plans_status_is_derived_from_its_steps(world) {
        let (done, skipped, young, old, pending) =
            (("completed", 300), ("skipped", 300), ("in_progress", 5), ("in_progress", 90), ("pending", 300));
        for (stored, steps, derived, progress, current, stuck_minutes) in [
            ("executing", vec![done, young, pending], "executing", 33, Some(1), None),
            ("executing", vec![done, old, pending], "stalled", 33, Some(1), Some(90)),
            ("stalled", vec![done, young], "executing", 50, Some(1), None),
            ("stalled", vec![done, skipped, old, young], "stalled", 50, Some(2), Some(90)),
            ("executing", vec![done, pending], "executing", 50, Some(1), None),
            ("executing", vec![done, skipped], "executing", 100, None, None),
            ("executing", vec![], "executing", 0, None, None),
            ("draft", vec![old], "draft", 0, Some(0), None),
            ("completed", vec![done, old], "completed", 50, Some(1), None),
            ("cancelled", vec![old], "cancelled", 0, Some(0), None),
        ] {
            let plan = plan_of(world, stored, &steps);
            let report = plan_report(world, &plan);
            let status = &report.plan.status;
            let case = format!("{stored} {steps:?}");
            assert_eq!(
                (status.stored.as_str(), status.derived.as_str(), status.stalled),
                (stored, derived, stuck_minutes.is_some()),
                "{case}"
            );
            assert_eq!(
                (status.progress_percent, status.current_step.as_ref().map(|step| step.0)),
                (progress, current),
                "{case}"
            );
            assert_eq!(status.stuck_seconds.map(|seconds| seconds / 60), stuck_minutes, "{case}");
            assert_eq!(report.steps.len(), steps.len());
        }
    }

    fn a_steps_own_threshold_wins_over_its_plans_and_the_policys(world) {
        for (own, plans, stalled) in
            [("null", "null", true), ("null", "86400", false), ("60", "86400", true), ("86400", "60", false)]
        {
            let plan = plan_of(world, "executing", &[("in_progress", 90)]);
            world.set("plans", &plan, &format!("stalled_after_seconds = {plans}"));
            world.run(&format!("update plan_steps set stalled_after_seconds = {own} where plan_id = '{plan}'"));
            let report = plan_report(world, &plan);
            assert_eq!(report.plan.status.stalled, stalled, "step {own}, plan {plans}");
            assert_eq!(report.steps[0].state.as_deref(), Some(if stalled { "stalled" } else { "active" }));
        }
    }

    fn the_limit_is_the_settings_else_the_latest_sweeps(world) {
        let plan = plan_of(world, "executing", &[("in_progress", 90)]);
        let url = world.url.clone();
        world.run("update policy set step_stalled_after_seconds = 7200");
        let ask = || sweep(["status", "--database", &url, "--plan", &plan.0, "--output", "json"]);
        assert_eq!(ask().run().done().json()["derived"], "executing");
        assert_eq!(ask().env("SWEEP_STEP_STALLED_AFTER", "30m").run().done().json()["derived"], "stalled");
    }

    fn a_plan_and_its_steps_are_printed(world) {
        let plan = plan_of(world, "executing", &[("completed", 300), ("in_progress", 90), ("pending", 300)]);
        let ran = sweep(["status", "--database", &world.url, "--plan", &plan.0]).run().done();
        let expected = format!(
            "Launch {plan}
stalled, stored as executing: 33% done, stuck for 1h 30m

  step  title   status          for  limit  state    why
     0  Step 0  completed
     1  Step 1  in progress  1h 30m    30m  stalled  nobody is working on it
     2  Step 2  pending
"
        );
        assert_eq!(ran.out, expected);
        let json =
            sweep(["status", "--database", &world.url, "--plan", &plan.0, "--output", "json"]).run().done().json();
        assert_eq!(
            (&json["id"], &json["stalled"], &json["progress_percent"]),
            (&plan.0.clone().into(), &true.into(), &33.into())
        );
        assert_eq!(json["steps"][1]["age_seconds"].as_i64().map(|seconds| seconds / 60), Some(90));
    }

    fn of_a_long_plan_the_steps_around_the_first_that_is_stalled_are_shown_and_all_are_counted(world) {
        let plan = plan_of(world, "executing", &[]);
        world.long_plan(&plan, 400);
        for (place, minutes) in [(120, 5), (250, 90), (300, 90)] {
            let at = world.ago(minutes);
            world.run(&format!(
                "update plan_steps set status = 'in_progress', started_at = {at} where position = {place}"
            ));
        }
        let url = Url::parse(&world.url).expect("a URL");
        let read = |window| {
            let read = PlanReport::read_window(&url, (&plan.0, window), None, None, &Timeouts::default());
            let report = read.unwrap_or_else(|error| panic!("{error:#}"));
            let positions: Vec<i32> = report.steps.iter().map(|step| step.position).collect();
            (report.steps_before, positions, report.plan.status.step_counts)
        };
        let (before, positions, counts) = read(StepWindow::Around);
        assert_eq!((before, positions), (240, (240..340).collect()));
        assert_eq!((counts.total, counts.done, counts.in_progress, counts.stalled), (400, 200, 3, 2));
        assert_eq!(read(StepWindow::Behind(340)).1, (340..400).collect::<Vec<i32>>());
        assert_eq!(read(StepWindow::Behind(u64::MAX)), (400, Vec::new(), counts));
        assert_eq!(read(StepWindow::First).1, (0..400).collect::<Vec<i32>>());
        world.run("update plan_steps set status = 'skipped' where position in (250, 300)");
        assert_eq!(read(StepWindow::Around).0, 110);
    }

    fn who_has_a_step_and_what_was_tried_about_it_are_shown_with_it(world) {
        let agent = world.agent("idle");
        let (plan, step) = world.stalled_step(Some(&agent));
        for _ in 0..2 {
            world.sweep();
            world.end_continuations("failed");
            world.pass(90);
        }
        let report = plan_report(world, &plan);
        let shown = &report.steps[0];
        assert_eq!((&shown.id, shown.agent_id.as_ref(), shown.agent.as_deref()), (&step, Some(&agent), Some("Ada")));
        let tried: Vec<_> = shown.tried.iter().map(|tried| (tried.action.as_str(), tried.times)).collect();
        assert_eq!(tried, [("continue", 1), ("escalate", 1)]);
        assert!(shown.tried.iter().all(|tried| tried.last_at.is_some()));
        assert_eq!(shown.state.as_deref(), Some("escalated"));
    }

    fn plans_with_stalled_steps_come_first_and_are_counted_beyond_those_that_are_listed(world) {
        let agent = world.agent("idle");
        let (healthy, young) = world.stalled_step(Some(&agent));
        let now = world.ago(5);
        world.set("plan_steps", &young, &format!("started_at = {now}"));
        let oldest = world.stalled_steps(&agent, 1..60).pop().expect("a step");
        plan_of(world, "completed", &[("completed", 300)]);
        let listed = plans(world, None, None);
        assert_eq!(listed.totals, Some(PlanTotals { in_progress: 60, stuck: 59 }));
        assert_eq!((ids(&listed)[0], listed.plans.len()), (&oldest, 50));
        let status = world.status_document();
        assert_eq!((&status["plans_total"], status["plans"].as_array().map(Vec::len)), (&59.into(), Some(50)));
        let attention = world.attention();
        assert_eq!((&attention["plans_total"], attention["plans"].as_array().map(Vec::len)), (&59.into(), Some(20)));
        assert_eq!(attention["plans"][0]["step_counts"]["stalled"], 1);
        world.run("update plan_steps set status = 'completed' where position = 1");
        world.set("plan_steps", &young, "status = 'in_progress'");
        assert_eq!(ids(&plans(world, None, None)), [&healthy]);
    }

    fn a_plan_is_searched_by_a_part_of_its_title_open_or_not(world) {
        let (open, over) = (plan_of(world, "executing", &[]), plan_of(world, "completed", &[("completed", 300)]));
        world.set("plans", &open, "title = 'Release 2.4 ÄB'");
        world.set("plans", &over, "title = 'release 2.3 password=hunter2'");
        let found = plans(world, Some("RELEASE"), None);
        assert_eq!((ids(&found), found.next.as_ref()), (vec![&open, &over], None));
        assert_eq!(ids(&plans(world, Some("äb"), None)), [&open]);
        assert!(plans(world, Some("hunter2"), None).plans.is_empty(), "what is not shown is not found");
        assert!(plans(world, Some("Launch"), None).plans.is_empty());
        assert_eq!(ids(&plans(world, Some("release"), Some(&open.0))), [&over]);
    }

    fn a_plan_that_is_not_there_is_a_wrong_argument(world) {
        let nowhere = Id::generate().0;
        let ran = sweep(["status", "--database", &world.url, "--plan", &nowhere]).run();
        ran.refused(USAGE, &[&format!("there is no plan {nowhere}")]);
        sweep(["status", "--database", &world.url, "--plan", "7"]).run().refused(USAGE, &["there is no plan 7"]);
    }

    fn a_plan_is_found_by_its_title_unless_several_are_called_so(world) {
        let (one, other) = (plan_of(world, "executing", &[]), plan_of(world, "executing", &[]));
        world.set("plans", &one, "title = 'Release 2.4'");
        world.set("plans", &other, "title = 'Release 2.5'");
        let shown = |name: &str| sweep(["status", "--database", &world.url, "--plan", name, "--output", "json"]).run();
        assert_eq!(shown("Release 2.4").done().json()["id"], one.0);
        assert_eq!(shown(&other.0).done().json()["title"], "Release 2.5");
        world.set("plans", &other, "title = 'Release 2.4'");
        let both = format!("{one} (tenant default), {other} (tenant default)");
        let ran = sweep(["status", "--database", &world.url, "--plan", "Release 2.4"]).run();
        ran.refused(USAGE, &["more than one plan is called Release 2.4; give the id: ", &both]);
    }
}

#[test]
fn a_host_without_plans_says_so() {
    let world = World::new(On::Paperclip);
    assert!(!plans(&world, None, None).provided);
    let ran = sweep(["status", "--database", &world.url, "--plan", &Id::generate().0]).run();
    ran.refused(USAGE, &["plan steps: not provided by this database"]);
}

/// A time that cannot be read makes no step stalled, and costs the plan nothing.
#[test]
fn a_step_with_an_absurd_time_is_shown_as_far_as_it_goes() {
    for (on, time) in
        [(On::Postgres, "-infinity"), (On::Postgres, "294276-12-31"), (On::Sqlite, "xxxx-xx-xxTxx:xx:xx.xxxZ")]
    {
        let mut world = World::new(on);
        let plan = plan_of(&mut world, "executing", &[("completed", 300), ("in_progress", 5)]);
        if on == On::Sqlite {
            world.run("pragma ignore_check_constraints = on");
        }
        world.run(&format!("update plan_steps set started_at = '{time}' where position = 1"));
        let report = plan_report(&world, &plan);
        assert_eq!((report.plan.status.progress_percent, report.plan.status.stalled), (50, false), "{time}");
        assert_eq!(report.steps[1].age_seconds, None, "{time}");
        world.status_document();
    }
}
