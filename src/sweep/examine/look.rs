//! The look: the facts of many candidates in one statement, decided without a lock. What is to be left is reported from
//! it; only what is to be written is taken up, one by one.

use std::collections::{HashMap, VecDeque};

use tracing::debug;

use super::attempt::{Attempt, Step};
use super::conclude::left;
use super::{judge, woken};
use crate::rules::Id;
use crate::store::work::candidates::Candidate;
use crate::store::{Access, DbConnection, Lock, Subject, read_together};
use crate::sweep::context::ExamineContext;
use crate::sweep::describe::describe;
use crate::sweep::outcome::Examined;
use crate::text::redact;

/// A candidate, and what a look has shown of it.
pub struct Looked {
    pub candidate: Candidate,
    pub seen: Seen,
}

pub enum Seen {
    /// There is nothing to write.
    Decided(Box<Examined>),
    /// There is something to write.
    Wanted(Box<Wanted>),
    /// It could not be read with the others: whoever looks at it alone finds out why.
    Nothing,
    /// Another shard's, which was not looked at.
    OfAnotherShard,
}

/// What a subject is to be taken up with.
pub struct Wanted {
    pub lock_group: Id,
    /// Whom its continuation wakes.
    pub agent: Option<Id>,
    decided: Examined,
}

impl Wanted {
    /// It is left to the next sweep, since its agent was woken often enough.
    pub fn deferred(self, context: &ExamineContext) -> Examined {
        left(Step::Deferred, self.decided, context)
    }
}

/// Candidates whose facts were read together, the oldest first.
pub struct Sight<S> {
    candidates: VecDeque<Candidate>,
    facts: HashMap<Id, S>,
}

/// Reads the facts of all of these, in one transaction.
pub fn look<S: Subject>(
    db: &mut DbConnection,
    candidates: VecDeque<Candidate>,
    known: &mut S::Known,
    context: &ExamineContext,
) -> Sight<S> {
    let own = candidates.iter().filter(|candidate| is_own(candidate, context));
    let ids: Vec<Id> = own.map(|candidate| candidate.id.clone()).collect();
    let facts = read(db, &ids, known, context);
    Sight { candidates, facts }
}

impl<S: Subject> Sight<S> {
    pub fn none() -> Sight<S> {
        Sight { candidates: VecDeque::new(), facts: HashMap::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.candidates.is_empty()
    }

    /// Decides about the next one.
    pub fn next(&mut self, context: &ExamineContext) -> Option<Looked> {
        let candidate = self.candidates.pop_front()?;
        let seen = match self.facts.remove(&candidate.id) {
            _ if !is_own(&candidate, context) => Seen::OfAnotherShard,
            Some(facts) => see(facts, context),
            None => Seen::Nothing,
        };
        Some(Looked { candidate, seen })
    }

    /// Those that nobody has taken.
    pub fn into_candidates(self) -> VecDeque<Candidate> {
        self.candidates
    }
}

fn is_own(candidate: &Candidate, context: &ExamineContext) -> bool {
    context.shard.is_none_or(|shard| shard.has(&candidate.group))
}

/// Whatever the database refuses to say of all of them, it may say of each.
fn read<S: Subject>(
    db: &mut DbConnection,
    ids: &[Id],
    known: &mut S::Known,
    context: &ExamineContext,
) -> HashMap<Id, S> {
    if ids.is_empty() {
        return HashMap::new();
    }
    read_together(db, ids, context.policy, known, &context.timeouts).unwrap_or_else(|error| {
        debug!("{} {} are looked at one by one: {}", ids.len(), S::KIND.plural(), redact(&error.to_string()));
        HashMap::new()
    })
}

fn see<S: Subject>(facts: S, context: &ExamineContext) -> Seen {
    let Attempt { seen, step, .. } = judge(&Lock::Everything, facts, context, Access::ReadOnly, None);
    let Some((facts, verdict)) = seen else { return Seen::Nothing };
    let decided = describe(facts.id(), Some((&facts, &verdict)), context);
    if step != Step::Wanted {
        return Seen::Decided(Box::new(left(step, decided, context)));
    }
    let (lock_group, agent) = (facts.lock_group().clone(), woken(&facts, &verdict.decision).cloned());
    Seen::Wanted(Box::new(Wanted { lock_group, agent, decided }))
}
