//! The work in progress as the boards' views know it, in one pass for each kind: how much is in which state, the next
//! rows of what waits for a person, and the oldest of what the next sweep will act upon. The views find the states of
//! all; how a subject is shown is asked for those alone that are.

use std::cmp::Ordering;
use std::collections::HashMap;

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};

use crate::rules::board::{BoardState, ESCALATED_CRASHES};
use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::db::MultiBackend;
use crate::store::db::lists::ListPlace;
use crate::store::db::types::{LossyText, RawInstant, sql};
use crate::store::read::counts::WorkCounts;
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
    pub plans: PlansInProgress,
}

/// The plans that have a step in progress: 50 at most of each sort.
#[derive(Debug, Default)]
pub struct PlansInProgress {
    /// Those with a step that is stalled or was escalated, the longest stuck first; and how many there are.
    pub stuck: (Vec<Id>, i64),
    pub others: (Vec<Id>, i64),
}

/// Rows of the boards of all kinds, as they were asked for, and how much work there is.
#[derive(Debug, Default)]
pub struct BoardRows {
    pub work: WorkCounts,
    /// The rows of each source, in the order of their time.
    pub rows: Vec<BoardRow>,
    pub plans: PlansInProgress,
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
    /// Its `since` as a date; where that is none, since when it is idle.
    pub dated_at: Option<RawInstant>,
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
        let rows = inquiry.page.rows();
        let read = BoardRows::read_lists(db, inquiry, rows, |after| {
            let waiting = waiting.iter().map(|states| BoardList { states, after: after.clone(), rows });
            let stranded = BoardList { states: BoardState::STRANDED, after: ListPlace::Nothing, rows: stranded_max };
            waiting.chain([stranded]).collect()
        })?;
        let is_waiting = |row: &BoardRow| BoardState::WAITING_FOR_PEOPLE.contains(&row.state);
        let (waiting, mut stranded): (_, Vec<BoardRow>) = read.rows.into_iter().partition(is_waiting);
        stranded.sort_by(|one, other| one.since.partial_cmp(&other.since).unwrap_or(Ordering::Equal));
        stranded.truncate(stranded_max as usize);
        Ok(Boards { work: read.work, waiting, stranded, plans: read.plans })
    }
}

impl BoardRows {
    /// Reads the counts of all work, and of each kind the next `rows` in these states, from the page's place on.
    pub fn read(db: &mut Db, inquiry: &Inquiry, states: &[BoardState], rows: i64) -> QueryResult<BoardRows> {
        let blocked = if states.contains(&BoardState::Escalated) { rows } else { 0 };
        BoardRows::read_lists(db, inquiry, blocked, |after| vec![BoardList { states, after: after.clone(), rows }])
    }

    /// Reads of each kind the lists that are asked for from a place on, and so many of the issues that escalations
    /// blocked.
    fn read_lists<'a>(
        db: &mut Db,
        inquiry: &Inquiry,
        blocked_rows: i64,
        lists: impl Fn(&ListPlace) -> Vec<BoardList<'a>>,
    ) -> QueryResult<BoardRows> {
        let Inquiry { kinds, owner, page, .. } = inquiry;
        let mut read = BoardRows::default();
        for &kind in *kinds {
            let source = ItemSource::of(kind);
            for row in in_progress(db, kind, owner, lists(&page.after(source)))? {
                read.add(source, kind, row, inquiry)?;
            }
        }
        if kinds.contains(&Kind::Issue) {
            let listed = blocked(db, owner, &page.after(ItemSource::Blocked), blocked_rows)?;
            for row in listed.into_iter().chain(count_blocked(db, owner)?) {
                read.add(ItemSource::Blocked, Kind::Issue, row, inquiry)?;
            }
        }
        Ok(read)
    }

    fn add(&mut self, source: ItemSource, kind: Kind, row: WorkRow, inquiry: &Inquiry) -> QueryResult<()> {
        let state = row.state.as_ref().ok_or_else(lost_row)?;
        let Some(state) = BoardState::parse(&state.0) else { return Ok(()) };
        let Some(id) = row.subject.subject_id.clone() else {
            match row.plan_id {
                Some(plan) => {
                    let PlansInProgress { stuck, others } = &mut self.plans;
                    let (ids, total) = if state == BoardState::Stalled { stuck } else { others };
                    ids.push(plan);
                    *total = row.total;
                }
                None => self.work.add(kind, state, row.subject, row.total),
            }
            return Ok(());
        };
        self.rows.push(BoardRow {
            source,
            kind,
            id,
            state,
            is_escalated_crash: row.reason.is_some_and(|reason| ESCALATED_CRASHES.contains(&reason.0.as_str())),
            subject: row.subject.into_linked(Some(kind), inquiry.links),
            detail: row.detail.map(String::from),
            since: row.since,
            dated_at: row.dated_at,
            plan_id: row.plan_id,
            attempts: row.attempts.and_then(|attempts| u32::try_from(attempts).ok()).unwrap_or_default(),
            last_attempt_at: row.last_attempt_at.and_then(|at| at.instant()),
        });
        Ok(())
    }
}

/// How many plans are listed.
const PLANS_MAX: usize = 50;

/// An agent's name beside what it has in progress: there may be as many as there are subjects.
const NAME: &str = "substr(a.agent_name, 1, 100)";

/// Which rows are listed, in the order of their time: of these states, from a place on, and how many at most.
#[derive(Clone, Debug)]
struct BoardList<'a> {
    states: &'a [BoardState],
    after: ListPlace,
    rows: i64,
}

/// A row of a board: a subject; or, without the id of one, how many subjects of one owner are in one state, or a plan
/// with steps in progress.
#[derive(Clone, Debug, QueryableByName)]
struct WorkRow {
    #[diesel(embed)]
    subject: SubjectRow,
    #[diesel(sql_type = Nullable<Text>)]
    state: Option<LossyText>,
    /// Why it is in this state, as the views name it; null: the row is no subject, or one that is blocked.
    #[diesel(sql_type = Nullable<Text>)]
    reason: Option<LossyText>,
    /// The reason in words.
    #[diesel(sql_type = Nullable<Text>)]
    detail: Option<LossyText>,
    #[diesel(sql_type = Nullable<sql::Moment>)]
    since: Option<RawInstant>,
    #[diesel(sql_type = Nullable<sql::Moment>)]
    dated_at: Option<RawInstant>,
    #[diesel(sql_type = Nullable<sql::HostId>)]
    plan_id: Option<Id>,
    #[diesel(sql_type = Nullable<BigInt>)]
    attempts: Option<i64>,
    #[diesel(sql_type = Nullable<sql::Moment>)]
    last_attempt_at: Option<RawInstant>,
    /// How many subjects the row counts, or how many plans are like the row's.
    #[diesel(sql_type = BigInt)]
    total: i64,
}

/// What is in progress: the rows of each list, how many subjects each owner has in which state, and the plans
/// of steps. The DSL has no query over a query.
fn in_progress(db: &mut Db, kind: Kind, owner: &Owner, lists: Vec<BoardList>) -> QueryResult<Vec<WorkRow>> {
    let mut values = BoundValues::default();
    let is_owned = values.is_owned(db, owner);
    let listed = lists.into_iter().map(|list| {
        let states = list.states.iter().map(|state| format!("'{}'", state.name())).collect::<Vec<_>>().join(", ");
        let (is_later, rows) = (values.is_later(db, &list.after), list.rows);
        format!(
            "SELECT * FROM (SELECT * FROM w WHERE state IN ({states}) AND {is_later} \
             ORDER BY since, subject_id LIMIT {rows}) w"
        )
    });
    let listed = listed.collect::<Vec<_>>().join(" UNION ALL ");
    let own = format!("r.kind = '{kind}' AND r.subject_id = w.subject_id");
    let (plan_id, plans) = if kind == Kind::Step { ("plan_id", plans_of_w()) } else { ("NULL", String::new()) };
    // What is seen at once to be at work has no date without its facts, and comes last.
    let since = if let Db::Postgres(_) = db { "coalesce(since, 'infinity')" } else { "since" };
    // Names are joined last: there may be very many subjects, and there are few agents.
    let query = format!(
        "WITH w AS MATERIALIZED ( \
             SELECT subject_id, tenant, agent_id, reason, state, {since} AS since, {plan_id} AS plan_id \
             FROM {kind}_states WHERE {is_owned} \
         ) \
         SELECT w.subject_id, w.tenant, NULL AS identifier, NULL AS title, w.agent_id, NULL AS agent_name, w.state, \
             w.reason, NULL AS detail, w.since, w.since AS dated_at, w.plan_id, \
             (SELECT CAST(r.attempt AS bigint) FROM recoveries r WHERE {own} AND r.action = 'escalate' \
              ORDER BY r.created_at DESC LIMIT 1) AS attempts, \
             (SELECT max(r.created_at) FROM recoveries r WHERE {own} AND r.action = 'continue') AS last_attempt_at, \
             0 AS total \
         FROM ({listed}) w \
         UNION ALL \
         SELECT NULL, c.tenant, NULL, NULL, c.agent_id, {NAME}, c.state, NULL, NULL, NULL, NULL, NULL, NULL, \
             NULL, c.total \
         FROM (SELECT tenant, agent_id, state, count(*) AS total FROM w GROUP BY tenant, agent_id, state) c \
         LEFT JOIN agent_names a ON a.agent_id = c.agent_id {plans}"
    );
    let mut rows: Vec<WorkRow> = values.load(db, query)?;
    let mut shown = details(db, kind, &rows)?;
    for row in &mut rows {
        let details = row.subject.subject_id.as_ref().and_then(|id| shown.remove(id));
        if let Some(ShownSubject { identifier, title, agent_name, detail, idle_since, .. }) = details {
            row.subject = SubjectRow { identifier, title: Some(title), agent_name, ..row.subject.clone() };
            row.detail = detail;
            row.dated_at = row.dated_at.take().filter(|at| at.instant().is_some()).or(idle_since);
        }
    }
    Ok(rows)
}

/// Adds to a query the plans of the steps in `w`: those that are stuck, in the state `stalled`, then the others, and
/// how many of either sort there are.
fn plans_of_w() -> String {
    let [stalled, escalated, active] =
        [BoardState::Stalled, BoardState::Escalated, BoardState::Active].map(BoardState::name);
    let is_stuck = format!("w.state IN ('{stalled}', '{escalated}')");
    format!(
        "UNION ALL \
         SELECT NULL, NULL, NULL, NULL, NULL, NULL, p.state, NULL, NULL, p.since, NULL, p.plan_id, NULL, NULL, p.total \
         FROM (SELECT g.*, count(*) OVER (PARTITION BY g.state) AS total, \
                   row_number() OVER (PARTITION BY g.state ORDER BY g.since, g.plan_id) AS place \
               FROM (SELECT w.plan_id, min(CASE WHEN {is_stuck} THEN w.since END) AS since, \
                         CASE max(CASE WHEN {is_stuck} THEN 1 ELSE 0 END) WHEN 1 THEN '{stalled}' \
                             ELSE '{active}' END AS state \
                     FROM w GROUP BY w.plan_id) g) p \
         WHERE p.place <= {PLANS_MAX} ORDER BY state DESC, since"
    )
}

/// The issues that escalations blocked: the first of them after a place.
fn blocked(db: &mut Db, owner: &Owner, after: &ListPlace, rows: i64) -> QueryResult<Vec<WorkRow>> {
    let mut values = BoundValues::default();
    let (is_owned, is_later) = (values.is_owned(db, owner), values.is_later(db, after));
    let query = format!(
        "SELECT subject_id, tenant, identifier, title, agent_id, agent_name, '{}' AS state, NULL AS reason, \
             reason AS detail, since, since AS dated_at, NULL AS plan_id, CAST(attempt AS bigint) AS attempts, \
             last_attempt_at, CAST(0 AS bigint) AS total \
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
             '{}' AS state, NULL AS reason, NULL AS detail, NULL AS since, NULL AS dated_at, NULL AS plan_id, \
             NULL AS attempts, \
             NULL AS last_attempt_at, c.total \
         FROM (SELECT tenant, agent_id, count(*) AS total FROM escalated_issues WHERE {is_owned} GROUP BY 1, 2) c \
         LEFT JOIN agent_names a ON a.agent_id = c.agent_id",
        BoardState::Escalated.name(),
    );
    values.load(db, query)
}

/// The state of each of these steps of a plan that is in progress, and why, by the step's id. Of all steps the views
/// find the states, and the words of these alone: on SQLite the view `step_work_state` would read those of all.
pub fn states_of_steps(db: &mut Db, plan: &Id, steps: &[Id]) -> QueryResult<HashMap<Id, (String, Option<String>)>> {
    if steps.is_empty() {
        return Ok(HashMap::new());
    }
    let (begin, end) = db.dialect().around_text();
    let mut values = BoundValues::default();
    let is_of_plan = values.is_owned(db, &Owner { plan: Some(plan.clone()), ..Owner::default() });
    let ids: Vec<String> = steps.iter().map(|Id(id)| format!("{begin}${}{end}", values.add_text(id))).collect();
    let query = format!(
        "WITH w AS MATERIALIZED (SELECT subject_id, reason, state FROM step_states WHERE {is_of_plan}) \
         SELECT subject_id, NULL AS tenant, NULL AS identifier, NULL AS title, NULL AS agent_id, NULL AS agent_name, \
             state, reason, NULL AS detail, NULL AS since, NULL AS dated_at, NULL AS plan_id, NULL AS attempts, \
             NULL AS last_attempt_at, CAST(0 AS bigint) AS total \
         FROM w WHERE subject_id IN ({})",
        ids.join(", ")
    );
    let rows: Vec<WorkRow> = values.load(db, query)?;
    let mut shown = details(db, Kind::Step, &rows)?;
    let state = |row: WorkRow| {
        let (id, state) = (row.subject.subject_id.unwrap_or_default(), row.state.ok_or_else(lost_row)?);
        let detail = shown.remove(&id).and_then(|shown| shown.detail).map(String::from);
        Ok((id, (state.0, detail)))
    };
    rows.into_iter().map(state).collect()
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
    #[diesel(sql_type = Nullable<sql::Moment>)]
    idle_since: Option<RawInstant>,
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
    let query = format!(
        "WITH w (subject_id, reason) AS (VALUES {shown}) \
         SELECT d.subject_id, d.identifier, d.title, d.agent_name, d.detail, d.idle_since \
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
        if owner.is_nobody {
            condition += " AND agent_id IS NULL";
        }
        if let Some(Id(plan)) = &owner.plan {
            condition += &format!(" AND plan_id = {begin}${}{end}", self.add_text(plan));
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
