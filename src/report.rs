//! What a sweep found and did, printed: streamed as JSON, or as a table at the end.
//!
//! Memory does not grow with the table: JSON is written row by row, and of a long table the first rows are kept.

pub mod certificate;
pub mod explain;
pub mod grid;
mod json;
mod out;
pub mod page;
mod progress;
pub mod status;
mod summary;
mod table;

use std::io::Write;

use serde_json::json;

use crate::rules::Kind;
use crate::sweep::heading::Heading;
use crate::sweep::plan::Plan;
use crate::sweep::{Examined, Observer, Summary};
use out::Out;
use progress::ProgressLine;
pub use table::Detail;
use table::Table;

/// How a report is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// One document.
    Json,
    /// One line for the heading, one per subject, then one for the sweep as a whole.
    Ndjson,
}

/// Prints a sweep while it goes on.
pub struct Report<'a> {
    printer: Printer,
    out: Out<'a>,
    progress: ProgressLine,
}

enum Printer {
    Table(Box<Table>),
    Json { first: bool },
    Ndjson,
}

impl<'a> Report<'a> {
    /// `detail`: how much of a table is printed.
    pub fn new(format: Format, detail: Detail, out: &'a mut (dyn Write + Send)) -> Report<'a> {
        let printer = match format {
            Format::Table => Printer::Table(Box::new(Table::of(detail))),
            Format::Json => Printer::Json { first: true },
            Format::Ndjson => Printer::Ndjson,
        };
        Report { printer, out: Out::to(out), progress: ProgressLine::hidden() }
    }

    /// Shows on a terminal how far the sweep is.
    pub fn with_progress(self) -> Report<'a> {
        let is_table = matches!(self.printer, Printer::Table(_));
        Report { progress: ProgressLine::beside(is_table), ..self }
    }

    /// What would be touched, as an order; of a table that has all its rows.
    pub fn plan(&self, summary: &Summary) -> Option<Plan> {
        match &self.printer {
            Printer::Table(table) => Some(Plan::of(summary.heading.redacted(), table.planned()?)),
            Printer::Json { .. } | Printer::Ndjson => None,
        }
    }

    /// Could all of it be printed? A reader that has gone is no failure.
    pub fn written(self) -> std::io::Result<()> {
        self.out.failure.map_or(Ok(()), Err)
    }
}

impl Observer for Report<'_> {
    fn begins(&mut self, heading: &Heading) {
        let heading = heading.redacted();
        match &self.printer {
            Printer::Table(_) => {}
            Printer::Json { .. } => {
                self.out.print(&format!("{{\n{},\n  \"subjects\": [", json::fields(&heading)));
            }
            Printer::Ndjson => self.out.print(&json::line("heading", &heading)),
        }
    }

    fn kind(&mut self, kind: Kind) {
        self.progress.begin(kind);
    }

    fn wants_counts(&self) -> bool {
        self.progress.is_shown()
    }

    fn expect(&mut self, subjects: u64) {
        self.progress.expect(subjects);
    }

    fn subject(&mut self, examined: &Examined) {
        let examined = examined.redacted();
        self.progress.step();
        match &mut self.printer {
            Printer::Table(table) => table.add(examined),
            Printer::Json { first } => {
                let separator = if std::mem::take(first) { "\n    " } else { ",\n    " };
                self.out.print(&format!("{separator}{}", json!(examined)));
            }
            Printer::Ndjson => self.out.print(&json::line("subject", &examined)),
        }
    }

    fn ends(&mut self, summary: &Summary) {
        self.progress.end();
        let text = match &self.printer {
            Printer::Table(table) => table.render(summary),
            Printer::Json { first } => {
                let bracket = if *first { "]" } else { "\n  ]" };
                format!("{bracket},\n{}\n}}\n", json::fields(&json::end(summary)))
            }
            Printer::Ndjson => json::line("summary", &json::end(summary)),
        };
        self.out.print(&text);
    }

    fn has_failed(&self) -> bool {
        self.out.failure.is_some()
    }
}
