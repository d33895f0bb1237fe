//! What a sweep reads and writes: candidates, facts, locks, the ledger, wakes and notifications.

pub mod beginnings;
pub mod candidates;
pub mod counts;
pub mod exemptions;
pub mod find;
pub mod issues;
pub mod ledger;
pub mod left_issues;
pub mod opening;
pub mod outbox;
pub mod quarantine;
pub(super) mod rows;
pub(super) mod sessions;
pub mod steps;
pub(super) mod subject;
pub mod supervision;
pub(super) mod totals;
pub mod wakes;
