//! What the ledger has recorded is summed once, by day, and people are shown the same before and after.

use std::collections::BTreeMap;
use std::thread;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde_json::{Value, json};
use sweep::rules::After;
use sweep::store::work::history::{HistoryLook, sum};
use sweep::store::work::upkeep::{UpkeepTask, step};
use sweep::store::{Access, Timeouts};

use super::metrics::reading;
use crate::support::world::{On, World, on_each_database, on_each_host};

const SUMMED: [&str; 3] = ["sum_rows", "sum_early_reports", "sum_late_reports"];

/// What is shown of the ledger's history, wherever it is shown.
fn shown(world: &World) -> Value {
    let read = reading(world);
    json!({
        "days": world.attention()["days"],
        "effect": world.status_document()["effect"],
        "recoveries": read.recoveries,
        "false_rescues": read.false_rescues,
        "handed_over": read.handed_over,
    })
}

/// Moments at the edges of days, of which some are another day where the server is, and what was recorded at each.
fn events(now: DateTime<Utc>) -> Vec<(DateTime<Utc>, &'static str, &'static str)> {
    let midnight = now.date_naive().and_hms_opt(0, 0, 0).expect("midnight").and_utc();
    let mut events = vec![(now - TimeDelta::minutes(5), "continue", "null")];
    for days in [2, 3, 6, 26, 27, 28] {
        let begins = midnight - TimeDelta::days(days);
        events.extend([
            (begins, "continue", "null"),
            (begins + TimeDelta::milliseconds(1), "hand_over", "null"),
            (begins + TimeDelta::hours(3), "escalate", "null"),
            (begins + TimeDelta::hours(11), "continue", "null"),
            (begins + TimeDelta::hours(12), "continue", "'ada'"),
            (begins + TimeDelta::hours(24) - TimeDelta::milliseconds(1), "recover", "null"),
        ]);
    }
    events
}

on_each_host! {
    fn people_are_shown_the_same_before_and_after_the_ledger_is_summed(world) {
        if world.on != On::Sqlite {
            let name = world.name().to_owned();
            world.run(&format!("alter database {name} set timezone = 'Pacific/Auckland'"));
        }
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.set("issues", &issue, "status = 'done'");
        let runs = if world.on == On::Paperclip { "heartbeat_runs" } else { "runs" };
        let mut expected: BTreeMap<String, [i64; 2]> = BTreeMap::new();
        for (at, action, by) in events(world.db.now().expect("the time")) {
            world.recorded_at(&issue, action, at, by);
            let day = expected.entry(at.date_naive().to_string()).or_default();
            day[0] += i64::from(action == "continue" && by == "null");
            // Reports are found at each of the looks; the last one comes too late.
            let is_rescue = action == "continue" && at.timestamp() % 86400 == 0;
            for later in if is_rescue { vec![10, 180, 1200, 1500] } else { vec![] } {
                let run = world.issue_run(&issue, &agent, "succeeded", 5);
                let began = at - TimeDelta::seconds(1);
                let [began, ended] = [began, at + TimeDelta::minutes(later)]
                    .map(|at| at.to_rfc3339_opts(SecondsFormat::Millis, true));
                world.set(runs, &run, &format!("created_at = '{began}', finished_at = '{ended}'"));
            }
        }
        let day_of = if world.on == On::Sqlite { "substr(continued_at, 1, 10)" }
                     else { "to_char(continued_at at time zone 'UTC', 'YYYY-MM-DD')" };
        for day in world.texts(day_of, "false_rescues") {
            expected.entry(day.expect("a day")).or_default()[1] += 1;
        }
        let before = shown(world);
        for day in before["days"].as_array().expect("days") {
            let [continued, in_vain] = expected.get(day["date"].as_str().expect("a date")).copied().unwrap_or_default();
            assert_eq!((&day["continued"], &day["false_rescues"]), (&continued.into(), &in_vain.into()), "{day}");
        }
        let in_vain = |day: &Value| 1 < day["false_rescues"].as_i64().unwrap_or(0);
        assert!(before["days"].as_array().expect("days").iter().any(in_vain));

        world.let_upkeep_be_due();
        world.sweep();

        assert_eq!(world.summed(), 36, "all but the one of this hour");
        assert_eq!(shown(world), before);
        // Nobody reads any more what is summed.
        let hour = world.ago(60);
        world.run(&format!("delete from recoveries where created_at < {hour}"));
        let after = shown(world);
        assert_eq!([&after["days"], &after["recoveries"]], [&before["days"], &before["recoveries"]]);
        // The control: who counts a row twice is noticed.
        world.run("update ledger_days set recorded = recorded + 1 where action = 'recover'");
        assert_ne!(shown(world)["days"], before["days"]);
    }

    fn a_report_within_a_day_is_counted_once_by_the_look_that_finds_it(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let run = world.issue_run(&issue, &agent, "failed", 50);
        world.sweep();
        world.set("issues", &issue, "status = 'done'");
        let runs = if world.on == On::Paperclip { "heartbeat_runs" } else { "runs" };
        // After so many minutes its owner reports, and then so many go by.
        for (reports, [early, late]) in [(10, [1, 1]), (180, [0, 1]), (1200, [0, 1]), (1500, [0, 0])] {
            world.run("delete from ledger_days");
            world.run("update upkeep set until = '1970-01-01T00:00:00.000Z'");
            let now = world.ago(0);
            world.run(&format!("update recoveries set created_at = {now}"));
            world.pass(reports);
            let at = world.ago(0);
            world.set(runs, &run, &format!("status = 'succeeded', finished_at = {at}"));
            let found = |world: &mut World| {
                world.let_upkeep_be_due();
                world.sweep();
                let sum = world.text("sum(in_vain)", "ledger_days").expect("a sum");
                sum.parse::<i64>().expect("a number")
            };
            world.pass((70 - reports).max(0));
            assert_eq!(found(world), early, "{reports}");
            world.pass(60 * 30);
            assert_eq!(found(world), late, "{reports}");
            assert_eq!(world.count("false_rescues"), late, "{reports}");
        }
    }
}

mod upkeep {
    use super::*;

    on_each_database! {
        fn a_long_ledger_is_summed_in_steps_that_lose_no_row_of_one_moment(world) {
            world.long_ledger(6_000);
            let mut db = world.connect_as_sweep();
            let mut sums = Vec::new();
            let task = UpkeepTask::SumRows;
            let mut next = || db.in_transaction(Access::Write, &Timeouts::default(), |db| step(db, task, After::Off));
            while next().expect("a step") {
                sums.push(world.summed());
            }
            assert_eq!((sums, world.summed()), (vec![5_000], 12_000));
        }

        /// For three days, in which one row was recorded; those that come afterwards have earlier times.
        fn what_is_recorded_after_a_clock_was_ahead_is_counted(world) {
            let (subject, now) = (world.agent("idle"), world.db.now().expect("the time"));
            let record = |world: &mut World, hours: i64| {
                world.recorded_at(&subject, "continue", now + TimeDelta::hours(hours), "null");
            };
            record(world, -50);
            world.let_upkeep_be_due();
            world.sweep();
            let (then, due) = (world.ago(-60 * 24 * 3), world.ago(-60 * 24 * 4));
            world.run(&format!("update upkeep set until = {then}, due_at = {due}, began_at = {due}"));
            let day = (now + TimeDelta::days(3)).date_naive();
            world.run(&format!("insert into ledger_days (day, kind, action, recorded, requested, in_vain) \
                                values ('{day}', 'issue', 'continue', 1, 0, 0)"));
            [24 * 3, -2, -3].into_iter().for_each(|hours| record(world, hours));
            world.sweep();
            assert_eq!(world.summed(), 3, "the row of the future is summed when its time has come");
            let days = world.attention()["days"].clone();
            let recorded = |day: &Value| day["continued"].as_i64().expect("a number");
            assert_eq!(days.as_array().expect("days").iter().map(recorded).sum::<i64>(), 3, "{days}");
        }

        fn four_sweeps_at_once_sum_each_row_once(world) {
            world.long_ledger(6_000);
            world.let_upkeep_be_due();
            let options = world.options();
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| sweep::sweep::run(&options, &Default::default(), &mut ()).expect("a sweep"));
                }
            });
            world.let_upkeep_be_due();
            world.sweep();
            assert_eq!(world.summed(), 12_000);
        }

        /// The control of the test above.
        fn who_sums_what_another_has_taken_counts_it_twice(world) {
            world.long_ledger(100);
            for _ in 0..2 {
                let mut db = world.connect_as_sweep();
                let summed = db.in_transaction(Access::Write, &Timeouts::default(), |db| {
                    let now = db.now()?;
                sum(db, HistoryLook::FIRST, DateTime::UNIX_EPOCH, now)
                });
                summed.expect("sums");
            }
            assert_eq!(world.summed(), 400);
        }

        fn an_idle_sweep_does_the_upkeep_only_when_it_is_due(world) {
            world.long_ledger(10);
            world.sweep();
            assert_eq!(world.summed(), 0, "nothing is an hour old in a new database");
            world.let_upkeep_be_due();
            world.sweep();
            assert_eq!(world.summed(), 20);
            world.run("delete from ledger_days");
            world.run("update upkeep set until = '1970-01-01T00:00:00.000Z'");
            world.sweep();
            assert_eq!(world.summed(), 0, "not before an hour is over");
            world.pass(70);
            world.sweep();
            assert_eq!(world.summed(), 20);
            let (tasks, ahead) = (SUMMED.join("', '"), world.ago(-60 * 48));
            world.run("delete from ledger_days");
            world.run(&format!(
                "update upkeep set until = '1970-01-01T00:00:00.000Z', due_at = {ahead} where task in ('{tasks}')"
            ));
            world.sweep();
            assert_eq!(world.summed(), 20, "a clock that was ahead has put it off");
        }
    }
}
