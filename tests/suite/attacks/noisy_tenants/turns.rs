//! Each tenant has its turn in every sweep, however much older the work of another is, and however long that takes.

use std::time::Instant;

use sweep::conclusion::Conclusion;
use sweep::rules::Id;

use crate::support::program::{Ran, sweep_at};
use crate::support::world::{On, World, on_each_host};

on_each_host! {
    /// The higher its number, the longer an issue has been idle.
    fn a_tenant_with_older_work_leaves_the_others_their_turn(world) {
        let (hostile, other) = (world.tenant("evil"), world.tenant("acme"));
        let old = world.orphans_of(&hostile, 100..110);
        let young = world.orphans_of(&other, 0..2);

        let settings = sweep::sweep::Options { limit: Some(4), guard: None, ..world.options() };
        let swept = world.sweep_as(&settings);

        assert_eq!((swept.exit, swept.issues("continued")), (Conclusion::Done, 4));
        for issue in [&old[9], &old[8], &young[1], &young[0]] {
            assert_eq!(swept.outcome(issue), "continued");
        }
    }
}

/// More issues than a page of a scan holds.
const MANY: usize = 50_010;

/// Makes so many old issues of the tenant evil that wait.
fn many_wait(world: &mut World, agent: &Id) {
    world.run(&format!(
        "insert into issues (identifier, title, status, assignee_agent_id, tenant, updated_at, waiting_for)
             select 'E-' || n, 'x', 'in_progress', '{agent}', 'evil', now() - interval '9 days', 'ada'
             from generate_series(1, {MANY}) n; analyze"
    ));
}

#[test]
fn a_hundred_thousand_older_ones_that_wait_do_not_come_first_and_each_is_looked_at_once() {
    let mut world = World::new(On::Postgres);
    let other = world.tenant("acme");
    let young = world.orphans_of(&other, 0..1);
    many_wait(&mut world, &other.agent);
    world.run(&format!(
        "insert into issues (identifier, title, status, assignee_agent_id, tenant, updated_at)
             values ('E-0', 'x', 'in_progress', '{}', 'evil', now() - interval '8 days')",
        other.agent
    ));
    // With a limit of one, the older issue would be continued if it came first. The order of the report says less: a
    // continued issue is reported when it is done.
    let first = sweep_at(&world.url, ["--dry-run", "--limit", "1", "--output", "ndjson", "--no-guard"]).run().done();
    let continued: Vec<&str> = first.out.lines().filter(|line| line.contains("\"outcome\":\"continued\"")).collect();
    assert!(continued.len() == 1 && continued[0].contains(&young[0].0), "{continued:?}");
    let ran = sweep_at(&world.url, ["--output", "ndjson", "--no-guard"]).run().done();
    let swept = ran.out.lines().last().expect("a summary");
    assert!(swept.contains(&format!("\"waiting\":{MANY}")) && swept.contains("\"continued\":2"), "{swept}");
}

/// The issues of both tenants have the same ages, and the ids of one tenant come first. Five issues are examined, in
/// turns, so the third of the second tenant is the oldest that is left. JSON has six characters for each one that
/// cannot be printed.
#[test]
fn each_of_many_of_two_tenants_that_is_not_looked_at_is_counted() {
    for on in [On::Postgres, On::Sqlite] {
        let mut world = World::new(on);
        let [evil, other] = [world.tenant("evil"), world.tenant("acme")];
        let (id, updated_at) = match on {
            On::Sqlite => (
                "id || replace(hex(zeroblob(20)), '0', char(1))",
                "strftime('%Y-%m-%dT%H:%M:%fZ', '2026-01-01', '+' || i || ' seconds')",
            ),
            On::Postgres | On::Paperclip => ("id::uuid", "timestamptz '2026-01-01Z' + i * interval '1 second'"),
        };
        for (tenant, first) in [(evil, "0"), (other, "f")] {
            world.run(&format!(
                "insert into issues (id, identifier, title, status, assignee_agent_id, tenant, updated_at)
                 with recursive n (i) as (select 10000 union all select i + 1 from n where i < 36999),
                      ids (id, i) as (select '{first}0000000-0000-4000-8000-0000000' || i, i from n)
                 select {id}, id, 'x', 'in_progress', '{}', '{}', {updated_at}
                 from ids",
                tenant.agent, tenant.name
            ));
        }
        let dry_run = |more: &[&str]| {
            let all = [&["--dry-run", "--limit", "5", "--no-guard", "--output", "json"], more].concat();
            let ran = sweep_at(&world.url, all).run().done();
            let issues = ran.json()["kinds"]["issues"].clone();
            let [scanned, deferred] = ["scanned", "deferred"].map(|of| issues[of].as_u64().expect("a number"));
            (scanned + deferred, issues["oldest_deferred_at"].as_str().map(str::to_owned))
        };
        let oldest_left = Some("2026-01-01T02:46:42Z".to_owned());
        assert_eq!(dry_run(&[]), (54_000, oldest_left.clone()));
        let shards = ["0/2", "1/2"].map(|shard| dry_run(&["--shard", shard]));
        assert_eq!(shards.iter().map(|(issues, _)| issues).sum::<u64>(), 54_000);
        assert!(shards.iter().all(|(_, oldest)| oldest.is_none() || oldest_left <= *oldest), "{shards:?}");
    }
}

/// How many milliseconds a dry run of the issues takes without the guard.
fn looks_for(world: &World) -> u128 {
    let began = Instant::now();
    sweep_at(&world.url, ["--only", "issues", "--dry-run", "--no-guard", "--quiet"]).run().done();
    began.elapsed().as_millis()
}

/// Runs a guarded sweep of the issues with this deadline; the guard has half of it for the first tenant.
fn guarded(world: &World, milliseconds: u128) -> Ran {
    let deadline = format!("{milliseconds}ms");
    let sweep =
        sweep_at(&world.url, ["--only", "issues", "--set", &format!("deadline={deadline}"), "--output", "json"]);
    sweep.env("SWEEP_GUARD_SHARE", "0.5").run()
}

#[test]
fn a_tenant_that_the_guard_has_no_time_to_look_at_is_held_back_and_leaves_the_others_theirs() {
    let mut world = World::new(On::Postgres);
    let other = world.tenant("acme");
    let young = world.orphans_of(&other, 0..1);
    many_wait(&mut world, &other.agent);
    let ran = guarded(&world, looks_for(&world));
    assert_eq!(world.wakes_for(&young[0]), 1, "{ran}");
    let held = &ran.json()["kinds"]["issues"]["held_back"][0];
    assert_eq!((&held["tenant"], &held["undecided"]), (&"evil".into(), &true.into()), "{ran}");
    assert!(ran.err.contains("look stranded, and there was no time to look at the rest"), "{ran}");
}

/// The guard sees thousands of the issues, but not half of them.
#[test]
fn a_tenant_of_which_all_is_stranded_is_held_back_however_little_time_there_is() {
    let mut world = World::new(On::Postgres);
    let other = world.tenant("acme");
    let young = world.orphans_of(&other, 0..1);
    many_wait(&mut world, &other.agent);
    world.run("update issues set waiting_for = null; analyze");
    let ran = guarded(&world, looks_for(&world) / 2);
    assert_eq!(world.wakes_for(&young[0]), 1, "{ran}");
    let issues = &ran.json()["kinds"]["issues"];
    assert_eq!((&issues["held_back"][0]["tenant"], &issues["continued"]), (&"evil".into(), &1.into()), "{ran}");
}

/// A count decides this, even where exactly half of the issues may be stranded.
#[test]
fn a_large_tenant_that_is_plausible_takes_no_time_of_the_judgement_of_the_others() {
    for are_healthy in [0, MANY] {
        let mut world = World::new(On::Postgres);
        let other = world.tenant("acme");
        let young = world.orphans_of(&other, 0..9);
        many_wait(&mut world, &other.agent);
        world.run(&format!(
            "insert into issues (identifier, title, status, assignee_agent_id, tenant)
                 select 'H-' || n, 'x', 'in_progress', '{}', 'evil' from generate_series(1, {are_healthy}) n; analyze",
            other.agent
        ));
        let ran = guarded(&world, 3 * looks_for(&world));
        assert_eq!(world.wakes_for(&young[0]), 1, "{ran}");
        assert_eq!(ran.json()["kinds"]["issues"]["guard"], serde_json::Value::Null, "{ran}");
    }
}

/// The work of one kind does not take the time of the others.
#[test]
fn a_tenant_whose_sessions_take_all_the_time_leaves_the_issues_of_others_their_share() {
    let mut world = World::new(On::Postgres);
    let other = world.tenant("acme");
    let issue = world.orphans_of(&other, 0..1);
    world.run(
        "insert into sessions (tenant, status, started_at, ended_at, exit_code)
             select 'evil', 'active', now() - interval '2 hours', now() - interval '1 hour', 1
             from generate_series(1, 200);
         create function slow() returns trigger language plpgsql as
             'begin if new.kind = ''session'' then perform pg_sleep(0.1); end if; return new; end';
         create trigger slow before insert on recoveries for each row execute function slow()",
    );
    let ran = sweep_at(&world.url, ["--set", "deadline=4s", "--no-guard"]).run().done();
    assert!(ran.out.contains("sessions, the oldest idle for 1h"), "the control: not all of them were in time: {ran}");
    assert_eq!(world.wakes_for(&issue[0]), 1, "{ran}");
}
