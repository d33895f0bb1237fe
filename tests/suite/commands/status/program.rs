//! The status of rows that are broken or hostile, to roles that may only read, and on servers that only follow.

use crate::support::databases::{connect, run};
use crate::support::poison::ABSURD_TIMES;
use crate::support::program::{Program, migrate_at, sweep};
use crate::support::scratch::{Role, new_file};
use crate::support::server::Server;
use crate::support::world::{On, World, on_each_host};

const USAGE: i32 = 64;
const CONFIG: i32 = 78;

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

    fn what_others_wrote_cannot_change_the_terminal(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let (escape, bell) = if world.on == On::Sqlite { ("char(27)", "char(7)") } else { ("chr(27)", "chr(7)") };
        let hostile = format!("{escape} || ']0;owned' || {bell} || {escape} || '[2J'");
        world.set("issues", &issue, &format!("title = {hostile}"));
        world.set("agents", &agent, &format!("name = {hostile}"));

        let ran = status_at(&world.url).run().done();

        assert!(ran.out.contains("owned"), "{ran}");
        assert!(ran.out.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", ran.out);
    }
}

#[test]
fn rows_of_postgres_with_absurd_times_are_reported_with_the_others() {
    for time in ABSURD_TIMES.into_iter().chain(["1970-01-01"]) {
        for on in [On::Postgres, On::Paperclip] {
            let mut world = World::new(on);
            let agent = world.agent("idle");
            let (bad, _good) = (world.orphan(&agent), world.orphan(&agent));
            for column in ["updated_at", "started_at", "created_at"] {
                world.set("issues", &bad, &format!("{column} = '{time}'"));
                let reported = world.status_document();
                assert!(reported["orphans_total"].as_i64().is_some_and(|n| 1 <= n), "{time}: {reported}");
                status_at(&world.url).run().done();
            }
            world.run(&format!(
                "insert into sweeps (id, host, version, started_at, finished_at, counts) values \
                (gen_random_uuid(), 'x', '0', '{time}', '{time}', '[{{\"a\": 1e300}}]')"
            ));
            world.run(&format!(
                "insert into failures (kind, subject_id, reason, quarantined_at) values ('x', \
                gen_random_uuid(), 'x', '{time}')"
            ));
            world.run(&format!(
                "insert into exemptions (kind, subject_id, reason, until) values ('issue', '{bad}', 'x', '{time}')"
            ));
            status_at(&world.url).run().done();
        }
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
        status_at(&world.url).run().done();
    }
}

fn a_role_that_may_read_the_views_sees_the_status(on: On) {
    let role = Role::new();
    let mut world = World::new(on);
    let agent = world.agent("idle");
    world.orphan(&agent);
    let url = role.at(&world.url);
    world.run(&format!("grant usage on schema sweep to {}", role.name));
    for right in ["select on all tables", "execute on all functions"] {
        world.run(&format!("grant {right} in schema sweep to {}", role.name));
    }

    let ran = status_at(&url).run().done();

    assert!(ran.out.contains("1 orphan: "), "{ran}");
    world.run(&format!("revoke select on sweep.issue_states, sweep.recoveries from {}", role.name));
    status_at(&url)
        .run()
        .refused(CONFIG, &["lacks rights", "SELECT on sweep.issue_states, SELECT on sweep.recoveries"]);
    sweep(["--dry-run", "--database", &url]).run().done();
}

#[test]
fn a_role_that_may_only_read_sees_the_status_on_the_native_host() {
    a_role_that_may_read_the_views_sees_the_status(On::Postgres);
}

#[test]
fn a_role_that_may_only_read_sees_the_status_on_paperclip() {
    a_role_that_may_read_the_views_sees_the_status(On::Paperclip);
}

#[test]
fn a_hot_standby_shows_what_its_primary_shows() {
    let primary = Server::start();
    migrate_at(&primary.url, []).run().done();
    let orphan = "with agent as (insert into sweep.agents (name) values ('Ada') returning id)
        insert into sweep.issues (identifier, title, status, assignee_agent_id, started_at, updated_at)
        select 'T-1', 'Mend the fence', 'in_progress', id, now() - interval '1 hour', now() - interval '1 hour' from \
        agent";
    run(&mut connect(&primary.url), orphan);
    let standby = primary.standby();

    let reported = status_at(&standby.url).run().done();

    assert!(reported.out.contains("1 orphan: "), "{reported}");
}

#[test]
fn a_schema_that_is_not_current_and_wrong_arguments_are_refused() {
    let (_directory, _, url) = new_file();
    status_at(&url).run().refused(CONFIG, &["sweep migrate"]);
    sweep(["status", "--output", "ndjson"]).run().refused(USAGE, &["expected table or json"]);
    sweep(["status", "--plan", "0198c2a4-5b1e-7cc3-9d0a-3f2b8e6a7d10", "--tenant", "x"])
        .run()
        .refused(USAGE, &["--tenant"]);
}
