//! What a view says of subjects, and what the rules decide from the same facts.

use std::collections::BTreeMap;

use sweep::rules::board::BoardState;
use sweep::rules::{Decision, Facts, Id, Policy, decide};
use sweep::store::{Access, Db, Finish, Subject, Timeouts};
use sweep::verify::nominated::{self, Judged};

use crate::support::databases::run;
use crate::support::world::{On, World};

/// The subjects that the rules would touch or report, and what would become of each.
pub fn touched<S: Subject>(world: &World, all: &[Id]) -> Judged {
    analyze(world);
    let judged = Judged::of::<S>(&mut world.connect_as_sweep(), all).expect("facts");
    assert_eq!(judged.unreadable, BTreeMap::new());
    judged
}

/// Those among them that the view of candidates does not name.
pub fn overlooked<S: Subject>(world: &World, touched: &Judged) -> Vec<(Id, String)> {
    let named = nominated::candidates::<S>(&mut world.connect_as_sweep()).expect("candidates");
    touched.overlooked(&named).into_iter().map(|(id, why)| (id.clone(), why.to_owned())).collect()
}

/// What the view says, by id; each subject at most once.
pub fn viewed(world: &mut World, view: &str) -> BTreeMap<Id, String> {
    states(world, "subject_id", "state", view)
}

/// The states in the rows of a query, by id.
pub fn states(world: &mut World, id: &str, state: &str, from: &str) -> BTreeMap<Id, String> {
    let rows = world.texts(&format!("cast({id} as text) || ' ' || {state}"), from);
    let count = rows.len();
    let state = |row: Option<String>| {
        let row = row.expect("an id and a state");
        let (id, state) = row.split_once(' ').expect("an id and a state");
        (Id(id.to_owned()), state.to_owned())
    };
    let states: BTreeMap<Id, String> = rows.into_iter().map(state).collect();
    assert_eq!(states.len(), count);
    states
}

/// The state of each subject in progress, by the rules.
pub fn decided<S: Subject>(world: &World, all: &[Id], stranded: BoardState) -> BTreeMap<Id, String> {
    let policy = Policy::default();
    let states = facts_of::<S>(world, all)
        .into_iter()
        .filter_map(|(id, facts)| Some((id, state_of(&facts, &policy, stranded)?)));
    states.map(|(id, state)| (id, state.name().to_owned())).collect()
}

/// A server does this by itself within a minute of so many new rows.
fn analyze(world: &World) {
    if world.on != On::Sqlite {
        run(&mut world.connect(), "analyze");
    }
}

/// The facts of each subject, read one by one as a sweep does.
fn facts_of<S: Subject>(world: &World, all: &[Id]) -> Vec<(Id, S)> {
    analyze(world);
    let read = |db: &mut Db| {
        let read = |id: &Id| (id.clone(), S::read(db, id).expect("facts that can be read").expect("a subject"));
        (Finish::RollBack, all.iter().map(read).collect())
    };
    let mut db = world.connect_as_sweep();
    db.in_repeated_transaction(Access::ReadOnly, &Timeouts::default(), read).expect("facts").0
}

/// What the rules say of the same facts; none for what is not in progress.
pub fn state_of(facts: &impl Facts, policy: &Policy, stranded: BoardState) -> Option<BoardState> {
    let reason = match (facts.diagnose(policy), decide(facts, policy).decision) {
        (Err(reason), _) | (Ok(_), Decision::Leave(reason)) => reason,
        (Ok(_), Decision::Skip(_) | Decision::Abandon(_)) => {
            return Some(if facts.history().abandoned { BoardState::Abandoned } else { BoardState::Skipped });
        }
        (Ok(_), Decision::Wait { .. } | Decision::Continue { .. } | Decision::Escalate(_)) => return Some(stranded),
        (Ok(_), Decision::Recovered(_) | Decision::HandedOver(_)) => unreachable!("what is broken is nobody else's"),
    };
    BoardState::of(&reason)
}

/// A row in the ledger, as a sweep of so many minutes ago left it.
pub fn old_ledger_row(
    world: &mut World,
    kind: &str,
    subject: &Id,
    action: &str,
    blocked: bool,
    settled: bool,
    minutes: i64,
) {
    let (id, sweep, at) = (Id::generate(), Id::generate(), world.ago(minutes));
    let settled = if settled { at.clone() } else { "null".to_owned() };
    let blocked = match (world.on, blocked) {
        (On::Sqlite, blocked) => i32::from(blocked).to_string(),
        (On::Postgres | On::Paperclip, blocked) => blocked.to_string(),
    };
    world.run(&format!(
        "insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, \
            blocked_subject, created_at, settled_at)
         values ('{id}', '{sweep}', '{kind}', '{subject}', '{action}', 'test', {at}, 1, {blocked}, {at}, {settled})"
    ));
}

pub fn exempt(world: &mut World, kind: &str, id: &Id, minutes_ago: Option<i64>) {
    let until = minutes_ago.map_or("null".to_owned(), |minutes| world.ago(minutes));
    world.run(&format!(
        "insert into exemptions (kind, subject_id, reason, until) values ('{kind}', '{id}', 'on purpose', {until})"
    ));
}
