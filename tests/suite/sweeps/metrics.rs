//! The metrics: what the database says of them, however many sweeps and shards there were, and the text and the file
//! they are written in.

mod metrics_file;
mod query_cost;
mod text_format;

pub use text_format::samples;

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::TimeDelta;
use sweep::conclusion::Conclusion;
use sweep::metrics::text;
use sweep::rules::Id;
use sweep::store::Timeouts;
use sweep::store::connect::open::Url;
use sweep::store::read::metrics::{Reading, read_from};
use sweep::sweep::Options;

use crate::support::world::{On, World, on_each_database, on_each_host};

pub fn reading(world: &World) -> Reading {
    let url = Url::parse(&world.url).expect("a URL");
    read_from(&url, &Timeouts::default(), &Arc::default()).unwrap_or_else(|error| panic!("{error:#}"))
}

/// The metrics by name and labels, without `sweep_`.
fn measure(world: &World) -> Measured {
    Measured(text_format::samples(&text(vec![(None, reading(world))], None)))
}

/// How many minutes ago the last success was; the status must say the same.
fn last_success(world: &World) -> Option<i64> {
    let at = reading(world).last_success_at;
    let status = world.status_document()["sweeper"]["last_success_at"].as_str().map(str::to_owned);
    let parsed = status.map(|at| at.parse::<chrono::DateTime<chrono::Utc>>().expect("a time"));
    assert_eq!(parsed, at);
    at.map(|at| (reading(world).read_at - at).num_minutes())
}

fn yes(world: &World) -> &'static str {
    if world.on == On::Sqlite { "1" } else { "true" }
}

struct Measured(BTreeMap<String, f64>);

impl Measured {
    #[track_caller]
    fn is(&self, name: &str, value: f64) {
        assert_eq!(self.0.get(name), Some(&value), "{name}: {:#?}", self.0);
    }

    #[track_caller]
    fn has_not(&self, beginning: &str) {
        assert!(!self.0.keys().any(|name| name.starts_with(beginning)), "{beginning}: {:#?}", self.0);
    }
}

on_each_host! {
    fn a_database_that_was_never_swept_reports_no_sweep_and_counts_from_zero(world) {
        let measured = measure(world);

        measured.is(r#"recoveries_total{kind="issue",action="continue"}"#, 0.0);
        measured.is(r#"quarantined_subjects{kind="session"}"#, 0.0);
        measured.is(r#"notifications_pending{destination="slack"}"#, 0.0);
        measured.is("false_rescues_last_week", 0.0);
        for absent in ["last_success", "last_sweep", "backlog", "notifications_oldest", "daemon"] {
            measured.has_not(absent);
        }
        assert_eq!(measured.0.contains_key(r#"quarantined_subjects{kind="step"}"#), world.on != On::Paperclip);
        let skew = (measured.0["metrics_read_timestamp_seconds"] - reading(world).read_at.timestamp() as f64).abs();
        assert!(skew < 60.0, "{skew}");
    }

    fn a_sweep_reports_what_it_did_and_what_it_left(world) {
        let agent = world.agent("idle");
        let issues = world.orphans(&agent, 0..5);
        world.declare_waits(&issues[3..]);
        world.sweep_as(&Options { limit: Some(1), ..world.options() });

        let measured = measure(world);

        measured.is(r#"last_sweep_subjects{kind="issue",outcome="continued"}"#, 1.0);
        measured.is(r#"last_sweep_subjects{kind="issue",outcome="waiting"}"#, 2.0);
        measured.is(r#"last_sweep_subjects{kind="session",outcome="failed"}"#, 0.0);
        measured.is(r#"backlog_subjects{kind="issue"}"#, 2.0);
        measured.is(r#"last_sweep_guarded{kind="issue"}"#, 0.0);
        measured.is(r#"recoveries_total{kind="issue",action="continue"}"#, 1.0);
        measured.is("last_sweep_exit_code", 0.0);
        let idle = measured.0["metrics_read_timestamp_seconds"]
            - measured.0[r#"backlog_oldest_timestamp_seconds{kind="issue"}"#];
        assert!((3600.0..3800.0).contains(&idle), "{idle}");
        assert_eq!(measured.0["last_success_timestamp_seconds"], measured.0["last_sweep_timestamp_seconds"]);
        assert!((0.0..60.0).contains(&measured.0["last_sweep_duration_seconds"]));
    }

    fn how_the_work_stands_now_is_counted_by_kind_and_state_as_boards_show_it(world) {
        let (agent, gone) = (world.agent("idle"), world.agent("terminated"));
        let issues = world.orphans(&agent, 0..5);
        world.orphan(&gone);
        world.declare_waits(&issues[3..]);
        measure(world).is(r#"work_subjects{kind="issue",state="orphaned"}"#, 3.0);
        world.sweep();
        world.end_continuations("failed");
        world.pass(10);
        world.sweep();
        world.orphan(&agent);

        let measured = measure(world);

        let shown = world.status_document()["kinds"]["issues"].clone();
        for (state, subjects) in [
            ("orphaned", 1.0), ("waiting", 2.0), ("escalated", 3.0), ("abandoned", 1.0), ("active", 0.0),
            ("skipped", 0.0),
        ] {
            measured.is(&format!(r#"work_subjects{{kind="issue",state="{state}"}}"#), subjects);
            assert_eq!(shown[state].as_f64(), Some(subjects), "{state}: {shown}");
        }
        measured.is(r#"work_subjects{kind="session",state="crashed"}"#, 0.0);
        measured.has_not(r#"work_subjects{kind="issue",state="crashed"}"#);
        assert_eq!(measured.0.contains_key(r#"work_subjects{kind="step",state="stalled"}"#), world.on != On::Paperclip);
    }

    fn what_has_recovered_and_what_was_handed_over_are_counted_apart(world) {
        let agent = world.agent("idle");
        let issues = world.orphans(&agent, 0..3);
        world.sweep();
        world.end_continuations("succeeded");
        for (issue, status) in issues.iter().zip(["done", "blocked", "cancelled"]) {
            world.set("issues", issue, &format!("status = '{status}'"));
        }
        world.sweep();

        let measured = measure(world);

        measured.is(r#"recoveries_total{kind="issue",action="recover"}"#, 1.0);
        measured.is(r#"recoveries_total{kind="issue",action="hand_over"}"#, 2.0);
        measured.is(r#"last_sweep_subjects{kind="issue",outcome="recovered"}"#, 1.0);
        measured.is(r#"last_sweep_subjects{kind="issue",outcome="handed_over"}"#, 2.0);
    }

    fn the_guard_is_reported_and_is_no_success(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..31);
        let guard = Some(sweep::rules::Guard::default());
        world.sweep_as(&Options { guard, ..world.options() });

        let measured = measure(world);

        measured.is(r#"last_sweep_guarded{kind="issue"}"#, 1.0);
        measured.is("last_sweep_exit_code", 4.0);
        measured.is(r#"backlog_subjects{kind="issue"}"#, 31.0);
        measured.has_not("last_success");
    }

    fn what_looked_at_a_part_is_not_the_latest_sweep_of_everything(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..2);
        world.sweep_as(&Options { deadline: TimeDelta::milliseconds(1), ..world.options() });
        let measured = measure(world);
        measured.is(r#"backlog_subjects{kind="issue"}"#, 2.0);
        measured.has_not("last_success");

        world.sweep();
        let yes = yes(world);
        world.swept(-1, (0, 1), "is_restricted, partial, exit_code", &format!("{yes}, {yes}, 1"));

        let measured = measure(world);
        measured.is("last_sweep_exit_code", 0.0);
        measured.is(r#"backlog_subjects{kind="issue"}"#, 0.0);
        assert_eq!(last_success(world), Some(0));
    }
}

mod rows {
    use super::*;

    /// A sweep of everything, or a shard of it, that ended so many minutes ago with this exit code.
    fn ended(world: &mut World, minutes: i64, shard: (u32, u32), code: i32) {
        let is_success = Conclusion::of(code).expect("a conclusion").is_success();
        let succeeded = if is_success { "1 = 1" } else { "1 = 0" };
        world.swept(minutes, shard, "exit_code, succeeded", &format!("{code}, {succeeded}"));
    }

    on_each_database! {
        fn a_sweep_in_shards_succeeded_when_all_of_them_did(world) {
            for (minutes, shard) in [(50, 0), (40, 1), (30, 2), (9, 0)] {
                ended(world, minutes, (shard, 4), 0);
            }
            assert_eq!(last_success(world), None, "one is missing");
            ended(world, 20, (3, 4), 1);
            assert_eq!(last_success(world), None, "one failed");
            ended(world, 10, (3, 4), 2);
            assert_eq!(last_success(world), Some(40), "the earliest of their latest");
            ended(world, 60, (0, 1), 0);
            assert_eq!(last_success(world), Some(40), "an earlier one of everything");
            ended(world, 35, (0, 1), 0);
            assert_eq!(last_success(world), Some(35), "a later one");
            ended(world, 5, (0, 2), 0);
            ended(world, 4, (0, 8), 0);
            assert_eq!(last_success(world), Some(35), "neither is complete");
            ended(world, 3, (1, 2), 0);
            assert_eq!(last_success(world), Some(5));
        }

        fn a_count_that_cannot_be_read_hides_nothing_else(world) {
            for (odd, guarded) in [
                (r#""scanned": "5""#, 0.0),
                (r#""busy": null"#, 0.0),
                (r#""busy": 1.5, "failed": -1"#, 0.0),
                (r#""oldest_deferred_at": "yesterday""#, 0.0),
                (r#""mode": "asleep""#, 0.0),
                (r#""guard": {"stranded": "many"}"#, 1.0),
                (r#""guard": true"#, 1.0),
                (r#""held_back": [{"tenant": 7}]"#, 1.0),
            ] {
                let counts = format!(r#"'{{"issues": {{"provided": true, "continued": 3, {odd}, "deferred": 2}}}}'"#);
                world.run("delete from sweeps");
                world.swept(10, (0, 1), "exit_code, counts", &format!("0, {counts}"));

                let measured = measure(world);

                measured.is(r#"last_sweep_subjects{kind="issue",outcome="continued"}"#, 3.0);
                measured.is(r#"last_sweep_guarded{kind="issue"}"#, guarded);
                assert_eq!(measured.0[r#"backlog_subjects{kind="issue"}"#], 2.0, "{odd}");
            }
        }

        fn a_count_without_bounds_is_no_negative_one(world) {
            let counts = format!(r#"'{{"issues": {{"provided": true, "busy": {0}, "failed": {0}}}}}'"#, u64::MAX);
            world.swept(10, (0, 1), "exit_code, counts", &format!("0, {counts}"));
            measure(world).is(r#"backlog_subjects{kind="issue"}"#, u64::MAX as f64);
        }

        fn what_the_shards_of_a_sweep_did_is_added_up(world) {
            let counts = |continued: i64, more: &str| format!(
                r#"'{{"issues": {{"provided": true, "mode": "on", "guard": null, "continued": {continued}, "busy": 1 {more}}},
                    "steps": {{"provided": true, "mode": "shadow", "guard": null, "continued": 7}}}}'"#
            );
            world.swept(90, (1, 2), "exit_code, counts", &format!("4, {}", counts(100, "")));
            world.swept(60, (0, 1), "exit_code, counts", &format!("0, {}", counts(1000, "")));
            let oldest = r#", "deferred": 3, "oldest_deferred_at": "2026-01-02T03:04:05Z""#;
            world.swept(40, (1, 2), "exit_code, counts", &format!("1, {}", counts(10, oldest)));
            world.swept(30, (0, 2), "exit_code, counts", &format!("2, {}", counts(1, "")));
            let values = format!("0, {}, {}", yes(world), counts(5, ""));
            world.swept(20, (7, 9), "exit_code, is_restricted, counts", &values);

            let measured = measure(world);

            measured.is(r#"last_sweep_subjects{kind="issue",outcome="continued"}"#, 11.0);
            measured.is(r#"backlog_subjects{kind="issue"}"#, 5.0);
            measured.is(r#"backlog_oldest_timestamp_seconds{kind="issue"}"#, 1_767_323_045.0);
            measured.is("last_sweep_exit_code", 1.0);
            measured.is("last_sweep_duration_seconds", 60.0);
            measured.has_not(r#"last_sweep_subjects{kind="step""#);
            let age = measured.0["metrics_read_timestamp_seconds"] - measured.0["last_sweep_timestamp_seconds"];
            assert!((1800.0..1830.0).contains(&age), "{age}");
        }

        fn the_ledger_is_counted_once_and_stays_counted_when_it_is_pruned(world) {
            const NAME: &str = r#"recoveries_total{kind="issue",action="continue"}"#;
            let agent = world.agent("idle");
            world.orphans(&agent, 0..5);
            world.sweep();
            measure(world).is(NAME, 5.0);
            let old = world.ago(300);
            world.run(&format!("update recoveries set created_at = {old}"));
            // The next sweep sums them.
            world.let_upkeep_be_due();
            world.sweep();
            world.sweep();
            measure(world).is(NAME, 5.0);
            world.run("delete from recoveries");
            measure(world).is(NAME, 5.0);
            world.orphans(&agent, 10..13);
            world.run("delete from wakes");
            world.sweep();
            assert_eq!(world.count("recoveries"), 8);
            measure(world).is(NAME, 13.0);
            // Without the sums it is what is younger.
            world.run("delete from ledger_days");
            measure(world).is(NAME, 8.0);
        }

        fn quarantine_and_outbox_are_reported(world) {
            let hour = world.ago(60);
            for (n, at) in [(1, hour.as_str()), (2, "null"), (3, hour.as_str())] {
                let id = crate::support::world::many::numbered(n);
                world.run(&format!("insert into failures (kind, subject_id, reason, quarantined_at) values ('issue', \
                    '{id}', 'x', {at})"));
            }
            for (to, delivered, dead, minutes) in [
                ("slack", "null", "null", 30), ("slack", "null", "null", 50), ("webhook", hour.as_str(), "null", 70),
                ("webhook", "null", hour.as_str(), 80),
            ] {
                let (id, created) = (Id::generate(), world.ago(minutes));
                world.run(&format!(
                    "insert into notifications (id, destination, event, kind, sweep_id, details, created_at, \
                        delivered_at, dead_at)
                     values ('{id}', '{to}', 'escalated', 'issue', '{id}', '{{}}', {created}, {delivered}, {dead})"
                ));
            }

            let measured = measure(world);

            measured.is(r#"quarantined_subjects{kind="issue"}"#, 2.0);
            measured.is(r#"notifications_pending{destination="slack"}"#, 2.0);
            measured.is(r#"notifications_pending{destination="webhook"}"#, 0.0);
            measured.is(r#"notifications_dead{destination="webhook"}"#, 1.0);
            let age = measured.0["metrics_read_timestamp_seconds"]
                - measured.0["notifications_oldest_pending_timestamp_seconds"];
            assert!((3000.0..3060.0).contains(&age), "{age}");
        }
    }
}
