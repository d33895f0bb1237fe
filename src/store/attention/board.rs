//! What the boards' views know of the work in progress, in one pass for each kind: how much is in which state, the next
//! page of what waits for a person, and the oldest of what the next sweep will act upon.

use std::cmp::Ordering;

use diesel::dsl::sql as words;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text};

use super::request::{PageRequest, Scope, Source};
use super::work::Work;
use crate::rules::board::BoardState;
use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::after::{After, after};
use crate::store::schema::escalated_issues;
use crate::store::status::lost_row;
use crate::store::types::{FROM_TEXT, LossyText, RawInstant, sql};

/// So many of the stranded subjects of each kind are decided upon, the oldest.
const STRANDED_MAX: i64 = 20;

/// What was read of all kinds.
#[derive(Debug, Default)]
pub struct Boards {
    pub work: Work,
    /// In progress, escalated or abandoned: this page and one more, for each kind.
    pub waiting: Vec<BoardRow>,
    /// In progress, and a sweep will act upon it.
    pub stranded: Vec<BoardRow>,
    /// Blocked by an escalation: this page and one more.
    pub blocked: Vec<BlockedRow>,
}

/// One row of a board; `state` as the views have it.
#[derive(Clone, Debug)]
pub struct BoardRow {
    pub kind: Kind,
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

/// An issue that an escalation blocked.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = escalated_issues)]
pub struct BlockedRow {
    pub subject_id: Id,
    pub tenant: LossyText,
    pub identifier: Option<LossyText>,
    pub title: LossyText,
    pub agent_id: Option<Id>,
    pub agent_name: Option<LossyText>,
    pub reason: LossyText,
    pub attempt: i32,
    pub since: RawInstant,
    pub last_attempt_at: Option<RawInstant>,
}

pub fn read(db: &mut Db, kinds: &[Kind], scope: &Scope, page: &PageRequest) -> QueryResult<Boards> {
    let mut boards = Boards::default();
    for &kind in kinds {
        for row in rows(db, kind, scope, page)? {
            let state = row.state.as_ref().ok_or_else(lost_row)?;
            let Some(state) = BoardState::parse(&state.0) else { continue };
            match (&row.subject_id, state) {
                (None, _) => boards.work.add(kind, state, &row.tenant, row.agent_id, row.agent_name, row.total),
                (Some(_), BoardState::Escalated | BoardState::Abandoned) => {
                    boards.waiting.push(BoardRow { kind, state, row });
                }
                (Some(_), _) => boards.stranded.push(BoardRow { kind, state, row }),
            }
        }
    }
    if kinds.contains(&Kind::Issue) {
        boards.blocked = blocked(db, scope, page)?;
        for Counted { tenant, agent_id, agent_name, total } in count_blocked(db, scope)? {
            boards.work.add(Kind::Issue, BoardState::Escalated, &tenant, agent_id, agent_name, total);
        }
    }
    boards.stranded.sort_by(|one, other| one.row.since.partial_cmp(&other.row.since).unwrap_or(Ordering::Equal));
    boards.stranded.truncate(STRANDED_MAX as usize);
    Ok(boards)
}

/// The DSL has no query over a query.
fn rows(db: &mut Db, kind: Kind, scope: &Scope, page: &PageRequest) -> QueryResult<Vec<WorkRow>> {
    let (begin, end) = match db {
        Db::Postgres(_) => FROM_TEXT,
        Db::Sqlite(_) => ("", ""),
    };
    let (of_scope, values) = scope.conditions("w", 1);
    // What is blocked is read apart.
    let in_progress = if kind == Kind::Issue { "w.in_progress" } else { "true" };
    let place = |n: usize| format!("${}", values.len() + n);
    let after = page.after(Source::of(kind));
    let is_later = match &after {
        After::Nothing => "true".to_owned(),
        After::From(_) => format!("since >= {}", place(1)),
        After::Since(_) => format!("since > {}", place(1)),
        After::Row(..) => format!("(since, subject_id) > ({}, {begin}{}{end})", place(1), place(2)),
    };
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
             FROM {kind}_work_state w WHERE {in_progress} AND {of_scope} \
         ) \
         {} UNION ALL {} UNION ALL \
         SELECT NULL, tenant, NULL, NULL, agent_id, agent_name, state, NULL, NULL, NULL, NULL, count(*) \
         FROM w GROUP BY tenant, agent_id, agent_name, state",
        list(BoardState::WAITING_FOR_PEOPLE, &is_later, page.rows()),
        list(BoardState::STRANDED, "true", STRANDED_MAX),
    );
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

/// Is the agent of a row this one, by its id or its name?
macro_rules! is_called {
    ($view:ident, $agent:expr) => {
        words::<Nullable<Bool>>("cast(agent_id as text) = ").bind::<Text, _>($agent).or($view::agent_name.eq($agent))
    };
}

/// Restricts a query of the issues that escalations blocked to a scope.
macro_rules! blocked {
    ($query:expr, $scope:expr) => {{
        let query = $query.into_boxed();
        let query = match &$scope.tenant {
            None => query,
            Some(wanted) => query.filter(escalated_issues::tenant.eq(wanted)),
        };
        match &$scope.agent {
            None => query,
            Some(wanted) => query.filter(is_called!(escalated_issues, wanted)),
        }
    }};
}

fn blocked(db: &mut Db, scope: &Scope, page: &PageRequest) -> QueryResult<Vec<BlockedRow>> {
    use escalated_issues::{since, subject_id};
    let blocked = blocked!(escalated_issues::table.select(BlockedRow::as_select()), scope);
    let later = after!(blocked, page.after(Source::Blocked), since, subject_id);
    later.order((since, subject_id)).limit(page.rows()).load(db)
}

#[derive(QueryableByName)]
struct Counted {
    #[diesel(sql_type = Text)]
    tenant: LossyText,
    #[diesel(sql_type = Nullable<sql::Id>)]
    agent_id: Option<Id>,
    #[diesel(sql_type = Nullable<Text>)]
    agent_name: Option<LossyText>,
    #[diesel(sql_type = BigInt)]
    total: i64,
}

/// Names are joined last: there may be very many issues, and there are few agents.
fn count_blocked(db: &mut Db, scope: &Scope) -> QueryResult<Vec<Counted>> {
    let (conditions, values) = scope.conditions("e", 1);
    let mut query = diesel::sql_query(format!(
        "SELECT c.tenant, c.agent_id, a.agent_name, c.total FROM ( \
             SELECT e.tenant, e.agent_id, count(*) AS total FROM escalated_issues e WHERE {conditions} \
             GROUP BY e.tenant, e.agent_id \
         ) c LEFT JOIN agent_names a ON a.agent_id = c.agent_id"
    ))
    .into_boxed();
    for value in values {
        query = query.bind::<Text, _>(value);
    }
    query.load(db)
}
