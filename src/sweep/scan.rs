//! The scan: the candidates of one kind, oldest first, page by page.

use std::collections::VecDeque;
use std::marker::PhantomData;

use anyhow::{Context, Error, Result};

use super::examine::Terms;
use crate::store::{Access, Candidate, Db, Position, Subject};

/// Large enough that the query's cost is spread over many subjects, small enough to be forgotten.
const PAGE: i64 = 1000;

/// Candidates of one kind. Each page is a short transaction of its own, so that the scan never holds back a vacuum.
pub struct Scan<'a, S> {
    db: &'a mut Db,
    terms: &'a Terms,
    position: Position,
    page: VecDeque<Candidate>,
    ended: bool,
    kind: PhantomData<S>,
}

impl<'a, S: Subject> Scan<'a, S> {
    pub fn new(db: &'a mut Db, terms: &'a Terms) -> Scan<'a, S> {
        Scan { db, terms, position: Position::beginning(), page: VecDeque::new(), ended: false, kind: PhantomData }
    }

    fn fetch(&mut self) -> Result<()> {
        let page = self
            .db
            .in_transaction(Access::ReadOnly, &self.terms.timeouts, |db| S::candidates(db, &self.position, PAGE));
        self.page = page.map_err(Error::from).with_context(|| format!("scanning {}", S::KIND.plural()))?.into();
        self.ended = (self.page.len() as i64) < PAGE;
        self.position = self.page.back().map_or_else(Position::beginning, Position::from);
        Ok(())
    }
}

impl<S: Subject> Iterator for Scan<'_, S> {
    type Item = Result<Candidate>;

    fn next(&mut self) -> Option<Result<Candidate>> {
        if self.page.is_empty()
            && !self.ended
            && let Err(error) = self.fetch()
        {
            self.ended = true;
            return Some(Err(error));
        }
        self.page.pop_front().map(Ok)
    }
}
