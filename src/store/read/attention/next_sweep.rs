//! What the next sweep would do about the oldest work that is stranded: decided by the rules, from the facts of this
//! moment, with the limits and modes of the latest sweep, and with what its guard held back.

use std::collections::{BTreeMap, HashSet};

use diesel::prelude::*;
use serde::Serialize;

use super::board::{BoardRow, Boards};
use super::sweeper::Sweeper;
use crate::rules::board::BoardState;
use crate::rules::{Id, Kind, Policy, decide};
use crate::store::db::errors;
use crate::store::db::schema::sweeps;
use crate::store::db::types::WrittenDocument;
use crate::store::work::counts::KindMode;
use crate::store::work::quarantine;
use crate::store::{Db, for_kind, read_alone};

/// The fields are those of the JSON.
#[derive(Clone, Debug, Serialize)]
pub struct NextSweep {
    /// Subjects that look stranded, and of which the next sweep will decide.
    pub stranded_total: i64,
    /// The oldest of them, and what would be done about each.
    pub subjects: Vec<Planned>,
    /// How many of those listed would come to each decision.
    pub decisions: BTreeMap<&'static str, usize>,
}

/// One subject, and what the next sweep would do about it.
#[derive(Clone, Debug, Serialize)]
pub struct Planned {
    pub kind: Kind,
    pub id: Id,
    pub tenant: String,
    pub identifier: Option<String>,
    /// Its page in the host's own board.
    pub url: Option<String>,
    pub title: String,
    pub agent_id: Option<Id>,
    pub agent: Option<String>,
    /// As boards show it.
    pub state: BoardState,
    /// Null: its row cannot be read, or sweeps leave it as it is, whatever they would decide.
    pub decision: Option<&'static str>,
    /// What would be done, and why, in words.
    pub would: String,
}

impl NextSweep {
    pub fn read(db: &mut Db, boards: &Boards, sweeper: &Sweeper) -> QueryResult<NextSweep> {
        let policy = policy(db)?;
        let mut subjects = Vec::new();
        for (stranded, is_held) in quarantine_of(db, &boards.stranded)? {
            let left_alone =
                if is_held { Some("it is in quarantine".to_owned()) } else { left_alone(stranded, sweeper) };
            subjects.push(plan(db, stranded, &policy, left_alone)?);
        }
        let mut decisions = BTreeMap::new();
        for decision in subjects.iter().filter_map(|subject| subject.decision) {
            *decisions.entry(decision).or_default() += 1;
        }
        Ok(NextSweep { stranded_total: boards.work.count(BoardState::STRANDED), subjects, decisions })
    }
}

/// Of the latest sweep of everything: whoever reads this may have other settings than whoever sweeps.
fn policy(db: &mut Db) -> QueryResult<Policy> {
    use sweeps::*;
    let latest = sweeps::table.filter(is_restricted.eq(false)).order(started_at.desc()).select(policy);
    let latest: Option<WrittenDocument> = latest.first(db).optional()?;
    Ok(latest.and_then(|limits| limits.read()).unwrap_or_default())
}

/// Each of them, and whether it is in quarantine.
fn quarantine_of<'a>(db: &mut Db, stranded: &'a [BoardRow]) -> QueryResult<Vec<(&'a BoardRow, bool)>> {
    let mut held = HashSet::new();
    for &kind in Kind::ALL {
        let ids: Vec<Id> = stranded.iter().filter(|row| row.kind == kind).map(BoardRow::id).collect();
        if !ids.is_empty() {
            held.extend(quarantine::held_among(db, kind, &ids)?.into_iter().map(|id| (kind, id)));
        }
    }
    Ok(stranded.iter().map(|row| (row, held.contains(&(row.kind, row.id())))).collect())
}

/// `left_alone`: why sweeps leave it as it is, whatever they decide.
fn plan(db: &mut Db, stranded: &BoardRow, policy: &Policy, left_alone: Option<String>) -> QueryResult<Planned> {
    let id = stranded.id();
    let decided = for_kind!(stranded.kind, S => {
        read_alone::<S>(db, &id, policy).map(|facts| facts.map(|facts| decide(&facts, policy)))
    });
    let (decision, would) = match decided {
        Ok(Some(verdict)) => (Some(verdict.decision.name()), verdict.decision.announce(verdict.attempts_max)),
        Ok(None) => (None, "leave it: it no longer exists".to_owned()),
        Err(error) if errors::is_undecodable(&error) => (None, "report it: its row cannot be read".to_owned()),
        Err(error) => return Err(error),
    };
    let (decision, would) = match left_alone {
        Some(why) => (None, format!("leave it: {why}. Otherwise it would {would}")),
        None => (decision, would),
    };
    let row = stranded.row.clone();
    Ok(Planned {
        kind: stranded.kind,
        id,
        tenant: row.tenant.into(),
        identifier: row.identifier.map(String::from),
        url: None,
        title: row.title.map(String::from).unwrap_or_default(),
        agent_id: row.agent_id,
        agent: row.agent_name.map(String::from),
        state: stranded.state,
        decision,
        would,
    })
}

/// Why sweeps leave it as it is although it is not in quarantine.
fn left_alone(stranded: &BoardRow, sweeper: &Sweeper) -> Option<String> {
    let (kind, row) = (stranded.kind, &stranded.row);
    match sweeper.modes.get(&kind) {
        Some(KindMode::Off) => Some(format!("{} are off", kind.plural())),
        Some(KindMode::Shadow) => Some(format!("{} are in shadow, where nothing is written", kind.plural())),
        Some(KindMode::On) | None if sweeper.holds_back(kind, &row.tenant.0, row.agent_id.as_ref()) => {
            Some("the guard of the latest sweep held it back".to_owned())
        }
        Some(KindMode::On) | None => None,
    }
}
