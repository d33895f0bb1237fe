//! Work by its state, and the oldest of what needs attention.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use serde::{Serialize, Serializer};

use super::limits::{ROWS_MAX, lost_row};
use crate::rules::board::BoardState;
use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::db::after::After;
use crate::store::read::board_rows::{self, Owner, WorkRow, blocked, count_blocked, in_progress};

/// How many subjects of one kind are in which state; none if the database does not provide the kind.
#[derive(Clone, Debug)]
pub struct Counts(pub Option<BTreeMap<BoardState, i64>>);

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields<'a> {
            provided: bool,
            #[serde(flatten)]
            states: Option<BTreeMap<&'a str, i64>>,
        }
        let states = self.0.as_ref().map(|states| states.iter().map(|(state, n)| (state.name(), *n)).collect());
        Fields { provided: self.0.is_some(), states }.serialize(serializer)
    }
}

/// One subject and its state; the fields are those of the JSON.
#[derive(Clone, Debug, Serialize)]
pub struct WorkItem {
    pub kind: Kind,
    pub id: Id,
    pub tenant: String,
    pub identifier: Option<String>,
    /// Its page in the host's own board.
    pub url: Option<String>,
    pub title: String,
    pub agent: Option<String>,
    #[serde(skip)]
    pub agent_id: Option<Id>,
    pub state: BoardState,
    /// Why, in words.
    pub detail: Option<String>,
    /// Null when the row holds no time that can be read.
    pub since: Option<DateTime<Utc>>,
    pub age_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<Id>,
}

/// The rows that were kept, and how many there are.
#[derive(Debug, Default)]
pub struct List {
    rows: Vec<WorkItem>,
    total: i64,
}

impl List {
    /// The oldest, and how many there are. What cannot be read comes first: it may be old.
    pub fn oldest(mut self) -> (Vec<WorkItem>, i64) {
        self.rows.sort_by_key(|work| (work.since, work.id.clone()));
        self.rows.truncate(ROWS_MAX as usize);
        (self.rows, self.total)
    }
}

#[derive(Debug, Default)]
pub struct Lists {
    pub counts: BTreeMap<&'static str, Counts>,
    pub orphans: List,
    pub escalations: List,
    pub abandoned: List,
}

impl Lists {
    pub fn read(
        &mut self,
        db: &mut Db,
        kind: Kind,
        provided: bool,
        tenant: Option<&str>,
        now: DateTime<Utc>,
    ) -> QueryResult<()> {
        if !provided {
            self.counts.insert(kind.plural(), Counts(None));
            return Ok(());
        }
        let mut counts: BTreeMap<BoardState, i64> =
            BoardState::ALL.iter().copied().filter(|state| state.is_of(kind)).map(|state| (state, 0)).collect();
        for row in rows(db, kind, tenant)? {
            let state = row.state.as_ref().ok_or_else(lost_row)?;
            let Some(state) = BoardState::parse(&state.0) else { continue };
            let list = match state {
                BoardState::Orphaned | BoardState::Stalled | BoardState::Silent | BoardState::Crashed => {
                    Some(&mut self.orphans)
                }
                BoardState::Escalated => Some(&mut self.escalations),
                BoardState::Abandoned => Some(&mut self.abandoned),
                BoardState::Queued
                | BoardState::Skipped
                | BoardState::Waiting
                | BoardState::Exempt
                | BoardState::Active => None,
            };
            *counts.entry(state).or_default() += row.total;
            if let Some(list) = list {
                list.total += row.total;
                list.rows.extend(WorkItem::of(row, kind, state, now));
            }
        }
        self.counts.insert(kind.plural(), Counts(Some(counts)));
        Ok(())
    }

    /// The plans of the steps that are stalled, or were escalated: the longest stuck first, each once.
    pub fn plans_with_stalled_steps(&self) -> Vec<Id> {
        let steps = self.orphans.rows.iter().chain(&self.escalations.rows);
        let mut plans: Vec<(Option<DateTime<Utc>>, Id)> =
            steps.filter_map(|work| Some((work.since, work.plan_id.clone()?))).collect();
        plans.sort();
        let mut ids: Vec<Id> = Vec::new();
        for (_, id) in plans {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }
}

/// The oldest of what is listed, and the numbers of all.
fn rows(db: &mut Db, kind: Kind, tenant: Option<&str>) -> QueryResult<Vec<WorkRow>> {
    let owner = Owner { tenant: tenant.map(str::to_owned), agent: None };
    let list = |states| board_rows::List { states, after: After::Nothing, rows: ROWS_MAX };
    let lists = [BoardState::STRANDED, &[BoardState::Escalated], &[BoardState::Abandoned]].map(list);
    let mut rows = in_progress(db, kind, &owner, &lists)?;
    if kind == Kind::Issue {
        rows.extend(blocked(db, &owner, &After::Nothing, ROWS_MAX)?);
        rows.extend(count_blocked(db, &owner)?);
    }
    Ok(rows)
}

impl WorkItem {
    /// None: the row counts subjects.
    fn of(row: WorkRow, kind: Kind, state: BoardState, now: DateTime<Utc>) -> Option<WorkItem> {
        let (since, age_seconds) = row.since.map_or((None, None), |since| since.with_age(now));
        Some(WorkItem {
            kind,
            id: row.subject_id?,
            tenant: row.tenant.0,
            identifier: row.identifier.map(|text| text.0),
            url: None,
            title: row.title.map(String::from).unwrap_or_default(),
            agent: row.agent_name.map(|text| text.0),
            agent_id: row.agent_id,
            state,
            detail: row.detail.map(|text| text.0),
            since,
            age_seconds,
            plan_id: row.plan_id,
        })
    }
}
