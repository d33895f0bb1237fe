//! What a sweep found and did, printed: streamed as JSON, or as a table at the end.
//!
//! Memory does not grow with the table: JSON is written row by row, and of a long table the first rows are kept.
//! docs/json.md describes every field for programs.

pub mod attention;
pub mod certificate;
pub mod diagnosis;
pub mod explain;
pub mod grid;
pub mod page;
mod progress;
mod request;
pub mod several;
pub mod status;
mod table;
pub mod work_list;

use std::io::{ErrorKind, Write};

use anyhow::Error;
use chrono::{DateTime, Utc};
use owo_colors::OwoColorize;
use serde::Serialize;
use serde_json::{Value, json};

use crate::conclusion::Conclusion;
use crate::rules::Kind;
use crate::store::Label;
use crate::store::work::exemptions::Exempted;
use crate::sweep::plan::Plan;
use crate::sweep::{Cancel, Examined, Observer, Summary, Tally};
use crate::sweep::{Heading, Mode};
use crate::text::redact;
use progress::ProgressLine;
pub use request::{Answered, ByHost, ask_named};
use table::Table;
pub use table::{Detail, told};

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

/// Prints a sweep while it goes on. When its reader has gone (`| head -1`), or it cannot be written, the sweep goes on
/// and nothing more is printed.
pub struct Report<'a> {
    format: Format,
    detail: Detail,
    printer: Printer,
    writer: &'a mut (dyn Write + Send),
    /// Why nothing more is printed.
    failure: Option<std::io::Error>,
    progress: ProgressLine,
    /// What the database is called, if it is one of several.
    name: Option<String>,
    /// What the sweep came to, as far as it got.
    ended: Option<(Tally, Mode)>,
}

/// How far a report is, in each of its formats.
enum Printer {
    Table(Box<Table>),
    Json { first: bool },
    Ndjson,
}

impl<'a> Report<'a> {
    /// A report of one database. `detail`: how much of a table is printed.
    pub fn new(format: Format, detail: Detail, writer: &'a mut (dyn Write + Send)) -> Report<'a> {
        let printer = match format {
            Format::Table => Printer::Table(Box::new(Table::of(detail))),
            Format::Json => Printer::Json { first: true },
            Format::Ndjson => Printer::Ndjson,
        };
        let progress = ProgressLine::hidden();
        Report { format, detail, printer, writer, failure: None, progress, name: None, ended: None }
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

    /// A line of NDJSON: what it is (`heading`, `subject`, `summary`), of which database, if there are several, then
    /// its fields.
    fn line(&self, of: &str, object: &impl Serialize) -> String {
        let mut line = json!({ "type": of });
        if let Some(name) = &self.name {
            line["database_name"] = json!(name);
        }
        if let (Value::Object(line), Value::Object(fields)) = (&mut line, json!(object)) {
            line.extend(fields);
        }
        format!("{line}\n")
    }

    fn print(&mut self, text: &str) {
        if self.failure.is_none() && !text.is_empty() {
            self.failure = self.writer.write_all(text.as_bytes()).and_then(|()| self.writer.flush()).err();
        }
    }

    /// Ends the report, and tells whether all of it could be printed. A reader that has gone is no failure.
    pub fn written(self) -> std::io::Result<()> {
        let failure = self.failure.filter(|error| error.kind() != ErrorKind::BrokenPipe);
        failure.map_or(Ok(()), Err)
    }
}

impl Observer for Report<'_> {
    fn begins(&mut self, heading: &Heading) {
        let heading = heading.redacted();
        let text = match &self.printer {
            Printer::Table(_) => String::new(),
            Printer::Json { .. } => {
                let begin = if self.name.is_some() { "" } else { "{" };
                format!("{begin}\n{},\n  \"subjects\": [", fields(&heading))
            }
            Printer::Ndjson => self.line("heading", &heading),
        };
        self.print(&text);
    }

    fn kind(&mut self, kind: Kind) {
        self.progress.begin(kind.plural());
    }

    fn wants_counts(&self) -> bool {
        self.progress.is_wanted()
    }

    fn expect(&mut self, subjects: u64) {
        self.progress.expect(subjects);
    }

    fn subject(&mut self, examined: &Examined) {
        let examined = examined.redacted();
        self.progress.bar.inc(1);
        let text = match &mut self.printer {
            Printer::Table(table) => return table.add(examined),
            Printer::Json { first } => {
                let separator = if std::mem::take(first) { "\n    " } else { ",\n    " };
                format!("{separator}{}", json!(examined))
            }
            Printer::Ndjson => self.line("subject", &examined),
        };
        self.print(&text);
    }

    fn ends(&mut self, summary: &Summary) {
        self.progress.bar.finish_and_clear();
        self.ended = Some((summary.total(), summary.heading.mode));
        let text = match &self.printer {
            Printer::Table(table) => table.render(summary),
            Printer::Json { first } => {
                let bracket = if *first { "]" } else { "\n  ]" };
                let end = if self.name.is_some() { "," } else { "\n}\n" };
                format!("{bracket},\n{}{end}", fields(&summary_document(summary)))
            }
            Printer::Ndjson => self.line("summary", &summary_document(summary)),
        };
        self.print(&text);
    }

    fn has_failed(&self) -> bool {
        self.failure.as_ref().is_some_and(|error| error.kind() != ErrorKind::BrokenPipe)
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

/// An object's fields, one line each.
fn fields(object: &impl Serialize) -> String {
    let object = json!(object);
    let fields = object.as_object().into_iter().flatten();
    fields.map(|(name, value)| format!("  \"{name}\": {value}")).collect::<Vec<_>>().join(",\n")
}

/// What stands below the subjects.
pub fn summary_document(summary: &Summary) -> Value {
    json!({
        "began_at": summary.began_at,
        "kinds": summary.counts(),
        "unswept": summary.unswept,
        "stopped_by": summary.stopped_by,
        "stuck_wakes": summary.stuck_wakes,
        "clocks": summary.clocks,
        "empty": summary.empty,
        "ended": summary.ended.name(),
        "duration_ms": u64::try_from(summary.took.as_millis()).unwrap_or(u64::MAX),
    })
}

/// An exemption of a list.
pub fn exemption(label: &Label, row: &Exempted, now: DateTime<Utc>) -> Value {
    let Exempted { kind, id, exemption, since } = row;
    json!({
        "kind": redact(kind),
        "id": redact(&id.0),
        "identifier": label.identifier.as_deref().map(redact),
        "tenant": label.tenant.as_deref().map(redact),
        "reason": redact(&exemption.reason),
        "until": exemption.until,
        "state": if exemption.holds(now) { "holds" } else { "expired" },
        "since": since,
        "age_seconds": (now - *since).num_seconds().max(0),
    })
}
