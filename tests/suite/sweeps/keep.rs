//! What is over goes away by itself, and nothing else does.

use std::collections::BTreeSet;
use std::thread;

use chrono::TimeDelta;
use diesel::connection::SimpleConnection;
use sweep::rules::{After, Id, Kind};
use sweep::store::work::upkeep::{UpkeepTask, step};
use sweep::store::{Access, Timeouts};

use crate::support::in_process::sweep_once;
use crate::support::world::{On, World, on_each_database, on_each_host};

const DAY: i64 = 24 * 60;

const KEEP: After = After::Time(TimeDelta::days(90));

on_each_host! {
    fn what_is_over_is_removed_and_what_something_rests_upon_stays(world) {
        let agent = world.agent("idle");
        let [done, escalated, at_work, lately] = [(); 4].map(|()| world.orphan(&agent));
        for issue in [&done, &escalated, &lately] {
            world.set("issues", issue, "status = 'done'");
        }
        let gone = Id::generate();
        let mut over = vec![
            world.old_row("issue", &done, "continue", 100, false),
            world.old_row("issue", &done, "recover", 95, false),
            world.old_row("issue", &gone, "escalate", 120, false),
        ];
        let kept = [
            world.old_row("issue", &escalated, "continue", 110, false),
            world.old_row("issue", &escalated, "escalate", 100, true),
            world.old_row("issue", &at_work, "continue", 100, false),
            world.old_row("issue", &at_work, "escalate", 99, false),
            world.old_row("issue", &lately, "continue", 100, false),
            world.old_row("issue", &lately, "recover", 89, false),
        ];
        over.push(world.notified("escalated", Some(&done), 100, true));
        over.push(world.notified("wakes_stuck", None, 100, true));
        let kept_notifications = [
            world.notified("escalated", Some(&done), 89, true),
            world.notified("escalated", Some(&done), 100, false),
            world.notified("wakes_stuck", None, 95, true),
        ];
        world.guard_the_hosts_tables();
        let all = [world.ids("recoveries"), world.ids("notifications")];
        world.remove(After::Off);
        world.let_upkeep_be_due();
        world.dry_run();
        assert_eq!([world.ids("recoveries"), world.ids("notifications")], all);

        world.remove(KEEP);

        let texts = |ids: &[Id]| ids.iter().map(|id| id.0.clone()).collect::<BTreeSet<_>>();
        assert_eq!(world.ids("recoveries"), texts(&kept));
        assert_eq!(world.ids("notifications"), texts(&kept_notifications));
        assert!(all.iter().flatten().collect::<BTreeSet<_>>().is_superset(&texts(&over).iter().collect()));
        assert_eq!(world.explained(Kind::Issue, &done.0)["recoveries"].as_array().map(Vec::len), Some(0));
    }

    fn the_past_of_work_in_progress_and_of_what_is_open_is_the_same_before_and_after(world) {
        let agent = world.agent("idle");
        for n in 0..60_i64 {
            let issue = world.orphan(&agent);
            let began = world.ago(150 * DAY);
            world.set("issues", &issue, &format!("started_at = {began}, created_at = {began}"));
            let mut random = n * 7_919 + 17;
            let mut next = |below: i64| {
                random = (random * 1_103_515_245 + 12_345) % 2_147_483_648;
                (random >> 8) % below
            };
            let mut days: Vec<i64> = (0..1 + next(6)).map(|_| next(140)).collect();
            days.sort_unstable_by(|one, other| other.cmp(one));
            for day in &days {
                let action = ["continue", "escalate", "recover", "hand_over"][next(4) as usize];
                let id = world.old_row("issue", &issue, action, *day, false);
                world.set("recoveries", &id, &format!("attempt = {}", next(1_000_000)));
            }
            if n % 3 == 0 {
                world.old_row("issue", &issue, "escalate", days[days.len() - 1], true);
            }
            if n % 2 == 0 {
                world.set("issues", &issue, "status = 'done'");
            }
        }
        let open = |world: &mut World| world.texts("subject_id", "open_recoveries order by subject_id");
        let of_open = "recoveries r where exists (select 1 from recoveries o where o.kind = r.kind \
            and o.subject_id = r.subject_id and o.settled_at is null)";
        let before = (world.pasts(), open(world), world.count(of_open));
        let rows = world.count("recoveries");

        world.remove(KEEP);

        assert_eq!((world.pasts(), open(world), world.count(of_open)), before);
        assert!(world.count("recoveries") < rows);
        // The control: who removes what is old, whatever rests upon it, is noticed.
        let old = world.ago(90 * DAY);
        world.run(&format!("delete from recoveries where created_at < {old} and settled_at is not null"));
        assert_ne!((world.pasts(), open(world), world.count(of_open)), before);
    }
}

mod databases {
    use super::*;

    on_each_database! {
        fn of_sweeps_that_found_nothing_the_latest_of_each_hour_stays(world) {
            (0..12).for_each(|n| world.began(10 + n, true));
            (0..180).for_each(|n| world.began(2 * DAY + n, true));
            world.began(2 * DAY + 30, false);
            (0..20).for_each(|n| world.began(100 * DAY + n * 60, false));
            let last = world.status_document()["sweeper"].clone();
            let hours = world.texts(if world.on == On::Sqlite { "substr(started_at, 1, 13)" }
                else { "date_trunc('hour', started_at at time zone 'UTC')" }, "sweeps where idle");
            let hours = hours.into_iter().collect::<BTreeSet<_>>().len() as i64;
            let young = world.ago(DAY);

            world.remove(KEEP);

            let of_old = format!("sweeps where started_at < {young}");
            assert_eq!(world.count(&format!("{of_old} and idle")), hours - 1 - i64::from(hours == 6));
            assert_eq!(world.count(&format!("{of_old} and not idle")), 1, "what did something stays");
            assert_eq!(world.count("sweeps"), 12 + world.count(&of_old));
            let after = world.status_document()["sweeper"].clone();
            for field in ["state", "last_success_at", "interval_seconds", "sweeps"] {
                assert_eq!(after[field], last[field], "{field}");
            }
        }

        fn the_last_success_and_the_latest_sweeps_of_everything_stay_however_old_they_are(world) {
            (0..30).for_each(|n| world.began(200 * DAY + n * 5, n % 2 == 0));
            let last = world.status_document()["sweeper"].clone();

            world.remove(KEEP);

            assert!(world.count("sweeps") < 20, "{}", world.count("sweeps"));
            assert_eq!(world.status_document()["sweeper"]["last_success_at"], last["last_success_at"]);
            assert_eq!(world.status_document()["sweeper"]["interval_seconds"], last["interval_seconds"]);
        }

        fn what_is_not_summed_yet_is_not_removed(world) {
            let gone = Id::generate();
            let rows = [100, 99, 98].map(|days| world.old_row("issue", &gone, "continue", days, false));
            world.let_upkeep_be_due();
            // Another sweep sums the rows at this moment: its task is passed over.
            let later = world.ago(-50);
            world.run(&format!("update upkeep set due_at = {later} where task = 'sum_late_reports'"));
            world.sweep();
            assert_eq!((world.summed(), world.ids("recoveries").len()), (3, rows.len()));
            // What was passed over is looked at again a day later.
            world.pass(60 * 25);
            world.sweep();
            assert_eq!((world.summed(), world.ids("recoveries").len()), (3, 0), "the control");
        }

        /// A run is unheard although a person has its issue, which a sweep does not examine.
        fn of_a_run_that_is_still_unheard_people_are_notified_once(world) {
            let notifying = world.notifying(&[("SWEEP_WEBHOOK_URL", "https://example.com")]);
            let agent = world.agent("running");
            let began = world.ago(100 * DAY);
            let [issue, over] = ["running", "succeeded"].map(|status| {
                let issue = world.orphan(&agent);
                world.set("issues", &issue, &format!("assignee_user_id = 'ada', updated_at = {began}"));
                world.issue_run(&issue, &agent, status, 100 * DAY);
                issue
            });
            let lasting = world.notified("run_unheard", Some(&issue), 95, true);
            world.notified("run_unheard", Some(&over), 95, true);

            world.remove(KEEP);
            sweep_once(&notifying.sweep);

            assert_eq!(world.ids("notifications where event = 'run_unheard'"), [lasting.0].into());
        }

        fn of_stuck_wakes_what_reached_people_last_stays(world) {
            let all = [(100, true), (95, false), (-300, true)];
            let all = all.map(|(days, delivered)| world.notified("wakes_stuck", None, days, delivered).0);

            world.remove(KEEP);

            assert_eq!(world.ids("notifications"), all.into());
        }

        fn sweeps_at_once_remove_in_steps_while_they_do_their_work(world) {
            let agent = world.agent("idle");
            let subject = Id::generate();
            let (id, at) = match world.on {
                On::Sqlite => (
                    "printf('00000000-0000-4000-8000-%012d', n)",
                    "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-100 days', (-n) || ' seconds')",
                ),
                On::Postgres | On::Paperclip => {
                    ("md5(n::text)::uuid", "now() - interval '100 days' - n * interval '1 second'")
                }
            };
            world.run(&format!(
                "with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 2500)
                 insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, \
                    created_at, settled_at)
                 select {id}, {id}, 'issue', '{subject}', 'recover', 'x', {at}, 1, {at}, {at} from numbers"
            ));
            world.remove(After::Off);
            let mut db = world.connect_as_sweep();
            let task = UpkeepTask::RemoveRecoveries;
            let first = db.in_transaction(Access::Write, &Timeouts::default(), |db| step(db, task, KEEP));
            assert_eq!((first.expect("a step"), world.count("recoveries")), (true, 1_500));
            let issues = world.orphans(&agent, 0..20);
            world.let_upkeep_be_due();
            let options = world.options();
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| sweep::sweep::run(&options, &Default::default(), &mut ()).expect("a sweep"));
                }
            });
            world.let_upkeep_be_due();
            world.sweep();
            assert_eq!(world.count("recoveries"), 20, "the rows of these issues");
            assert!(issues.iter().all(|issue| world.wakes_for(issue) == 1));
        }
    }
}

#[test]
fn the_function_that_removes_keeps_what_is_not_over_whoever_calls_it() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let [fresh, open] = [(); 2].map(|()| Id::generate());
    world.old_row("issue", &fresh, "recover", 6, false);
    world.old_row("issue", &open, "escalate", 100, true);
    world.old_row("issue", &agent, "recover", 8, false);
    world.run("update upkeep set until = now()");
    let remove = |relation: &str| format!("select remove_over('{relation}', '-infinity', 'infinity', 'infinity')");
    world.run(&remove("recoveries"));
    assert_eq!(world.ids("recoveries").len(), 2);
    let refused = world.db.batch_execute(&remove("issues")).expect_err("it is a host's");
    assert!(refused.to_string().contains("expected recoveries, sweeps or notifications"), "{refused}");
}
