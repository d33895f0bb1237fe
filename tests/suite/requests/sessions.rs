//! `sweep session nudge`, `relaunch`, `heartbeat`, `pause` and `resume`: a person's requests about a session.

use sweep::rules::{Id, Kind};

use super::{USAGE, ask, refused};
use crate::support::program::explain;
use crate::support::views_and_rules::exempt;
use crate::support::world::{On, World, on_each_database};

/// The ledger's rows about a session, oldest first.
fn ledger(world: &mut World, session: &Id) -> Vec<String> {
    let rows = world.texts(
        "action || ': ' || reason || case when settled_at is null then ' (open)' else '' end",
        &format!("recoveries where subject_id = '{session}' order by created_at, id"),
    );
    rows.into_iter().flatten().collect()
}

/// Makes a session whose process crashed an hour ago.
fn crashed(world: &mut World) -> Id {
    let session = world.session(None, None);
    let long_ago = world.ago(60);
    world.set("sessions", &session, &format!("ended_at = {long_ago}, exit_code = 1"));
    session
}

/// Makes a session that was nudged twice in vain, so that people were notified.
fn escalated(world: &mut World) -> Id {
    let session = world.session(None, None);
    for _ in 0..3 {
        world.sweep();
        world.deliver_commands();
        world.pass(10);
    }
    assert_eq!(world.recovered("escalate"), 1);
    session
}

on_each_database! {
    fn a_nudge_is_queued_with_the_persons_message_and_counts_as_an_attempt(world) {
        let session = world.session(None, None);
        world.progresses(&session);

        let nudged = ask(world, "nudge", &session.0, &["--message", "Mind the gate"]).done();

        assert!(nudged.out.starts_with("A nudge is queued: session S-"), "{nudged}");
        let command = world.text("command || ' ' || message || ' ' || requested_by", "session_commands");
        assert_eq!(command.as_deref(), Some("nudge Mind the gate sweep"));
        assert_eq!(ledger(world, &session), ["continue: nudged, asked for by ada (open)"]);
        refused(world, "nudge", &session.0, &["a command is on its way to it", "the command is delivered"]);
        world.deliver_commands();
        world.pass(10);
        assert_eq!(explain(&world.url, Kind::Session, &session.0)["history"]["attempts"], 1);
    }

    fn a_nudge_without_a_message_types_what_a_sweep_would(world) {
        let session = world.session(None, None);
        ask(world, "nudge", &session.0, &[]).done();
        let message = world.text("message", "session_commands").expect("a message");
        assert_eq!(message, sweep::rules::Policy::default().nudge_message);
    }

    fn neither_the_nudges_that_were_in_vain_nor_their_escalation_bind_a_person(world) {
        let session = escalated(world);
        for nudges in 3..6 {
            ask(world, "nudge", &session.0, &[]).done();
            assert_eq!(world.commands(&session, "nudge"), nudges);
            world.deliver_commands();
        }
        assert_eq!(world.open_session_recoveries(), 1);
    }

    fn nothing_is_typed_where_it_would_do_harm(world) {
        let session = world.session(None, None);
        let now = world.ago(0);
        for (state, says) in [
            ("takes_nudges = false", "it is not known to be idle at its prompt"),
            (
                "agent_state = 'waiting', agent_state_kind = 'permission', agent_question = 'May I?'",
                "asks for permission",
            ),
            ("agent_state = 'exhausted', agent_state_kind = 'context'", "its context is full"),
            ("agent_state = null, takes_nudges = true, stall_paused = true", "its stall detection is paused"),
            ("stall_paused = false, status = 'paused'", "it is paused"),
            ("status = 'active', ended_at = started_at, exit_code = 3", "its process has ended with exit code 3"),
        ] {
            world.set("sessions", &session, &format!("{state}, updated_at = {now}"));
            refused(world, "nudge", &session.0, &[says]);
        }
        assert_eq!(world.count("session_commands"), 0);
    }

    fn what_is_not_typed_into_a_paused_session_says_how_its_pause_ends(world) {
        let session = world.session(None, None);
        ask(world, "pause", &session.0, &[]).done();
        for request in ["nudge", "relaunch"] {
            let says = ["it waits: its stall detection is paused", "its pause ends: sweep session resume"];
            refused(world, request, &session.0, &says);
        }
    }

    fn what_is_exempt_finished_or_of_a_paused_agent_is_not_nudged(world) {
        let agent = world.agent("paused");
        let of_paused = world.session(Some(&agent), None);
        refused(world, "nudge", &of_paused.0, &["Ada is paused"]);
        let on_purpose = world.session(None, None);
        exempt(world, "session", &on_purpose, None);
        refused(world, "nudge", &on_purpose.0, &["exempt: on purpose"]);
        let idle = world.agent("idle");
        let issue = world.orphan(&idle);
        let finished = world.session(Some(&idle), Some(&issue));
        world.set("issues", &issue, "status = 'done'");
        refused(world, "nudge", &finished.0, &["its issue is done"]);
    }

    fn a_session_that_crashed_is_started_again_although_sweeps_may_not(world) {
        let session = crashed(world);

        let relaunched = ask(world, "relaunch", &session.0, &[]).done();

        assert!(relaunched.out.starts_with("A relaunch is queued: session S-"), "{relaunched}");
        assert_eq!(world.commands(&session, "relaunch"), 1);
        assert_eq!(ledger(world, &session), ["continue: started again, asked for by ada (open)"]);
        refused(world, "relaunch", &session.0, &["a command is on its way to it"]);
    }

    fn a_process_that_runs_or_ended_as_it_should_is_not_started_again(world) {
        let session = world.session(None, None);
        refused(world, "relaunch", &session.0, &["its process runs", "sweep session nudge"]);
        world.ends(&session, "0");
        refused(world, "relaunch", &session.0, &["its process ended as it should"]);
        refused(world, "nudge", &session.0, &["its process has ended with exit code 0", "sweep session relaunch"]);
        world.set("sessions", &session, "status = 'terminated', exit_code = 1");
        refused(world, "relaunch", &session.0, &["it is terminated"]);
    }

    fn a_session_whose_issue_somebody_else_works_on_is_not_started_again(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let session = world.session(Some(&agent), Some(&issue));
        world.ends(&session, "1");
        let wake = world.issue_wake(&issue, &agent, "queued", 5);
        refused(world, "relaunch", &session.0, &["a wake for its issue is pending"]);
        world.set("wakes", &wake, "status = 'completed'");
        world.issue_run(&issue, &agent, "running", 1);
        refused(world, "relaunch", &session.0, &["somebody else is at work on its issue"]);
    }

    fn a_sign_of_life_that_a_person_notes_is_one_and_no_line_in_the_ledger(world) {
        let session = world.session(None, None);
        world.set("sessions", &session, "last_progress_at = null");
        let before = world.text("updated_at", &format!("sessions where id = '{session}'"));

        let noted = ask(world, "heartbeat", &session.0, &["--output", "json"]).done().json();

        assert_eq!((&noted["request"], &noted["subject"]["outcome"]), (&"heartbeat".into(), &"healthy".into()));
        assert_eq!(world.count("recoveries"), 0);
        assert_eq!(world.sweep().count("sessions", "continued"), 0);
        let after = world.text("updated_at", &format!("sessions where id = '{session}'"));
        assert_eq!(before, after, "by which its supervisor is known to live");
    }

    fn a_sign_of_life_that_a_person_notes_closes_what_is_open_as_a_sweep_would(world) {
        let session = world.session(None, None);
        world.set("sessions", &session, "last_progress_at = null");
        world.sweep();
        world.deliver_commands();
        world.pass(1);

        ask(world, "heartbeat", &session.0, &[]).done();

        let expected = ["continue: nudged to go on", "recover: a sign of life was noted, asked for by ada"];
        assert_eq!(ledger(world, &session), expected);
        assert_eq!(world.open_session_recoveries(), 0);
    }

    fn what_is_over_shows_no_sign_of_life(world) {
        let session = crashed(world);
        refused(world, "heartbeat", &session.0, &["its process has ended with exit code 1", "sweep session relaunch"]);
        world.set("sessions", &session, "status = 'interrupted'");
        refused(world, "heartbeat", &session.0, &["it is interrupted"]);
    }

    fn a_session_that_is_paused_is_left_and_what_was_open_is_the_persons(world) {
        let session = escalated(world);

        let paused = ask(world, "pause", &session.0, &[]).done();

        assert!(paused.out.starts_with("Paused: session S-"), "{paused}");
        assert_eq!(ledger(world, &session).last().expect("a row"), "hand_over: its stall detection was paused, \
            asked for by ada");
        assert_eq!(world.open_session_recoveries(), 0);
        assert_eq!(world.sweep().outcome(&session), "not examined");
        refused(world, "pause", &session.0, &["its stall detection is paused already", "sweep session resume"]);
    }

    fn a_session_that_goes_on_after_its_pause_begins_a_new_episode(world) {
        let session = escalated(world);
        refused(world, "resume", &session.0, &["its stall detection is not paused"]);
        ask(world, "pause", &session.0, &[]).done();
        world.pass(10);

        ask(world, "resume", &session.0, &[]).done();

        let last = ledger(world, &session).pop();
        assert_eq!(last.as_deref(), Some("recover: its stall detection was resumed, asked for by ada"));
        assert_eq!(explain(&world.url, Kind::Session, &session.0)["history"]["attempts"], 0);
        assert_eq!(world.sweep().outcome(&session), "continued", "it is silent still");
    }

    fn what_was_never_looked_after_is_paused_as_well_and_the_ledger_says_by_whom(world) {
        let session = world.session(None, None);
        ask(world, "pause", &session.0, &[]).done();
        assert_eq!(ledger(world, &session), ["hand_over: its stall detection was paused, asked for by ada"]);
        let over = world.session(None, None);
        world.set("sessions", &over, "status = 'terminated'");
        refused(world, "pause", &over.0, &["it is terminated"]);
    }
}

/// On Paperclip sessions are the server's runs: nobody types into them, and nothing of theirs can be set.
#[test]
fn a_run_of_paperclip_takes_no_command_and_keeps_no_pause() {
    let mut world = World::new(On::Paperclip);
    let agent = world.agent("idle");
    let run = world.silent_run(&agent, None);
    world.set("heartbeat_runs", &run, "status = 'running'");
    refused(&mut world, "nudge", &run.0, &["it takes no commands"]);
    for request in ["heartbeat", "pause", "resume"] {
        let says = format!("{request}: not provided by this database");
        ask(&world, request, &run.0, &[]).refused(USAGE, &[&says]);
    }
    ask(&world, "skip-step", "x", &[]).refused(USAGE, &["steps: not provided by this database"]);
}
