//! What the boards' views know of the work in progress, in one pass for each kind: how much is in which state, the next
//! page of what waits for a person, and the oldest of what the next sweep will act upon.

use std::cmp::Ordering;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};

use super::owner::Owner;
use super::request::{PageRequest, Source};
use super::work::Work;
use crate::rules::board::BoardState;
use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::after::After;
use crate::store::status::lost_row;
use crate::store::types::{LossyText, RawInstant, around_text, sql};

/// So many of the stranded subjects of each kind are decided upon, the oldest.
const STRANDED_MAX: i64 = 20;

/// What was read of all kinds.
#[derive(Debug, Default)]
pub struct Boards {
    pub work: Work,
    /// Escalated or abandoned, in progress or blocked by the escalation: this page and one more, of each source.
    pub waiting: Vec<BoardRow>,
    /// In progress, and a sweep will act upon it.
    pub stranded: Vec<BoardRow>,
}

/// One row of a board.
#[derive(Clone, Debug)]
pub struct BoardRow {
    pub source: Source,
    pub kind: Kind,
    /// As the views have it.
    pub state: BoardState,
    pub row: WorkRow,
}

#[derive(Clone, Debug, QueryableByName)]
pub struct WorkRow {
    /// Null: it counts subjects.
    #[diesel(sql_type = Nullable<sql::Id>)]
    subject_id: Option<Id>,
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
    state: Option<LossyText>,
    #[diesel(sql_type = Nullable<Text>)]
    pub detail: Option<LossyText>,
    #[diesel(sql_type = Nullable<sql::Instant>)]
    pub since: Option<RawInstant>,
    /// Continuations before its latest escalation, and when the last of them was made.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub attempts: Option<i64>,
    #[diesel(sql_type = Nullable<sql::Instant>)]
    pub last_attempt_at: Option<RawInstant>,
    /// How many there are; 0: it is one.
    #[diesel(sql_type = BigInt)]
    total: i64,
}

impl BoardRow {
    pub fn id(&self) -> Id {
        self.row.subject_id.clone().unwrap_or_else(|| Id(String::new()))
    }
}

pub fn read(db: &mut Db, kinds: &[Kind], owner: &Owner, page: &PageRequest) -> QueryResult<Boards> {
    let mut boards = Boards::default();
    for &kind in kinds {
        for row in rows(db, kind, owner, page)? {
            boards.add(Source::of(kind), kind, row)?;
        }
    }
    if kinds.contains(&Kind::Issue) {
        for row in blocked(db, owner, page)?.into_iter().chain(count_blocked(db, owner)?) {
            boards.add(Source::Blocked, Kind::Issue, row)?;
        }
    }
    boards.stranded.sort_by(|one, other| one.row.since.partial_cmp(&other.row.since).unwrap_or(Ordering::Equal));
    boards.stranded.truncate(STRANDED_MAX as usize);
    Ok(boards)
}

impl Boards {
    fn add(&mut self, source: Source, kind: Kind, row: WorkRow) -> QueryResult<()> {
        let state = row.state.as_ref().ok_or_else(lost_row)?;
        let Some(state) = BoardState::parse(&state.0) else { return Ok(()) };
        match (&row.subject_id, state) {
            (None, _) => self.work.add(kind, state, &row.tenant, row.agent_id, row.agent_name, row.total),
            (Some(_), BoardState::Escalated | BoardState::Abandoned) => {
                self.waiting.push(BoardRow { source, kind, state, row });
            }
            (Some(_), _) => self.stranded.push(BoardRow { source, kind, state, row }),
        }
        Ok(())
    }
}

/// The DSL has no query over a query. What an escalation blocked is read apart.
fn rows(db: &mut Db, kind: Kind, owner: &Owner, page: &PageRequest) -> QueryResult<Vec<WorkRow>> {
    let (is_owned, values) = owner.conditions(db);
    let in_progress = if kind == Kind::Issue { "in_progress" } else { "true" };
    let after = page.after(Source::of(kind));
    let is_later = is_later(db, &after, values.len());
    let own = format!("r.kind = '{kind}' AND r.subject_id = w.subject_id");
    let list = |states: &[BoardState], is_later: &str, rows: i64| {
        let states = states.iter().map(|state| format!("'{}'", state.name())).collect::<Vec<_>>().join(", ");
        format!(
            "SELECT subject_id, tenant, identifier, title, agent_id, agent_name, state, detail, since, \
             (SELECT CAST(r.attempt AS bigint) FROM recoveries r WHERE {own} AND r.action = 'escalate' \
              ORDER BY r.created_at DESC LIMIT 1) AS attempts, \
             (SELECT max(r.created_at) FROM recoveries r WHERE {own} AND r.action = 'continue') AS last_attempt_at, \
             0 AS total \
         FROM (SELECT * FROM w WHERE state IN ({states}) AND {is_later} ORDER BY since, subject_id LIMIT {rows}) w"
        )
    };
    let query = format!(
        "WITH w AS MATERIALIZED ( \
             SELECT subject_id, tenant, identifier, title, agent_id, agent_name, state, detail, since \
             FROM {kind}_work_state WHERE {in_progress} AND {is_owned} \
         ) \
         {} UNION ALL {} UNION ALL \
         SELECT NULL, tenant, NULL, NULL, agent_id, agent_name, state, NULL, NULL, NULL, NULL, count(*) \
         FROM w GROUP BY tenant, agent_id, agent_name, state",
        list(BoardState::WAITING_FOR_PEOPLE, &is_later, page.rows()),
        list(BoardState::STRANDED, "true", STRANDED_MAX),
    );
    load(db, query, values, after)
}

/// The issues that escalations blocked: this page and one more.
fn blocked(db: &mut Db, owner: &Owner, page: &PageRequest) -> QueryResult<Vec<WorkRow>> {
    let (is_owned, values) = owner.conditions(db);
    let after = page.after(Source::Blocked);
    let (is_later, rows) = (is_later(db, &after, values.len()), page.rows());
    let query = format!(
        "SELECT subject_id, tenant, identifier, title, agent_id, agent_name, '{}' AS state, reason AS detail, since, \
             CAST(attempt AS bigint) AS attempts, last_attempt_at, CAST(0 AS bigint) AS total \
         FROM escalated_issues WHERE {is_owned} AND {is_later} ORDER BY since, subject_id LIMIT {rows}",
        BoardState::Escalated.name(),
    );
    load(db, query, values, after)
}

/// What comes after a place, in SQL, behind so many values.
fn is_later(db: &Db, after: &After, values: usize) -> String {
    let ((begin, end), at, id) = (around_text(db), values + 1, values + 2);
    match after {
        After::Nothing => "true".to_owned(),
        After::From(_) => format!("since >= ${at}"),
        After::Since(_) => format!("since > ${at}"),
        After::Row(..) => format!("(since, subject_id) > (${at}, {begin}${id}{end})"),
    }
}

/// The rows of a query that binds these texts, and then a place.
fn load(db: &mut Db, query: String, values: Vec<&str>, after: After) -> QueryResult<Vec<WorkRow>> {
    let mut query = diesel::sql_query(query).into_boxed();
    for value in values {
        query = query.bind::<Text, _>(value);
    }
    match after {
        After::Nothing => query.load(db),
        After::From(at) | After::Since(at) => query.bind::<sql::Instant, _>(at).load(db),
        After::Row(at, id) => query.bind::<sql::Instant, _>(at).bind::<Text, _>(id.0).load(db),
    }
}

/// Names are joined last: there may be very many issues, and there are few agents.
fn count_blocked(db: &mut Db, owner: &Owner) -> QueryResult<Vec<WorkRow>> {
    let (is_owned, values) = owner.conditions(db);
    let query = format!(
        "SELECT NULL AS subject_id, c.tenant, NULL AS identifier, NULL AS title, c.agent_id, a.agent_name, \
             '{}' AS state, NULL AS detail, NULL AS since, NULL AS attempts, NULL AS last_attempt_at, c.total \
         FROM (SELECT tenant, agent_id, count(*) AS total FROM escalated_issues WHERE {is_owned} GROUP BY 1, 2) c \
         LEFT JOIN agent_names a ON a.agent_id = c.agent_id",
        BoardState::Escalated.name(),
    );
    load(db, query, values, After::Nothing)
}
