//! P10: only the database's clock counts.

use crate::support::world::{On, World};

/// Makes the facts look as if the database's clock showed another time.
fn shift_the_database_clock(world: &mut World, interval: &str) {
    let columns = "information_schema.columns where table_schema = 'sweep' and table_name = 'issue_decided_facts'";
    let list = "string_agg(case column_name when 'observed_at' then 'observed_at + interval ''SHIFT'' as observed_at'
                else quote_ident(column_name) end, ', ' order by ordinal_position)";
    let list = world.text(&list.replace("SHIFT", interval), columns).expect("columns");
    world.run("alter view issue_decided_facts rename to facts_by_the_true_clock");
    world.run(&format!("create view issue_decided_facts as select {list} from facts_by_the_true_clock"));
}

#[test]
fn a_database_whose_clock_is_behind_is_believed() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    shift_the_database_clock(&mut world, "-59 minutes");

    assert_eq!(world.sweep().outcome(&issue), "healthy", "idle for a minute by the database's clock");
    assert_eq!(world.wakes_for(&issue), 0);
}

#[test]
fn a_database_whose_clock_is_ahead_is_believed() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let now = world.ago(0);
    world.set("issues", &issue, &format!("updated_at = {now}"));
    shift_the_database_clock(&mut world, "3 minutes");

    let swept = world.sweep();

    assert_eq!(swept.outcome(&issue), "continued");
    assert!(swept.subject(&issue)["idle_seconds"].as_i64().is_some_and(|seconds| (180..240).contains(&seconds)));
}

/// The negative control: by the true clock, which is this machine's as well, both are decided otherwise.
#[test]
fn a_sweeper_that_goes_by_this_machines_clock_decides_both_otherwise() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let (idle_for_an_hour, touched_now, now) = (world.orphan(&agent), world.orphan(&agent), world.ago(0));
    world.set("issues", &touched_now, &format!("updated_at = {now}"));

    let swept = world.sweep();

    assert_eq!((swept.outcome(&idle_for_an_hour), swept.outcome(&touched_now)), ("continued", "healthy"));
}
