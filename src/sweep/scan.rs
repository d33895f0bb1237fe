//! The scan: the candidates of one kind, oldest first, page by page, and what a look shows of them; or the subjects
//! that the operator named.

pub mod ahead;

use std::collections::{HashSet, VecDeque};

use anyhow::{Context, Error, Result};
use diesel::QueryResult;
use tracing::warn;

use super::context::ExamineContext;
use super::examine::look::{Sight, look};
use super::tally::Deferred;
use crate::conclusion::config;
use crate::rules::{Id, Kind};
use crate::store::db::types::RawInstant;
use crate::store::work::candidates::{Candidate, Part, Position};
use crate::store::{Db, DbConnection, Subject};
use crate::text::redact;

/// Candidates of a page. A page's query looks through all that are left, so its cost is spread over many of them; they
/// take some 200 bytes each.
const PAGE: i64 = 50_000;

/// Candidates of one kind, of all shards. Each page is a short transaction of its own, so that the scan never holds
/// back a vacuum. The first page has the tenants take turns, so that each is looked at however many are older; what
/// comes after that is read by its age alone.
pub struct Scan<'a, S: Subject> {
    db: &'a mut DbConnection,
    context: &'a ExamineContext<'a>,
    /// Of the last of the page; none at the beginning.
    position: Option<Position>,
    /// The subjects of the first page that later pages have not met yet.
    taken: HashSet<Id>,
    has_begun: bool,
    page: VecDeque<Candidate>,
    ended: bool,
    known: S::Known,
}

impl<'a, S: Subject> Scan<'a, S> {
    pub fn new(db: &'a mut DbConnection, context: &'a ExamineContext) -> Scan<'a, S> {
        Scan {
            db,
            context,
            position: None,
            taken: HashSet::new(),
            has_begun: false,
            page: VecDeque::new(),
            ended: false,
            known: S::Known::default(),
        }
    }

    /// These, whether they are candidates or not.
    pub fn named(db: &'a mut DbConnection, context: &'a ExamineContext, subjects: &[(Kind, Id)]) -> Scan<'a, S> {
        let since = RawInstant::Beginning;
        let of_kind = subjects.iter().filter(|(kind, _)| *kind == S::KIND).map(|(_, id)| id);
        let page = of_kind.map(|id| Candidate { id: id.clone(), group: id.clone(), since: since.clone() }).collect();
        Scan { page, ended: true, ..Scan::new(db, context) }
    }

    /// The same from the beginning, on other context.
    pub fn again<'b>(&'b mut self, context: &'b ExamineContext) -> Scan<'b, S> {
        Scan::new(self.db, context)
    }

    /// Asks on the scan's connection, in one snapshot for all that is asked so, until `end_questions`.
    pub fn question<T>(&mut self, doing: &str, body: impl FnOnce(&mut Db) -> QueryResult<T>) -> Result<T> {
        self.db.ask(&self.context.timeouts, body).with_context(|| format!("{doing} {}", S::KIND.plural()))
    }

    pub fn end_questions(&mut self) {
        self.db.end();
    }

    /// Asks one question, and ends the snapshot.
    fn query<T>(&mut self, doing: &str, body: impl FnOnce(&mut Db) -> QueryResult<T>) -> Result<T> {
        let answer = self.question(doing, body);
        self.end_questions();
        answer
    }

    /// How many there are, or `None` when there are more than a page.
    pub fn count_if_few(&mut self) -> Result<Option<u64>> {
        if self.page.is_empty() && !self.ended {
            self.fetch()?;
        }
        Ok(self.ended.then_some(self.page.len() as u64))
    }

    /// Is anything left that was not looked at, as far as is known?
    pub fn has_more(&self) -> bool {
        !self.ended || !self.page.is_empty()
    }

    /// What has not been taken. A count that cannot be had is logged, and no reason for a sweep to fail.
    pub fn rest(&mut self) -> Deferred {
        let (shard, mut rest) = (self.context.shard, Deferred::default());
        let add = |rest: &mut Deferred, candidate: &Candidate| {
            if shard.is_none_or(|shard| shard.has(&candidate.group)) {
                rest.add(Deferred { count: 1, oldest: candidate.since.instant() });
            }
        };
        self.page.iter().for_each(|candidate| add(&mut rest, candidate));
        if !self.ended {
            let mut unseen = Deferred::default();
            let taken = std::mem::take(&mut self.taken);
            let counted = self.ask("counting", |db, part| {
                S::each_candidate(db, part, |candidate| {
                    if !taken.contains(&candidate.id) {
                        add(&mut unseen, &candidate);
                    }
                })
            });
            self.taken = taken;
            if let Err(error) = counted {
                warn!("more is left than is counted: {}", redact(&format!("{error:#}")));
                unseen.oldest = None;
            }
            rest.add(unseen);
        }
        rest
    }

    /// The next candidates that are looked at together; none: that was all.
    fn next_sight(&mut self) -> Result<Sight<S>> {
        while self.page.is_empty() && !self.ended {
            self.fetch()?;
        }
        let next = self.page.drain(..self.page.len().min(S::LOOK)).collect();
        Ok(look(self.db, next, &mut self.known, self.context))
    }

    /// What was not taken.
    fn put_back(&mut self, mut candidates: VecDeque<Candidate>) {
        candidates.append(&mut self.page);
        self.page = candidates;
    }

    fn fetch(&mut self) -> Result<()> {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let candidates = if is_first { S::candidates_in_turns } else { S::candidates };
        let page = self.ask("scanning", |db, part| candidates(db, part, PAGE));
        self.page = page.map_err(|error| self.name_null(error))?.into();
        self.ended = (self.page.len() as i64) < PAGE;
        if is_first && !self.ended {
            // What is left is older and younger than these, unless they are of one tenant.
            self.taken = self.page.iter().map(|candidate| candidate.id.clone()).collect();
        } else {
            self.position = self.page.back().map(Position::from);
            self.page.retain(|candidate| !self.taken.remove(&candidate.id));
        }
        // Few are looked at in one statement, which is not worth preparing.
        self.db.repeats(S::LOOK < self.page.len());
        Ok(())
    }

    /// A null where the host's view must have a value is an error of the whole page: this names the subject.
    fn name_null(&mut self, error: Error) -> Error {
        match self.query("scanning", S::candidate_without_group) {
            Ok(Some(id)) => {
                let (kind, id) = (S::KIND, redact(&id.0));
                error.context(config(format!(
                    "the column group_id of the view {kind}_candidates is null for {kind} {id}, and must not be"
                )))
            }
            Ok(None) | Err(_) => error,
        }
    }

    /// Asks about what comes after the page at hand.
    fn ask<T>(&mut self, doing: &str, body: impl FnOnce(&mut Db, &Part) -> QueryResult<T>) -> Result<T> {
        let part = Part { after: self.position.clone(), ..self.context.part() };
        self.query(doing, |db| body(db, &part))
    }
}
