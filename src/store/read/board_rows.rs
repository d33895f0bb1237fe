//! What the boards' views know of the work in progress, in one pass for each kind: how much is in which state, and the
//! first of some states. The views find the states of all; how a subject is shown is asked for those alone that are.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};

use crate::rules::board::{BoardState, ESCALATED_CRASHES};
use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::db::after::After;
use crate::store::db::backends::MultiBackend;
use crate::store::db::types::{LossyText, RawInstant, around_text, sql};

/// Whose work is read: a tenant's, an agent's, or everybody's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Owner {
    pub tenant: Option<String>,
    pub agent: Option<Id>,
}

/// An agent's name beside what it has in progress: there may be as many as there are subjects.
const NAME: &str = "substr(a.agent_name, 1, 100)";

/// Which rows are listed, in the order of their time: of these states, from a place on, so many.
#[derive(Clone, Debug)]
pub struct List<'a> {
    pub states: &'a [BoardState],
    pub after: After,
    pub rows: i64,
}

/// A subject, or a number of them that are alike.
#[derive(Clone, Debug, QueryableByName)]
pub struct WorkRow {
    /// Null: it counts subjects.
    #[diesel(sql_type = Nullable<sql::Id>)]
    pub subject_id: Option<Id>,
    #[diesel(sql_type = Text)]
    pub tenant: LossyText,
    #[diesel(sql_type = Nullable<Text>)]
    pub identifier: Option<LossyText>,
    #[diesel(sql_type = Nullable<Text>)]
    pub title: Option<LossyText>,
    #[diesel(sql_type = Nullable<sql::Id>)]
    pub agent_id: Option<Id>,
    #[diesel(sql_type = Nullable<Text>)]
    pub agent_name: Option<LossyText>,
    #[diesel(sql_type = Nullable<Text>)]
    pub state: Option<LossyText>,
    /// Why it is in this state, as the views name it; null: it counts subjects, or is blocked.
    #[diesel(sql_type = Nullable<Text>)]
    reason: Option<LossyText>,
    /// The same, in words.
    #[diesel(sql_type = Nullable<Text>)]
    pub detail: Option<LossyText>,
    #[diesel(sql_type = Nullable<sql::Instant>)]
    pub since: Option<RawInstant>,
    /// Of a step.
    #[diesel(sql_type = Nullable<sql::Id>)]
    pub plan_id: Option<Id>,
    /// Continuations before its latest escalation, and when the last of them was made.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub attempts: Option<i64>,
    #[diesel(sql_type = Nullable<sql::Instant>)]
    pub last_attempt_at: Option<RawInstant>,
    /// How many there are; 0: it is one.
    #[diesel(sql_type = BigInt)]
    pub total: i64,
}

impl WorkRow {
    /// Is it a session whose process crashed, of which people were notified?
    pub fn is_escalated_crash(&self) -> bool {
        self.reason.as_ref().is_some_and(|reason| ESCALATED_CRASHES.contains(&reason.0.as_str()))
    }
}

/// What is in progress: the rows of each list, and how many subjects each owner has in which state. The DSL has no
/// query over a query.
pub fn in_progress(db: &mut Db, kind: Kind, owner: &Owner, lists: &[List]) -> QueryResult<Vec<WorkRow>> {
    let mut values = Values::default();
    let is_owned = owner.condition(db, &mut values);
    let listed = lists.iter().map(|list| {
        let states = list.states.iter().map(|state| format!("'{}'", state.name())).collect::<Vec<_>>().join(", ");
        let (is_later, rows) = (is_later(db, &list.after, &mut values), list.rows);
        format!(
            "SELECT * FROM (SELECT * FROM w WHERE state IN ({states}) AND {is_later} \
             ORDER BY since, subject_id LIMIT {rows}) w"
        )
    });
    let listed = listed.collect::<Vec<_>>().join(" UNION ALL ");
    let own = format!("r.kind = '{kind}' AND r.subject_id = w.subject_id");
    // Names are joined last: there may be very many subjects, and there are few agents.
    let query = format!(
        "WITH w AS MATERIALIZED ( \
             SELECT subject_id, tenant, agent_id, reason, state, since FROM {kind}_states WHERE {is_owned} \
         ) \
         SELECT w.subject_id, w.tenant, NULL AS identifier, NULL AS title, w.agent_id, NULL AS agent_name, w.state, \
             w.reason, NULL AS detail, w.since, NULL AS plan_id, \
             (SELECT CAST(r.attempt AS bigint) FROM recoveries r WHERE {own} AND r.action = 'escalate' \
              ORDER BY r.created_at DESC LIMIT 1) AS attempts, \
             (SELECT max(r.created_at) FROM recoveries r WHERE {own} AND r.action = 'continue') AS last_attempt_at, \
             0 AS total \
         FROM ({listed}) w \
         UNION ALL \
         SELECT NULL, c.tenant, NULL, NULL, c.agent_id, {NAME}, c.state, NULL, NULL, NULL, NULL, NULL, NULL, \
             c.total \
         FROM (SELECT tenant, agent_id, state, count(*) AS total FROM w GROUP BY tenant, agent_id, state) c \
         LEFT JOIN agent_names a ON a.agent_id = c.agent_id"
    );
    let mut rows = values.load(db, query)?;
    let mut shown = details(db, kind, &rows)?;
    for row in &mut rows {
        let details = row.subject_id.as_ref().and_then(|id| shown.remove(id));
        if let Some(Details { identifier, title, agent_name, detail, plan_id, .. }) = details {
            *row = WorkRow { identifier, title: Some(title), agent_name, detail, plan_id, ..row.clone() };
        }
    }
    Ok(rows)
}

/// The issues that escalations blocked: the first of them after a place.
pub fn blocked(db: &mut Db, owner: &Owner, after: &After, rows: i64) -> QueryResult<Vec<WorkRow>> {
    let mut values = Values::default();
    let (is_owned, is_later) = (owner.condition(db, &mut values), is_later(db, after, &mut values));
    let query = format!(
        "SELECT subject_id, tenant, identifier, title, agent_id, agent_name, '{}' AS state, NULL AS reason, \
             reason AS detail, since, NULL AS plan_id, CAST(attempt AS bigint) AS attempts, last_attempt_at, \
             CAST(0 AS bigint) AS total \
         FROM escalated_issues WHERE {is_owned} AND {is_later} ORDER BY since, subject_id LIMIT {rows}",
        BoardState::Escalated.name(),
    );
    values.load(db, query)
}

/// How many of these each owner has.
pub fn count_blocked(db: &mut Db, owner: &Owner) -> QueryResult<Vec<WorkRow>> {
    let mut values = Values::default();
    let is_owned = owner.condition(db, &mut values);
    let query = format!(
        "SELECT NULL AS subject_id, c.tenant, NULL AS identifier, NULL AS title, c.agent_id, {NAME} AS agent_name, \
             '{}' AS state, NULL AS reason, NULL AS detail, NULL AS since, NULL AS plan_id, \
             NULL AS attempts, \
             NULL AS last_attempt_at, c.total \
         FROM (SELECT tenant, agent_id, count(*) AS total FROM escalated_issues WHERE {is_owned} GROUP BY 1, 2) c \
         LEFT JOIN agent_names a ON a.agent_id = c.agent_id",
        BoardState::Escalated.name(),
    );
    values.load(db, query)
}

/// How a subject is shown.
#[derive(Debug, QueryableByName)]
struct Details {
    #[diesel(sql_type = sql::Id)]
    subject_id: Id,
    #[diesel(sql_type = Nullable<Text>)]
    identifier: Option<LossyText>,
    #[diesel(sql_type = Text)]
    title: LossyText,
    #[diesel(sql_type = Nullable<Text>)]
    agent_name: Option<LossyText>,
    #[diesel(sql_type = Nullable<Text>)]
    detail: Option<LossyText>,
    #[diesel(sql_type = Nullable<sql::Id>)]
    plan_id: Option<Id>,
}

/// Those of the rows that are subjects, by their ids. One by one: the planner would rather read the facts of all.
fn details(db: &mut Db, kind: Kind, rows: &[WorkRow]) -> QueryResult<HashMap<Id, Details>> {
    let (begin, end) = around_text(db);
    let mut values = Values::default();
    let shown = rows.iter().filter_map(|row| Some((row.subject_id.as_ref()?, row.reason.as_ref()?)));
    let shown = shown.map(|(id, reason)| {
        let (id, reason) = (values.add(Value::Text(id.0.clone())), values.add(Value::Text(reason.0.clone())));
        format!("({begin}${id}{end}, CAST(${reason} AS text))")
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    if shown.is_empty() {
        return Ok(HashMap::new());
    }
    let its = "d.subject_id = w.subject_id AND d.reason = w.reason";
    let joined = match db {
        Db::Postgres(_) => format!("LATERAL (SELECT * FROM {kind}_details d WHERE {its} OFFSET 0) d"),
        Db::Sqlite(_) => format!("{kind}_details d ON {its}"),
    };
    let plan_id = if kind == Kind::Step { "d.plan_id" } else { "NULL" };
    let query = format!(
        "WITH w (subject_id, reason) AS (VALUES {shown}) \
         SELECT d.subject_id, d.identifier, d.title, d.agent_name, d.detail, {plan_id} AS plan_id \
         FROM w CROSS JOIN {joined}"
    );
    let found: Vec<Details> = values.load(db, query)?;
    Ok(found.into_iter().map(|details| (details.subject_id.clone(), details)).collect())
}

/// What a query binds, in order.
#[derive(Debug, Default)]
struct Values(Vec<Value>);

#[derive(Debug)]
enum Value {
    Text(String),
    Instant(RawInstant),
}

impl Values {
    /// Its place in the query.
    fn add(&mut self, value: Value) -> usize {
        self.0.push(value);
        self.0.len()
    }

    fn load<Row: QueryableByName<MultiBackend> + 'static>(self, db: &mut Db, query: String) -> QueryResult<Vec<Row>> {
        let mut query = diesel::sql_query(query).into_boxed();
        for value in self.0 {
            query = match value {
                Value::Text(text) => query.bind::<Text, _>(text),
                Value::Instant(at) => query.bind::<sql::Instant, _>(at),
            };
        }
        query.load(db)
    }
}

impl Owner {
    /// What rows of a relation must meet, in SQL.
    fn condition(&self, db: &Db, values: &mut Values) -> String {
        let (begin, end) = around_text(db);
        let mut condition = "true".to_owned();
        if let Some(tenant) = &self.tenant {
            condition += &format!(" AND tenant = ${}", values.add(Value::Text(tenant.clone())));
        }
        if let Some(agent) = &self.agent {
            condition += &format!(" AND agent_id = {begin}${}{end}", values.add(Value::Text(agent.0.clone())));
        }
        condition
    }
}

/// What comes after a place, in SQL.
fn is_later(db: &Db, after: &After, values: &mut Values) -> String {
    let (begin, end) = around_text(db);
    let mut at = |at: &RawInstant| values.add(Value::Instant(at.clone()));
    match after {
        After::Nothing => "true".to_owned(),
        After::From(since) => format!("since >= ${}", at(since)),
        After::Since(since) => format!("since > ${}", at(since)),
        After::Row(since, id) => {
            let at = at(since);
            let id = values.add(Value::Text(id.0.clone()));
            format!("(since, subject_id) > (${at}, {begin}${id}{end})")
        }
    }
}
