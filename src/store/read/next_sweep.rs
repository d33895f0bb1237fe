//! What the next sweep would do about the oldest work that is stranded: decided by the rules, from the facts of this
//! moment, with the limits and modes of the latest sweep, and with what its guard held back.

use std::collections::{BTreeMap, HashSet};

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use crate::rules::board::BoardState;
use crate::rules::{Id, Kind, Policy, decide};
use crate::store::db::errors;
use crate::store::db::schema::sweeps;
use crate::store::db::types::WrittenDocument;
use crate::store::read::board::{BoardRow, Boards};
use crate::store::read::subject::{Age, SubjectRef};
use crate::store::read::sweeper::Sweeper;
use crate::store::work::quarantine;
use crate::store::{Db, for_kind, read_alone};

/// The names of all decisions.
const DECISIONS: [&str; 8] = ["continue", "escalate", "wait", "leave", "skip", "abandon", "recovered", "handed_over"];

/// What the next sweep would do.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NextSweep {
    /// Subjects that look stranded, and of which the next sweep decides.
    pub stranded_total: i64,
    /// The oldest 20 of them, and what would be done about each. What is in quarantine, in shadow or off, or was held
    /// back by the latest guard, is left; what the next guard would hold back is not known before a sweep.
    pub subjects: Vec<StrandedPlan>,
    /// How many of `subjects` would come to each decision.
    #[schemars(extend("propertyNames" = { "enum": DECISIONS }))]
    pub decisions: BTreeMap<&'static str, usize>,
}

/// A subject in progress that nobody works on.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Stranded {
    #[serde(flatten)]
    pub subject: SubjectRef,
    /// Its state, as boards show it.
    #[schemars(with = "String", extend("enum" = BoardState::STRANDED))]
    pub state: BoardState,
    /// Why it is in this state, in words: for people; null: not known.
    pub detail: Option<String>,
    #[serde(flatten)]
    pub age: Age,
    /// The plan of a step; of other kinds it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub plan_id: Option<Id>,
}

/// A stranded subject, and what the next sweep would do about it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "PlannedSubject")]
pub struct StrandedPlan {
    #[serde(flatten)]
    pub stranded: Stranded,
    /// What would be decided, as in the report of a sweep: `continue`, `escalate`, `wait` and so on; null: its row
    /// cannot be read, or sweeps leave it as it is, whatever they would decide.
    pub decision: Option<&'static str>,
    /// What would be done, and why, in words: for people.
    pub would: String,
}

impl Stranded {
    pub fn new(row: &BoardRow, now: DateTime<Utc>) -> Stranded {
        Stranded {
            subject: row.subject.clone(),
            state: row.state,
            detail: row.detail.clone(),
            age: Age::at(row.since.as_ref(), now),
            plan_id: row.plan_id.clone(),
        }
    }
}

impl NextSweep {
    pub fn read(db: &mut Db, boards: &Boards, sweeper: &Sweeper, now: DateTime<Utc>) -> QueryResult<NextSweep> {
        let (policy, quarantined) = (latest_policy(db)?, quarantined_among(db, &boards.stranded)?);
        let mut subjects = Vec::new();
        for row in &boards.stranded {
            let left_alone = match quarantined.contains(&(row.kind, row.id.clone())) {
                true => Some("it is in quarantine".to_owned()),
                false => {
                    sweeper.left_alone.reason(row.kind, row.subject.tenant.as_deref(), row.subject.agent_id.as_ref())
                }
            };
            let (mut decision, mut would) = decided(db, row, &policy)?;
            if let Some(why) = left_alone {
                (decision, would) = (None, format!("leave it: {why}. Otherwise it would {would}"));
            }
            subjects.push(StrandedPlan { stranded: Stranded::new(row, now), decision, would });
        }
        let mut decisions = BTreeMap::new();
        for decision in subjects.iter().filter_map(|subject| subject.decision) {
            *decisions.entry(decision).or_default() += 1;
        }
        Ok(NextSweep { stranded_total: boards.work.count(BoardState::STRANDED), subjects, decisions })
    }
}

/// The policy of the latest sweep of everything: the program that reads this may have other settings than the one that
/// sweeps.
fn latest_policy(db: &mut Db) -> QueryResult<Policy> {
    use sweeps::*;
    let latest = sweeps::table.filter(is_restricted.eq(false)).order(started_at.desc()).select(policy);
    let latest: Option<WrittenDocument> = latest.first(db).optional()?;
    Ok(latest.and_then(|limits| limits.read()).unwrap_or_default())
}

/// Which of these are in quarantine.
fn quarantined_among(db: &mut Db, stranded: &[BoardRow]) -> QueryResult<HashSet<(Kind, Id)>> {
    let mut quarantined = HashSet::new();
    for &kind in Kind::ALL {
        let ids: Vec<Id> = stranded.iter().filter(|row| row.kind == kind).map(|row| row.id.clone()).collect();
        if !ids.is_empty() {
            quarantined.extend(quarantine::held_among(db, kind, &ids)?.into_iter().map(|id| (kind, id)));
        }
    }
    Ok(quarantined)
}

/// What would be decided about it, if its row can be read, and what would be done.
fn decided(db: &mut Db, row: &BoardRow, policy: &Policy) -> QueryResult<(Option<&'static str>, String)> {
    let decided = for_kind!(row.kind, S => {
        read_alone::<S>(db, &row.id, policy).map(|facts| facts.map(|facts| decide(&facts, policy)))
    });
    match decided {
        Ok(Some(verdict)) => Ok((Some(verdict.decision.name()), verdict.announce())),
        Ok(None) => Ok((None, "leave it: it no longer exists".to_owned())),
        Err(error) if errors::is_undecodable(&error) => Ok((None, "report it: its row cannot be read".to_owned())),
        Err(error) => Err(error),
    }
}
