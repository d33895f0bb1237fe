//! The work in progress as the boards' views know it, in one pass for each kind: how much is in which state, the next
//! rows of what waits for a person, and the oldest of what the next sweep will act upon. The views find the states of
//! all; how a subject is shown is asked for those alone that are.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::rules::board::{BoardState, ESCALATED_CRASHES};
use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::db::MultiBackend;
use crate::store::db::lists::ListPlace;
use crate::store::db::types::{LossyText, RawInstant, sql};
use crate::store::hosts::links::Links;
use crate::store::read::lost_row;
use crate::store::read::request::{Inquiry, ItemSource, Owner};
use crate::store::read::subject::{SubjectRef, SubjectRow};

/// What the boards of all kinds show.
#[derive(Debug, Default)]
pub struct Boards {
    pub work: WorkCounts,
    /// What waits for a person: of each source and each list that was asked for the next rows, in their order.
    pub waiting: Vec<BoardRow>,
    /// In progress, and a sweep will act upon it: the oldest.
    pub stranded: Vec<BoardRow>,
}

/// A subject as a board shows it.
#[derive(Clone, Debug)]
pub struct BoardRow {
    pub source: ItemSource,
    pub kind: Kind,
    pub id: Id,
    pub subject: SubjectRef,
    pub state: BoardState,
    /// Why it is in this state, in words.
    pub detail: Option<String>,
    pub since: Option<RawInstant>,
    /// The plan of a step.
    pub plan_id: Option<Id>,
    /// Whether it is a session whose process crashed, of which people were notified.
    pub is_escalated_crash: bool,
    /// Continuations before its latest escalation, and when the last of them was made.
    pub attempts: u32,
    pub last_attempt_at: Option<DateTime<Utc>>,
}

impl Boards {
    /// Reads the counts of all work, of each list of states in `waiting` the next rows, and the oldest `stranded_max`
    /// of what is stranded.
    pub fn read(db: &mut Db, inquiry: &Inquiry, waiting: &[&[BoardState]], stranded_max: i64) -> QueryResult<Boards> {
        let Inquiry { kinds, owner, page, links, .. } = inquiry;
        let mut boards = Boards::default();
        for &kind in *kinds {
            let source = ItemSource::of(kind);
            let (after, stranded) = (page.after(source), BoardState::STRANDED);
            let waiting = waiting.iter().map(|states| BoardList { states, after: after.clone(), rows: page.rows() });
            let stranded = BoardList { states: stranded, after: ListPlace::Nothing, rows: stranded_max };
            for row in in_progress(db, kind, owner, waiting.chain([stranded]))? {
                boards.add(source, kind, row, links)?;
            }
        }
        if kinds.contains(&Kind::Issue) {
            let listed = blocked(db, owner, &page.after(ItemSource::Blocked), page.rows())?;
            for row in listed.into_iter().chain(count_blocked(db, owner)?) {
                boards.add(ItemSource::Blocked, Kind::Issue, row, links)?;
            }
        }
        boards.stranded.sort_by(|one, other| one.since.partial_cmp(&other.since).unwrap_or(Ordering::Equal));
        boards.stranded.truncate(stranded_max as usize);
        Ok(boards)
    }

    fn add(&mut self, source: ItemSource, kind: Kind, row: WorkRow, links: &Links) -> QueryResult<()> {
        let state = row.state.as_ref().ok_or_else(lost_row)?;
        let Some(state) = BoardState::parse(&state.0) else { return Ok(()) };
        let Some(id) = row.subject.subject_id.clone() else {
            self.work.add(kind, state, row.subject, row.total);
            return Ok(());
        };
        let board_row = BoardRow {
            source,
            kind,
            id,
            state,
            is_escalated_crash: row.reason.is_some_and(|reason| ESCALATED_CRASHES.contains(&reason.0.as_str())),
            subject: row.subject.into_linked(Some(kind), links),
            detail: row.detail.map(String::from),
            since: row.since,
            plan_id: row.plan_id,
            attempts: row.attempts.and_then(|attempts| u32::try_from(attempts).ok()).unwrap_or_default(),
            last_attempt_at: row.last_attempt_at.and_then(|at| at.instant()),
        };
        let is_waiting = BoardState::WAITING_FOR_PEOPLE.contains(&state);
        let list = if is_waiting { &mut self.waiting } else { &mut self.stranded };
        list.push(board_row);
        Ok(())
    }
}

/// An agent's name beside what it has in progress: there may be as many as there are subjects.
const NAME: &str = "substr(a.agent_name, 1, 100)";

/// Which rows are listed, in the order of their time: of these states, from a place on, and how many at most.
#[derive(Clone, Debug)]
struct BoardList<'a> {
    states: &'a [BoardState],
    after: ListPlace,
    rows: i64,
}

/// A row of a board: a subject, or how many subjects of one owner are in one state.
#[derive(Clone, Debug, QueryableByName)]
struct WorkRow {
    /// Without an id the row counts subjects.
    #[diesel(embed)]
    subject: SubjectRow,
    #[diesel(sql_type = Nullable<Text>)]
    state: Option<LossyText>,
    /// Why it is in this state, as the views name it; null: the row counts subjects, or the subject is blocked.
    #[diesel(sql_type = Nullable<Text>)]
    reason: Option<LossyText>,
    /// The reason in words.
    #[diesel(sql_type = Nullable<Text>)]
    detail: Option<LossyText>,
    #[diesel(sql_type = Nullable<sql::Moment>)]
    since: Option<RawInstant>,
    #[diesel(sql_type = Nullable<sql::HostId>)]
    plan_id: Option<Id>,
    #[diesel(sql_type = Nullable<BigInt>)]
    attempts: Option<i64>,
    #[diesel(sql_type = Nullable<sql::Moment>)]
    last_attempt_at: Option<RawInstant>,
    /// How many subjects the row counts.
    #[diesel(sql_type = BigInt)]
    total: i64,
}

/// What is in progress: the rows of each list, and how many subjects each owner has in which state. The DSL has no
/// query over a query.
fn in_progress<'a>(
    db: &mut Db,
    kind: Kind,
    owner: &Owner,
    lists: impl Iterator<Item = BoardList<'a>>,
) -> QueryResult<Vec<WorkRow>> {
    let mut values = BoundValues::default();
    let is_owned = values.is_owned(db, owner);
    let listed = lists.map(|list| {
        let states = list.states.iter().map(|state| format!("'{}'", state.name())).collect::<Vec<_>>().join(", ");
        let (is_later, rows) = (values.is_later(db, &list.after), list.rows);
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
        let details = row.subject.subject_id.as_ref().and_then(|id| shown.remove(id));
        if let Some(ShownSubject { identifier, title, agent_name, detail, plan_id, .. }) = details {
            row.subject = SubjectRow { identifier, title: Some(title), agent_name, ..row.subject.clone() };
            (row.detail, row.plan_id) = (detail, plan_id);
        }
    }
    Ok(rows)
}

/// The issues that escalations blocked: the first of them after a place.
fn blocked(db: &mut Db, owner: &Owner, after: &ListPlace, rows: i64) -> QueryResult<Vec<WorkRow>> {
    let mut values = BoundValues::default();
    let (is_owned, is_later) = (values.is_owned(db, owner), values.is_later(db, after));
    let query = format!(
        "SELECT subject_id, tenant, identifier, title, agent_id, agent_name, '{}' AS state, NULL AS reason, \
             reason AS detail, since, NULL AS plan_id, CAST(attempt AS bigint) AS attempts, last_attempt_at, \
             CAST(0 AS bigint) AS total \
         FROM escalated_issues WHERE {is_owned} AND {is_later} ORDER BY since, subject_id LIMIT {rows}",
        BoardState::Escalated.name(),
    );
    values.load(db, query)
}

/// How many issues of each owner escalations blocked.
fn count_blocked(db: &mut Db, owner: &Owner) -> QueryResult<Vec<WorkRow>> {
    let mut values = BoundValues::default();
    let is_owned = values.is_owned(db, owner);
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
struct ShownSubject {
    #[diesel(sql_type = sql::HostId)]
    subject_id: Id,
    #[diesel(sql_type = Nullable<Text>)]
    identifier: Option<LossyText>,
    #[diesel(sql_type = Text)]
    title: LossyText,
    #[diesel(sql_type = Nullable<Text>)]
    agent_name: Option<LossyText>,
    #[diesel(sql_type = Nullable<Text>)]
    detail: Option<LossyText>,
    #[diesel(sql_type = Nullable<sql::HostId>)]
    plan_id: Option<Id>,
}

/// How those of the rows that are subjects are shown, by their ids. They are asked one by one: the planner would rather
/// read the facts of all.
fn details(db: &mut Db, kind: Kind, rows: &[WorkRow]) -> QueryResult<HashMap<Id, ShownSubject>> {
    let (begin, end) = db.dialect().around_text();
    let mut values = BoundValues::default();
    let shown = rows.iter().filter_map(|row| Some((row.subject.subject_id.as_ref()?, row.reason.as_ref()?)));
    let shown = shown.map(|(id, reason)| {
        let (id, reason) = (values.add_text(&id.0), values.add_text(&reason.0));
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
    let found: Vec<ShownSubject> = values.load(db, query)?;
    Ok(found.into_iter().map(|details| (details.subject_id.clone(), details)).collect())
}

/// What a query binds, in order.
#[derive(Debug, Default)]
struct BoundValues(Vec<BoundValue>);

#[derive(Debug)]
enum BoundValue {
    Text(String),
    Instant(RawInstant),
}

impl BoundValues {
    /// Binds a value, and gives its place in the query.
    fn add(&mut self, value: BoundValue) -> usize {
        self.0.push(value);
        self.0.len()
    }

    fn add_text(&mut self, text: &str) -> usize {
        self.add(BoundValue::Text(text.to_owned()))
    }

    /// The condition of SQL that a row is this owner's.
    fn is_owned(&mut self, db: &Db, owner: &Owner) -> String {
        let (begin, end) = db.dialect().around_text();
        let mut condition = "true".to_owned();
        if let Some(tenant) = &owner.tenant {
            condition += &format!(" AND tenant = ${}", self.add_text(tenant));
        }
        if let Some(Id(agent)) = &owner.agent {
            condition += &format!(" AND agent_id = {begin}${}{end}", self.add_text(agent));
        }
        condition
    }

    /// The condition of SQL that a row comes after a place.
    fn is_later(&mut self, db: &Db, after: &ListPlace) -> String {
        let (begin, end) = db.dialect().around_text();
        let mut bind = |at: &RawInstant| self.add(BoundValue::Instant(at.clone()));
        match after {
            ListPlace::Nothing => "true".to_owned(),
            ListPlace::From(since) => format!("since >= ${}", bind(since)),
            ListPlace::Since(since) => format!("since > ${}", bind(since)),
            ListPlace::Row(since, Id(id)) => {
                let (since, id) = (bind(since), self.add_text(id));
                format!("(since, subject_id) > (${since}, {begin}${id}{end})")
            }
        }
    }

    fn load<Row: QueryableByName<MultiBackend> + 'static>(self, db: &mut Db, query: String) -> QueryResult<Vec<Row>> {
        let mut query = diesel::sql_query(query).into_boxed();
        for value in self.0 {
            query = match value {
                BoundValue::Text(text) => query.bind::<Text, _>(text),
                BoundValue::Instant(at) => query.bind::<sql::Moment, _>(at),
            };
        }
        query.load(db)
    }
}

/// How many subjects of one kind are in which state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Counts {
    /// Whether the database has this kind; if not, no state is there.
    pub provided: bool,
    #[serde(flatten)]
    #[schemars(schema_with = "counts_of_states")]
    pub states: BTreeMap<BoardState, i64>,
}

/// The most tenants and agents that are listed; beside them stands how many there are.
const SHARES_MAX: usize = 50;

/// The work of one tenant or agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Share {
    /// The agent's id; null: a tenant, or work that no agent has.
    pub id: Option<Id>,
    /// The tenant's or the agent's name; empty: work that no agent has.
    pub name: String,
    /// The tenant whose work this is.
    pub tenant: String,
    /// How many subjects are in which state; a state in which none is may be left out.
    #[schemars(schema_with = "counts_of_states")]
    pub states: BTreeMap<BoardState, i64>,
}

impl Share {
    /// How many subjects are in one of these states.
    pub fn count(&self, states: &[BoardState]) -> i64 {
        states.iter().filter_map(|state| self.states.get(state)).sum()
    }

    pub fn total(&self) -> i64 {
        self.states.values().sum()
    }
}

/// All work in progress, counted.
#[derive(Debug, Default)]
pub struct WorkCounts {
    kinds: BTreeMap<Kind, BTreeMap<BoardState, i64>>,
    pub tenants: BTreeMap<String, Share>,
    pub agents: BTreeMap<(String, Option<Id>), Share>,
}

impl WorkCounts {
    /// Adds subjects of one owner that are in one state.
    pub fn add(&mut self, kind: Kind, state: BoardState, owner: SubjectRow, subjects: i64) {
        let SubjectRow { tenant, agent_id: id, agent_name, .. } = owner;
        let tenant = tenant.map(String::from).unwrap_or_default();
        let agent_name = agent_name.map(String::from).or_else(|| id.clone().map(|Id(id)| id)).unwrap_or_default();
        let share = |id, name: &str| Share { id, name: name.to_owned(), tenant: tenant.clone(), ..Share::default() };
        let of_tenant = self.tenants.entry(tenant.clone()).or_insert_with(|| share(None, &tenant));
        let of_agent = self.agents.entry((tenant.clone(), id.clone())).or_insert_with(|| share(id, &agent_name));
        let of_kind = self.kinds.entry(kind).or_default();
        for states in [of_kind, &mut of_tenant.states, &mut of_agent.states] {
            *states.entry(state).or_default() += subjects;
        }
    }

    /// How many subjects of all kinds are in one of these states.
    pub fn count(&self, states: &[BoardState]) -> i64 {
        self.kinds.values().flatten().filter(|(state, _)| states.contains(state)).map(|(_, n)| n).sum()
    }

    /// How much of each kind is in which of its states, by the kind's plural, also where that is nothing.
    pub fn kinds(&self, provided: &[Kind]) -> BTreeMap<&'static str, Counts> {
        let counts = |kind: Kind| {
            if !provided.contains(&kind) {
                return Counts::default();
            }
            let states = BoardState::ALL.iter().copied().filter(|state| state.is_of(kind)).map(|state| (state, 0));
            let found = self.kinds.get(&kind).into_iter().flatten().map(|(state, n)| (*state, *n));
            Counts { provided: true, states: states.chain(found).collect() }
        };
        Kind::ALL.iter().map(|&kind| (kind.plural(), counts(kind))).collect()
    }
}

/// The tenants or agents whose work most needs attention, and how many there are.
pub fn most_urgent<'a>(shares: impl Iterator<Item = &'a Share>) -> (Vec<Share>, usize) {
    let mut shares: Vec<&Share> = shares.collect();
    // What waits for a person counts first, then what a sweep has yet to do.
    let urgency = |it: &Share| (it.count(BoardState::WAITING_FOR_PEOPLE), it.count(BoardState::STRANDED), it.total());
    shares.sort_by_key(|share| (Reverse(urgency(share)), &share.tenant, &share.name, &share.id));
    (shares.iter().take(SHARES_MAX).map(|&share| share.clone()).collect(), shares.len())
}

/// The schema of the counts of all kinds, by the kind's plural.
pub fn counts_of_kinds(generator: &mut SchemaGenerator) -> Schema {
    let names = Kind::ALL.iter().map(|kind| kind.plural());
    let fields: Map<String, Value> =
        names.clone().map(|kind| (kind.to_owned(), described::<Counts>(generator, format!("The {kind}.")))).collect();
    json_schema!({ "type": "object", "properties": fields, "required": names.collect::<Vec<_>>() })
}

/// The schema of subjects counted by their states, of which some are left out.
fn counts_of_states(generator: &mut SchemaGenerator) -> Schema {
    let field = |state: &BoardState| {
        (state.name().to_owned(), described::<i64>(generator, format!("How many are {}.", state.name())))
    };
    let fields: Map<String, Value> = BoardState::ALL.iter().map(field).collect();
    json_schema!({ "type": "object", "properties": fields })
}

fn described<T: JsonSchema>(generator: &mut SchemaGenerator, description: String) -> Value {
    let mut schema = generator.subschema_for::<T>();
    schema.insert("description".to_owned(), description.into());
    schema.into()
}
