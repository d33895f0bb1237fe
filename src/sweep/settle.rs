//! A commit whose answer was lost: the ledger knows whether it was made.

use std::thread::sleep;
use std::time::Duration;

use super::context::ExamineContext;
use super::limits::Reservation;
use super::outcome::{Examined, Outcome};
use crate::rules::Id;
use crate::store::work::ledger;
use crate::store::{Access, DbConnection, Lock, Subject};

/// A server takes a moment to notice that a client is gone, and until then keeps what it locked.
const SETTLING_TRIES: u32 = 20;
const SETTLING_PAUSE: Duration = Duration::from_millis(50);

/// Settles an unknown commit on a new connection. While the subject is locked its transaction may still be under way;
/// once it is not, the ledger knows.
pub fn settle<S: Subject>(
    db: &mut DbConnection,
    unknown: Examined,
    entry_id: &Id,
    intended: Outcome,
    wake: Option<Reservation>,
    context: &ExamineContext,
) -> Examined {
    let ask = |db: &mut DbConnection| {
        db.in_transaction(Access::Write, &context.timeouts, |db| {
            if ledger::contains(db, entry_id)? {
                return Ok(Some(true));
            }
            match S::take(db, &unknown.id)? {
                (Lock::Nothing, Some(_)) => Ok(None),
                (Lock::Everything | Lock::Rows { .. }, _) | (Lock::Nothing, None) => {
                    ledger::contains(db, entry_id).map(Some)
                }
            }
        })
    };
    let mut known = ask(db);
    for _ in 0..SETTLING_TRIES {
        if !matches!(known, Ok(None)) {
            break;
        }
        sleep(SETTLING_PAUSE);
        known = ask(db);
    }
    // What may have been queued counts.
    if !matches!(known, Ok(Some(false))) {
        wake.into_iter().for_each(Reservation::keep);
    }
    // Another connection's commit is seen before it is on disk.
    match known {
        Ok(Some(true)) if db.flush(&context.timeouts).is_err() => unknown,
        Ok(Some(true)) => {
            Examined { outcome: intended, reason: "its commit was confirmed by the ledger".to_owned(), ..unknown }
        }
        Ok(Some(false)) => {
            Examined { outcome: Outcome::Failed, reason: format!("not committed: {}", unknown.reason), ..unknown }
        }
        Ok(None) | Err(_) => unknown,
    }
}
