//! Which subjects failed, for the quarantine: one that fails in sweep after sweep costs nothing any more.
//!
//! When most of what was examined failed, it is not the subjects' fault, and none is counted.

use anyhow::{Error, Result};
use chrono::{DateTime, Utc};
use diesel::result::DatabaseErrorKind::UniqueViolation;
use diesel::result::Error::DatabaseError;
use tracing::warn;

use super::examine::Terms;
use super::logs;
use crate::report::{Examined, Outcome};
use crate::rules::{Guard, Id, Kind};
use crate::store::quarantine::{self, Failing};
use crate::store::{Abort, Access, Db, Subject};

/// More are not kept: memory does not grow with what goes wrong.
const KEPT_MAX: usize = 1000;

/// What failed before this sweep, and in it.
pub struct Failures {
    before: Failing,
    now: Vec<(Id, String)>,
    healed: Vec<Id>,
    failed: u64,
    examined: u64,
}

impl Failures {
    pub fn load<S: Subject>(db: &mut Db, terms: &Terms) -> Result<Failures> {
        let before = db.in_transaction(Access::ReadOnly, &terms.timeouts, |db| quarantine::failing(db, S::KIND));
        let before = before.map_err(Error::from)?;
        Ok(Failures { before, now: Vec::new(), healed: Vec::new(), failed: 0, examined: 0 })
    }

    pub fn in_quarantine(&self) -> u64 {
        self.before.quarantined
    }

    pub fn note(&mut self, examined: &Examined) {
        self.examined += 1;
        if examined.outcome.is_failure() {
            self.failed += 1;
            if self.now.len() < KEPT_MAX {
                self.now.push((examined.id.clone(), examined.reason.clone()));
            }
        } else if tells(examined.outcome) && self.before.examined.contains(&examined.id) {
            self.healed.push(examined.id.clone());
        }
    }

    /// That it cannot be recorded is told, and no reason for the sweep to fail.
    pub fn record(self, db: &mut Db, kind: Kind, terms: &Terms, sweep_began_at: DateTime<Utc>) {
        if Guard::default().stops(self.failed, self.examined) {
            warn!(
                "{} of {} {} failed: that is not their own fault, no failure is counted",
                self.failed,
                self.examined,
                kind.plural()
            );
            return;
        }
        for (id, why) in &self.now {
            let recorded = db.in_transaction(Access::Write, &terms.timeouts, |db| {
                quarantine::record(db, kind, id, why, sweep_began_at)
            });
            match recorded {
                Ok(false) => {}
                Ok(true) => logs::quarantine(kind, id, why),
                // An overlapping sweep counted the same first failure at the same moment.
                Err(Abort::RolledBack(DatabaseError(UniqueViolation, _))) => {}
                Err(abort) => {
                    warn!(%kind, %id, "the failure of {kind} {id} could not be counted: {:#}", Error::from(abort))
                }
            }
        }
        for id in &self.healed {
            let forgotten = db.in_transaction(Access::Write, &terms.timeouts, |db| quarantine::forget(db, kind, id));
            if let Err(abort) = forgotten {
                warn!(%kind, %id, "that {kind} {id} works again could not be recorded: {:#}", Error::from(abort));
            }
        }
    }
}

/// Does it tell that the subject works again? Not when nobody tried.
fn tells(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Continued
        | Outcome::Escalated
        | Outcome::Recovered
        | Outcome::Waiting
        | Outcome::Skipped
        | Outcome::Healthy => true,
        Outcome::Changed
        | Outcome::Deferred
        | Outcome::Busy
        | Outcome::Unknown
        | Outcome::Quarantined
        | Outcome::Failed => false,
    }
}
