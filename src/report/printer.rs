//! How far a report is, in each of its formats.

use super::table::Table;

pub(super) enum Printer {
    Table(Box<Table>),
    Json { first: bool },
    Ndjson,
}
