//! P8: one poison row never stops the rest. It is reported by name as unreadable or left, and the others are swept.

use diesel::connection::SimpleConnection;
use sweep::rules::Id;

use crate::support::poison::{ABSURD_TIMES, NAMELESS_JSON, WORDS_OF_LIBRARIES};
use crate::support::program::sweep_at;
use crate::support::world::{On, World};

/// Sweeps an orphan that `spoil` changes beside a good one.
fn sweep_beside(world: &mut World, poison: &str, spoil: impl Fn(&mut World, &Id)) {
    let agent = world.agent("idle");
    let (bad, good) = (world.orphan(&agent), world.orphan(&agent));
    spoil(world, &bad);

    let swept = world.sweep();

    assert_eq!(swept.outcome(&good), "continued", "{poison}: {}", swept.json);
    let outcome = swept.outcome(&bad);
    let harmless = ["unreadable", "skipped", "abandoned", "waiting", "healthy", "not examined"];
    assert!(harmless.contains(&outcome), "{poison}: {}", swept.subject(&bad));
    assert_eq!(world.wakes_for(&bad), 0, "{poison}");
    assert_eq!(swept.count("issues", "failed"), 0, "{poison}: {}", swept.json);
}

/// Sweeps a spoiled orphan beside a good one; the report must name the row and say what is wrong with it.
fn unreadable(world: &mut World, poison: &str, spoil: impl Fn(&mut World, &Id)) {
    let agent = world.agent("idle");
    let (bad, good) = (world.orphan(&agent), world.orphan(&agent));
    spoil(world, &bad);

    let swept = world.sweep();

    assert_eq!((swept.outcome(&bad), swept.outcome(&good)), ("unreadable", "continued"), "{poison}: {}", swept.json);
    let reason = swept.subject(&bad)["reason"].as_str().expect("a reason").to_owned();
    let is_ours = WORDS_OF_LIBRARIES.iter().all(|words| !reason.contains(words));
    assert!(is_ours && !reason.is_empty(), "{poison}: {reason}");
    assert_eq!(swept.exit, sweep::conclusion::Conclusion::SomeFailed, "{poison}");
}

#[test]
#[ignore = "played on PostgreSQL 18"]
fn absurd_times_in_postgres_are_reported_as_unreadable() {
    for time in ABSURD_TIMES.into_iter().chain(["1970-01-01"]) {
        let mut world = World::new(On::Postgres);
        unreadable(&mut world, time, |world, id| world.set("issues", id, &format!("updated_at = '{time}'")));
        let mut world = World::new(On::Postgres);
        unreadable(&mut world, time, |world, id| world.set("issues", id, &format!("started_at = '{time}'")));
    }
}

#[test]
fn a_wait_that_never_ends_and_one_that_ended_before_the_world_began_are_read() {
    let mut world = World::new(On::Postgres);
    sweep_beside(&mut world, "for ever", |world, id| world.set("issues", id, "wait_until = 'infinity'"));
    let agent = world.agent("idle");
    let over = world.orphan(&agent);
    world.set("issues", &over, "wait_until = '-infinity'");
    assert_eq!(world.sweep().outcome(&over), "continued");
}

#[test]
fn rows_of_sqlite_that_cannot_be_read_are_reported_as_unreadable() {
    let mut world = World::new(On::Sqlite);
    // The tables refuse such a time; a program that may write to the file may overrule them.
    world.run("pragma ignore_check_constraints = on");
    let times = [
        "xxxx-xx-xxTxx:xx:xx.xxxZ", "2026-13-45T99:99:99.999Z", "0001-01-01T00:00:00.000Z", "9999-99-99T00:00:00.000Z",
    ];
    for time in times {
        unreadable(&mut world, time, |world, id| world.set("issues", id, &format!("updated_at = '{time}'")));
    }
}

#[test]
fn rows_of_sqlite_that_point_nowhere_or_bear_odd_ids_are_left_by_name() {
    let mut world = World::new(On::Sqlite);
    world.run("pragma foreign_keys = off");
    let nobody = Id::generate();
    sweep_beside(&mut world, "no such agent", |world, id| {
        world.set("issues", id, &format!("assignee_agent_id = '{nobody}'"))
    });
    let agent = world.agent("idle");
    for odd in ["not-a-uuid", "", "'; drop table issues; --"] {
        let issue = world.orphan(&agent);
        world.run(&format!("update issues set id = '{}' where id = '{issue}'", odd.replace('\'', "''")));
    }
    let invalid = world.orphan(&agent);
    world.run(&format!("update issues set id = cast(x'ff00fe' as text) where id = '{invalid}'"));
    let good = world.orphan(&agent);

    let swept = world.sweep();

    assert_eq!(swept.outcome(&good), "continued");
    assert_eq!(swept.count("issues", "failed"), 0, "{}", swept.json);
    assert_eq!(swept.count("issues", "unreadable"), 1, "the id that is no UTF-8: {}", swept.json);
    assert_eq!(swept.outcome(&Id("not-a-uuid".to_owned())), "continued", "any text may be an id");
}

/// sweep reads 32 bits of these columns, and would take a number of 64 for another one.
#[test]
fn a_number_that_postgresql_would_not_take_is_refused_by_a_file() {
    let mut world = World::new(On::Sqlite);
    let (plan, step) = world.stalled_step(None);
    let session = world.session(None, None);
    for (table, id, column) in [
        ("plans", &plan, "stalled_after_seconds"),
        ("plan_steps", &step, "stalled_after_seconds"),
        ("plan_steps", &step, "position"),
        ("sessions", &session, "silent_after_seconds"),
        ("sessions", &session, "exit_code"),
    ] {
        let set = |number: i64| format!("update {table} set {column} = {number} where id = '{id}'");
        assert!(world.db.batch_execute(&set(1 << 31)).is_err(), "{table}.{column}");
        world.db.batch_execute(&set((1 << 31) - 1)).unwrap_or_else(|error| panic!("{table}.{column}: {error}"));
    }
}

/// A sweep judges a step by itself: a sibling that cannot be read keeps the plan stalled, and costs the step nothing.
#[test]
fn a_broken_step_does_not_cost_the_other_steps_of_its_plan() {
    for (status, outcome, plan_status) in
        [("completed", "recovered", "executing"), ("in_progress", "healthy", "stalled")]
    {
        let mut world = World::new(On::Postgres);
        let agent = world.agent("idle");
        let (plan, step) = world.stalled_step(Some(&agent));
        let broken = Id::generate();
        world.run(&format!(
            "insert into plan_steps (id, plan_id, position, title, status, started_at)
             values ('{broken}', '{plan}', 2, 'x', '{status}', '-infinity')"
        ));
        world.sweep();
        world.end_continuations("succeeded");
        world.set("plan_steps", &step, "status = 'completed'");

        let dry = world.dry_run();
        let swept = world.sweep();

        assert_eq!((dry.outcome(&step), swept.outcome(&step)), (outcome, outcome), "{status}: {}", swept.json);
        assert_eq!(world.status("plans", &plan), plan_status);
    }
}

#[test]
fn a_name_of_sqlite_that_is_no_utf8_is_shown_as_far_as_it_is_and_a_tenant_makes_its_row_unreadable() {
    let mut world = World::new(On::Sqlite);
    unreadable(&mut world, "tenant", |world, id| world.set("issues", id, "tenant = cast(x'ff' as text)"));
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    world.set("issues", &issue, "title = cast(x'ff' as text), identifier = cast(x'61ff62' as text)");
    assert_eq!(world.sweep().subject(&issue)["identifier"], "a\u{fffd}b");
}

/// Paperclip's columns are plain text and JSON without checks.
#[test]
fn rows_of_paperclip_with_broken_values_are_left_or_reported_as_unreadable() {
    let mut world = World::new(On::Paperclip);
    for status in ["IN_PROGRESS", "", "in progress", "💥"] {
        sweep_beside(&mut world, status, |world, id| world.set("issues", id, &format!("status = '{status}'")));
    }
    for time in ABSURD_TIMES {
        sweep_beside(&mut world, time, |world, id| world.set("issues", id, &format!("updated_at = '{time}'")));
    }
    for status in ["asleep", "", "PAUSED"] {
        let agent = world.agent(status);
        sweep_beside(&mut world, status, |world, id| {
            world.set("issues", id, &format!("assignee_agent_id = '{agent}'"))
        });
    }
}

#[test]
fn json_of_paperclip_that_is_not_what_it_should_be_stops_nothing() {
    let mut world = World::new(On::Paperclip);
    let agent = world.agent("idle");
    let other = world.orphan(&agent);
    let good = world.orphan(&agent);
    for json in NAMELESS_JSON.into_iter().chain(["{\"issueId\": \"nonsense\"}"]) {
        let (run, wake) =
            (world.issue_run(&other, &agent, "running", 10), world.issue_wake(&other, &agent, "queued", 10));
        world.set("heartbeat_runs", &run, &format!("context_snapshot = '{json}'"));
        world.set("agent_wakeup_requests", &wake, &format!("payload = '{json}'"));
    }

    let swept = world.sweep();

    assert_eq!((swept.outcome(&good), swept.outcome(&other)), ("continued", "continued"), "{}", swept.json);
}

/// The database fails while it writes one subject, because of a trigger of the host's, say.
#[test]
fn a_subject_whose_write_fails_is_named_and_rolled_back_and_the_others_go_on() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let (bad, good) = (world.orphan(&agent), world.orphan(&agent));
    world.run(&format!(
        "create function refuse() returns trigger language plpgsql as
         $$ begin if new.issue_id = '{bad}' then raise exception 'no wakes for this one'; end if; return new; end $$;
         create trigger refuse before insert on wakes for each row execute function refuse()"
    ));

    let swept = world.sweep();

    assert_eq!((swept.outcome(&bad), swept.outcome(&good)), ("failed", "continued"));
    assert!(swept.subject(&bad)["reason"].as_str().is_some_and(|reason| reason.contains("no wakes for this one")));
    assert_eq!(swept.exit, sweep::conclusion::Conclusion::SomeFailed);
    assert_eq!(world.count(&format!("recoveries where subject_id = '{bad}'")), 0);
}

/// The negative control: a view that casts what others wrote fails at the first such row, and nothing is swept.
#[test]
fn a_view_that_casts_what_others_wrote_stops_the_rest() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let (bad, good) = (world.orphan(&agent), world.orphan(&agent));
    world.set("issues", &bad, "title = 'no number'");
    world.run(
        "alter view issue_candidates rename to safe_candidates;
         create view issue_candidates as
             select c.* from safe_candidates c join issues i on i.id = c.subject_id where i.title::numeric is distinct \
             from 0;
         grant select on all tables in schema sweep to public",
    );

    let ran = sweep_at(&world.url, []).run();

    assert_ne!(ran.code, 0, "{ran}");
    assert_eq!(world.wakes_for(&good), 0);
}
