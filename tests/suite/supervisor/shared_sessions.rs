//! One session, and several who deal with it: watchers, sweeps, and people.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use chrono::TimeDelta;
use diesel::connection::SimpleConnection;
use rustix::process::Signal;
use sweep::rules::Id;
use sweep::store::work::supervision::{self, Beginning, Takes};
use sweep::store::{Access, Timeouts};

use crate::support::program::{Ran, sweep, sweep_at};
use crate::support::wait::{SetAtEnd, wait_for, wait_until};
use crate::support::watcher::{POLICY, READ, Watcher};
use crate::support::world::{On, World, on_each_database};

const SILENT: &str = "echo working; while printf '> '; read x; do echo \"$x\" >> got; done";
const USAGE: i32 = 64;

fn take_up(url: &str) -> Ran {
    sweep(["watch", "--database", url, "--session", "agent", "--", "true"]).run()
}

on_each_database! {
    fn a_paused_session_gets_no_nudge(world) {
        let script = format!("echo working; {READ}; echo \"$x\" >> got; cat");
        let watcher = Watcher::watch_script(&world.url, &["--no-examine"], &script);
        watcher.until_it_prints("working");
        world.run("update sessions set status = 'paused'");
        let long_ago = world.ago(60);
        world.run(&format!("update sessions set last_activity_at = {long_ago}, last_progress_at = {long_ago}"));
        let swept = sweep_at(&world.url, POLICY).run().done();
        assert_eq!(world.agents_commands("true"), 0, "{swept}");
        world.queue("nudge", "hello there");
        wait_for("a refusal", || (world.agents_commands("status = 'failed'") == 1).then_some(()));

        world.run("update sessions set status = 'active', stall_paused = (1 = 1)");
        world.queue("nudge", "hello again");
        wait_for("a refusal", || (world.agents_commands("status = 'failed'") == 2).then_some(()));

        assert!(!watcher.file("got").exists());
        assert_eq!(world.of_agent("status").as_deref(), Some("active"));
        world.run("update sessions set status = 'paused'");
        watcher.stop();
        assert_eq!(world.of_agent("status").as_deref(), Some("paused"), "it was others who paused it");
    }

    fn a_command_that_does_not_fit_has_failed(world) {
        let script = format!("echo working; {READ}; echo \"got $x\"; cat");
        let watcher = Watcher::watch_script(&world.url, &["--no-examine"], &script);
        watcher.until_it_prints("working");
        world.queue("relaunch", "");
        wait_for("a refusal", || (world.agents_commands("status = 'failed'") == 1).then_some(()));

        world.queue("nudge", "one\u{1b}[2Jtwo");
        watcher.until_it_prints("got (sweep) one[2Jtwo");
        assert_eq!(world.agents_commands("status = 'delivered'"), 1);
        watcher.stop();
    }

    fn a_session_that_is_watched_is_not_taken_up_by_another_watcher(world) {
        let watcher = Watcher::watch_script(&world.url, &[], SILENT);
        watcher.until_it_prints("working");

        take_up(&world.url).says_once(USAGE, &["--session: another watcher keeps agent"]);

        watcher.stop();
        assert_eq!(take_up(&world.url).code, 0);
        assert_eq!(world.of_agent("status").as_deref(), Some("terminated"));
        assert!(world.of_agent("title").is_some_and(|title| title.starts_with("true, in ")));
    }

    fn an_explanation_goes_by_the_watchers_settings_as_long_as_it_keeps_the_session(world) {
        let url = world.url.clone();
        let threshold = |flags: &[&str], says: [&str; 2]| {
            let words = [&["explain", "session", "agent", "--database", &url], flags].concat();
            let explained = sweep(words).run().done();
            assert!(says.iter().all(|says| explained.out.contains(says)), "{explained}");
        };
        let (watchers, a_sweeps) = ("Its watcher would now, by its own settings: ", "A sweep would now: ");
        let watcher = Watcher::watch_script(&world.url, &["--set", "session_silent_after=45m", "--no-examine"], SILENT);
        watcher.until_it_prints("working");
        threshold(&[], ["for longer than 15m", a_sweeps]);
        watcher.stop();
        let flags = ["--set", "session_no_progress_after=45m", "--set", "session_silent_after=40m"];
        let watcher = Watcher::watch_script(&world.url, &flags, SILENT);
        watcher.until_it_prints("working");
        threshold(&[], ["for longer than 45m", watchers]);
        threshold(&["--set", "session_no_progress_after=7m"], ["for longer than 7m", watchers]);

        watcher.signal(Signal::KILL);
        watcher.end();
        let long_ago = world.ago(1);
        world.run(&format!("update sessions set updated_at = {long_ago}"));
        threshold(&[], ["for longer than 15m", a_sweeps]);
    }

    fn a_watcher_whose_session_was_taken_up_meanwhile_lets_it_go(world) {
        let watcher = Watcher::watch_script(&world.url, &[], &format!("echo working; {READ}; echo \"got $x\"; read x"));
        watcher.until_it_prints("working");
        let (now, silent) = (world.ago(0), world.ago(60));
        // As the other one does it.
        world.run(&format!("update sessions set started_at = {now}, last_activity_at = {silent}"));

        watcher.until_it_prints("another watcher has taken up this session");

        world.queue("nudge", "hello there");
        let ended = watcher.stop();
        assert!(!ended.text.contains("got hello"), "{}", ended.text);
        assert_eq!(world.of_agent("status").as_deref(), Some("active"));
        assert_eq!(world.agents_commands("status = 'queued' and message = 'hello there'"), 1);
    }

    fn with_eight_sweeps_beside_it_no_nudge_is_lost_or_typed_twice(world) {
        let watcher = Watcher::watch_script(&world.url, &[], SILENT);
        watcher.until_it_prints("working");
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let _end = SetAtEnd(&is_over);
            for _ in 0..8 {
                let (url, is_over) = (&world.url, &is_over);
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        let ran = sweep_at(url, POLICY.into_iter().chain(["--set", "connections=1"])).run();
                        assert!([0, 1, 75].contains(&ran.code), "{ran}");
                    }
                });
            }
            let mut db = world.connect();
            wait_for("an escalation", || {
                let sql = "select count(*) as value from recoveries where action = 'escalate'";
                (0 < count(&mut db, sql)).then_some(())
            });
        });
        wait_for("delivery", || (world.agents_commands("status = 'queued'") == 0).then_some(()));

        let delivered = world.agents_commands("status = 'delivered'");
        assert_eq!((delivered, world.agents_commands("true")), (2, 2));
        let got = || fs::read_to_string(watcher.file("got")).unwrap_or_default().lines().count();
        wait_for("both nudges", || (2 <= got()).then_some(()));
        assert_eq!((got(), world.recovered("escalate"), world.recovered("recover")), (2, 1, 0));
        watcher.stop();
    }

    /// Without its watcher nobody delivers, and a sweep tells a person.
    fn a_session_whose_watcher_was_killed_is_found_by_sweeps_and_can_be_taken_up(world) {
        let mut watcher = Watcher::watch_script(&world.url, &["--no-examine"], SILENT);
        wait_for("a prompt", || (world.count("sessions where takes_nudges") == 1).then_some(()));
        watcher.signal(Signal::KILL);
        watcher.end_on_screen();

        wait_for("an escalation", || {
            let ran = sweep_at(&world.url, POLICY).run();
            assert!([0, 75].contains(&ran.code), "{ran}");
            (0 < world.recovered("escalate")).then_some(())
        });

        let reason = world.text("reason", "recoveries where action = 'escalate'");
        assert_eq!(reason.as_deref(), Some("nobody delivers commands to it"));
        let long_ago = world.ago(1);
        world.run(&format!("update sessions set updated_at = {long_ago}"));
        let taken = take_up(&world.url);
        assert_eq!(taken.code, 0, "{taken}");
        assert_eq!(world.agents_commands("status = 'failed'"), 1, "it was meant for the process before");
    }

    fn without_examinations_nothing_is_decided(world) {
        let watcher = Watcher::watch_script(&world.url, &["--no-examine"], SILENT);
        watcher.until_it_prints("working");
        let id = Id(world.of_agent("id").expect("a session"));
        let quiet = ["--session", &id.0, "--dry-run", "--output", "json"].into_iter().chain(POLICY);
        let quiet: Vec<&str> = quiet.collect();
        wait_for("silence", || {
            let ran = sweep_at(&world.url, quiet.iter().copied()).run();
            (ran.json()["subjects"][0]["finding"] == "silent").then_some(())
        });
        assert_eq!((world.agents_commands("true"), world.count("recoveries")), (0, 0));

        let ended = watcher.stop();
        assert_eq!(ended.code, 143);
    }
}

fn count(db: &mut sweep::store::Db, sql: &str) -> i64 {
    #[derive(diesel::QueryableByName)]
    struct Count {
        #[diesel(sql_type = diesel::sql_types::BigInt)]
        value: i64,
    }
    diesel::RunQueryDsl::get_result::<Count>(diesel::sql_query(sql), db).expect("a count").value
}

/// The row of the command is in other hands when the watcher claims it, and says something else afterwards.
#[test]
fn a_command_that_somebody_takes_back_meanwhile_is_not_carried_out() {
    for (assignment, is_claimed) in [("status = 'failed'", false), ("updated_at = now()", true)] {
        let mut world = World::new(On::Postgres);
        let (mut db, timeouts) =
            (world.connect_as_sweep(), Timeouts { lock: TimeDelta::minutes(1), ..Timeouts::default() });
        let beginning = Beginning {
            tenant: "default",
            identifier: Some("agent"),
            title: "",
            directory: "/srv/api",
            agent_id: None,
            issue_id: None,
            silent_after_seconds: None,
        };
        let lease =
            db.in_transaction(Access::Write, &timeouts, |db| supervision::begin(db, &beginning)).expect("a session");
        world.queue("nudge", "hello there");
        let mut rival = world.connect();
        rival.batch_execute(&format!("begin; update session_commands set {assignment}")).expect("a command");
        let claimed = thread::scope(|scope| {
            let claiming = scope.spawn(|| {
                db.in_transaction(Access::Write, &timeouts, |db| {
                    let now = db.now()?;
                    supervision::claim(db, &lease, Takes::Nudges, now)
                })
            });
            let waiting = "pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
            wait_until("a watcher that waits", || 0 < world.count(waiting));
            rival.batch_execute("commit").expect("a commit");
            claiming.join().expect("a watcher").expect("a transaction")
        });
        assert_eq!(claimed.is_some(), is_claimed, "{assignment}");
    }
}
