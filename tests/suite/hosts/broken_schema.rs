//! A relation of sweep's that is gone is a schema that is broken, not a kind of work that there is none of.

use rstest::rstest;

use crate::support::program::{command_at, migrate_at, sweep_at};
use crate::support::world::{On, World, on_each_host};

on_each_host! {
    fn a_view_that_is_gone_is_named_and_nothing_is_swept(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.run(if world.on == On::Sqlite {
            "drop view issue_candidates"
        } else {
            "drop view sweep.issue_candidates"
        });
        for arguments in [vec![], vec!["--dry-run"]] {
            let ran = sweep_at(&world.url, arguments).run();
            ran.refused(78, &["is broken: ", "issue_candidates is gone", "docs/operating.md"]);
        }
        command_at(&world.url, ["status"]).run().refused(78, &["issue_candidates is gone"]);
        migrate_at(&world.url, []).run().refused(78, &["issue_candidates is gone"]);
        assert_eq!(world.wakes_for(&issue), 0);
    }

    /// That an attempt is written once rests on it.
    fn an_index_that_is_gone_is_named_and_nothing_is_swept(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let schema = if world.on == On::Sqlite { "" } else { "sweep." };
        world.run(&format!("drop index {schema}recoveries_once"));

        sweep_at(&world.url, []).run().refused(78, &["recoveries_once", "is gone or disabled", "docs/operating.md"]);

        assert_eq!(world.wakes_for(&issue), 0);
    }

    /// A view may be replaced by one that hides work: no sweep compares texts, `sweep migrate` does.
    fn a_view_that_is_altered_is_found_out_by_migrate(world) {
        assert_eq!(migrate_at(&world.url, []).run().code, 0, "the control");
        let (schema, replace) = if world.on == On::Sqlite {
            ("", "drop view issue_subjects; create view")
        } else {
            ("sweep.", "create or replace view")
        };
        world.run(&format!(
            "{replace} {schema}issue_subjects as select subject_id, agent_id as group_id, tenant
             from {schema}issue_facts where false"
        ));

        migrate_at(&world.url, []).run().refused(78, &["issue_subjects is altered since `sweep migrate` made it"]);
    }
}

/// What is still there by its name, and does nothing.
#[rstest]
#[case::index(
    "drop index recoveries_once; create index recoveries_once on recoveries (kind)",
    "recoveries_once (a unique index)"
)]
#[case::trigger(
    "alter table agents disable trigger \"!a_lock_is_no_update\"",
    "!a_lock_is_no_update (a trigger on agents)"
)]
#[case::invalid(
    "update pg_index set indisvalid = false where indexrelid = 'recoveries_open'::regclass",
    "recoveries_open (a unique index)"
)]
fn what_stands_there_and_does_not_work_is_named(#[case] spoiled: &str, #[case] named: &str) {
    let mut world = World::new(On::Postgres);
    world.run(spoiled);

    sweep_at(&world.url, []).run().refused(78, &[&format!("sweep.{named} is gone or disabled")]);
}

/// What takes a subject is a function on PostgreSQL, which goes with the view of what decides.
#[test]
fn what_takes_subjects_is_missed_as_well() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    world.orphan(&agent);
    world.run("drop function sweep.take_issue");

    sweep_at(&world.url, []).run().refused(78, &["is broken: ", "sweep.take_issue is gone"]);
}

/// Between double quotes SQLite takes an unknown name for a text, and a text that is read as a truth value is false.
#[test]
fn a_fact_that_is_gone_is_not_taken_for_false() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let of_the_facts = "pragma_table_info('issue_decided_facts') where name <> 'has_live_run'";
    let others = world.text("group_concat(name)", of_the_facts).expect("columns");
    world.run(&format!(
        "create table kept as select {others} from issue_decided_facts; drop view issue_decided_facts;
         create view issue_decided_facts as select * from kept"
    ));

    let ran = sweep_at(&world.url, []).run();

    assert!(ran.code != 0 && ran.err.contains("no such column: has_live_run"), "{ran}");
    assert_eq!(world.wakes_for(&issue), 0);
}
