//! The exemptions of agents and tenants in the views: each with each, and with a subject's own.

use std::collections::BTreeMap;

use sweep::rules::Id;
use sweep::rules::board::BoardState;
use sweep::rules::issue::IssueFacts;
use sweep::rules::session::SessionFacts;
use sweep::rules::step::StepFacts;
use sweep::store::Subject;

use crate::support::views_and_rules::{decided, exempt, viewed};
use crate::support::world::{World, on_each_database, on_each_host};

/// No exemption; one that holds until it is removed; one that still holds; one that has expired.
const EXEMPTIONS: [Option<Option<i64>>; 4] = [None, Some(None), Some(Some(-10)), Some(Some(10))];

/// Makes an agent with each of the exemptions.
fn agents(world: &mut World) -> Vec<Id> {
    let agent = |exemption: Option<Option<i64>>| {
        let agent = world.agent("idle");
        if let Some(until) = exemption {
            exempt(world, "agent", &agent, until);
        }
        agent
    };
    EXEMPTIONS.map(agent).into()
}

/// Makes subjects of each agent, one with each exemption of its own.
fn subjects(world: &mut World, kind: &str, make: impl Fn(&mut World, &Id) -> Id) -> Vec<Id> {
    let mut made = Vec::new();
    for agent in agents(world) {
        for exemption in EXEMPTIONS {
            let subject = make(world, &agent);
            if let Some(until) = exemption {
                exempt(world, kind, &subject, until);
            }
            made.push(subject);
        }
    }
    made
}

/// Compares views and rules with each exemption of the tenant, and returns how many subjects are exempt.
fn compared<S: Subject>(world: &mut World, all: &[Id], stranded: BoardState) -> Vec<usize> {
    let (facts, view) = (format!("{}_facts", S::KIND), format!("{}_work_state", S::KIND));
    let tenant = world.text("min(tenant)", &facts).expect("a tenant");
    let mut exempted = Vec::new();
    for exemption in EXEMPTIONS {
        world.run("delete from tenant_exemptions");
        if let Some(until) = exemption {
            let until = until.map_or("null".to_owned(), |minutes| world.ago(minutes));
            world.run(&format!(
                "insert into tenant_exemptions (tenant, reason, until) values ('{tenant}', 'on purpose', {until})"
            ));
        }
        let expected: BTreeMap<Id, String> = decided::<S>(world, all, stranded);
        assert_eq!(viewed(world, &view), expected, "{exemption:?}");
        exempted.push(expected.values().filter(|state| *state == BoardState::Exempt.name()).count());
    }
    exempted
}

/// Without an exemption of the tenant four of the sixteen are not exempt: two of four exemptions hold, of agents and of
/// subjects alike.
const EXPECTED: [usize; 4] = [12, 16, 16, 12];

on_each_host! {
    fn of_an_issue_the_view_says_what_the_rules_decide(world) {
        let issues = subjects(world, "issue", World::orphan);
        assert_eq!(compared::<IssueFacts>(world, &issues, BoardState::Orphaned), EXPECTED);
    }
}

mod own_tables {
    use super::*;

    on_each_database! {
        fn of_a_step_and_a_session_the_view_says_what_the_rules_decide(world) {
            let steps = subjects(world, "step", |world, agent| world.stalled_step(Some(agent)).1);
            assert_eq!(compared::<StepFacts>(world, &steps, BoardState::Stalled), EXPECTED);
            world.run("delete from exemptions");
            let sessions = subjects(world, "session", |world, agent| world.session(Some(agent), None));
            assert_eq!(compared::<SessionFacts>(world, &sessions, BoardState::Silent), EXPECTED);
        }
    }
}
