//! What a sweep reads and writes: candidates, facts, locks, the ledger, wakes and notifications.

pub mod candidates;
pub mod counts;
pub mod exemptions;
pub mod find;
pub mod history;
pub mod ledger;
pub mod locks;
pub mod opening;
pub mod outbox;
pub mod quarantine;
pub mod runs;
pub(super) mod subject;
pub mod supervision;
pub mod surroundings;
pub mod upkeep;
pub mod woken;
