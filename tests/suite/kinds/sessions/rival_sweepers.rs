//! P1, P11, P16 for sessions: many sweeps at once, beside a supervisor and a sweep of the same session's issue.

use std::thread;

use sweep::rules::{Id, Kind};
use sweep::sweep::{Options, Selection};

use super::crashed::relaunching;
use crate::support::databases::run;
use crate::support::in_process::sweep_once;
use crate::support::world::{On, World, on_each_database};

const SESSIONS: usize = 60;
const SWEEPS: usize = 8;

fn sessions(world: &mut World, with_issues: Option<()>) -> Vec<(Id, Option<Id>)> {
    let agents: Vec<Id> = (0..5).map(|_| world.agent("idle")).collect();
    world.run("begin");
    let made = (0..SESSIONS)
        .map(|n| {
            let agent = &agents[n % agents.len()];
            let issue = with_issues.map(|()| world.orphan(agent));
            (world.session(Some(agent), issue.as_ref()), issue)
        })
        .collect();
    world.run("commit");
    made
}

/// Runs many sweeps at once, and adds up one outcome of the sessions.
fn sweep_together(settings: &Options, outcome: &str) -> i64 {
    thread::scope(|scope| {
        let sweeps: Vec<_> = (0..SWEEPS).map(|_| scope.spawn(|| sweep_once(settings))).collect();
        let swept = sweeps.into_iter().map(|sweep| sweep.join().expect("a sweep"));
        swept
            .map(|swept| {
                let wrong = ["failed", "unknown"].map(|outcome| swept.count("sessions", outcome));
                assert_eq!(wrong, [0, 0], "{}", swept.json);
                swept.count("sessions", outcome)
            })
            .sum()
    })
}

on_each_database! {
    fn eight_sweeps_at_once_nudge_each_session_once_and_never_more_than_twice(world) {
        let sessions = sessions(world, None);
        let settings = world.options();
        for (outcome, nudges) in [("continued", 1), ("continued", 2), ("escalated", 2), ("continued", 2)] {
            let done = sweep_together(&settings, outcome);

            let pending = "(select session_id from session_commands where status = 'queued'
                            group by session_id having 1 < count(*)) as doubled";
            assert_eq!(world.count(pending), 0, "one pending command at a time");
            assert_eq!(world.count("session_commands"), nudges * SESSIONS as i64);
            assert!(done == SESSIONS as i64 || nudges == 2 && done == 0, "{done} {outcome}");
            world.deliver_commands();
            world.pass(10);
        }
        assert_eq!(world.count("recoveries where kind = 'session' and action = 'escalate'"), SESSIONS as i64);
        assert_eq!(world.commands(&sessions[0].0, "nudge"), 2);
    }

    /// The first sweep relaunches the session or continues its issue, and no other does the other one.
    fn eight_sweeps_at_once_continue_a_crashed_session_or_its_issue_and_never_both(world) {
        let made = sessions(world, Some(()));
        let an_hour_ago = world.ago(60);
        world.run(&format!("update sessions set ended_at = {an_hour_ago}, exit_code = 1"));
        let settings = relaunching(world);

        sweep_together(&settings, "continued");

        for (session, issue) in &made {
            let issue = issue.as_ref().expect("an issue");
            let continuations = world.commands(session, "relaunch") + world.wakes_for(issue);
            assert_eq!((continuations, world.comments_on(issue)), (1, 0));
        }
    }
}

/// Two transactions, step by step. The tests play by hand what a sweep must not do, to show that it would be caught.
mod step_by_step {
    use super::*;

    fn crashed(world: &mut World) -> (Id, Id, Id) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let session = world.session(Some(&agent), Some(&issue));
        let long_ago = world.ago(60);
        world.set("sessions", &session, &format!("ended_at = {long_ago}, exit_code = 1"));
        (agent, issue, session)
    }

    #[test]
    fn a_session_or_an_issue_in_other_hands_is_busy_and_done_by_the_next_sweep() {
        for table in ["sessions", "issues"] {
            let mut world = World::new(On::Postgres);
            let (_, issue, session) = crashed(&mut world);
            let row = if table == "sessions" { &session } else { &issue };
            world.run(&format!("begin; select from {table} where id = '{row}' for update"));
            let settings = Options { selection: Selection::Kinds(vec![Kind::Session]), ..relaunching(&world) };
            let busy = sweep_once(&settings);
            world.run("commit");
            let next = sweep_once(&settings);

            assert_eq!((busy.outcome(&session), next.outcome(&session)), ("busy", "continued"), "{table}");
        }
    }

    #[test]
    fn a_pause_that_is_not_committed_yet_keeps_its_session_from_being_nudged() {
        let mut world = World::new(On::Postgres);
        let agent = world.agent("idle");
        let session = world.session(Some(&agent), None);
        world.run(&format!("begin; update agents set status = 'paused' where id = '{agent}'"));
        let during = world.sweep();
        world.run("commit");
        let after = world.sweep();

        assert_eq!((during.outcome(&session), after.outcome(&session)), ("busy", "skipped"));
        assert_eq!(world.commands(&session, "nudge"), 0);
    }

    /// The owner forbids to disturb the session at the moment of the sweep.
    #[test]
    fn a_stall_pause_that_is_not_committed_yet_keeps_its_session_from_being_nudged() {
        let mut world = World::new(On::Postgres);
        let session = world.session(None, None);
        world.run(&format!("begin; update sessions set stall_paused = true where id = '{session}'"));
        let during = world.sweep();
        world.run("commit");
        world.sweep();

        assert_eq!((during.outcome(&session), world.commands(&session, "nudge")), ("busy", 0));
    }

    /// The negative control: if a sweep locks the session but not its issue, both are continued.
    #[test]
    fn a_sweeper_that_does_not_lock_the_issue_continues_the_same_work_twice() {
        let mut world = World::new(On::Postgres);
        let (_, issue, session) = crashed(&mut world);
        let mut rival = world.connect();
        let relaunch = format!(
            "insert into session_commands (session_id, command, requested_by)
             select id, 'relaunch', 'sweep' from session_facts f join sessions s on s.id = f.subject_id
             where s.id = '{session}' and f.issue_wake_since is null and not f.issue_has_live_run"
        );
        run(&mut rival, &format!("begin; select from sessions where id = '{session}' for update"));
        run(&mut rival, &relaunch);
        let swept = world.sweep_as(&Options { selection: Selection::Kinds(vec![Kind::Issue]), ..world.options() });
        run(&mut rival, "commit");

        assert_eq!(swept.outcome(&issue), "continued");
        assert_eq!((world.commands(&session, "relaunch"), world.wakes_for(&issue)), (1, 1));
    }

    /// The negative control: a sweeper that checks and inserts in one statement.
    #[test]
    fn a_sweeper_that_checks_and_inserts_in_one_statement_doubles_the_nudge() {
        let mut world = World::new(On::Postgres);
        let session = world.session(None, None);
        let nudge = format!(
            "insert into session_commands (session_id, command, requested_by)
             select id, 'nudge', 'sweep' from sessions s where s.id = '{session}' and s.status = 'active'
               and not exists (select from session_commands c where c.session_id = s.id and c.status = 'queued')"
        );
        let mut rival = world.connect();
        world.run("begin");
        world.run(&nudge);
        run(&mut rival, &nudge);
        world.run("commit");

        assert_eq!(world.commands(&session, "nudge"), 2);
    }
}
