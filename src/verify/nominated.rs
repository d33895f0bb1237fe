//! A view of candidates may name too many subjects, never too few: what the rules would touch or report, and which of
//! it the view does not name.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Error, Result};
use diesel::QueryResult;

use crate::rules::{Decision, Id, Policy, Reason, decide};
use crate::store::db::errors;
use crate::store::work::candidates::{Candidate, Part};
use crate::store::{Abort, Access, Db, DbConnection, Subject, Timeouts, read_alone, read_together};
use crate::sweep::Outcome;

/// What the rules say of some subjects.
#[derive(Debug, Default)]
pub struct Judged {
    /// What they would touch or report, and what would become of it.
    pub touched: BTreeMap<Id, String>,
    /// Facts that cannot be read, and why.
    pub unreadable: BTreeMap<Id, String>,
}

impl Judged {
    /// Reads the facts of many together, as a sweep does when it looks; only what could not be read so, one by one.
    pub fn of<S: Subject>(db: &mut DbConnection, all: &[Id]) -> Result<Judged> {
        let (mut judged, mut known, policy) = (Judged::default(), S::Known::default(), Policy::default());
        for ids in all.chunks(S::LOOK) {
            let together = read_together::<S>(db, ids, &policy, &mut known, &Timeouts::default());
            let mut together = together.unwrap_or_default();
            for id in ids {
                match together.remove(id) {
                    Some(facts) => judged.add(id, Ok(Some(facts)))?,
                    None => judged.add::<S>(id, read_in_transaction(db, id)?)?,
                }
            }
        }
        Ok(judged)
    }

    /// Adds what the rules say of a subject. Fails only with what may pass.
    fn add<S: Subject>(&mut self, id: &Id, facts: QueryResult<Option<S>>) -> Result<()> {
        let unreadable = match facts {
            Ok(Some(facts)) => {
                let decision = decide(&facts, &Policy::default()).decision;
                if is_news(&decision) {
                    self.touched.insert(id.clone(), format!("would be {}: {decision}", Outcome::of(&decision)));
                }
                return Ok(());
            }
            Err(error) if errors::may_pass(&error.to_string()) => {
                return Err(
                    Error::from(error).context(format!("select from {}_facts where subject_id = {id}", S::KIND))
                );
            }
            Ok(None) => format!("{}_facts has no row", S::KIND),
            Err(error) => errors::of_row(S::KIND, &error),
        };
        self.unreadable.insert(id.clone(), unreadable);
        Ok(())
    }

    /// What the view of candidates should name and does not.
    pub fn overlooked(&self, candidates: &[Candidate]) -> BTreeMap<&Id, &str> {
        let named: BTreeSet<&Id> = candidates.iter().map(|candidate| &candidate.id).collect();
        let touched = self.touched.iter().filter(|(id, _)| !named.contains(id));
        touched.map(|(id, would_be)| (id, would_be.as_str())).collect()
    }
}

/// Reads the facts of one subject, in a transaction of its own: an error costs no other subject.
fn read_in_transaction<S: Subject>(db: &mut DbConnection, id: &Id) -> Result<QueryResult<Option<S>>> {
    match db.read_repeatedly(&Timeouts::default(), |db| read_alone(db, id, &Policy::default())) {
        Ok(facts) => Ok(Ok(facts)),
        Err(Abort::RolledBack(error)) => Ok(Err(error)),
        Err(abort) => Err(abort.into()),
    }
}

/// Reads all that the view of candidates names.
pub fn candidates<S: Subject>(db: &mut DbConnection) -> Result<Vec<Candidate>> {
    let all = |db: &mut Db| S::candidates(db, &Part::whole(), i64::MAX);
    let candidates = db.in_transaction(Access::ReadOnly, &Timeouts::default(), all).map_err(Error::from);
    candidates.with_context(|| format!("select from {}_candidates", S::KIND))
}

fn is_news(decision: &Decision) -> bool {
    match decision {
        Decision::Continue { .. }
        | Decision::Escalate(_)
        | Decision::Recovered(_)
        | Decision::HandedOver(_)
        | Decision::Skip(_)
        | Decision::Abandon(_)
        | Decision::Wait { .. } => true,
        Decision::Leave(reason) => matches!(reason, Reason::StuckWake(_)),
    }
}
