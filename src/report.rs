//! What a sweep found and did, printed: streamed as JSON, or as a table at the end.
//!
//! Memory does not grow with the table: JSON is written row by row, and of a long table the first rows are kept.

pub mod attention;
pub mod certificate;
pub mod explain;
pub mod grid;
mod json;
pub mod page;
pub mod plan;
mod progress;
mod request;
mod section;
mod several;
pub mod status;
mod summary;
mod table;

use std::io::{ErrorKind, Write};

use anyhow::Result;
use serde_json::json;

use crate::rules::Kind;
use crate::sweep::plan::Plan;
use crate::sweep::{Cancel, Examined, Heading, Observer, Summary};
pub use json::{end as summary_document, exemption};
use progress::ProgressLine;
pub use request::{Answered, ByHost, ask_named};
use several::{Printer, Several};
pub use several::{databases, ended, failure, heading};
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

/// Where a report goes. When its reader has gone (`| head -1`), or it cannot be written, the sweep goes on and nothing
/// more is printed.
struct Out<'a> {
    writer: &'a mut (dyn Write + Send),
    closed: bool,
    failure: Option<std::io::Error>,
}

impl Out<'_> {
    fn print(&mut self, text: &str) {
        if self.closed {
            return;
        }
        if let Err(error) = self.writer.write_all(text.as_bytes()).and_then(|()| self.writer.flush()) {
            self.closed = true;
            self.failure = Some(error).filter(|error| error.kind() != ErrorKind::BrokenPipe);
        }
    }
}

/// Prints a sweep while it goes on.
pub struct Report<'a> {
    printer: Printer,
    out: Out<'a>,
    progress: ProgressLine,
    /// None: one database is swept.
    several: Option<Several>,
}

impl<'a> Report<'a> {
    /// A report of one database. `detail`: how much of a table is printed.
    pub fn new(format: Format, detail: Detail, out: &'a mut (dyn Write + Send)) -> Report<'a> {
        let printer = match format {
            Format::Table => Printer::Table(Box::new(Table::of(detail))),
            Format::Json => Printer::Json { first: true },
            Format::Ndjson => Printer::Ndjson,
        };
        let out = Out { writer: out, closed: false, failure: None };
        Report { printer, out, progress: ProgressLine::hidden(), several: None }
    }

    /// Makes it a report of several databases, one after the other.
    pub fn of_several(self) -> Report<'a> {
        Report { several: Some(Several::default()), ..self }
    }

    /// Shows on a terminal how far the sweep is, and whether it was asked to end.
    pub fn with_progress(self, cancel: &Cancel) -> Report<'a> {
        let is_table = matches!(self.printer, Printer::Table(_));
        Report { progress: ProgressLine::beside(is_table, cancel), ..self }
    }

    /// What would be touched, as an order; of a table that has all its rows.
    pub fn plan(&self, summary: &Summary) -> Option<Plan> {
        match &self.printer {
            Printer::Table(table) => Some(Plan::of(summary.heading.redacted(), table.planned()?)),
            Printer::Json { .. } | Printer::Ndjson => None,
        }
    }

    /// What the database is called, if there are several.
    fn name(&self) -> Option<&str> {
        self.several.as_ref().map(|several| several.name.as_str())
    }

    /// Ends the report, and tells whether all of it could be printed. A reader that has gone is no failure.
    pub fn written(mut self) -> std::io::Result<()> {
        if let Some(several) = &self.several {
            self.out.print(&several.end(&self.printer));
        }
        self.out.failure.map_or(Ok(()), Err)
    }
}

impl Observer for Report<'_> {
    fn database(&mut self, name: &str) {
        if let Some(several) = &mut self.several {
            self.out.print(&several.begin(&mut self.printer, name));
        }
    }

    fn database_ends(&mut self, swept: &Result<Summary>) {
        if let Some(several) = &mut self.several {
            self.out.print(&several.end_of_database(&self.printer, swept));
        }
    }

    fn begins(&mut self, heading: &Heading) {
        let heading = heading.redacted();
        match &self.printer {
            Printer::Table(_) => {}
            Printer::Json { .. } => {
                let begin = if self.several.is_some() { "" } else { "{" };
                self.out.print(&format!("{begin}\n{},\n  \"subjects\": [", json::fields(&heading)));
            }
            Printer::Ndjson => self.out.print(&json::line("heading", self.name(), &heading)),
        }
    }

    fn kind(&mut self, kind: Kind) {
        self.progress.begin(kind);
    }

    fn wants_counts(&self) -> bool {
        self.progress.is_wanted()
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
            Printer::Ndjson => {
                let name = self.several.as_ref().map(|several| several.name.as_str());
                self.out.print(&json::line("subject", name, &examined));
            }
        }
    }

    fn ends(&mut self, summary: &Summary) {
        self.progress.end();
        self.several.iter_mut().for_each(|several| several.count(summary));
        let text = match &self.printer {
            Printer::Table(table) => table.render(summary),
            Printer::Json { first } => {
                let bracket = if *first { "]" } else { "\n  ]" };
                let end = if self.several.is_some() { "," } else { "\n}\n" };
                format!("{bracket},\n{}{end}", json::fields(&json::end(summary)))
            }
            Printer::Ndjson => json::line("summary", self.name(), &json::end(summary)),
        };
        self.out.print(&text);
    }

    fn has_failed(&self) -> bool {
        self.out.failure.is_some()
    }
}
