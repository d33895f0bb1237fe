//! Compares what a view says of subjects with what the rules decide from the same facts.

use std::collections::BTreeMap;
use std::fmt::Debug;

use regex::Regex;
use sweep::rules::board::BoardState;
use sweep::rules::{Decision, Facts, Id, Policy, decide};
use sweep::store::{Db, Subject, Timeouts, read_alone, read_together};
use sweep::verify::nominated::{Judged, nominated};

use crate::support::databases::run;
use crate::support::world::{On, World};

/// The subjects that the rules would touch or report, each with its outcome.
pub fn touched<S: Subject>(world: &World, all: &[Id]) -> Judged {
    analyze(world);
    let judged = Judged::of::<S>(&mut world.connect_as_sweep(), all).expect("facts");
    assert_eq!(judged.unreadable, BTreeMap::new());
    judged
}

/// The touched subjects that the view of candidates does not name.
pub fn overlooked<S: Subject>(world: &World, touched: &Judged) -> Vec<(Id, String)> {
    let named = nominated::<S>(&mut world.connect_as_sweep()).expect("candidates");
    touched.overlooked(&named).into_iter().map(|(id, why)| (id.clone(), why.to_owned())).collect()
}

/// The states in a view, by id; each subject occurs at most once.
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

/// Has the server analyze its tables, which it does by itself within a minute of so many new rows.
fn analyze(world: &World) {
    if world.on != On::Sqlite {
        run(&mut world.connect(), "analyze");
    }
}

/// The facts of each subject, many read together as a sweep does.
pub fn facts_of<S: Subject>(world: &World, all: &[Id]) -> Vec<(Id, S)> {
    analyze(world);
    let mut db = world.connect_as_sweep();
    let read = |ids: &[Id]| {
        let (policy, mut known) = (Policy::default(), S::Known::default());
        let facts = read_together::<S>(&mut db, ids, &policy, &mut known, &Timeouts::default());
        let mut facts = facts.expect("facts that can be read");
        ids.iter().map(|id| (id.clone(), facts.remove(id).expect("a subject"))).collect::<Vec<_>>()
    };
    all.chunks(1000).flat_map(read).collect()
}

/// How many subjects are read one by one as well, chosen evenly.
const SAMPLE: usize = 300;

/// Checks that a subject shows the same facts alone as among others, for a sample.
pub fn assert_read_alike<S: Subject + Debug>(world: &World, all: &[Id]) {
    let sample: Vec<Id> = all.iter().step_by(all.len().div_ceil(SAMPLE)).cloned().collect();
    let read = |db: &mut Db| {
        let read =
            |id: &Id| read_alone::<S>(db, id, &Policy::default()).expect("facts that can be read").expect("a subject");
        Ok::<_, diesel::result::Error>(sample.iter().map(read).collect::<Vec<S>>())
    };
    let together = facts_of::<S>(world, &sample);
    let mut db = world.connect_as_sweep();
    let alone = db.read_repeatedly(&Timeouts::default(), 1, read).expect("facts");
    // Each statement has a time of its own, which other facts repeat.
    let time = Regex::new("observed_at: [^,]+").expect("an expression");
    let shown = |facts: &S| time.replace_all(&format!("{facts:?}"), "").into_owned();
    for ((_, together), alone) in together.iter().zip(&alone) {
        assert_eq!(shown(together), shown(alone));
    }
}

/// The state that the rules give these facts; None: the subject is not in progress.
pub fn state_of(facts: &impl Facts, policy: &Policy, stranded: BoardState) -> Option<BoardState> {
    let reason = match (facts.diagnose(policy), decide(facts, policy).decision) {
        (Err(reason), _) | (Ok(_), Decision::Leave(reason)) => reason,
        (Ok(_), Decision::Skip(_) | Decision::Abandon(_)) => {
            return Some(if facts.history().abandoned { BoardState::Abandoned } else { BoardState::Skipped });
        }
        (Ok(_), Decision::Wait { .. } | Decision::Continue { .. } | Decision::Escalate(_)) => return Some(stranded),
        (Ok(_), Decision::Recovered(_) | Decision::HandedOver(_)) => unreachable!("what is broken is nobody else's"),
    };
    BoardState::for_reason(&reason)
}

/// Inserts a row of the ledger, as a sweep of so many minutes ago left it.
pub fn old_ledger_row(
    world: &mut World,
    kind: &str,
    subject: &Id,
    action: &str,
    blocked: bool,
    settled: bool,
    minutes: i64,
) {
    let (subject, action) = (format!("'{subject}'"), format!("'{action}'"));
    let row = [&subject, &action, &blocked.to_string(), &settled.to_string(), &minutes.to_string()];
    insert_into_ledger(world, kind, row.map(String::as_str), "");
}

/// Inserts a row of the ledger for each combination for which `condition` holds: its action, whether it blocked the
/// subject, whether it is settled, and its age in minutes.
pub fn old_ledger_rows(world: &mut World, kind: &str, [action, blocked, settled, minutes]: [&str; 4], condition: &str) {
    let row = ["subject_id", action, blocked, settled, minutes];
    insert_into_ledger(world, kind, row, &format!("from combinations where {condition}"));
}

/// Inserts the answered escalations of each combination, as many as its `escalations`, each in an episode of its own.
/// The youngest is so many minutes old.
pub fn settled_escalations(world: &mut World, kind: &str, minutes: i64) {
    for n in 0..4 {
        let row = ["'escalate'", "false", "true", &(minutes + n).to_string()];
        old_ledger_rows(world, kind, row, &format!("{n} < escalations"));
    }
}

fn insert_into_ledger(world: &mut World, kind: &str, row: [&str; 5], from: &str) {
    let [subject, action, blocked, settled, minutes] = row;
    let (id, at) = (world.new_id(), world.ago(minutes));
    world.run(&format!(
        "insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, \
            blocked_subject, created_at, settled_at)
         select {id}, {id}, '{kind}', {subject}, {action}, 'test', {at}, 1, {blocked}, {at}, \
            case when {settled} then {at} end {from}"
    ));
}

/// Inserts the exemption of each combination with `is_exempt`; it ended `until_minutes` ago.
pub fn exempt_combinations(world: &mut World, kind: &str) {
    let until = world.ago("until_minutes");
    world.run(&format!(
        "insert into exemptions (kind, subject_id, reason, until)
         select '{kind}', subject_id, 'on purpose', {until} from combinations where is_exempt"
    ));
}

pub fn exempt(world: &mut World, kind: &str, id: &Id, minutes_ago: Option<i64>) {
    let until = minutes_ago.map_or("null".to_owned(), |minutes| world.ago(minutes));
    world.run(&format!(
        "insert into exemptions (kind, subject_id, reason, until) values ('{kind}', '{id}', 'on purpose', {until})"
    ));
}
