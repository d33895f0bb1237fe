//! How often one agent is woken in one sweep, whatever there is for it to do.

use chrono::TimeDelta;
use sweep::rules::Kind;
use sweep::store::Timeouts;
use sweep::sweep::{Options, Selection};

use super::minutes_since;
use crate::support::world::many::numbered;
use crate::support::world::{On, World, on_each_database, on_each_host};

mod hosts {
    use super::*;

    on_each_host! {
        fn ten_wakes_of_one_agent_and_the_rest_in_the_next_sweeps(world) {
            let (busy, other) = (world.agent("idle"), world.agent("idle"));
            world.orphans(&busy, 0..23);
            world.orphans(&other, 100..103);
            let settings = Options { wakes_per_agent_max: 10, ..world.options() };

            let dry = world.sweep_as(&Options { dry_run: true, ..settings.clone() });
            for (continued, deferred) in [(13, 13), (10, 3), (3, 0)] {
                let swept = world.sweep_as(&settings);
                let counts = |swept: &crate::support::in_process::Swept| {
                    (swept.count("issues", "continued"), swept.count("issues", "deferred"))
                };
                assert_eq!(counts(&swept), (continued, deferred));
                if continued == 13 {
                    assert_eq!(counts(&dry), counts(&swept));
                }
                assert_eq!(world.recorded("issues")["deferred"], deferred);
                assert_eq!(swept.json["stopped_by"], serde_json::Value::Null);
            }
            assert_eq!(world.count("recoveries"), 26);
        }

        /// Whichever workers take them, the wakes are reserved in the order of the scan.
        fn eight_connections_give_each_agent_exactly_its_oldest(world) {
            let mut oldest = Vec::new();
            for first in (0..480).step_by(30) {
                let agent = world.agent("idle");
                world.orphans(&agent, first..first + 30);
                oldest.extend((first + 23..first + 30).map(numbered));
            }
            let settings = Options { wakes_per_agent_max: 7, connections: 8, ..world.options() };

            let swept = world.sweep_as(&settings);

            assert_eq!((swept.count("issues", "continued"), swept.count("issues", "deferred")), (16 * 7, 16 * 23));
            assert_eq!(world.continued(), oldest);
            let left = &swept.json["kinds"]["issues"]["oldest_deferred_at"];
            assert_eq!(minutes_since(left, &swept), 60 + 480 - 8);
        }

        fn what_was_deferred_is_named_with_its_reason(world) {
            let agent = world.agent("idle");
            let issues = world.orphans(&agent, 0..3);
            let settings = Options { wakes_per_agent_max: 2, ..world.options() };

            let swept = world.sweep_as(&settings);

            assert_eq!(
                issues.iter().map(|id| swept.outcome(id)).collect::<Vec<_>>(),
                ["deferred", "continued", "continued"]
            );
            let row = swept.subject(&issues[0]);
            assert_eq!(
                (&row["decision"], &row["reason"]),
                (&"continue".into(), &"its agent was woken or nudged 2 times in this sweep".into())
            );
        }

        fn escalations_are_not_bounded_by_it(world) {
            let agent = world.agent("idle");
            world.orphans(&agent, 0..8);
            world.sweep();
            world.end_continuations("failed");
            world.pass(10);

            let swept = world.sweep_as(&Options { wakes_per_agent_max: 2, ..world.options() });

            assert_eq!((swept.count("issues", "escalated"), swept.count("issues", "deferred")), (8, 0));
        }

        fn a_wake_that_could_not_be_queued_takes_none_of_them(world) {
            let agent = world.agent("idle");
            let issues = world.orphans(&agent, 0..6);
            // The older half cannot be written.
            refuse_recoveries_of(world, &issues[3..]);
            let settings = Options { wakes_per_agent_max: 2, ..world.options() };

            let swept = world.sweep_as(&settings);

            let outcomes = ["failed", "continued", "deferred"].map(|outcome| swept.count("issues", outcome));
            assert_eq!(outcomes, [3, 2, 1], "{}", swept.json["subjects"]);
            assert_eq!(world.continued(), [numbered(1), numbered(2)]);
        }
    }
}

fn refuse_recoveries_of(world: &mut World, issues: &[sweep::rules::Id]) {
    let ids: Vec<String> = issues.iter().map(|id| format!("'{id}'")).collect();
    let ids = ids.join(", ");
    match world.on {
        On::Sqlite => world.run(&format!(
            "create trigger refuse before insert on recoveries when new.subject_id in ({ids})
             begin select raise(abort, 'not this one'); end"
        )),
        On::Postgres | On::Paperclip => {
            world.run(&format!("alter table recoveries add constraint refused check (subject_id not in ({ids}))"));
        }
    }
}

on_each_database! {
    fn issues_and_steps_of_one_agent_share_them(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..6);
        world.stalled_steps(&agent, 0..6);

        let swept = world.sweep_as(&Options { wakes_per_agent_max: 8, ..world.options() });

        assert_eq!((swept.count("issues", "continued"), swept.count("steps", "continued")), (6, 2));
        assert_eq!((swept.count("issues", "deferred"), swept.count("steps", "deferred")), (0, 4));
    }

    fn issues_and_steps_share_the_limit(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..6);
        world.stalled_steps(&agent, 0..6);

        let swept = world.sweep_as(&Options { limit: Some(8), ..world.options() });
        let exhausted = world.sweep_as(&Options { limit: Some(5), ..world.options() });

        assert_eq!((swept.count("steps", "continued"), swept.count("steps", "deferred")), (4, 2));
        assert_eq!((exhausted.count("steps", "continued"), exhausted.count("steps", "deferred")), (2, 0));
    }

    fn what_is_named_is_bounded_as_well(world) {
        let agent = world.agent("idle");
        let issues = world.orphans(&agent, 0..1);
        let steps = world.stalled_steps(&agent, 0..1);
        let selection = Selection::Subjects(vec![(Kind::Issue, issues[0].0.clone()), (Kind::Step, steps[0].0.clone())]);

        let swept = world.sweep_as(&Options { limit: Some(1), selection, ..world.options() });

        assert_eq!((swept.count("issues", "continued"), swept.count("steps", "deferred")), (1, 1));
    }
}

/// A fleet of one agent is not swept by one connection.
#[test]
fn the_work_of_one_agent_is_taken_by_several_workers() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    world.orphans(&agent, 0..40);
    world.run("alter table wakes add queued_by int default pg_backend_pid()");
    let settings = Options { wakes_per_agent_max: 12, connections: 4, ..world.options() };

    let swept = world.sweep_as(&settings);

    assert_eq!((swept.count("issues", "continued"), swept.count("issues", "deferred")), (12, 28));
    assert_eq!(world.continued(), (28..40).map(numbered).collect::<Vec<_>>());
    assert_eq!(world.count("(select distinct queued_by from wakes) as takers"), 4);
}

/// Where a trigger of the host's writes the agent's row, whoever has queued a wake waits for all others that share it.
/// Here each of them holds the row for so long that a worker behind three others would wait in vain.
#[test]
fn the_work_of_an_agent_whose_row_is_written_with_each_wake_is_done_by_one_worker() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    world.orphans(&agent, 0..40);
    world.run(
        "alter table wakes add queued_by int default pg_backend_pid();
         create function touch() returns trigger language plpgsql as $$ begin
             update agents set name = name where id = new.agent_id; perform pg_sleep(0.04); return new; end $$;
         create trigger touch after insert on wakes for each row execute function touch()",
    );
    let timeouts = Timeouts { lock: TimeDelta::milliseconds(60), ..Timeouts::default() };
    let settings = Options { wakes_per_agent_max: 40, connections: 4, timeouts, ..world.options() };

    let swept = world.sweep_as(&settings);

    let outcomes = ["continued", "busy", "failed"].map(|outcome| swept.count("issues", outcome));
    assert_eq!(outcomes, [40, 0, 0], "{}", swept.json["subjects"]);
    let most = "(select max(n) from (select count(*) as n from wakes group by queued_by) as takers) as most (n)";
    assert!(35 <= world.count(&format!("generate_series(1, (select n from {most}))")));
}

/// Where a trigger of the host's writes a row that agents share, workers of one sweep meet there whatever they do.
#[test]
fn the_work_of_agents_whose_common_row_is_written_with_each_wake_waits_for_the_other_workers() {
    let mut world = World::new(On::Postgres);
    let agents: Vec<_> = (0..4).map(|_| world.agent("idle")).collect();
    for (first, agent) in (0..).step_by(3).zip(&agents) {
        world.orphans(agent, first..first + 3);
    }
    world.run(
        "create table public.company (wakes integer); insert into public.company values (0);
         create function touch() returns trigger language plpgsql as $$ begin
             update public.company set wakes = wakes + 1; perform pg_sleep(0.1); return new; end $$;
         create trigger touch after insert on wakes for each row execute function touch()",
    );
    let timeouts = Timeouts { lock: TimeDelta::milliseconds(40), ..Timeouts::default() };

    let swept = world.sweep_as(&Options { connections: 4, timeouts, ..world.options() });

    let outcomes = ["continued", "busy", "failed"].map(|outcome| swept.count("issues", outcome));
    assert_eq!(outcomes, [12, 0, 0], "{}", swept.json["subjects"]);
    assert_eq!(world.count("(select from public.company where wakes = 12) as counted"), 1);
}
