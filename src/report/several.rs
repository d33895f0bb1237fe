//! The report of several databases: that of each under its name, or why there is none, and at the end for people what
//! all came to.

use anyhow::{Error, Result};
use owo_colors::OwoColorize;
use serde_json::{Value, json};

use super::json::{fields, line};
use super::page;
use super::summary::done_and_left;
use super::table::Table;
use crate::conclusion::{Conclusion, conclusion_of};
use crate::store::work::ledger::Ended;
use crate::sweep::{Mode, SCHEMA, Summary, Tally};
use crate::text::redact;

/// How far a report is, in each of its formats.
pub(super) enum Printer {
    Table(Box<Table>),
    Json { first: bool },
    Ndjson,
}

/// How far a report of several databases is.
#[derive(Default)]
pub(super) struct Several {
    /// What the database is called that is swept now.
    pub name: String,
    /// How many have begun.
    begun: usize,
    failed: usize,
    total: Tally,
    is_dry_run: bool,
}

impl Several {
    /// What stands above the report of this one.
    pub fn begin(&mut self, printer: &mut Printer, name: &str) -> String {
        self.name = redact(name);
        self.begun += 1;
        let is_first = self.begun == 1;
        match printer {
            Printer::Table(table) => {
                **table = table.anew();
                heading(is_first, &self.name)
            }
            Printer::Json { first } => {
                *first = true;
                let begin = match is_first {
                    true => format!("{{\n  \"schema\": {SCHEMA},\n  \"databases\": [\n"),
                    false => ",\n".to_owned(),
                };
                format!("{begin}{{\n  \"database_name\": {},", json!(self.name))
            }
            Printer::Ndjson => String::new(),
        }
    }

    /// Adds up what was swept, also of a database that could not be swept to its end.
    pub fn count(&mut self, summary: &Summary) {
        self.total = self.total.plus(summary.total());
        self.is_dry_run = summary.heading.mode == Mode::DryRun;
    }

    /// What stands below the report of a database that was swept.
    pub fn end_of_database(&mut self, printer: &Printer, swept: &Result<Summary>) -> String {
        let unswept = swept.as_ref().ok().and_then(Summary::failure).map(Error::new);
        let failed = swept.as_ref().err().or(unswept.as_ref());
        self.failed += usize::from(failed.is_some());
        let end = ended(failed, swept.as_ref().map_or_else(conclusion_of, |summary| summary.conclusion));
        match (printer, swept) {
            (Printer::Table(_), Ok(_)) => String::new(),
            (Printer::Table(_), Err(error)) => failure(error),
            (Printer::Json { .. }, _) => format!("\n{}\n}}", fields(&end)),
            (Printer::Ndjson, _) => line("database", Some(&self.name), &end),
        }
    }

    /// What stands below all reports.
    pub fn end(&self, printer: &Printer) -> String {
        match printer {
            Printer::Table(_) => format!("\n{}\n", self.totals().bold()),
            Printer::Json { .. } => "\n]}\n".to_owned(),
            Printer::Ndjson => String::new(),
        }
    }

    /// `3 databases, 1 of them failed. 12 continued; left: 2 waiting`
    fn totals(&self) -> String {
        let ended = if self.failed == 0 { Ended::Completed } else { Ended::Failed };
        format!("{}. {}", databases(self.begun, self.failed), done_and_left(self.total, self.is_dry_run, ended))
    }
}

/// `3 databases, 1 of them failed`
pub fn databases(number: usize, failed: usize) -> String {
    let databases = if number == 1 { "1 database".to_owned() } else { format!("{number} databases") };
    if failed == 0 { databases } else { format!("{databases}, {failed} of them failed") }
}

/// The name of a database above what is said of it.
pub fn heading(is_first: bool, name: &str) -> String {
    format!("{}{}\n", if is_first { "" } else { "\n" }, name.bold())
}

/// Why a database is left out, in the place of what there would be to say of it.
pub fn failure(error: &Error) -> String {
    page::wrapped(&format!("{}\n", redact(&format!("{error:#}")).red()))
}

/// How it ended for one of several, for programs.
pub fn ended(error: Option<&Error>, conclusion: Conclusion) -> Value {
    let error = error.map(|error| redact(&format!("{error:#}")));
    json!({ "error": error, "exit_code": conclusion as u8 })
}
