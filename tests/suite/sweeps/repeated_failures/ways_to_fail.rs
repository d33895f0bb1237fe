//! The ways to fail: each costs its subject, and nothing else.

use chrono::TimeDelta;
use sweep::conclusion::Conclusion;
use sweep::rules::Id;
use sweep::store::Timeouts;
use sweep::sweep::Options;

use super::assert_not_examined;
use crate::support::databases::run;
use crate::support::world::{On, World};

/// Three sweeps in which it fails, beside others that are continued, and a fourth that does not look at it.
fn into_quarantine(world: &mut World, bad: &Id, timeouts: Timeouts, outcome: &str, says: &str) {
    let agent = world.agent("idle");
    let settings = Options { timeouts, ..world.options() };
    for sweeps in [1, 2, 3] {
        let good = [world.orphan(&agent), world.orphan(&agent)];
        let swept = world.sweep_as(&settings);
        let reason = swept.subject(bad)["reason"].as_str().unwrap_or_default();
        assert!(swept.outcome(bad) == outcome && reason.contains(says), "{says}: {}", swept.json);
        assert!(good.iter().all(|issue| swept.outcome(issue) == "continued"), "{says}: {}", swept.json);
        assert_eq!((swept.exit, world.wakes_for(bad)), (Conclusion::SomeFailed, 0), "{says}");
        assert_eq!(world.failed_sweeps(bad), (sweeps, sweeps == 3), "{says}");
    }
    assert_not_examined(&world.sweep_as(&settings), bad, Conclusion::Done);
}

fn short() -> Timeouts {
    Timeouts { statement: TimeDelta::seconds(2), lock: TimeDelta::milliseconds(100), ..Timeouts::default() }
}

#[test]
fn a_trigger_that_fails() {
    for on in [On::Postgres, On::Sqlite, On::Paperclip] {
        let mut world = World::new(on);
        let agent = world.agent("idle");
        let bad = world.orphan(&agent);
        world.poison(&bad);
        into_quarantine(&mut world, &bad, Timeouts::default(), "failed", "no wakes for this one");
    }
}

#[test]
fn a_row_that_cannot_be_read() {
    for (on, time) in
        [(On::Postgres, "infinity"), (On::Sqlite, "0001-01-01T00:00:00.000Z"), (On::Paperclip, "-infinity")]
    {
        let mut world = World::new(on);
        let agent = world.agent("idle");
        let bad = world.orphan(&agent);
        world.set("issues", &bad, &format!("updated_at = '{time}', started_at = '{time}'"));
        into_quarantine(&mut world, &bad, Timeouts::default(), "unreadable", "");
    }
}

#[test]
fn a_statement_that_takes_too_long() {
    for on in [On::Postgres, On::Paperclip] {
        let mut world = World::new(on);
        let agent = world.agent("idle");
        let bad = world.orphan(&agent);
        world.poison_with(&bad, "perform pg_sleep(60)");
        into_quarantine(&mut world, &bad, short(), "failed", "statement timeout");
    }
}

#[test]
fn a_lock_that_somebody_keeps() {
    for on in [On::Postgres, On::Paperclip] {
        let mut world = World::new(on);
        let agent = world.agent("idle");
        let bad = world.orphan(&agent);
        world.run("create table public.held (id integer); insert into public.held values (1)");
        world.poison_with(&bad, "perform from public.held for update");
        let mut host = world.connect();
        run(&mut host, "begin; select from public.held for update");
        into_quarantine(&mut world, &bad, short(), "failed", "lock timeout");
    }
}

/// The wakes of one company wait for its row; those of another do not.
#[test]
fn a_row_that_a_wake_refers_to() {
    let mut world = World::new(On::Paperclip);
    let agent = world.agent("idle");
    let bad = world.orphan(&agent);
    let company = Id::generate();
    world.run(&format!(
        "insert into companies (id, name, issue_prefix, default_responsible_user_id)
         values ('{company}', 'Held', 'HELD', 'user-1')"
    ));
    world.set("issues", &bad, &format!("company_id = '{company}'"));
    world.set("agents", &agent, &format!("company_id = '{company}'"));
    let mut host = world.connect();
    run(&mut host, &format!("begin; select from companies where id = '{company}' for update"));
    into_quarantine(&mut world, &bad, short(), "failed", "lock timeout");
}

#[test]
fn a_table_that_somebody_keeps_locked_fails_what_writes_there_and_recovers_the_rest() {
    for on in [On::Postgres, On::Paperclip] {
        let mut world = World::new(on);
        let agent = world.agent("idle");
        let healed = world.orphan(&agent);
        world.sweep();
        world.end_continuations("failed");
        world.set("issues", &healed, "status = 'done'");
        let bad = world.orphan(&agent);
        let mut host = world.connect();
        let table = if on == On::Paperclip { "agent_wakeup_requests" } else { "wakes" };
        run(&mut host, &format!("begin; lock table {table} in share mode"));

        let swept = world.sweep_as(&Options { timeouts: short(), ..world.options() });

        assert_eq!((swept.outcome(&bad), swept.outcome(&healed)), ("failed", "recovered"), "{}", swept.json);
        assert_eq!((swept.exit, world.failed_sweeps(&bad)), (Conclusion::SomeFailed, (1, false)));
        run(&mut host, "commit");
        assert_eq!(world.sweep().outcome(&bad), "continued");
        assert_eq!(world.failed_sweeps(&bad), (0, false));
    }
}

#[test]
fn a_step_that_fails_is_counted_as_a_step() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let (_, step) = world.stalled_step(Some(&agent));
    world.run(&format!(
        "create function public.refuse() returns trigger language plpgsql as
             $$ begin raise exception 'no wakes for this one'; end $$;
         create trigger refuse before insert on wakes for each row when (new.plan_step_id = '{step}')
             execute function public.refuse()"
    ));
    for _ in 0..3 {
        assert_eq!(world.sweep().outcome(&step), "failed");
    }
    let fourth = world.sweep();
    assert_eq!((fourth.outcome(&step), fourth.count("steps", "in_quarantine")), ("not examined", 1));
    assert_eq!((fourth.count("issues", "in_quarantine"), fourth.exit), (0, Conclusion::Done));
    assert_eq!(world.count("failures where kind = 'step' and quarantined_at is not null"), 1);
}
