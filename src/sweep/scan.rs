//! The scan: the candidates of one kind, oldest first, page by page, or the subjects that the operator named; and the
//! facts of many of them, read together while those before them are examined.

use std::collections::{HashMap, HashSet, VecDeque};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SendError, SyncSender, sync_channel};
use std::thread;

use anyhow::{Context, Error, Result};
use diesel::QueryResult;
use tracing::{debug, warn};

use super::{Deferred, ExamineContext, Prospect, look_at};
use crate::conclusion::config;
use crate::rules::{Id, Kind};
use crate::store::db::types::RawInstant;
use crate::store::work::candidates::{Candidate, Part};
use crate::store::{Db, DbConnection, Subject, read_together};
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
    /// The place of the last candidate of the page; none at the beginning.
    position: Option<Candidate>,
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

    /// A scan of these subjects, whether they are candidates or not.
    pub fn named(db: &'a mut DbConnection, context: &'a ExamineContext, subjects: &[(Kind, Id)]) -> Scan<'a, S> {
        let since = RawInstant::Beginning;
        let of_kind = subjects.iter().filter(|(kind, _)| *kind == S::KIND).map(|(_, id)| id);
        let page = of_kind.map(|id| Candidate { id: id.clone(), group: id.clone(), since: since.clone() }).collect();
        Scan { page, ended: true, ..Scan::new(db, context) }
    }

    /// A scan from the beginning, with another context.
    pub fn again<'b>(&'b mut self, context: &'b ExamineContext) -> Scan<'b, S> {
        Scan::new(self.db, context)
    }

    /// Asks on the scan's connection, in one snapshot for all that is asked so, until `end_questions`.
    pub fn question<T>(&mut self, doing: &str, body: impl FnMut(&mut Db) -> QueryResult<T>) -> Result<T> {
        self.db.ask(&self.context.timeouts, body).with_context(|| format!("{doing} {}", S::KIND.plural()))
    }

    pub fn end_questions(&mut self) {
        self.db.end();
    }

    /// Asks one question, and ends the snapshot.
    fn query<T>(&mut self, doing: &str, body: impl FnMut(&mut Db) -> QueryResult<T>) -> Result<T> {
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
        let (context, mut rest) = (self.context, Deferred::default());
        let add = |rest: &mut Deferred, candidate: &Candidate| {
            if is_own(candidate, context) {
                rest.add(Deferred::one(candidate));
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

    /// The next candidates whose facts are read together; none: that was all.
    fn next_batch(&mut self) -> Result<Batch<S>> {
        while self.page.is_empty() && !self.ended {
            self.fetch()?;
        }
        let candidates: VecDeque<Candidate> = self.page.drain(..self.page.len().min(S::LOOK)).collect();
        let own = candidates.iter().filter(|candidate| is_own(candidate, self.context));
        let ids: Vec<Id> = own.map(|candidate| candidate.id.clone()).collect();
        let facts = if ids.is_empty() { HashMap::new() } else { self.read(&ids) };
        Ok(Batch { candidates, facts })
    }

    /// Reads the facts of all of these. What the database refuses to say of all of them, it may say of each.
    fn read(&mut self, ids: &[Id]) -> HashMap<Id, S> {
        let ExamineContext { policy, timeouts, .. } = self.context;
        read_together(self.db, ids, policy, &mut self.known, timeouts).unwrap_or_else(|error| {
            debug!("{} {} are looked at one by one: {}", ids.len(), S::KIND.plural(), redact(&error.to_string()));
            HashMap::new()
        })
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
            self.position = self.page.back().cloned();
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
    fn ask<T>(&mut self, doing: &str, mut body: impl FnMut(&mut Db, &Part) -> QueryResult<T>) -> Result<T> {
        let (position, part) = (self.position.clone(), self.context.part);
        self.query(doing, |db| body(db, &Part { after: position.as_ref(), ..part }))
    }
}

/// True if the candidate is of this sweep's shard.
fn is_own(candidate: &Candidate, context: &ExamineContext) -> bool {
    context.shard.is_none_or(|shard| shard.has(&candidate.group))
}

/// Candidates whose facts were read together, the oldest first.
struct Batch<S> {
    candidates: VecDeque<Candidate>,
    /// The facts of those that could be read with the others.
    facts: HashMap<Id, S>,
}

impl<S> Batch<S> {
    fn empty() -> Batch<S> {
        Batch { candidates: VecDeque::new(), facts: HashMap::new() }
    }
}

/// The candidates of a scan that looks ahead in a thread of its own. After an error there are no more.
pub struct Ahead<'a, 'c, S> {
    context: &'a ExamineContext<'c>,
    in_hand: Batch<S>,
    batches: Receiver<Result<Batch<S>>>,
}

impl<'c, S: Subject> Iterator for Ahead<'_, 'c, S> {
    type Item = Result<Prospect<'c>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.in_hand.candidates.is_empty() {
            match self.batches.recv().ok()? {
                Ok(batch) => self.in_hand = batch,
                Err(error) => return Some(Err(error)),
            }
        }
        let candidate = self.in_hand.candidates.pop_front()?;
        if !is_own(&candidate, self.context) {
            return Some(Ok(Prospect::PassedOver));
        }
        let facts = self.in_hand.facts.remove(&candidate.id);
        Some(Ok(look_at(candidate, facts, self.context)))
    }
}

/// Gives the candidates to `take`; what it leaves is put back.
pub fn look_ahead<'c, S: Subject, T>(
    scan: &mut Scan<S>,
    context: &ExamineContext<'c>,
    take: impl FnOnce(&mut Ahead<'_, 'c, S>) -> T,
) -> T {
    thread::scope(|scope| {
        // Nothing is buffered: those of one batch are in hand, and the next ones are looked at meanwhile.
        let (sender, batches) = sync_channel(0);
        let looking = scope.spawn(move || {
            let unsent = look_on(scan, &sender);
            (scan, unsent)
        });
        let mut ahead = Ahead { context, in_hand: Batch::empty(), batches };
        let value = take(&mut ahead);
        let Ahead { in_hand, batches, .. } = ahead;
        drop(batches);
        let (scan, mut unsent) = looking.join().unwrap_or_else(|panic| resume_unwind(panic));
        let mut left = in_hand.candidates;
        left.append(&mut unsent.candidates);
        left.append(&mut scan.page);
        scan.page = left;
        value
    })
}

/// Looks on until there are no more candidates, or nobody takes them: returns what is left then.
fn look_on<S: Subject>(scan: &mut Scan<S>, sender: &SyncSender<Result<Batch<S>>>) -> Batch<S> {
    loop {
        let batch = scan.next_batch();
        let is_last = batch.as_ref().map_or(true, |batch| batch.candidates.is_empty());
        scan.ended |= batch.is_err();
        match sender.send(batch) {
            Ok(()) if is_last => return Batch::empty(),
            Ok(()) => {}
            Err(SendError(Ok(unsent))) => return unsent,
            // Nobody was notified: what is left is asked anew.
            Err(SendError(Err(_))) => {
                scan.ended = false;
                return Batch::empty();
            }
        }
    }
}
