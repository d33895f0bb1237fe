//! Work in progress as a list, healthy or not: of one kind or of all, in some states, of an owner or of a plan, or by a
//! part of its name; and of a session what its screen shows.
//!
//! A name stands in no index. So a search looks at a bounded number of rows of each kind, the oldest first, and says
//! from where on it can go on.

use std::collections::{BTreeMap, HashMap};

use anyhow::Result;
use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::deserialize;
use schemars::JsonSchema;
use serde::Serialize;

use crate::rules::board::BoardState;
use crate::rules::{Id, Kind};
use crate::store::connect::databases::Found;
use crate::store::db::columns::{Columns, FromColumns, read_many};
use crate::store::db::types::RawInstant;
use crate::store::hosts::links::HostUrl;
use crate::store::hosts::rights::Purpose;
use crate::store::read::SCHEMA;
use crate::store::read::board::{BoardRow, BoardRows};
use crate::store::read::counts::counts_of_states;
use crate::store::read::items::{Placed, one_page, sort};
use crate::store::read::request::{Cursor, Inquiry, Owner, PageRequest, Scope, inquire};
use crate::store::read::subject::{Age, SubjectRef};
use crate::store::work::find;
use crate::store::{Db, Label, Timeouts};
use crate::text::redact;

/// Which work is listed; by default all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkFilter {
    pub kind: Option<Kind>,
    /// Empty: in any state.
    pub states: Vec<BoardState>,
    /// An agent without a name is nobody.
    pub scope: Scope,
    /// Only the steps of the plan with this id or title.
    pub plan: Option<String>,
    /// What people call it, or its title, has this in it.
    pub name: Option<String>,
}

/// How many rows of each kind a search looks at.
pub const SEARCHED_MAX: i64 = 500;

/// Work in progress, the longest in its state first. On PostgreSQL what is seen at once to be at work is not dated
/// before it is shown: of a list of several pages it comes last.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WorkList {
    /// The version of this format. It grows only when something that is promised changes.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: u32,
    /// The host of the tables: `native`, `paperclip`, or the name of another one.
    pub host: String,
    /// With `--tenant`: only this tenant's work. Null: all.
    pub tenant: Option<String>,
    /// What people call the agent whose work alone is listed.
    #[serde(skip)]
    pub agent_name: Option<String>,
    /// The title of the plan whose steps alone are listed.
    #[serde(skip)]
    pub plan_title: Option<String>,
    /// When it was read, by the database's clock.
    pub observed_at: DateTime<Utc>,
    /// Whether the database has this kind; if not, nothing is listed.
    pub provided: bool,
    #[serde(flatten)]
    pub page: ListPage,
}

/// One page of a list.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ListPage {
    /// How many there are in which state, listed or not.
    #[schemars(schema_with = "counts_of_states")]
    pub states: BTreeMap<BoardState, i64>,
    /// The oldest 500.
    pub rows: Vec<ListedWork>,
    /// How many there are.
    pub rows_total: i64,
    /// Where the next page begins; none: there is none.
    #[serde(skip)]
    pub next_page: Option<Cursor>,
}

/// A subject in progress.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ListedWork {
    #[serde(flatten)]
    pub subject: SubjectRef,
    /// Its state, as boards show it.
    pub state: BoardState,
    /// Why it is in this state, in words: for people; null: not known.
    pub detail: Option<String>,
    #[serde(flatten)]
    pub age: Age,
    /// The plan of a step; of other kinds it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub plan_id: Option<Id>,
    #[serde(flatten)]
    pub screen: Option<SessionScreen>,
}

/// What the screen of a session shows. Of other kinds these fields are not there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SessionScreen {
    #[serde(skip)]
    pub session: Id,
    /// Where its process runs; null: nobody wrote it.
    pub directory: Option<String>,
    /// The last line of its output; null: there is none.
    pub last_line: Option<String>,
    /// The words with which its agent asks a person now; null: it asks nothing.
    pub question: Option<String>,
}

impl WorkList {
    /// Connects to a database and reads a page of this list. Refuses a tenant, an agent or a plan that is unknown.
    pub fn read_from(
        database: &Found,
        filter: &WorkFilter,
        page: &PageRequest,
        host_url: Option<&HostUrl>,
        timeouts: &Timeouts,
    ) -> Result<WorkList> {
        let (filter, page) = (filter.clone(), page.clone());
        let (host_url, its_timeouts) = (host_url.cloned(), *timeouts);
        database.url.ask(timeouts, move |url| {
            let mut store = url.open_to(Purpose::Show)?;
            let host = store.host.name().to_owned();
            let Scope { tenant, agent } = filter.scope.clone();
            let is_nobody = agent.as_deref() == Some("");
            let scope = Scope { tenant, agent: agent.filter(|_| !is_nobody) };
            let read = inquire(&mut store, (&scope, &page), host_url.as_ref(), &its_timeouts, |db, inquiry| {
                let kinds: Vec<Kind> = inquiry.kinds.iter().copied().filter(|&kind| filter.is_of(kind)).collect();
                let plan = match &filter.plan {
                    Some(plan) if !kinds.is_empty() => Some(find::plan(db, plan)?.one("plan", plan)?),
                    _ => None,
                };
                let (plan, plan_title) = plan.map(|Label { id, identifier, .. }| (id, identifier)).unzip();
                let owner = &Owner { is_nobody, plan, ..inquiry.owner.clone() };
                let inquiry = Inquiry { kinds: &kinds, owner, ..*inquiry };
                Ok(WorkList {
                    schema: SCHEMA,
                    host,
                    tenant: scope.tenant.clone(),
                    agent_name: owner.agent_name.clone(),
                    plan_title: plan_title.flatten(),
                    observed_at: inquiry.now,
                    provided: !kinds.is_empty(),
                    page: ListPage::read(db, &inquiry, &filter)?,
                })
            });
            read.map_err(|error| url.explain(error))
        })
    }
}

impl ListPage {
    /// Reads what of the work that is inquired after is in the states of the filter, and is called as it says.
    pub fn read(db: &mut Db, inquiry: &Inquiry, filter: &WorkFilter) -> QueryResult<ListPage> {
        let states = if filter.states.is_empty() { BoardState::ALL } else { &filter.states };
        let rows_max = if filter.name.is_some() { SEARCHED_MAX } else { 0 }.max(inquiry.page.rows());
        let BoardRows { work, rows, .. } = BoardRows::read(db, inquiry, states, rows_max)?;
        let mut placed: Vec<Placed<BoardRow>> = rows.into_iter().map(placed).collect();
        sort(&mut placed);
        let end = end_of_known(&placed, rows_max);
        placed.truncate(end.map_or(placed.len(), |end| end + 1));
        let last = end.and_then(|_| placed.last()).map(|last| last.cursor.clone());
        placed.retain(|row| filter.is_called(&row.item.subject));
        let (rows, next_page) = one_page(placed, inquiry.page.limit);
        let sessions = rows.iter().filter(|row| row.kind == Kind::Session).map(|row| row.id.clone());
        let screens: Vec<SessionScreen> = read_many(db, Kind::Session, &sessions.collect::<Vec<_>>())?;
        let mut screens: HashMap<Id, _> = screens.into_iter().map(|screen| (screen.session.clone(), screen)).collect();
        let is_all = inquiry.page.after.is_none() && next_page.is_none() && last.is_none();
        let listed = rows.into_iter().map(|row| ListedWork {
            screen: screens.remove(&row.id).filter(|_| row.kind == Kind::Session),
            age: Age::at(row.dated_at.as_ref(), inquiry.now),
            subject: row.subject,
            state: row.state,
            detail: row.detail,
            plan_id: row.plan_id,
        });
        let mut rows: Vec<ListedWork> = listed.collect();
        if is_all {
            rows.sort_by_key(|row| (row.age.since.is_none(), row.age.since));
        }
        Ok(ListPage {
            rows,
            rows_total: work.count(states),
            next_page: next_page.or(last),
            states: BoardState::ALL
                .iter()
                .map(|&state| (state, work.count(&[state])))
                .filter(|(_, n)| 0 < *n)
                .collect(),
        })
    }
}

fn placed(row: BoardRow) -> Placed<BoardRow> {
    let since = row.since.clone().unwrap_or(RawInstant::Beginning);
    Placed { cursor: Cursor { since, source: row.source, key: row.id.clone() }, item: row }
}

/// Each source was read up to a last row of its own: behind the earliest of these, others may have rows that were not
/// read. None: all rows were.
fn end_of_known(placed: &[Placed<BoardRow>], rows_max: i64) -> Option<usize> {
    let mut read = HashMap::new();
    placed.iter().position(|row| {
        let of_source = read.entry(<&str>::from(row.cursor.source)).or_insert(0);
        *of_source += 1;
        *of_source == rows_max
    })
}

impl WorkFilter {
    fn is_of(&self, kind: Kind) -> bool {
        self.kind.is_none_or(|its| its == kind) && (self.plan.is_none() || kind == Kind::Step)
    }

    /// What may not be shown cannot be found either: a search would say what it is.
    fn is_called(&self, subject: &SubjectRef) -> bool {
        self.name.as_deref().is_none_or(|name| {
            has_in_it(subject.identifier.as_deref(), name) || has_in_it(subject.title.as_deref(), name)
        })
    }
}

/// Whether a text, as it is shown, has another in it, in capitals or not.
pub fn has_in_it(text: Option<&str>, part: &str) -> bool {
    text.is_some_and(|text| redact(text).to_lowercase().contains(&redact(part).to_lowercase()))
}

impl FromColumns for SessionScreen {
    fn from_columns(columns: &mut impl Columns) -> deserialize::Result<SessionScreen> {
        let (state, question): (Option<String>, Option<String>) =
            (columns.get("agent_state")?, columns.get("agent_question")?);
        let output: String = columns.get("recent_output")?;
        let said = |text: String| Some(text).filter(|text| !text.trim().is_empty());
        Ok(SessionScreen {
            session: columns.get("subject_id")?,
            directory: columns.get::<Option<String>>("directory")?.and_then(said),
            last_line: last_line(&output),
            question: question.filter(|_| state.as_deref() == Some("waiting")).and_then(said),
        })
    }
}

/// The last line with anything on it, as it may be shown: a credential may have begun on a line before.
fn last_line(output: &str) -> Option<String> {
    let line = redact(output.lines().rev().find(|line| !line.trim().is_empty())?);
    let is_whole = redact(output).ends_with(&line);
    Some(if is_whole { line } else { "***".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::{has_in_it, last_line};

    #[test]
    fn the_last_line_is_shown_without_what_began_before_it() {
        assert_eq!(last_line("one\n  two  \n\n \n").as_deref(), Some("two"));
        assert_eq!(last_line(" \n"), None);
        assert_eq!(last_line("x\npassword=hunter2").as_deref(), Some("password=***"));
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq\nQ0JhS3Rv";
        assert_eq!(last_line(key).as_deref(), Some("***"));
    }

    #[test]
    fn a_name_is_found_by_a_part_of_it_and_a_credential_by_none() {
        for (part, is_found) in [("ACM", true), ("acm-1", true), ("ü", true), ("x", false), ("hunter", false)] {
            assert_eq!(has_in_it(Some("acm-12 Ü password=hunter2"), part), is_found, "{part}");
        }
        assert!(!has_in_it(None, ""));
    }
}
