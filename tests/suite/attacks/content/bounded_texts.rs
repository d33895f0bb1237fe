//! Every text of sweep's own tables has a bound: otherwise a role that may write one could fill the memory of each
//! sweep.

use diesel::connection::SimpleConnection;
use sweep::rules::Policy;

use super::small;
use crate::support::program::{command_at, sweep_at};
use crate::support::scratch::psql;
use crate::support::world::{On, World};

/// The columns of the schema whose length neither a check nor a type bounds, and times that programs cannot read.
const UNBOUNDED: &str = "select string_agg(relname || '.' || attname, ' ' order by 1)
    from pg_class c join pg_attribute a on attrelid = c.oid and attnum > 0 and not attisdropped
    join pg_type t on t.oid = atttypid
    where relnamespace = 'sweep'::regnamespace and relkind = 'r' and atttypmod = -1
      and (typcategory = 'S' or typname in ('json', 'jsonb', 'bytea', 'id', 'timestamptz') or typcategory = 'A')
      and not exists (select from pg_constraint k
                      where k.conrelid = c.oid and contype = 'c' and conkey @> array[attnum])";

/// The columns of which a single value may be large.
const LARGE: &str = "select string_agg(conrelid::regclass || ' ' || bound[1], ', ' order by 1)
    from pg_constraint, regexp_matches(pg_get_constraintdef(oid), 'length\\(.*<= (\\d+)') bound
    where connamespace = 'sweep'::regnamespace and contype = 'c' and 100000 < bound[1]::bigint";

#[test]
fn each_text_of_the_ledger_has_a_bound() {
    let world = World::new(On::Paperclip);
    assert_eq!(psql(&world.url, UNBOUNDED).as_deref(), Ok(""));
    // The table host has one row, with the files of its folder and what was made of them; and a sweep reads ten rows of
    // sweeps, or one for each shard.
    let large = "sweep.host 1000000, sweep.host 1000000, sweep.sweeps 200000";
    assert_eq!(psql(&world.url, LARGE).as_deref(), Ok(large));
    // The control: a column without a bound is found.
    psql(&world.url, "alter table sweep.sweeps add column remark text").expect("a column");
    assert_eq!(psql(&world.url, UNBOUNDED).as_deref(), Ok("sweeps.remark"));
}

/// A sweep examines the steps of a stalled plan together, unless there are too many.
#[test]
fn a_stalled_plan_of_many_steps_costs_a_sweep_no_memory() {
    for on in [On::Postgres, On::Sqlite] {
        let mut world = World::new(on);
        let agent = world.agent("idle");
        let (plan, healed) = world.stalled_step(Some(&agent));
        world.sweep();
        world.set("plan_steps", &healed, "status = 'completed'");
        let (id, at) = (if on == On::Postgres { "md5(i::text)::uuid" } else { "'x' || i" }, world.ago(300));
        world.run(&format!(
            "insert into plan_steps (id, plan_id, position, title, status, started_at)
             with recursive n (i) as (select 2 union all select i + 1 from n where i <= 2000)
             select {id}, '{plan}', i, 'x', 'in_progress', {at} from n"
        ));
        let ran = small(&world.url, ["--dry-run", "--no-guard", "--output", "json"]).run().done();
        assert_eq!(ran.json()["kinds"]["steps"]["continued"], 2000, "{ran}");
    }
}

/// For each step that sweep did something about, it reads all steps of the plan, with their titles and the plan's.
#[test]
fn many_stalled_plans_of_many_steps_cost_a_sweep_no_memory() {
    for on in [On::Postgres, On::Sqlite] {
        let mut world = World::new(on);
        let (long, at) = ("─".repeat(1000), world.ago(300));
        let id = |name| if on == On::Postgres { format!("md5({name})::uuid") } else { format!("'x' || {name}") };
        let numbers = "with recursive n (i) as (select 1 union all select i + 1 from n where i < 8000)";
        world.run(&format!(
            "insert into plans (id, title, status) {numbers} select {}, '{long}', 'stalled' from n where i <= 100;
             insert into plan_steps (id, plan_id, position, title, status, started_at)
             {numbers} select {}, {}, i, '{long}', 'in_progress', {at} from n;
             insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt)
             select id, id, 'step', id, 'continue', 'x', {at}, 1 from plan_steps",
            id("i || ''"),
            id("i || ' step'"),
            id("(i % 100 + 1) || ''"),
        ));
        let ran = small(&world.url, ["--dry-run", "--no-guard", "--limit", "20", "--output", "json"]).run().done();
        assert_eq!(ran.json()["kinds"]["steps"]["escalated"], 20, "{ran}");
    }
}

/// The steps have titles of 60 MB. The status of all work shows their plan among the others.
#[test]
fn a_plan_of_many_steps_costs_the_status_of_the_others_nothing() {
    for on in [On::Postgres, On::Sqlite] {
        let mut world = World::new(on);
        let (plan, _) = world.stalled_step(None);
        let (id, at) = (if on == On::Postgres { "md5(i::text)::uuid" } else { "'x' || i" }, world.ago(300));
        world.run(&format!(
            "insert into plan_steps (id, plan_id, position, title, status, started_at)
             with recursive n (i) as (select 2 union all select i + 1 from n where i < 20000)
             select {id}, '{plan}', i, '{}', 'in_progress', {at} from n",
            "─".repeat(1000)
        ));
        let all = small(&world.url, ["status", "--output", "json"]).run().done();
        assert_eq!(all.json()["plans"][0]["id"], plan.0, "{all}");
        let one = small(&world.url, ["status", "--plan", &plan.0, "--output", "json"]).run().done();
        assert_eq!(one.json()["steps"].as_array().map(Vec::len), Some(1000), "{}", one.err);
        let read = small(&world.url, ["status", "--plan", &plan.0]).run().done();
        assert!(read.out.ends_with("First 1000 steps; the current one is #1 Pack\n"), "{}", read.out);
    }
}

/// A watcher writes the limits by which it examines its session; others may write anything there.
#[test]
fn what_stands_for_the_watcher_of_a_session_costs_its_explanation_nothing() {
    for on in [On::Postgres, On::Sqlite] {
        let mut world = World::new(on);
        let session = world.session(None, None);
        let policy = serde_json::to_string(&Policy::default()).expect("JSON");
        let endless = format!(r#"{{"policy": {policy}, "left_after_seconds": 9223372036854775807}}"#);
        let long = if on == On::Postgres { "repeat('x', 200000000)" } else { "replace(hex(zeroblob(4000)), '0', 'x')" };
        for watcher in [format!("'{endless}'"), long.to_owned()] {
            world.set("sessions", &session, &format!("watcher = {watcher}"));
            let ran = small(&world.url, ["explain", "session", &session.0]).run();
            assert_eq!(ran.code, 0, "{ran}");
        }
    }
}

/// The sessions print characters of three bytes, or empty lines.
#[test]
fn what_many_sessions_print_costs_a_sweep_no_memory() {
    for (on, printed) in [On::Postgres, On::Sqlite].into_iter().flat_map(|on| ["─", "\n"].map(|printed| (on, printed)))
    {
        let mut world = World::new(on);
        world.session(None, None);
        let (id, output) = match on {
            On::Sqlite => ("'x' || i", format!("replace(hex(zeroblob(50000)), '0', '{printed}')")),
            On::Postgres | On::Paperclip => ("md5(i::text)::uuid", format!("repeat('{printed}', 100000)")),
        };
        world.run(&format!(
            "insert into sessions (id, status, started_at, last_activity_at, last_progress_at, recent_output)
             with recursive n (i) as (select 1 union all select i + 1 from n where i < 400)
             select {id}, status, started_at, last_activity_at, last_progress_at, {output} from sessions, n"
        ));
        let ran = small(&world.url, ["--no-guard", "--output", "json"]).run().done();
        assert_eq!(ran.json()["kinds"]["sessions"]["continued"], 401, "{ran}");
    }
}

/// SQL of somebody's own wrote so many exemptions and failures; the answer is in proportion to what is shown.
#[test]
fn of_many_exemptions_and_failures_the_oldest_are_listed() {
    for on in [On::Postgres, On::Sqlite] {
        let mut world = World::new(on);
        let (at, text) = (world.ago(60), format!("'{}'", "x".repeat(900)));
        let id = match on {
            On::Sqlite => "i || replace(hex(zeroblob(450)), '0', '─')",
            On::Postgres | On::Paperclip => "md5(i::text)::uuid",
        };
        let numbers = "with recursive n (i) as (select 1 union all select i + 1 from n where i < 40000)";
        world.run(&format!(
            "insert into exemptions (kind, subject_id, reason) {numbers} select 'issue', {id}, {text} from n;
             insert into failures (kind, subject_id, sweeps, reason, quarantined_at)
             {numbers} select 'issue', {id}, 3, {text}, {at} from n"
        ));
        small(&world.url, ["--dry-run", "--output", "json"]).run().done();
        for list in ["exempt", "quarantine"] {
            let ran = small(&world.url, [list, "list", "--output", "json"]).run().done();
            assert_eq!(ran.json()["more"], 39_000, "{list}");
            if on == On::Sqlite {
                let ran = small(&world.url, [list, "list"]).run().done();
                assert!(ran.out.contains("… and 39800 more: --output json shows 1000 of all"), "{ran}");
            }
        }
    }
}

/// A page of candidates is in memory, with 50,000 ids. The bound counts what follows a NUL as well, and each byte that
/// is no UTF-8.
#[test]
fn an_id_of_many_characters_is_refused_by_a_file() {
    let mut world = World::new(On::Sqlite);
    let agent = |id: &str| format!("insert into agents (id, name) values ({id}, 'Ada')");
    let written = |length| agent(&format!("'{}'", "─".repeat(length)));
    let of_one = format!("cast(x'c2{}' as text)", "80".repeat(400));
    for refused in [written(101), agent("'x' || char(0) || hex(zeroblob(2450))"), agent(&of_one)] {
        assert!(world.db.batch_execute(&refused).is_err(), "{refused}");
    }
    world.db.batch_execute(&written(100)).expect("an agent");
    let issue = world.orphan(&sweep::rules::Id("─".repeat(100)));
    let by_id = format!("'{}'", "x".repeat(101));
    let with_no_keys = format!("pragma foreign_keys = off; update issues set assignee_agent_id = {by_id}");
    assert!(world.db.batch_execute(&with_no_keys).is_err(), "{issue}");
}

/// The tables bound the texts of the ledger and the outbox, whichever program writes them.
#[test]
fn a_text_of_a_file_is_bounded_behind_a_nul_as_well() {
    let mut world = World::new(On::Sqlite);
    let text = "'x' || char(0) || hex(zeroblob(4900))";
    for refused in [
        format!("insert into tenant_exemptions (tenant, reason) values ('default', {text})"),
        format!("insert into exemptions (kind, subject_id, reason) values ('issue', {text}, 'x')"),
    ] {
        assert!(world.db.batch_execute(&refused).is_err(), "{refused}");
    }
}

/// `sweep_operator` may write such a reason by SQL of its own.
#[test]
fn a_reason_of_megabytes_is_refused_by_the_database() {
    for on in [On::Postgres, On::Sqlite] {
        let mut world = World::new(on);
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let long = "x".repeat(2001);
        let exempt = format!("insert into tenant_exemptions (tenant, reason) values ('default', '{long}')");
        assert!(world.db.batch_execute(&exempt).is_err());
        command_at(&world.url, ["exempt", "add", "issue", &issue.0, "--reason", &long])
            .run()
            .refused(64, &["expected at most 1000 characters"]);
        sweep_at(&world.url, []).run().done();
    }
}
