//! Which subjects failed, for the quarantine: one that fails in sweep after sweep costs nothing any more.
//!
//! When more than a few failed, and most of what was tried, it is not their own fault but a full disk's, or a host's
//! that was upgraded: then none is counted, else all stranded work would soon be in quarantine and the sweeps would
//! call it a success.

use std::collections::HashSet;

use anyhow::{Error, Result};
use chrono::{DateTime, Utc};
use diesel::result::DatabaseErrorKind::UniqueViolation;
use diesel::result::Error::DatabaseError;
use tracing::warn;

use super::logs;
use super::{ExamineContext, Examined, Fault, Outcome};
use crate::rules::{Id, Kind};
use crate::store::work::outbox::{self, Details, Event, Notice};
use crate::store::work::quarantine;
use crate::store::{Abort, Access, DbConnection, Subject};
use crate::text::redact;

/// More are not kept: memory does not grow with what goes wrong.
const KEPT_MAX: usize = 1000;

/// Subjects that may fail at once by their own fault, whatever the others do.
const FEW_MAX: u64 = 3;

/// What failed before this sweep, and in it.
#[derive(Default)]
pub struct Failures {
    before: HashSet<Id>,
    /// Subjects of the kind that are not examined any more.
    pub in_quarantine: u64,
    unreadable: FailureRate,
    unwritten: FailureRate,
    healed: Vec<Id>,
}

/// What was tried with the subjects of a kind, and with which it failed.
#[derive(Default)]
struct FailureRate {
    tried: u64,
    failed: u64,
    /// Those that failed, as far as they could be read.
    subjects: Vec<Examined>,
}

impl FailureRate {
    fn note(&mut self, examined: &Examined, failed: bool) {
        self.tried += 1;
        self.failed += u64::from(failed);
        if failed && self.subjects.len() < KEPT_MAX {
            self.subjects.push(examined.clone());
        }
    }

    /// The failures that are the subjects' own fault.
    fn own(self, kind: Kind) -> Vec<Examined> {
        let FailureRate { tried, failed, subjects } = self;
        if FEW_MAX < failed && tried < 2 * failed {
            warn!("{failed} of {tried} {} failed: that is not their own fault, no failure is counted", kind.plural());
            return Vec::new();
        }
        subjects
    }
}

impl Failures {
    pub fn load<S: Subject>(db: &mut DbConnection, context: &ExamineContext) -> Result<Failures> {
        let loaded = db.in_transaction(Access::ReadOnly, &context.timeouts, |db| -> diesel::QueryResult<_> {
            Ok((quarantine::failing(db, S::KIND)?, S::count_in_quarantine(db, context.part.tenant)? as u64))
        });
        let (before, in_quarantine) = loaded.map_err(Error::from)?;
        Ok(Failures { before, in_quarantine, ..Failures::default() })
    }

    /// A database that was full, or went away, says nothing of the subject, and neither does a right that is missing.
    pub fn note(&mut self, examined: &Examined) {
        if examined.fault != Fault::Own {
            return;
        }
        self.unreadable.note(examined, examined.outcome == Outcome::Unreadable);
        if examined.outcome == Outcome::Failed || examined.outcome.is_change() {
            self.unwritten.note(examined, examined.outcome == Outcome::Failed);
        }
        if shows_that_it_works(examined.outcome) && self.before.contains(&examined.id) {
            self.healed.push(examined.id.clone());
        }
    }

    /// That it cannot be recorded is logged, and no reason for the sweep to fail.
    pub fn record(self, db: &mut DbConnection, kind: Kind, context: &ExamineContext, sweep_began_at: DateTime<Utc>) {
        let failed = [self.unreadable, self.unwritten].into_iter().flat_map(|trial| trial.own(kind));
        for Examined { id, identifier, tenant, url, reason, .. } in failed {
            // The table is read by people.
            let why = redact(&reason);
            let details = Details { identifier, tenant, url, reason: why.clone(), ..Details::default() };
            let (event, sweep_id) = (Event::Quarantined, context.sweep_id);
            let notice = Notice { event, kind: kind.name(), subject_id: Some(&id), sweep_id, details };
            let recorded = db.in_transaction(Access::Write, &context.timeouts, |db| {
                let is_held = quarantine::record(db, kind, &id, &why, sweep_began_at)?;
                if is_held {
                    outbox::queue(db, context.subscriptions, &notice)?;
                }
                Ok(is_held)
            });
            match recorded {
                Ok(false) => {}
                Ok(true) => logs::quarantine(kind, &id, notice.details.identifier.as_deref().unwrap_or(&id.0), &why),
                // An overlapping sweep counted the same first failure at the same moment.
                Err(Abort::RolledBack(DatabaseError(UniqueViolation, _))) => {}
                Err(abort) => logs::uncounted(kind, &id, "failed", abort),
            }
        }
        for id in &self.healed {
            let forgotten = db.in_transaction(Access::Write, &context.timeouts, |db| quarantine::forget(db, kind, id));
            if let Err(abort) = forgotten {
                logs::uncounted(kind, id, "works again", abort);
            }
        }
    }
}

/// Does this outcome show that the subject works again? Not when nobody tried.
fn shows_that_it_works(outcome: Outcome) -> bool {
    outcome.is_change() || matches!(outcome, Outcome::Waiting | Outcome::Skipped | Outcome::Healthy)
}
