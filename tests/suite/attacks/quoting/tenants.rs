//! A tenant's session or plan that names another tenant's issue is examined and reported, and writes nothing there.

use sweep::rules::session::{LinkedIssue, Session, SessionFacts};
use sweep::rules::{Assignee, History, Id};
use sweep::store::Lock;

use super::impatient;
use crate::support::program::sweep;
use crate::support::world::{On, World, on_each_database};

/// Makes an issue of the tenant `b` and of this agent, on which nobody works.
fn issue_of_b(world: &mut World, agent: &Id) -> Id {
    let issue = world.orphan(agent);
    world.set("issues", &issue, "tenant = 'b', status = 'todo'");
    issue
}

/// Counts all that sweep, or anybody, wrote about an issue.
fn written_about(world: &mut World, issue: &Id) -> i64 {
    let wakes = world.count(&format!("wakes where issue_id = '{issue}'"));
    world.comments_on(issue) + wakes + world.count(&format!("recoveries where subject_id = '{issue}'"))
}

const DATABASES: [On; 2] = [On::Postgres, On::Sqlite];

#[test]

fn a_session_says_nothing_on_another_tenants_issue() {
    for mut world in DATABASES.map(World::new) {
        let (agent, other) = (world.agent("idle"), world.agent("idle"));
        // The session writes nothing even if another agent has the issue.
        for its_agent in [&agent, &other] {
            let issue = issue_of_b(&mut world, its_agent);
            let session = world.session(Some(&agent), Some(&issue));
            world.set("sessions", &session, "tenant = 'a'");
            let before = world.text("updated_at", &format!("issues where id = '{issue}'"));

            let swept = world.sweep_as(&impatient(world.options()));

            assert_eq!(written_about(&mut world, &issue), 0);
            assert_eq!(swept.outcome(&session), "escalated", "{}", swept.json);
            assert_eq!(world.count(&format!("recoveries where subject_id = '{session}' and action = 'escalate'")), 1);
            assert_eq!(world.status("issues", &issue), "todo");
            assert_eq!(world.text("updated_at", &format!("issues where id = '{issue}'")), before);
        }
    }
}

#[test]

fn a_plan_says_nothing_on_another_tenants_issue() {
    for mut world in DATABASES.map(World::new) {
        let agent = world.agent("idle");
        let issue = issue_of_b(&mut world, &agent);
        for agent in [Some(agent), None] {
            let (plan, step) = world.stalled_step(agent.as_ref());
            world.set("plans", &plan, &format!("tenant = 'a', issue_id = '{issue}'"));

            let swept = world.sweep_as(&impatient(world.options()));

            assert_eq!(swept.outcome(&step), "escalated", "{}", swept.json);
            assert_eq!(written_about(&mut world, &issue), 0);
        }
    }
}

/// The wake of such a step names the step alone.
#[test]

fn a_wake_for_a_step_does_not_name_another_tenants_issue() {
    for mut world in DATABASES.map(World::new) {
        let agent = world.agent("idle");
        let issue = issue_of_b(&mut world, &agent);
        let (plan, step) = world.stalled_step(Some(&agent));
        world.set("plans", &plan, &format!("tenant = 'a', issue_id = '{issue}'"));

        assert_eq!(world.sweep().outcome(&step), "continued");

        let payload = world.text("payload", &format!("wakes where plan_step_id = '{step}'")).expect("a wake");
        assert!(payload.contains(&step.0) && !payload.contains(&issue.0), "{payload}");
        assert_eq!(written_about(&mut world, &issue), 0);
    }
}

on_each_database! {
    fn a_watcher_of_a_tenant_takes_no_issue_of_another(world) {
        let agent = world.agent("idle");
        let issue = issue_of_b(world, &agent);
        for (tenant, code, sessions) in [("a", 64, 0), ("b", 0, 1)] {
            let words = ["watch", "--database", &world.url, "--tenant", tenant, "--issue", &issue.0, "--", "/bin/true"];
            let ran = sweep(words).run();
            assert_eq!((ran.code, world.count("sessions")), (code, sessions), "{ran}");
            assert_eq!(ran.err.contains("belongs to the tenant b, not to a"), code != 0, "{ran}");
        }
    }

    /// The negative control: sweep writes to an issue of the same tenant.
    fn a_session_and_a_plan_speak_on_an_issue_of_their_own_tenant(world) {
        let agent = world.agent("idle");
        let issues = [issue_of_b(world, &agent), issue_of_b(world, &agent)];
        let session = world.session(Some(&agent), Some(&issues[0]));
        let (plan, _) = world.stalled_step(Some(&agent));
        world.set("sessions", &session, "tenant = 'b'");
        world.set("plans", &plan, &format!("tenant = 'b', issue_id = '{}'", issues[1]));

        world.sweep_as(&impatient(world.options()));

        assert_eq!(issues.map(|issue| world.comments_on(&issue)), [1, 1]);
    }
}

/// The row of a session locks the issue that it names, even if its facts know of none.
#[test]
fn what_is_locked_covers_facts_that_refer_to_less() {
    let facts = |issue: Option<&str>, agent: Option<&str>| {
        let id = |id: &str| Id(id.to_owned());
        let linked = |issue| LinkedIssue {
            id: id(issue),
            status: "todo".to_owned(),
            has_live_run: false,
            pending_wake_since: None,
        };
        let status = Some("idle".to_owned());
        let agent = agent.map_or(Assignee::Nobody, |agent| Assignee::Agent {
            id: id(agent),
            name: None,
            status,
            obstacle: None,
        });
        SessionFacts::new(
            session(),
            "a".to_owned(),
            agent,
            issue.map(linked),
            History::never_tried(chrono::DateTime::UNIX_EPOCH, chrono::DateTime::UNIX_EPOCH),
        )
    };
    let rows = |agent: Option<&str>, issue: Option<&str>| {
        let id = |id: &str| Id(id.to_owned());
        Lock::Rows { agent: agent.map(id), issue: issue.map(id) }
    };
    for (lock, covers) in [
        (rows(Some("agent"), Some("issue")), [true, true, true, true]),
        (rows(Some("agent"), None), [true, true, false, false]),
        (rows(None, Some("issue")), [true, false, true, false]),
        (rows(Some("agent"), Some("other")), [true, true, false, false]),
        (rows(None, None), [true, false, false, false]),
        (Lock::Everything, [true, true, true, true]),
        (Lock::Nothing, [false, false, false, false]),
    ] {
        let needs = [
            facts(None, None),
            facts(None, Some("agent")),
            facts(Some("issue"), None),
            facts(Some("issue"), Some("agent")),
        ];
        assert_eq!(needs.map(|facts| lock.covers(&facts)), covers, "{lock:?}");
    }
}

fn session() -> Session {
    let at = chrono::DateTime::UNIX_EPOCH;
    Session {
        id: Id("session".to_owned()),
        identifier: None,
        title: String::new(),
        status: "active".to_owned(),
        declared_wait: None,
        is_paused: false,
        started_at: at,
        active_at: at,
        progressed_at: at,
        ended: None,
        silent_after: None,
        recent_output: Vec::new(),
        takes_nudges: true,
        agent: None,
        reports_progress: true,
        takes_commands: true,
        pending_command_since: None,
    }
}
