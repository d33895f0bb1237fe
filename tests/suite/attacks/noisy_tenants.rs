//! One tenant, or one agent, whose rows look stranded does not stop the sweep for all others.

mod held_back_again;
mod multiplied;
mod shares;
mod turns;

use serde_json::{Value, json};
use sweep::conclusion::Conclusion;
use sweep::rules::Id;

use crate::support::daemon::{Daemon, NEVER, daemon};
use crate::support::in_process::Swept;
use crate::support::program::sweep_at;
use crate::support::receiver::Receiver;
use crate::support::wait::wait_for;
use crate::support::world::tenants::Tenant;
use crate::support::world::{On, World, on_each_host};

impl Swept {
    fn held(&self) -> (&Value, &Value) {
        let issues = &self.json["kinds"]["issues"];
        (&issues["guard"], &issues["held_back"])
    }

    fn issues(&self, counter: &str) -> i64 {
        self.count("issues", counter)
    }
}

/// Makes three tenants, each with so many orphans and nothing else.
fn tenants_with(world: &mut World, orphans: [u32; 3]) -> [(Tenant, Vec<Id>); 3] {
    [0, 1, 2].map(|n| {
        let tenant = world.tenant(["one", "two", "three"][n]);
        let first = 100 * n as u32;
        let stranded = world.orphans_of(&tenant, first..first + orphans[n]);
        (tenant, stranded)
    })
}

on_each_host! {
    fn a_tenant_whose_rows_all_look_stranded_is_held_back_and_all_others_are_swept(world) {
        let (hostile, other) = (world.tenant("evil"), world.tenant("acme"));
        world.orphans_of(&hostile, 0..30);
        world.orphans_of(&other, 100..105);
        world.at_work_of(&other, 200..210);

        let swept = world.sweep_guarded();

        let held = json!([{
            "tenant": hostile.name, "agent_id": null, "agent": null, "stranded": 30, "at_least": false,
            "undecided": false, "in_progress": 30
        }]);
        assert_eq!(swept.held(), (&Value::Null, &held));
        assert_eq!((swept.exit, swept.issues("continued"), swept.issues("deferred")), (Conclusion::Guarded, 5, 30));
        assert_eq!(world.written(), 2 * 5);
    }

    fn an_agent_that_has_most_of_the_rows_is_held_back_and_the_others_of_its_tenant_are_swept(world) {
        let tenant = world.tenant("acme");
        let other = world.tenant("other");
        world.orphans_of(&tenant, 0..30);
        let beside = world.orphans(&tenant.agent, 100..105);
        for issue in &beside {
            // The issue keeps its tenant, and gets another agent.
            let agent = world.colleague(&tenant);
            world.set("issues", issue, &format!("assignee_agent_id = '{agent}'"));
            if world.on != On::Paperclip {
                world.set("issues", issue, &format!("tenant = '{}'", tenant.name));
            }
        }
        world.at_work_of(&other, 200..205);

        let swept = world.sweep_guarded();

        let (guard, held) = swept.held();
        assert_eq!((guard, held.as_array().map(Vec::len)), (&Value::Null, Some(1)), "{held}");
        assert_eq!(
            (&held[0]["agent_id"], &held[0]["stranded"], &held[0]["in_progress"]),
            (&json!(tenant.agent), &json!(30), &json!(30))
        );
        assert_eq!((swept.exit, swept.issues("continued"), swept.issues("deferred")), (Conclusion::Guarded, 5, 30));
    }

    fn a_tenant_is_judged_by_its_own_rows_however_many_the_others_have(world) {
        let (hostile, other) = (world.tenant("evil"), world.tenant("acme"));
        world.orphans_of(&hostile, 0..25);
        world.at_work_of(&other, 100..140);
        world.orphans_of(&other, 200..203);

        let swept = world.sweep_guarded();

        assert_eq!((swept.exit, swept.issues("continued"), swept.issues("deferred")), (Conclusion::Guarded, 3, 25));
        // The control: so few are plausible for any tenant.
        world.run(&format!("delete from issues where identifier like 'N-1_' or identifier like 'N-2_' or identifier = \
            'N-{}'", 5));
        let swept = world.sweep_guarded();
        assert_eq!((swept.exit, swept.held().1), (Conclusion::Done, &json!([])));
    }

    /// Half of one tenant's issues look stranded, which is just plausible; with the other's two it is more than half of
    /// all.
    fn a_tenant_at_the_edge_of_what_is_plausible_does_not_tip_the_balance_for_others(world) {
        let (hostile, other) = (world.tenant("evil"), world.tenant("acme"));
        world.orphans_of(&hostile, 0..25);
        world.at_work_of(&hostile, 100..125);
        world.orphans_of(&other, 200..202);

        let swept = world.sweep_guarded();

        assert_eq!((swept.exit, swept.held()), (Conclusion::Done, (&Value::Null, &json!([]))));
        assert_eq!(swept.issues("continued"), 27);
    }

    /// All issues of one tenant look stranded, and are as few as is plausible for a tenant.
    fn a_small_tenant_does_not_tip_the_balance_for_small_ones(world) {
        let (hostile, other, third) = (world.tenant("evil"), world.tenant("acme"), world.tenant("idle"));
        world.orphans_of(&hostile, 0..20);
        world.orphans_of(&other, 100..101);
        world.at_work_of(&other, 200..209);
        // A third tenant's only issue is stranded.
        world.orphans_of(&third, 300..301);

        let swept = world.sweep_guarded();

        let (guard, held) = swept.held();
        assert_eq!((guard, &held[0]["tenant"], &held[0]["stranded"]), (&Value::Null, &json!(hostile.name), &json!(20)));
        assert_eq!((swept.exit, swept.issues("continued"), swept.issues("deferred")), (Conclusion::Guarded, 2, 20));
    }

    fn a_small_tenant_does_not_tip_the_balance_for_a_large_one_that_is_at_work(world) {
        let (hostile, other) = (world.tenant("evil"), world.tenant("acme"));
        world.orphans_of(&hostile, 0..20);
        world.orphans_of(&other, 100..124);
        world.at_work_of(&other, 200..226);

        let swept = world.sweep_guarded();

        assert_eq!((swept.exit, swept.held()), (Conclusion::Done, (&Value::Null, &json!([]))));
        assert_eq!(swept.issues("continued"), 44);
    }

    /// If a sweep did a part of an implausible picture, the rest would be plausible in the next sweep.
    fn a_picture_that_is_false_as_a_whole_is_let_through_in_no_sweep(world) {
        tenants_with(world, [20, 10, 9]);

        for _ in 0..3 {
            let swept = world.sweep_guarded();
            assert_eq!((swept.exit, swept.held().0["stranded"].as_u64()), (Conclusion::Guarded, Some(39)));
        }
        assert_eq!(world.written(), 0);
    }

    /// SQLite takes no expression of so many levels.
    fn more_than_a_hundred_tenants_are_judged(world) {
        for n in 0..120 {
            let tenant = world.tenant(&format!("t{n}"));
            let orphans = world.orphans_of(&tenant, 100 * n..100 * n + 21);
            if 60 <= n {
                world.declare_waits(&orphans);
            }
        }

        let swept = world.sweep_guarded();

        assert_eq!((swept.exit, &swept.json["unswept"]), (Conclusion::Guarded, &json!([])));
    }

    fn when_what_is_left_is_implausible_as_well_nothing_is_touched(world) {
        tenants_with(world, [30, 15, 15]);

        let swept = world.sweep_guarded();

        let all = json!({"stranded": 60, "at_least": false, "undecided": false, "in_progress": 60});
        assert_eq!(swept.held(), (&all, &json!([])));
        assert_eq!((swept.exit, swept.issues("deferred"), world.written()), (Conclusion::Guarded, 60, 0));
    }
}

#[test]
fn the_report_the_log_and_one_notification_a_day_name_the_part() {
    let mut world = World::new(On::Postgres);
    let (hostile, other) = (world.tenant("evil"), world.tenant("acme"));
    world.orphans_of(&hostile, 0..30);
    world.orphans_of(&other, 100..102);
    let receiver = Receiver::new();
    let url = world.url.clone();
    let sweep = || {
        let program = sweep_at(&url, []).env("SWEEP_GUARD_SHARE", "0.5").env("SWEEP_NOTIFY_PRIVATE", "on");
        program.env("SWEEP_SLACK_URL", receiver.url()).run()
    };
    let sentence = "Guard: 30 of the 30 issues in progress of the tenant evil look stranded, more likely a false \
        picture than the truth: \
                    none of these was touched";

    let first = sweep();
    let second = sweep();

    for ran in [&first, &second] {
        assert_eq!(ran.code, 4, "{ran}");
        assert!(ran.out.contains(sentence) && ran.err.contains(sentence), "{ran}");
    }
    assert!(first.out.contains("2 continued"), "{first}");
    assert_eq!(receiver.requests().len(), 1);
    assert!(receiver.requests()[0].body.contains("of the tenant evil"), "{:?}", receiver.requests());

    // The guard holding back all issues is a notification of its own.
    world.orphans_of(&other, 200..250);
    assert!(sweep().out.contains("no issue was touched"));
    assert_eq!(receiver.requests().len(), 2);
}

/// A daemon that hears of a run's end goes by what its last sweep held back.
#[test]
fn the_runs_of_other_tenants_are_reacted_to_all_the_same() {
    let mut world = World::with_listen(On::Postgres);
    let (hostile, other) = (world.tenant("evil"), world.tenant("acme"));
    let mut stale = world.orphans_of(&hostile, 0..30);
    let (issue, run) = world.issue_at_work();
    let held = stale.pop().expect("an issue");
    let run_of_held = world.issue_run(&held, &hostile.agent, "running", 5);
    world.at_work_of(&other, 100..105);
    let program = daemon(&world.url, NEVER, ["--listen", "on", "--at-start", "on"]).env("SWEEP_GUARD_SHARE", "0.5");
    let mut daemon = Daemon::start(program);
    daemon.says("listening for runs that end");
    daemon.says("issues in progress of the tenant evil look stranded");

    world.end_run(&run_of_held);
    world.end_run(&run);

    wait_for("a wake", || (0 < world.wakes_for(&issue)).then_some(()));
    daemon.ends_well();
    assert_eq!((world.wakes_for(&issue), world.wakes_for(&held)), (1, 0));
}
