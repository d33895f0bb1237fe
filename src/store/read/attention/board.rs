//! The work in progress as boards show it: how much is in which state, the next page of what waits for a person, and
//! the oldest of what the next sweep will act upon.

use std::cmp::Ordering;

use diesel::prelude::*;

use super::request::{PageRequest, Source};
use super::work::Work;
use crate::rules::board::BoardState;
use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::db::after::After;
use crate::store::read::board_rows::{List, Owner, WorkRow, blocked, count_blocked, in_progress};
use crate::store::read::status::lost_row;

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

impl BoardRow {
    pub fn id(&self) -> Id {
        self.row.subject_id.clone().unwrap_or_else(|| Id(String::new()))
    }
}

pub fn read(db: &mut Db, kinds: &[Kind], owner: &Owner, page: &PageRequest) -> QueryResult<Boards> {
    let mut boards = Boards::default();
    for &kind in kinds {
        let source = Source::of(kind);
        let waiting = List { states: BoardState::WAITING_FOR_PEOPLE, after: page.after(source), rows: page.rows() };
        let stranded = List { states: BoardState::STRANDED, after: After::Nothing, rows: STRANDED_MAX };
        for row in in_progress(db, kind, owner, &[waiting, stranded])? {
            boards.add(source, kind, row)?;
        }
    }
    if kinds.contains(&Kind::Issue) {
        let listed = blocked(db, owner, &page.after(Source::Blocked), page.rows())?;
        for row in listed.into_iter().chain(count_blocked(db, owner)?) {
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
