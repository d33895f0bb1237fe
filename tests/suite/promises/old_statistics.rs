//! What a server knows of its tables may be old: after a mass event there are thousands of open rows where it last saw
//! none. A sweep must not compare each of them with each, and has its own tables looked at again.

use rstest::rstest;

use crate::support::plans::rows_looked_at;
use crate::support::wait::wait_until;
use crate::support::world::{On, World};

/// How many issues are struck: more than the changes after which a sweep refreshes the statistics.
const STRUCK: u32 = 1500;

/// A world whose server last looked at its tables when nothing was open. Since then agents were lost, and sweeps have
/// continued all their issues, whose wakes wait.
fn after_a_mass_event(on: On) -> World {
    let mut world = World::new(on);
    let agent = world.agent("idle");
    let issues = world.orphans(&agent, 0..STRUCK);
    let settled = "insert into sweep.recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, \
        attempt, wake_id, created_at, settled_at)";
    let row = "gen_random_uuid(), gen_random_uuid(), 'issue', id, 'continue', 'x', now() - interval '1 day'";
    world.run(&format!(
        "{settled} select {row}, 1, null, now() - interval '20 hours', now() from issues;
         update issues set status = 'done'; analyze;
         update issues set status = 'in_progress';
         {settled} select {row}, 2, gen_random_uuid(), now() - interval '5 minutes', null from issues"
    ));
    if on == On::Postgres {
        world.run(
            "insert into wakes (id, agent_id, issue_id, reason, requested_by, created_at)
             select r.wake_id, i.assignee_agent_id, i.id, 'issue_continuation_needed', 'sweep', r.created_at
             from issues i join recoveries r on r.subject_id = i.id and r.settled_at is null",
        );
    }
    assert_eq!(issues.len(), STRUCK as usize);
    world
}

const IDS: &str = "array(select id from issues order by id limit 500)";

/// The facts of 500 issues read in proportion to them. The control is a join with the open rows.
#[rstest]
#[case::postgres(On::Postgres)]
#[case::paperclip(On::Paperclip)]
fn no_subject_is_compared_with_each_open_row_whatever_the_statistics_say(#[case] on: On) {
    let mut world = after_a_mass_event(on);
    let queries = [
        "select * from sweep.issue_candidates".to_owned(),
        format!("select * from sweep.issue_decided_facts where subject_id = any ({IDS})"),
    ];
    let control = format!(
        "select o.id from issues i left join sweep.open_recoveries o on o.kind = 'issue' and o.subject_id = i.id
         where i.id = any ({IDS})"
    );
    let rows = |world: &mut World| queries.iter().map(|query| rows_looked_at(world, query)).collect::<Vec<_>>();

    let (old, misled) = (rows(&mut world), rows_looked_at(&mut world, &control));
    world.run("analyze");
    let (fresh, led) = (rows(&mut world), rows_looked_at(&mut world, &control));

    assert!(20.0 * led < misled, "the control: {led} by fresh statistics, {misled} by old ones");
    for ((query, old), fresh) in queries.iter().zip(old).zip(fresh) {
        assert!(old <= 2.0 * fresh, "{query}: {fresh} rows by fresh statistics, {old} by old ones");
    }
}

#[rstest]
#[case::postgres(On::Postgres)]
#[case::paperclip(On::Paperclip)]
fn a_sweep_has_the_statistics_of_its_own_tables_refreshed_and_of_no_table_of_a_host(#[case] on: On) {
    let mut world = after_a_mass_event(on);
    // What a session changed is counted when the session ends.
    world.db = world.connect();
    let changed = |world: &mut World, table: &str| {
        let changed =
            world.text(&format!("pg_stat_get_mod_since_analyze('{table}'::regclass)"), "generate_series(1, 1)");
        changed.expect("a number").parse::<u32>().expect("a number")
    };
    let open_rows =
        |world: &mut World| world.text("reltuples", "pg_class where oid = 'sweep.recoveries_open'::regclass");
    wait_until("the changes are counted", || STRUCK <= changed(&mut world, "sweep.recoveries"));
    assert_eq!(open_rows(&mut world).as_deref(), Some("0"), "the control: before the sweep");

    world.sweep();

    assert_eq!(open_rows(&mut world), Some(STRUCK.to_string()));
    if on == On::Paperclip {
        let of_issues = changed(&mut world, "public.issues");
        assert!(STRUCK <= of_issues, "{of_issues}");
    }
}
