//! Every combination of states of a session: the candidates name all that the rules would touch, and the view of the
//! work's state says what the rules decide.

use std::collections::BTreeMap;

use sweep::rules::board::BoardState;
use sweep::rules::session::SessionFacts;
use sweep::rules::{Facts, Finding, Id, Policy, decide};
use sweep::store::{Access, Db, DbConnection, Subject, Timeouts};

use crate::support::views_and_rules::{exempt, state_of, viewed};
use crate::support::views_and_rules::{old_ledger_row, overlooked, touched};
use crate::support::world::sessions::LOOP;
use crate::support::world::{On, World, on_each_database};

/// What its process does, as the columns say it; `:now`, `:old` and `:soon` are times.
const PROCESSES: [&str; 12] = [
    "last_activity_at = :now, last_progress_at = :now",
    "last_activity_at = :old, last_progress_at = :old",
    "last_activity_at = :soon, last_progress_at = :old",
    "last_activity_at = null, last_progress_at = null",
    "last_activity_at = :now, last_progress_at = :old, recent_output = ':loop'",
    "last_activity_at = :now, last_progress_at = :old",
    "last_activity_at = :now, last_progress_at = :old, takes_nudges = :false, agent_state = 'working', \
        agent_state_since = :old",
    "last_activity_at = :old, last_progress_at = :old, agent_state = 'waiting', agent_state_since = :old",
    "last_activity_at = :now, last_progress_at = :now, agent_state = 'exhausted', agent_state_since = :old, resumes_at \
        = :soon",
    "ended_at = :old, exit_code = 0",
    "ended_at = :old, exit_code = 1",
    "ended_at = :soon, exit_code = null",
];

/// What else holds; `:s` the session, `:a` its agent, `:i` its issue.
const CIRCUMSTANCES: [&str; 11] = [
    "",
    "update sessions set stall_paused = :true where id = ':s'",
    "update sessions set silent_after_seconds = 86400 where id = ':s'",
    "update agents set status = 'paused' where id = ':a'",
    "update sessions set agent_id = null where id = ':s'",
    "update issues set status = 'done' where id = ':i'",
    "update issues set status = 'in_review' where id = ':i'",
    "insert into wakes (id, agent_id, issue_id, reason, requested_by) values (':n', ':a', ':i', 'x', 'host')",
    "insert into runs (id, agent_id, issue_id, status) values (':n', ':a', ':i', 'running')",
    "insert into session_commands (id, session_id, command, requested_by) values (':n', ':s', 'nudge', 'host')",
    "insert into session_commands (id, session_id, command, requested_by, created_at) values (':n', ':s', 'nudge', \
        'host', :old)",
];

/// Every status × process × circumstance × ledger.
pub fn every_session(world: &mut World) -> Vec<Id> {
    let (now, old, soon) = (world.ago(0), world.ago(30), world.ago(-30));
    let yes = if world.on == On::Sqlite { "1" } else { "true" };
    world.run("begin");
    let mut sessions = Vec::new();
    for status in ["active", "created", "paused", "terminated", "interrupted"] {
        for process in PROCESSES {
            for circumstance in CIRCUMSTANCES {
                for ledger in [
                    None,
                    Some(("continue", 10)),
                    Some(("escalate", 10)),
                    Some(("abandon", 10)),
                    Some(("escalate", 60)),
                ] {
                    let agent = world.agent("idle");
                    let issue = world.orphan(&agent);
                    let session = world.session(Some(&agent), Some(&issue));
                    let loops = [LOOP; 8].join("\n");
                    let process = process.replace(":now", &now).replace(":old", &old).replace(":soon", &soon);
                    let process = process.replace(":false", if yes == "1" { "0" } else { "false" });
                    world.set(
                        "sessions",
                        &session,
                        &format!("status = '{status}', {}", process.replace(":loop", &loops)),
                    );
                    if !circumstance.is_empty() {
                        let change = circumstance.replace(":true", yes).replace(":old", &old).replace(":s", &session.0);
                        let change = change.replace(":a'", &format!("{agent}'")).replace(":i", &issue.0);
                        world.run(&change.replace(":n", &Id::generate().0));
                    }
                    if let Some((action, minutes)) = ledger {
                        old_ledger_row(world, "session", &session, action, false, false, minutes);
                    }
                    sessions.push(session);
                }
            }
        }
    }
    world.run("commit");
    sessions
}

/// What the rules say of the same facts; none for what they say nothing of. A loop is seen by sweeps alone: until one
/// has notified a person, its session is active.
fn decided(db: &mut DbConnection, all: &[Id]) -> BTreeMap<Id, String> {
    let read = |db: &mut Db| all.iter().map(|id| SessionFacts::read(db, id)).collect::<Result<Vec<_>, _>>();
    let facts = db.in_transaction(Access::ReadOnly, &Timeouts::default(), read).expect("facts");
    let policy = Policy::default();
    let reported = all.iter().zip(facts).filter_map(|(id, facts)| {
        let facts = facts.expect("facts");
        // One that ended well is over, whatever it waited for.
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
        Some((id.clone(), state.name().to_owned()))
    });
    reported.collect()
}

/// The escalation of a session of which somebody reports what it does is open until a sweep records the recovery.
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
        assert_eq!(sessions.len(), 5 * 12 * 11 * 5);
        assert_eq!(overlooked::<SessionFacts>(world, &touched::<SessionFacts>(world, &sessions)), []);
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

        let expected = decided(&mut world.connect_as_sweep(), &sessions);
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
