//! Work by its state, and the oldest of what needs attention.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use serde::{Serialize, Serializer};

use super::limits::{ROWS_MAX, lost_row};
use crate::rules::board::BoardState;
use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::types::{LossyText, RawInstant, sql};

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

#[derive(QueryableByName)]
struct WorkRow {
    #[diesel(sql_type = sql::Id)]
    subject_id: Id,
    #[diesel(sql_type = Text)]
    tenant: LossyText,
    #[diesel(sql_type = Nullable<Text>)]
    identifier: Option<LossyText>,
    #[diesel(sql_type = Text)]
    title: LossyText,
    #[diesel(sql_type = Nullable<sql::Id>)]
    agent_id: Option<Id>,
    #[diesel(sql_type = Nullable<Text>)]
    agent_name: Option<LossyText>,
    #[diesel(sql_type = Nullable<Text>)]
    state: Option<LossyText>,
    #[diesel(sql_type = Nullable<Text>)]
    detail: Option<LossyText>,
    #[diesel(sql_type = Nullable<sql::Instant>)]
    since: Option<RawInstant>,
    #[diesel(sql_type = Nullable<sql::Id>)]
    plan_id: Option<Id>,
    #[diesel(sql_type = BigInt)]
    total: i64,
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
        let mut latest = None;
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
            let begins = latest.replace(state) != Some(state);
            if begins {
                *counts.entry(state).or_default() += row.total;
            }
            if let Some(list) = list {
                list.total += if begins { row.total } else { 0 };
                list.rows.push(row.into_work(kind, state, now));
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

/// The oldest of each state with the number of all, state by state, in one pass: counting and listing them one after
/// the other would ask the view again each time. The DSL has no query over a query.
fn rows(db: &mut Db, kind: Kind, tenant: Option<&str>) -> QueryResult<Vec<WorkRow>> {
    let plan = match kind {
        Kind::Session | Kind::Issue => "nullif(w.subject_id, w.subject_id)",
        Kind::Step => "w.plan_id",
    };
    let of_tenant = tenant.map_or("", |_| "WHERE w.tenant = $1");
    let query = diesel::sql_query(format!(
        "SELECT * FROM ( \
             SELECT w.subject_id, w.tenant, w.identifier, w.title, w.agent_id, w.agent_name, w.state, w.detail, \
                 w.since, {plan} AS plan_id, \
                 count(*) OVER alike AS total, row_number() OVER (alike ORDER BY w.since, w.subject_id) AS place \
             FROM {kind}_work_state w {of_tenant} \
             WINDOW alike AS (PARTITION BY w.state) \
         ) w WHERE place <= {ROWS_MAX} ORDER BY state, place"
    ));
    match tenant {
        None => query.load(db),
        Some(tenant) => query.bind::<Text, _>(tenant).load(db),
    }
}

impl WorkRow {
    fn into_work(self, kind: Kind, state: BoardState, now: DateTime<Utc>) -> WorkItem {
        let (since, age_seconds) = self.since.map_or((None, None), |since| since.with_age(now));
        WorkItem {
            kind,
            id: self.subject_id,
            tenant: self.tenant.0,
            identifier: self.identifier.map(|text| text.0),
            url: None,
            title: self.title.0,
            agent: self.agent_name.map(|text| text.0),
            agent_id: self.agent_id,
            state,
            detail: self.detail.map(|text| text.0),
            since,
            age_seconds,
            plan_id: self.plan_id,
        }
    }
}
