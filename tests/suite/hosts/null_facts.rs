//! A null where a host's view must have a value: the view's column and the subject are named.

use crate::support::program::{command_at, sweep_at};
use crate::support::world::{On, World};

#[test]
fn in_a_fact_it_costs_its_subject_alone() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let (bad, good) = (world.orphan(&agent), world.orphan(&agent));
    world.run("alter table sweep.issues alter column title drop not null");
    world.set("issues", &bad, "title = null");

    let ran = sweep_at(&world.url, ["--output", "json"]).run();

    assert_eq!(ran.code, 1, "{ran}");
    let json = ran.json();
    let rows = json["subjects"].as_array().expect("subjects");
    let row = |id: &sweep::rules::Id| rows.iter().find(|row| row["id"] == id.0).expect("a row");
    assert_eq!(row(&bad)["reason"], "the column title of the view issue_facts is null, and must not be");
    assert_eq!((&row(&bad)["outcome"], &row(&good)["outcome"]), (&"unreadable".into(), &"continued".into()));
    let explained = command_at(&world.url, ["explain", "issue", &bad.0]).run();
    explained.says_once(1, &[&bad.0, "cannot be read: the column title of the view issue_facts is null"]);
}

#[test]
fn in_a_candidates_group_nothing_of_the_kind_is_swept_and_it_is_named() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let (bad, good) = (world.orphan(&agent), world.orphan(&agent));
    world.stalled_step(Some(&agent));
    world.run("alter view sweep.issue_candidates rename to whole_issue_candidates");
    world.run(&format!(
        "create view sweep.issue_candidates as
         select subject_id, case subject_id when '{bad}' then null else group_id end as group_id, since, tenant
         from sweep.whole_issue_candidates"
    ));
    world.run("grant select on all tables in schema sweep to public");

    let ran = sweep_at(&world.url, []).run();

    let says = format!("the column group_id of the view issue_candidates is null for issue {bad}, and must not be");
    ran.says_once(78, &[&says]);
    assert_eq!((world.wakes_for(&good), world.count("wakes")), (0, 1), "that of the step");
}
