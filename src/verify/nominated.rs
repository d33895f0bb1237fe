//! A view of candidates may name too many subjects, never too few: what the rules would touch or report of these
//! subjects, and which of it the view does not name.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Error, Result};

use crate::rules::{Decision, Id, Policy, Reason, decide};
use crate::store::candidates::{Candidate, Part};
use crate::store::errors::of_row;
use crate::store::{Access, Db, DbConnection, Finish, Subject, Timeouts};
use crate::sweep::Outcome;

/// What was found of some subjects.
#[derive(Debug, Default)]
pub struct Nominated {
    /// What the rules would touch or report, and what would become of it.
    pub touched: BTreeMap<Id, String>,
    /// Facts that cannot be read, and why.
    pub unreadable: BTreeMap<Id, String>,
    pub candidates: Vec<Candidate>,
}

impl Nominated {
    /// Reads the facts of each subject, one by one as a sweep does, and then who is nominated.
    pub fn of<S: Subject>(db: &mut DbConnection, all: &[Id]) -> Result<Nominated> {
        let mut found = Nominated::default();
        let policy = Policy::default();
        let mut read = |db: &mut Db| {
            for id in all {
                match S::read(db, id) {
                    Ok(Some(facts)) => {
                        let verdict = decide(&facts, &policy);
                        if is_news(&verdict.decision) {
                            let would_be = Outcome::of(&verdict.decision);
                            found.touched.insert(id.clone(), format!("would be {would_be}: {}", verdict.decision));
                        }
                    }
                    Ok(None) => drop(found.unreadable.insert(id.clone(), format!("{}_facts has no row", S::KIND))),
                    Err(error) => drop(found.unreadable.insert(id.clone(), of_row(S::KIND, &error))),
                }
            }
            (Finish::RollBack, ())
        };
        db.in_repeated_transaction(Access::ReadOnly, &Timeouts::default(), &mut read).map_err(Error::from)?;
        let candidates = |db: &mut Db| S::candidates(db, &Part::whole(), i64::MAX);
        found.candidates =
            db.in_transaction(Access::ReadOnly, &Timeouts::default(), candidates).map_err(Error::from)?;
        Ok(found)
    }

    /// What the view of candidates should name and does not.
    pub fn overlooked(&self) -> BTreeMap<&Id, &str> {
        let named: BTreeSet<&Id> = self.candidates.iter().map(|candidate| &candidate.id).collect();
        let touched = self.touched.iter().filter(|(id, _)| !named.contains(id));
        touched.map(|(id, verdict)| (id, verdict.as_str())).collect()
    }

    /// What it names more than once.
    pub fn named_twice(&self) -> BTreeSet<&Id> {
        let mut seen = BTreeSet::new();
        self.candidates.iter().map(|candidate| &candidate.id).filter(|id| !seen.insert(*id)).collect()
    }
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
