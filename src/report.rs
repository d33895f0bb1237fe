//! What a sweep found and did: counted, streamed as JSON, or printed as a table at the end.
//!
//! Memory does not grow with the table: JSON is written row by row, and of a long table the first rows are kept.

mod grid;
mod outcome;
pub mod status;
pub mod table;

use std::io::{ErrorKind, Write};
use std::time::Duration;

use chrono::{DateTime, Utc};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cli::Format;
use crate::rules::Kind;
use crate::store::ledger::Ended;
pub use outcome::{Examined, Outcome};
use table::Table;

/// The version of the JSON report.
const SCHEMA: u32 = 1;

/// How many subjects of one kind came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub scanned: u64,
    pub continued: u64,
    pub escalated: u64,
    pub recovered: u64,
    pub waiting: u64,
    pub skipped: u64,
    pub healthy: u64,
    pub busy: u64,
    pub unknown: u64,
    pub quarantined: u64,
    pub failed: u64,
}

impl Tally {
    fn count(&mut self, outcome: Outcome) {
        self.scanned += 1;
        *match outcome {
            Outcome::Continued => &mut self.continued,
            Outcome::Escalated => &mut self.escalated,
            Outcome::Recovered => &mut self.recovered,
            Outcome::Waiting => &mut self.waiting,
            Outcome::Skipped => &mut self.skipped,
            Outcome::Healthy => &mut self.healthy,
            Outcome::Busy => &mut self.busy,
            Outcome::Unknown => &mut self.unknown,
            Outcome::Quarantined => &mut self.quarantined,
            Outcome::Failed => &mut self.failed,
        } += 1;
    }
}

/// The counts of one kind; a kind that the database does not provide has zeros.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct KindReport {
    #[serde(skip)]
    pub kind: Kind,
    pub provided: bool,
    #[serde(flatten)]
    pub tally: Tally,
}

/// What was swept, and how.
#[derive(Clone, Debug)]
pub struct Heading {
    pub dry_run: bool,
    pub host: &'static str,
}

impl Heading {
    fn mode(&self) -> &'static str {
        if self.dry_run { "dry_run" } else { "sweep" }
    }
}

/// Counts what a sweep does and prints it.
pub struct Report<'a> {
    heading: Heading,
    printer: Printer,
    out: Out<'a>,
    kinds: Vec<KindReport>,
    total: Tally,
    oldest_left: Option<DateTime<Utc>>,
    limit_reached: bool,
    /// Hidden unless stderr is a terminal.
    progress: ProgressBar,
}

enum Printer {
    Table(Box<Table>),
    Json { first: bool },
    Ndjson,
}

impl<'a> Report<'a> {
    pub fn new(heading: Heading, format: Format, out: &'a mut (dyn Write + Send)) -> Report<'a> {
        let printer = match format {
            Format::Table => Printer::Table(Box::default()),
            Format::Json => Printer::Json { first: true },
            Format::Ndjson => Printer::Ndjson,
        };
        let out = Out { writer: out, closed: false, failure: None };
        Report {
            heading,
            printer,
            out,
            kinds: Vec::new(),
            total: Tally::default(),
            oldest_left: None,
            limit_reached: false,
            progress: progress(format),
        }
    }

    /// A kind begins to be swept.
    pub fn begin(&mut self, kind: Kind, provided: bool) {
        if let (Printer::Json { .. }, []) = (&self.printer, self.kinds.as_slice()) {
            let (mode, host) = (self.heading.mode(), self.heading.host);
            self.out.print(&format!(
                "{{\n  \"schema\": {SCHEMA},\n  \"mode\": \"{mode}\",\n  \"host\": \"{host}\",\n  \"subjects\": ["
            ));
        }
        self.kinds.push(KindReport { kind, provided, tally: Tally::default() });
    }

    /// A subject of the kind that was begun last.
    pub fn add(&mut self, examined: Examined) {
        if let Some(report) = self.kinds.iter_mut().find(|report| report.kind == examined.kind) {
            report.tally.count(examined.outcome);
        }
        self.total.count(examined.outcome);
        self.progress.inc(1);
        if !examined.outcome.is_change() && examined.outcome != Outcome::Healthy {
            self.oldest_left = self.oldest_left.into_iter().chain(examined.idle_since).min();
        }
        match &mut self.printer {
            Printer::Table(table) => table.add(examined),
            Printer::Json { first } => {
                let separator = if std::mem::take(first) { "\n    " } else { ",\n    " };
                self.out.print(&format!("{separator}{}", json!(examined)));
            }
            Printer::Ndjson => self.out.print(&format!("{}\n", json!(examined))),
        }
    }

    /// The limit left more, of which the oldest has been idle since then.
    pub fn reach_limit(&mut self, oldest: Option<DateTime<Utc>>) {
        self.limit_reached = true;
        self.oldest_left = self.oldest_left.into_iter().chain(oldest).min();
    }

    /// All kinds together.
    pub fn total(&self) -> Tally {
        self.total
    }

    /// The counts by kind, as in the JSON report.
    pub fn counts(&self) -> Value {
        let counts = self.kinds.iter().map(|report| (report.kind.plural().to_owned(), json!(report)));
        Value::Object(counts.collect::<Map<_, _>>())
    }

    /// Since when the oldest subject that was neither healthy nor helped has been idle.
    pub fn oldest_left(&self) -> Option<DateTime<Utc>> {
        self.oldest_left
    }

    /// Prints the rest. Fails if any of the report could not be written; a reader that has gone is no failure.
    pub fn finish(mut self, ended: Ended, took: Duration) -> std::io::Result<()> {
        self.progress.finish_and_clear();
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let counts = self.counts();
        let Heading { host, .. } = self.heading;
        let (mode, ended_name, limit_reached) = (self.heading.mode(), ended.name(), self.limit_reached);
        let text = match &self.printer {
            Printer::Table(table) => table.render(&Totals {
                heading: &self.heading,
                kinds: &self.kinds,
                total: self.total,
                limit_reached,
                ended,
                took,
            }),
            Printer::Json { first } => {
                let end = if *first { "]" } else { "\n  ]" };
                format!(
                    "{end},\n  \"kinds\": {counts},\n  \"limit_reached\": {limit_reached},\n  \"ended\": \"{ended_name}\",\n  \
                     \"duration_ms\": {ms}\n}}\n"
                )
            }
            Printer::Ndjson => {
                let summary = json!({
                    "schema": SCHEMA, "mode": mode, "host": host, "kinds": counts, "limit_reached": limit_reached,
                    "ended": ended_name, "duration_ms": ms,
                });
                format!("{summary}\n")
            }
        };
        self.out.print(&text);
        self.out.failure.map_or(Ok(()), Err)
    }
}

/// What a report says about the sweep as a whole.
struct Totals<'a> {
    heading: &'a Heading,
    kinds: &'a [KindReport],
    total: Tally,
    limit_reached: bool,
    ended: Ended,
    took: Duration,
}

/// A table comes at the end: until then, a line that moves. The other formats move by themselves.
fn progress(format: Format) -> ProgressBar {
    match format {
        Format::Table => ProgressBar::new_spinner().with_style(
            ProgressStyle::with_template("{spinner} {human_pos} examined, {per_sec}")
                .unwrap_or(ProgressStyle::default_spinner()),
        ),
        Format::Json | Format::Ndjson => ProgressBar::hidden(),
    }
}

/// Where the report goes. When its reader has gone (`| head -1`), or it cannot be written, the sweep goes on and nothing
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
