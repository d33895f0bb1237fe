//! The status as the program prints it, and of rows that are broken.

use diesel::connection::SimpleConnection;

use crate::support::poison::ABSURD_TIMES;
use crate::support::program::{Program, sweep};
use crate::support::world::{On, World, on_each_host};

const USAGE: i32 = 64;

fn status_at(url: &str) -> Program {
    sweep(["status", "--database", url])
}

on_each_host! {
    fn the_program_prints_a_table_or_json_and_writes_nothing(world) {
        let agent = world.agent("idle");
        world.orphan(&agent);

        let table = status_at(&world.url).run().done();
        let json = sweep(["status", "--database", &world.url, "--output", "json"]).run().done().json();

        assert!(table.out.contains("Never swept") && table.out.contains("1 orphan: "), "{table}");
        assert_eq!((&json["schema"], &json["orphans_total"]), (&1.into(), &1.into()));
        assert_eq!(world.count("sweeps") + world.count("recoveries"), 0);
    }
}

#[test]
fn rows_of_postgres_with_absurd_times_are_reported_with_the_others() {
    for on in [On::Postgres, On::Paperclip] {
        let mut world = World::new(on);
        let agent = world.agent("idle");
        world.orphan(&agent);
        for time in ABSURD_TIMES.into_iter().chain(["1970-01-01"]) {
            let [updated, started, created] =
                ["updated_at", "started_at", "created_at"].map(|column| format!("{column} = '{time}'"));
            let bad = [0; 4].map(|_| world.orphan(&agent));
            let all = format!("{updated}, {started}, {created}");
            for (issue, absurd) in bad.iter().zip([&updated, &started, &created, &all]) {
                world.set("issues", issue, absurd);
            }
            // Tables of sweep's own take no such time.
            let is_taken = time.starts_with("0001") || time.starts_with("1970");
            let issue = &bad[0];
            for insert in [
                format!(
                    "sweeps (id, host, version, started_at, finished_at, counts) values
                     (gen_random_uuid(), 'x', '0', '{time}', '{time}', '[{{\"a\": 1e300}}]')"
                ),
                format!(
                    "failures (kind, subject_id, reason, quarantined_at) values ('x', gen_random_uuid(), 'x', '{time}')"
                ),
                format!("exemptions (kind, subject_id, reason, until) values ('issue', '{issue}', 'x', '{time}')"),
            ] {
                let inserted = world.db.batch_execute(&format!("insert into sweep.{insert}"));
                assert_eq!(inserted.is_ok(), is_taken, "{insert}: {inserted:?}");
            }
            let reported = world.status_document();
            assert!(reported["orphans_total"].as_i64().is_some_and(|n| 1 <= n), "{time}: {reported}");
            let counts = reported["kinds"]["issues"].as_object().expect("counts");
            let counted: i64 = counts.values().filter_map(serde_json::Value::as_i64).sum();
            assert_eq!(counted, world.count("issues"), "{time}: {reported}");
        }
        status_at(&world.url).run().done();
    }
}

#[test]
fn rows_of_sqlite_that_cannot_be_decoded_are_reported_with_the_others() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    let (bad, _good) = (world.orphan(&agent), world.orphan(&agent));
    let odd = world.orphan(&agent);
    world.run("pragma foreign_keys = off; pragma ignore_check_constraints = on");
    world.run(&format!("update issues set id = cast(x'ff00fe' as text) where id = '{odd}'"));
    for spoilt in [
        "title = cast(x'ff' as text)",
        "identifier = cast(x'ff' as text)",
        "tenant = cast(x'ff' as text)",
        "updated_at = 'xxxx-xx-xxTxx:xx:xx.xxxZ'",
        "started_at = '2026-13-45T99:99:99.999Z'",
    ] {
        world.set("issues", &bad, spoilt);
        let reported = world.status_document();
        let counts = reported["kinds"]["issues"].as_object().expect("counts");
        assert_eq!(counts.values().filter_map(serde_json::Value::as_i64).sum::<i64>(), 3, "{spoilt}: {reported}");
    }
    status_at(&world.url).run().done();
}

#[test]
fn wrong_arguments_are_refused() {
    sweep(["status", "--output", "ndjson"]).run().refused(USAGE, &["expected table or json"]);
    sweep(["status", "--plan", "0198c2a4-5b1e-7cc3-9d0a-3f2b8e6a7d10", "--tenant", "x"])
        .run()
        .refused(USAGE, &["--tenant"]);
}
