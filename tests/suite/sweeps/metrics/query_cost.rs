//! Reading the metrics must not cost more as sweeps and their ledger grow: what is asked is found through indexes.

use diesel::sql_types::Text;
use diesel::{QueryableByName, RunQueryDsl};

use crate::support::world::{On, World};

/// As `store::read::sweeper`, `store::work::ledger`, `store::read::metrics` and `store::work::opening` ask, and the
/// index that each needs.
const QUERIES: [(&str, &str); 9] = [
    ("sweeps where not is_restricted and finished_at is not null order by finished_at desc limit 1", "sweeps_whole"),
    (
        "sweeps where not is_restricted and finished_at is not null and shards = 4 and shard = 3 \
            order by finished_at desc limit 1",
        "sweeps_whole_by_shard",
    ),
    (
        "sweeps where succeeded
         and shards > 1 order by shards, shard, finished_at limit 1",
        "sweeps_succeeded",
    ),
    (
        "(select counts, started_at from sweeps where started_at <= '2100-01-01T00:00:00.000Z' \
            order by started_at desc limit 1000) latest where cast(counts as text) like '%\"issues\":%' \
            order by started_at desc limit 1",
        "sweeps_started_at",
    ),
    ("recoveries where created_at >= '2200-01-01T00:00:00.000Z'", "recoveries_created_at"),
    ("(select state, count(*) from issue_states group by state) counts", "issues_in_progress"),
    ("(select state, count(*) from step_states group by state) counts", "plan_steps_in_progress"),
    ("(select state, count(*) from session_states group by state) counts", "sessions_active"),
    ("unheard_runs where since < '2025-01-01T00:00:00.000Z'", "issues_held"),
];

#[derive(QueryableByName)]
struct OfPostgres {
    #[diesel(sql_type = Text, column_name = "QUERY PLAN")]
    line: String,
}

#[derive(QueryableByName)]
struct OfSqlite {
    #[diesel(sql_type = Text, column_name = "detail")]
    line: String,
}

fn plan(world: &mut World, query: &str) -> String {
    let lines: Vec<String> = if world.on == On::Sqlite {
        let rows: Vec<OfSqlite> =
            diesel::sql_query(format!("explain query plan select * from {query}")).load(&mut world.db).expect("a plan");
        rows.into_iter().map(|row| row.line).collect()
    } else {
        let rows: Vec<OfPostgres> = diesel::sql_query(format!("explain (costs off) select * from {query}"))
            .load(&mut world.db)
            .expect("a plan");
        rows.into_iter().map(|row| row.line).collect()
    };
    lines.join("\n")
}

/// Years of sweeps, half of which looked at a part, a shard that has died, a long ledger, and work that is finished.
fn years(world: &mut World) {
    let (id, at) = match world.on {
        On::Sqlite => ("printf('00000000-0000-4000-8000-%012d', n)", "'2026-01-01T00:00:00.000Z'"),
        On::Postgres | On::Paperclip => ("md5(n::text)::uuid", "timestamptz '2026-01-01' + n * interval '1 minute'"),
    };
    let half = if world.on == On::Sqlite { "n % 2" } else { "n % 2 = 1" };
    let whole = if world.on == On::Sqlite { "1 - n % 2" } else { "n % 2 = 0" };
    let numbers = "with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 20000)";
    world.run(&format!(
        "{numbers} insert into sweeps (id, host, version, started_at, finished_at, ended, exit_code, succeeded, \
            is_restricted, partial, shards, shard)
         select {id}, 'x', '0', {at}, {at}, 'completed', 0, {whole}, {half}, {half}, 4, n % 3 from numbers"
    ));
    world.run(&format!(
        "{numbers} insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, \
            settled_at, created_at)
         select {id}, {id}, 'issue', {id}, 'recover', 'x', {at}, 1, {at}, {at} from numbers"
    ));
    for (table, columns, values) in [
        ("issues", "title, status", "'x', 'done'"),
        ("sessions", "status", "'terminated'"),
        ("plans", "title", "'x'"),
        ("plan_steps", "plan_id, position, title, status", "{id}, 1, 'x', 'completed'"),
    ] {
        let values = values.replace("{id}", id);
        world.run(&format!("{numbers} insert into {table} (id, {columns}) select {id}, {values} from numbers"));
    }
    world.run("analyze");
}

#[test]
fn what_is_asked_is_found_by_an_index_of_its_own() {
    for on in [On::Postgres, On::Sqlite] {
        let mut world = World::new(on);
        years(&mut world);
        for (query, index) in QUERIES {
            let plan = plan(&mut world, query);
            let words: Vec<&str> = plan.split_whitespace().collect();
            assert!(words.contains(&index), "{on:?}: {index} is not used for {query}:\n{plan}");
        }
        world.run("drop index sweeps_whole");
        let without = plan(&mut world, QUERIES[0].0);
        assert!(!without.split_whitespace().any(|word| word == "sweeps_whole"), "the control:\n{without}");
    }
}
