//! What a host's relations tell of the wakes of one subject: those that the ledger says sweep queued for it.

use diesel::QueryResult;

use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::connect::snapshot::texts;
use crate::store::hosts::catalog::is_readable;

/// The wakes of which a relation has no row, by their ids. A host without the relation has none to lack.
pub fn unknown_wakes(db: &mut Db, relation: &str, kind: Kind, id: &Id) -> QueryResult<Vec<String>> {
    let of_ledger = of_ledger(kind, id);
    let query = format!("{of_ledger} AND CAST(r.wake_id AS text) NOT IN (SELECT CAST(id AS text) FROM {relation})");
    if is_readable(db, relation)? { texts(db, &query) } else { Ok(Vec::new()) }
}

/// The statuses of those that nobody has taken up, as the host's wakes tell; a host whose facts are its own tells none.
pub fn statuses_of_waiting(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<Vec<String>> {
    let of_ledger = of_ledger(kind, id);
    texts(db, &format!("SELECT status FROM wakes WHERE status IN ('queued', 'deferred') AND id IN ({of_ledger})"))
}

/// The wakes that the host counts among those that were not taken up.
pub fn untaken(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<Vec<String>> {
    let of_ledger = of_ledger(kind, id);
    let query = format!(
        "SELECT id FROM untaken_wakes WHERE CAST(id AS text) IN (SELECT CAST(wake_id AS text) FROM ({of_ledger}) w)"
    );
    if is_readable(db, "untaken_wakes")? { texts(db, &query) } else { Ok(Vec::new()) }
}

/// Do people see that a wake of this subject was not taken up? A host without that relation shows none.
pub fn is_stuck_in_sight(db: &mut Db, id: &Id) -> QueryResult<bool> {
    let query = format!("SELECT subject_id FROM untaken_wakes WHERE subject_id = '{id}'");
    Ok(!is_readable(db, "untaken_wakes")? || !texts(db, &query)?.is_empty())
}

/// Was a wake of this subject in vain, as the host tells?
pub fn has_false_rescue(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<bool> {
    let query = format!("SELECT recovery_id FROM false_rescues WHERE kind = '{kind}' AND subject_id = '{id}'");
    Ok(!texts(db, &query)?.is_empty())
}

fn of_ledger(kind: Kind, id: &Id) -> String {
    format!(
        "SELECT r.wake_id FROM recoveries r WHERE r.kind = '{kind}' AND r.subject_id = '{id}' AND r.wake_id IS NOT NULL"
    )
}
