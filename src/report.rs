//! What a sweep found and did: counted, streamed as JSON, or printed as a table at the end.
//!
//! Memory does not grow with the table: JSON is written row by row, and of a long table the first rows are kept.

pub mod explain;
pub mod grid;
pub mod heading;
mod json;
mod out;
mod outcome;
pub mod page;
pub mod plan;
pub mod progress;
pub mod status;
mod summary;
pub mod table;
mod tally;

use std::io::Write;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value, json};

use crate::cli::Format;
use crate::rules::Kind;
use crate::store::candidates::Portion;
use crate::store::ledger::Ended;
use heading::{Heading, KindMode};
use out::Out;
pub use outcome::{Examined, Outcome};
use plan::Plan;
use progress::Progress;
pub use summary::EMPTY;
use table::{Detail, Table};
pub use tally::{Clocks, Deferred, Guarded, HeldBack, KindReport, Stopper, Stuck, Tally};

/// Counts what a sweep does and prints it.
pub struct Report<'a> {
    heading: Heading,
    /// By the database's clock.
    began_at: DateTime<Utc>,
    printer: Printer,
    out: Out<'a>,
    kinds: Vec<KindReport>,
    oldest_left: Option<DateTime<Utc>>,
    stopped_by: Option<Stopper>,
    stuck_wakes: Option<Stuck>,
    clocks: Clocks,
    /// The database holds no subject at all.
    empty: bool,
    progress: Progress,
}

enum Printer {
    Table(Box<Table>),
    Json { first: bool },
    Ndjson,
}

impl<'a> Report<'a> {
    pub fn new(
        heading: Heading,
        began_at: DateTime<Utc>,
        format: Format,
        out: &'a mut (dyn Write + Send),
    ) -> Report<'a> {
        let printer = match format {
            Format::Table => Printer::Table(Box::default()),
            Format::Json => Printer::Json { first: true },
            Format::Ndjson => Printer::Ndjson,
        };
        let mut out = Out::to(out);
        match printer {
            Printer::Table(_) => {}
            Printer::Json { .. } => out.print(&format!("{{\n{},\n  \"subjects\": [", json::fields(&heading.shown()))),
            Printer::Ndjson => out.print(&json::line("heading", &heading.shown())),
        }
        Report {
            heading,
            began_at,
            printer,
            out,
            kinds: Vec::new(),
            oldest_left: None,
            stopped_by: None,
            stuck_wakes: None,
            clocks: Clocks::default(),
            empty: false,
            progress: Progress::hidden(),
        }
    }

    /// For people: how much of it is printed.
    pub fn with(mut self, detail: Detail) -> Report<'a> {
        if let Printer::Table(table) = &mut self.printer {
            table.detail = detail;
        }
        self
    }

    /// What would be touched, as an order; of a report that has all its rows.
    pub fn plan(&self) -> Option<Plan> {
        match &self.printer {
            Printer::Table(table) if table.detail == Detail::Whole => {
                Some(Plan::of(self.heading.shown(), table.planned()))
            }
            Printer::Table(_) | Printer::Json { .. } | Printer::Ndjson => None,
        }
    }

    /// A kind begins to be swept; what follows is said of it.
    pub fn begin(&mut self, kind: Kind, provided: bool, mode: KindMode) {
        self.progress.begin(kind);
        self.kinds.push(KindReport {
            kind,
            provided,
            mode,
            guard: None,
            held_back: Vec::new(),
            tally: Tally::default(),
            oldest_deferred_at: None,
            in_quarantine: 0,
        });
    }

    fn kind(&mut self) -> &mut KindReport {
        self.kinds.last_mut().expect("a kind has begun")
    }

    pub fn guard(&mut self, guarded: Guarded) {
        self.kind().guard = Some(guarded);
    }

    pub fn hold_back(&mut self, held_back: Vec<HeldBack>) {
        self.kind().held_back = held_back;
    }

    pub fn in_quarantine(&mut self, subjects: u64) {
        self.kind().in_quarantine = subjects;
    }

    pub fn add(&mut self, examined: Examined) {
        let examined = examined.shown();
        self.kind().tally.count(examined.outcome);
        self.progress.step();
        if examined.outcome == Outcome::Deferred {
            let report = self.kind();
            report.oldest_deferred_at = report.oldest_deferred_at.into_iter().chain(examined.idle_since).min();
        }
        let is_helped = examined.outcome.is_change() && !examined.shadow;
        if !is_helped && examined.outcome != Outcome::Healthy {
            self.oldest_left = self.oldest_left.into_iter().chain(examined.idle_since).min();
        }
        if let Some(ahead) = examined.ahead.map(|ahead| ahead.num_seconds())
            && self.clocks.future_seconds.is_none_or(|furthest| furthest < ahead)
        {
            self.clocks.future_seconds = Some(ahead);
            self.clocks.future_subject = Some(examined.id.clone());
        }
        match &mut self.printer {
            Printer::Table(table) => table.add(examined),
            Printer::Json { first } => {
                let separator = if std::mem::take(first) { "\n    " } else { ",\n    " };
                self.out.print(&format!("{separator}{}", json!(examined)));
            }
            Printer::Ndjson => self.out.print(&json::line("subject", &examined)),
        }
    }

    /// Subjects that were not examined.
    pub fn defer(&mut self, deferred: Deferred) {
        let report = self.kind();
        let mut all = Deferred { count: report.tally.deferred, oldest: report.oldest_deferred_at };
        all.add(deferred);
        (report.tally.deferred, report.oldest_deferred_at) = (all.count, all.oldest);
        self.oldest_left = self.oldest_left.into_iter().chain(deferred.oldest).min();
    }

    pub fn stop_by(&mut self, stopper: Stopper) {
        self.stopped_by = Some(stopper);
    }

    pub fn stopped_by(&self) -> Option<Stopper> {
        self.stopped_by
    }

    pub fn stuck_wakes(&mut self, stuck: Stuck) {
        self.stuck_wakes = Some(stuck);
    }

    /// By how much the database's clock is ahead of this machine's, and the ledger ahead of the database's clock.
    pub fn compare_clocks(&mut self, skew: TimeDelta, ledger_ahead: Option<TimeDelta>) {
        self.clocks.skew_seconds = skew.num_milliseconds() as f64 / 1000.0;
        self.clocks.ledger_future_seconds = ledger_ahead.map(|ahead| ahead.num_seconds());
    }

    pub fn heading(&self) -> &Heading {
        &self.heading
    }

    pub fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    /// Was there nothing to look at, or to put off, of any kind?
    pub fn saw_nothing(&self) -> bool {
        self.kinds.iter().all(|report| report.tally == Tally::default())
    }

    pub fn of_an_empty_database(&mut self, empty: bool) {
        self.empty = empty;
    }

    pub fn is_empty(&self) -> bool {
        self.empty
    }

    /// All kinds that are on, together.
    pub fn total(&self) -> Tally {
        Tally::sum(self.kinds.iter().filter(|report| report.mode == KindMode::On))
    }

    /// Was anything left alone that is on?
    pub fn is_guarded(&self) -> bool {
        let is_held = |report: &KindReport| report.guard.is_some() || !report.held_back.is_empty();
        self.kinds.iter().any(|report| is_held(report) && report.mode == KindMode::On)
    }

    /// What the guard held back of a kind; none: all of it.
    pub fn held_back(&self, kind: Kind) -> Option<Vec<Portion>> {
        let of_kind = || self.kinds.iter().filter(|report| report.kind == kind && report.mode == KindMode::On);
        let is_whole = of_kind().any(|report| report.guard.is_some());
        (!is_whole).then(|| of_kind().flat_map(|report| &report.held_back).map(|part| part.portion.clone()).collect())
    }

    /// What is said of each kind, as in the JSON report.
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
        self.progress.end();
        let end = json!({
            "began_at": self.began_at,
            "kinds": self.counts(),
            "stopped_by": self.stopped_by,
            "stuck_wakes": self.stuck_wakes,
            "clocks": self.clocks,
            "empty": self.empty,
            "ended": ended.name(),
            "duration_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
        let text = match &self.printer {
            Printer::Table(table) => table.render(&Totals {
                heading: &self.heading,
                began_at: self.began_at,
                kinds: &self.kinds,
                total: self.total(),
                stopped_by: self.stopped_by,
                stuck_wakes: self.stuck_wakes.as_ref(),
                clocks: &self.clocks,
                empty: self.empty,
                ended,
                took,
            }),
            Printer::Json { first } => {
                let bracket = if *first { "]" } else { "\n  ]" };
                format!("{bracket},\n{}\n}}\n", json::fields(&end))
            }
            Printer::Ndjson => json::line("summary", &end),
        };
        self.out.print(&text);
        self.out.failure.map_or(Ok(()), Err)
    }
}

/// What a report says about the sweep as a whole.
struct Totals<'a> {
    heading: &'a Heading,
    began_at: DateTime<Utc>,
    kinds: &'a [KindReport],
    total: Tally,
    stopped_by: Option<Stopper>,
    stuck_wakes: Option<&'a Stuck>,
    clocks: &'a Clocks,
    empty: bool,
    ended: Ended,
    took: Duration,
}
