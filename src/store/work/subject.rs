//! What the store does with a subject, whatever its kind: how it is taken, read and written.

use std::collections::HashMap;

use diesel::deserialize;
use diesel::prelude::*;

use crate::rules::request::{Request, Requested};
use crate::rules::{Cause, Id, Kind, Policy, Unavailable};
use crate::store::db::columns::{Columns, FromColumns, read_many, read_one, take_one};
use crate::store::db::written::Writes;
use crate::store::hosts::links::{LinkTarget, Links};
use crate::store::work::candidates::Nominated;
use crate::store::{Abort, Db, DbConnection, Label, Timeouts};

/// One kind of subject, as the store knows it: what is done with a subject. What is asked of all of them is
/// `Nominated`.
pub trait Subject: Requested + Nominated + FromColumns + Send {
    /// What a scan has learned beside the facts of its subjects.
    type Known: Default + Send;
    /// Where all of them are, by their `id`.
    const RELATION: &'static str;

    /// How many are looked at together: enough to spread the cost of a statement, few enough that their facts take a
    /// few megabytes, and a few dozen where all of their texts are as long as they may be.
    const LOOK: usize;

    /// Locks the subject and all that a recovery of it refers to, as far as nobody else holds it; then reads the facts,
    /// in a snapshot taken after the locks.
    fn take(db: &mut Db, id: &Id) -> QueryResult<(Lock, Option<Self>)> {
        // SQLite's BEGIN IMMEDIATE holds the whole database already.
        if let Db::Sqlite(_) = db {
            return Ok((Lock::Everything, Self::read(db, id)?));
        }
        let taken = take_one(db, Self::KIND, id)?;
        Ok(taken.map_or((Lock::Nothing, None), |(lock, facts)| (lock, Some(facts))))
    }

    /// The facts alone.
    fn read(db: &mut Db, id: &Id) -> QueryResult<Option<Self>> {
        read_one(db, Self::KIND, id)
    }

    /// The facts of many, in any order; of a row that cannot be decoded, none.
    fn read_all(db: &mut Db, ids: &[Id]) -> QueryResult<Vec<Self>> {
        read_many(db, Self::KIND, ids)
    }

    /// Learns, before anything is decided, what the recovery of a subject depends on beside its own facts. Without this
    /// no subject recovers that depends on more. What `known` holds is not asked again.
    fn complete(_db: &mut Db, _all: &mut [Self], _policy: &Policy, _known: &mut Self::Known) -> QueryResult<()> {
        Ok(())
    }

    /// The first two that people call so.
    fn called(db: &mut Db, identifier: &str) -> QueryResult<Vec<Label>> {
        Self::labels_called(db, identifier)
    }

    fn id(&self) -> &Id;
    fn naming(&self) -> Naming<'_>;
    /// The issue that a recovery refers to besides the subject itself.
    fn linked_issue(&self) -> Option<&Id>;

    /// Subjects with the same lock the same rows, and would find one another busy.
    fn lock_group(&self) -> &Id {
        self.linked_issue().unwrap_or(self.id())
    }

    /// Queues one wake or command with this id. `nudge`: what is typed into a session that is nudged.
    fn resume<'a>(&'a self, writes: &mut Writes<'a>, wake_id: &'a Id, nudge: Option<&'a str>) -> QueryResult<()>;

    /// Notifies a person. Returns whether the subject is blocked then.
    fn escalate<'a>(&'a self, writes: &mut Writes<'a>, cause: &Cause, policy: &Policy, links: &Links) -> bool;

    /// Says on its issue that its agent is gone or terminated. A session says nothing there: its issue has an agent of
    /// its own.
    fn report_loss<'a>(&'a self, writes: &mut Writes<'a>, why: &Unavailable);

    /// Writes into the subject's own row what a person asked for, as far as that stands there. Fails with `NotFound`
    /// when the row is no longer as it was seen.
    fn write(&self, db: &mut Db, request: Request) -> QueryResult<()>;

    /// Its page on the host's own board.
    fn page<'a>(&'a self, id: &'a Id) -> LinkTarget<'a> {
        let Naming { identifier, tenant, .. } = self.naming();
        LinkTarget { kind: Self::KIND, id, identifier, tenant: Some(tenant), agent: self.assignee().id() }
    }

    /// Takes back what an earlier sweep did to the subject's surroundings, now that it healed.
    fn recover<'a>(&'a self, writes: &mut Writes<'a>);
}

/// What a subject is called, and whose it is.
pub struct Naming<'a> {
    /// What the reports call it.
    pub identifier: Option<&'a str>,
    pub title: &'a str,
    pub tenant: &'a str,
}

/// What a transaction holds of one subject.
#[derive(Clone, Debug, PartialEq)]
pub enum Lock {
    /// The whole database, as SQLite does.
    Everything,
    /// The subject, and these of the rows that it refers to.
    Rows { agent: Option<Id>, issue: Option<Id> },
    /// Somebody else has the subject, or it is gone.
    Nothing,
}

impl Lock {
    /// Is everything held that a recovery with these facts refers to? An agent that does not exist cannot be. More may
    /// be: a row names what its facts do not know of, such as another tenant's issue.
    pub fn covers(&self, facts: &impl Subject) -> bool {
        match self {
            Lock::Everything => true,
            Lock::Rows { issue, .. } => self.covers_agent(facts) && holds(issue.as_ref(), facts.linked_issue()),
            Lock::Nothing => false,
        }
    }

    /// Is the agent held? He is not asked about where the subject itself is not.
    pub fn covers_agent(&self, facts: &impl Subject) -> bool {
        match self {
            Lock::Everything | Lock::Nothing => true,
            Lock::Rows { agent, .. } => holds(agent.as_ref(), facts.assignee().existing_id()),
        }
    }
}

fn holds(held: Option<&Id>, needed: Option<&Id>) -> bool {
    needed.is_none() || held == needed
}

/// What a row says of the lock, where its subject was taken; then the facts.
impl<F: FromColumns> FromColumns for (Lock, F) {
    fn from_columns(columns: &mut impl Columns) -> deserialize::Result<(Lock, F)> {
        let held = columns.get("held")?;
        let (agent, issue) = (columns.get("held_agent_id")?, columns.get("held_issue_id")?);
        let lock = if held { Lock::Rows { agent, issue } } else { Lock::Nothing };
        Ok((lock, F::from_columns(columns)?))
    }
}

/// The complete facts of one subject.
pub fn read_alone<S: Subject>(db: &mut Db, id: &Id, policy: &Policy) -> QueryResult<Option<S>> {
    let facts = S::read(db, id)?;
    complete(db, facts, policy)
}

/// The subject locked as by `Subject::take`, and its complete facts.
pub fn take_alone<S: Subject>(db: &mut Db, id: &Id, policy: &Policy) -> QueryResult<(Lock, Option<S>)> {
    let (lock, facts) = S::take(db, id)?;
    Ok((lock, complete(db, facts, policy)?))
}

fn complete<S: Subject>(db: &mut Db, mut facts: Option<S>, policy: &Policy) -> QueryResult<Option<S>> {
    S::complete(db, facts.as_mut_slice(), policy, &mut S::Known::default())?;
    Ok(facts)
}

/// The complete facts of many subjects, read in a transaction of its own. A row that cannot be decoded is missing; an
/// error of the database costs all of them: what it refuses to say of many, it may say of each.
pub fn read_together<S: Subject>(
    db: &mut DbConnection,
    ids: &[Id],
    policy: &Policy,
    known: &mut S::Known,
    timeouts: &Timeouts,
) -> QueryResult<HashMap<Id, S>> {
    let read = db.read_repeatedly(timeouts, ids.len(), |db| {
        let mut facts = S::read_all(db, ids)?;
        S::complete(db, &mut facts, policy, known).map(|()| facts)
    });
    let facts = read.map_err(Abort::error)?;
    Ok(facts.into_iter().map(|facts| (facts.id().clone(), facts)).collect())
}

/// One line for each kind: what is generic over subjects, done for the kind at hand.
macro_rules! for_kind {
    ($kind:expr, $subject:ident => $body:expr) => {
        match $kind {
            $crate::rules::Kind::Session => $crate::store::for_kind!(@ $subject = session::SessionFacts, $body),
            $crate::rules::Kind::Issue => $crate::store::for_kind!(@ $subject = issue::IssueFacts, $body),
            $crate::rules::Kind::Step => $crate::store::for_kind!(@ $subject = step::StepFacts, $body),
        }
    };
    (@ $subject:ident = $kind:ident::$facts:ident, $body:expr) => {{
        type $subject = $crate::rules::$kind::$facts;
        $body
    }};
}
pub(crate) use for_kind;

/// Is there any subject of one of these kinds, in whatever state? Of this tenant, or at all.
pub fn has_any(db: &mut Db, kinds: &[Kind], tenant: Option<&str>) -> QueryResult<bool> {
    kinds.iter().try_fold(false, |found, &kind| Ok(found || for_kind!(kind, S => S::has_any(db, tenant))?))
}
