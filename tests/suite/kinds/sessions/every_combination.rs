//! Every combination of states of a session: the candidates name all sessions that the rules would touch, and the view
//! of the work's state agrees with the rules.

use std::collections::BTreeMap;

use sweep::rules::board::BoardState;
use sweep::rules::session::SessionFacts;
use sweep::rules::{Facts, Finding, Id, Policy, decide};

use crate::support::views_and_rules::{assert_read_alike, exempt, facts_of, state_of, viewed};
use crate::support::views_and_rules::{old_ledger_rows, overlooked, touched};
use crate::support::world::sessions::LOOP;
use crate::support::world::{On, World, on_each_database};

/// The states of a session's process, in its columns; `:now`, `:old` and `:soon` are times.
const PROCESSES: [&str; 13] = [
    "last_activity_at = :now, last_progress_at = :now",
    "last_activity_at = :old, last_progress_at = :old",
    "last_activity_at = :soon, last_progress_at = :old",
    "last_activity_at = null, last_progress_at = null",
    "last_activity_at = :now, last_progress_at = :old, recent_output = ':loop'",
    "last_activity_at = :now, last_progress_at = :old",
    "last_activity_at = :now, last_progress_at = :old, takes_nudges = false, agent_state = 'working', \
        agent_state_since = :old",
    "last_activity_at = :old, last_progress_at = :old, agent_state = 'waiting', agent_state_since = :old",
    "last_activity_at = :now, last_progress_at = :now, agent_state = 'exhausted', agent_state_since = :old, resumes_at \
        = :soon",
    "ended_at = :old, exit_code = 0",
    "ended_at = :old, exit_code = 1",
    "last_activity_at = :now, last_progress_at = :old, ended_at = :now, exit_code = 137",
    "ended_at = :soon, exit_code = null",
];

/// Further circumstances of the sessions `:these`, the first of which is none; `:n` is a new id.
const CIRCUMSTANCES: [&str; 11] = [
    "",
    "update sessions set stall_paused = true where id in (select subject_id from :these)",
    "update sessions set silent_after_seconds = 86400 where id in (select subject_id from :these)",
    "update agents set status = 'paused' where id in (select agent_id from :these)",
    "update sessions set agent_id = null where id in (select subject_id from :these)",
    "update issues set status = 'done' where id in (select issue_id from :these)",
    "update issues set status = 'in_review' where id in (select issue_id from :these)",
    "insert into wakes (id, agent_id, issue_id, reason, requested_by) select :n, agent_id, issue_id, 'x', 'host' \
        from :these",
    "insert into runs (id, agent_id, issue_id, status) select :n, agent_id, issue_id, 'running' from :these",
    "insert into session_commands (id, session_id, command, requested_by) select :n, subject_id, 'nudge', 'host' \
        from :these",
    "insert into session_commands (id, session_id, command, requested_by, created_at) \
        select :n, subject_id, 'nudge', 'host', :old from :these",
];

/// The numbers of a list's rows, as a choice.
fn one_of<T>(list: &[T]) -> String {
    (0..list.len()).map(|n| format!("({n})")).collect::<Vec<_>>().join(", ")
}

/// Makes sessions of every status × process × circumstance × ledger.
pub fn every_session(world: &mut World) -> Vec<Id> {
    let (now, old, soon) = (world.ago(0), world.ago(30), world.ago(-30));
    world.run("begin");
    let sessions = world.combine(
        1,
        &[
            ("session_status", "('active'), ('created'), ('paused'), ('terminated'), ('interrupted')"),
            ("process", &one_of(&PROCESSES)),
            ("circumstance", &one_of(&CIRCUMSTANCES)),
            (
                "action, ledger_minutes",
                "(null, null), ('continue', 10), ('escalate', 10), ('abandon', 10), ('escalate', 60)",
            ),
        ],
    );
    world.fill("agents", &[("id", "agent_id"), ("name", "'Ada'"), ("status", "'idle'")], "combinations");
    world.fill_issues("T", "issue_id", "'in_progress'", "agent_id");
    let (hour, quiet) = (world.ago(60), world.ago(10));
    let session = [
        ("id", "subject_id"),
        ("identifier", "'S-' || n"),
        ("title", "'mend the fence'"),
        ("agent_id", "agent_id"),
        ("issue_id", "issue_id"),
        ("status", "session_status"),
        ("started_at", &hour),
        ("created_at", &hour),
        ("last_activity_at", &quiet),
        ("last_progress_at", &quiet),
    ];
    world.fill("sessions", &session, "combinations");
    let loops = [LOOP; 8].join("\n");
    for (n, process) in PROCESSES.iter().enumerate() {
        let process = process.replace(":now", &now).replace(":old", &old).replace(":soon", &soon);
        let process = process.replace(":loop", &loops);
        let these = format!("select subject_id from combinations where process = {n}");
        world.run(&format!("update sessions set {process} where id in ({these})"));
    }
    for (n, circumstance) in CIRCUMSTANCES.iter().enumerate().skip(1) {
        let change = circumstance.replace(":these", &format!("combinations where circumstance = {n}"));
        world.run(&change.replace(":old", &old).replace(":n", world.new_id()));
    }
    old_ledger_rows(world, "session", ["action", "false", "false", "ledger_minutes"], "action is not null");
    world.run("commit");
    sessions
}

/// The states by the rules, without sessions that they say nothing about. Only a sweep sees a loop: until one has
/// notified a person, the session is active.
fn decided(world: &World, all: &[Id]) -> BTreeMap<Id, String> {
    let policy = Policy::default();
    let reported = facts_of::<SessionFacts>(world, all).into_iter().filter_map(|(id, facts)| {
        // A session that ended well is over, whatever it waited for.
        facts.session.ended.is_none_or(|ended| ended.exit_code != Some(0)).then_some(())?;
        let verdict = decide(&facts, &policy);
        let abandoned =
            if verdict.finding == Some(Finding::Crashed) { BoardState::Crashed } else { BoardState::Silent };
        let state = state_of(&facts, &policy, abandoned)?;
        let is_quiet = verdict.finding == Some(Finding::Silent) || facts.session.ended.is_some();
        let state = match (state, is_quiet, was_escalated(&facts)) {
            (
                BoardState::Active
                | BoardState::Silent
                | BoardState::Escalated
                | BoardState::Skipped
                | BoardState::Abandoned,
                false,
                false,
            ) => BoardState::Active,
            (BoardState::Active | BoardState::Silent, false, true) if facts.assignee.describe().contains("paused") => {
                BoardState::Skipped
            }
            (BoardState::Active | BoardState::Silent, false, true) => BoardState::Escalated,
            (state, ..) => state,
        };
        Some((id, state.name().to_owned()))
    });
    reported.collect()
}

/// The escalation of a session that reports its state stays open until a sweep records the recovery.
fn was_escalated(facts: &SessionFacts) -> bool {
    let (history, session) = (facts.history(), &facts.session);
    let is_watched = session.reports_progress || session.agent.is_some() || !session.recent_output.is_empty();
    is_watched
        && session.ended.is_none()
        && history.open.is_some()
        && !history.abandoned
        && history.last_attempt_at.is_none()
}

on_each_database! {
    fn the_candidates_name_every_session_that_the_rules_would_touch(world) {
        let sessions = every_session(world);
        assert_eq!(sessions.len(), 5 * PROCESSES.len() * CIRCUMSTANCES.len() * 5);
        assert_eq!(overlooked::<SessionFacts>(world, &touched::<SessionFacts>(world, &sessions)), []);
        assert_read_alike::<SessionFacts>(world, &sessions);
    }

    fn a_view_that_forgets_a_kind_of_candidate_is_caught(world) {
        let sessions = every_session(world);
        let touched = touched::<SessionFacts>(world, &sessions);
        let columns = "s.id as subject_id, s.id as group_id, s.created_at as since, s.tenant";
        for forgotten in [
            "select * from unattended_sessions".to_owned(),
            format!("select {columns} from sessions s where s.ended_at is not null"),
            format!("select {columns} from recoveries r join sessions s on s.id = r.subject_id where r.settled_at is \
                null"),
        ] {
            let schema = if world.on == On::Sqlite { "" } else { "sweep." };
            world.run(&format!("drop view {schema}session_candidates"));
            world.run(&format!("create view {schema}session_candidates as {forgotten}"));
            assert_ne!(overlooked::<SessionFacts>(world, &touched), []);
        }
    }

    fn the_view_says_of_every_session_what_the_rules_decide(world) {
        let mut sessions = every_session(world);
        for until in [None, Some(10), Some(-10)] {
            let session = world.session(None, None);
            exempt(world, "session", &session, until);
            sessions.push(session);
        }

        let expected = decided(world, &sessions);
        let seen = viewed(world, "session_work_state");

        let differences: Vec<_> = sessions.iter().filter(|id| expected.get(*id) != seen.get(*id)).collect();
        let shown: Vec<_> = differences.iter().take(5).map(|id| (id, expected.get(*id), seen.get(*id))).collect();
        assert!(differences.is_empty(), "{} of {}: {shown:?}", differences.len(), sessions.len());
        for state in ["active", "queued", "waiting", "exempt", "skipped", "abandoned", "escalated", "silent", "crashed"]
        {
            assert!(expected.values().any(|known| known == state), "{state} does not occur");
        }
    }
}
