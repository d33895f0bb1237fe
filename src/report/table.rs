//! The report for people: what was done and left in two lines, what the operator should know besides, then one row per
//! subject.

use std::collections::BTreeMap;
use std::fmt::Write;

use owo_colors::{OwoColorize, Style};

use super::grid::{self, GridRow, ROWS_MAX, duration};
use super::page::{self, Page};
use crate::rules::display::{HumanDuration, enumerated};
use crate::store::work::ledger::SweepEnd;
use crate::sweep::Mode;
use crate::sweep::logs::EMPTY;
use crate::sweep::{Examined, KindCounts, KindMode, KindReport, Outcome, StopReason, Summary, Tally};

/// How much of a report is printed for people, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// On stdout, the first lines alone, and what failed.
    Summary,
    /// On stdout, the first rows of a long table.
    #[default]
    Table,
    /// On stderr, all that would be touched: whoever is asked has seen all of it.
    Whole,
}

impl Detail {
    /// What it is printed on.
    fn page(self) -> Page {
        match self {
            Detail::Summary | Detail::Table => Page::of(std::io::stdout()),
            Detail::Whole => Page::of(std::io::stderr()),
        }
    }
}

/// A table of more rows pushes the counts above it off the screen.
const SCREENFUL: usize = 20;

/// The rows of a report, collected until its end.
#[derive(Default)]
pub struct Table {
    pub(super) detail: Detail,
    touched: KeptRows,
    left: KeptRows,
    /// Healthy subjects are counted by their reason.
    healthy: BTreeMap<String, u64>,
}

#[derive(Default)]
struct KeptRows {
    kept: Vec<Examined>,
    more: u64,
}

impl Table {
    pub fn of(detail: Detail) -> Table {
        Table { detail, ..Table::default() }
    }

    pub fn add(&mut self, examined: Examined) {
        match examined.outcome {
            outcome if outcome.is_change() && self.detail == Detail::Summary => {}
            outcome if outcome.is_change() => self.touched.add(examined, self.detail == Detail::Whole),
            Outcome::Healthy => *self.healthy.entry(examined.reason).or_default() += 1,
            _ if self.detail == Detail::Summary && !examined.outcome.is_failure() => {}
            _ => self.left.add(examined, false),
        }
    }

    /// What a plan is made of: what would be touched, but for what is in shadow. None of a table that may lack some.
    pub(super) fn planned(&self) -> Option<impl Iterator<Item = &Examined>> {
        (self.detail == Detail::Whole).then(|| self.touched.sorted().into_iter().filter(|row| !row.shadow))
    }

    pub(super) fn render(&self, sweep: &Summary) -> String {
        let page = self.detail.page();
        let columns = page.columns;
        let mut text = page::wrapped_within(columns, &summary(sweep));
        text += &self.grid(sweep.heading.mode, page);
        let more = self.touched.more + self.left.more;
        if 0 < more {
            text += &format!("  … and {more} more: --output ndjson shows all\n");
        }
        if !self.healthy.is_empty() && self.detail != Detail::Summary {
            let reasons = self.healthy.iter().map(|(why, n)| format!("{n} × {why}"));
            let reasons = reasons.collect::<Vec<_>>().join(", ");
            let healthy = format!("  {}\n", format!("Healthy at a closer look: {reasons}").dimmed());
            text += &format!("\n{}", page::wrapped_within(columns, &healthy));
        }
        if SCREENFUL < self.touched.kept.len() + self.left.kept.len() {
            text += &format!("\n{}", page::wrapped_within(columns, &counts(sweep)));
        }
        text
    }

    /// What was touched, then what was left, in the same columns.
    fn grid(&self, mode: Mode, page: Page) -> String {
        let outcome = if mode == Mode::DryRun { "would be" } else { "outcome" };
        let parts = [&self.touched, &self.left].map(|rows| rows.sorted().into_iter().map(cells).collect::<Vec<_>>());
        let [touched, left] = parts;
        let between = (!touched.is_empty() && !left.is_empty()).then(|| GridRow::from(<[String; 7]>::default()));
        let rows = touched.into_iter().chain(between).chain(left);
        let names = ["kind", "subject", "finding", "idle for", outcome, "attempt", "why"];
        let grid = grid::within(page, names, rows, &[3]);
        if grid.is_empty() { grid } else { format!("\n{grid}") }
    }
}

impl KeptRows {
    fn add(&mut self, examined: Examined, all: bool) {
        if all || self.kept.len() < ROWS_MAX { self.kept.push(examined) } else { self.more += 1 }
    }

    /// Longest idle first, whichever worker was quickest.
    fn sorted(&self) -> Vec<&Examined> {
        let mut rows: Vec<&Examined> = self.kept.iter().collect();
        rows.sort_by_key(|row| (row.outcome, row.kind, row.idle_since, row.id.clone()));
        rows
    }
}

fn cells(row: &Examined) -> GridRow<7> {
    let attempt = row.attempt.filter(|_| row.outcome.is_costly() && 0 < row.attempts_max);
    let cells = [
        row.kind.to_string(),
        row.identifier.as_ref().unwrap_or(&row.id.0).clone(),
        row.finding.map(|finding| finding.to_string()).unwrap_or_default(),
        row.idle_seconds.map(duration).unwrap_or_default(),
        if row.shadow { format!("(shadow) {}", coloured(row.outcome)) } else { coloured(row.outcome) },
        attempt.map(|n| format!("{n} of {}", row.attempts_max)).unwrap_or_default(),
        row.reason.clone(),
    ];
    GridRow::of_subject(cells, &row.url)
}

/// `Swept 12 issues and 4 steps (native) in 0.03 s`, and below: `3 continued, 1 escalated; left: 2 waiting`. What was
/// not swept, or in shadow, has a line of its own.
fn summary(sweep: &Summary) -> String {
    let Summary { heading, kinds, took, .. } = sweep;
    let swept = kinds
        .iter()
        .filter(|report| report.counts.provided && report.counts.mode == KindMode::On && report.counts.guard.is_none());
    let scanned: Vec<String> = swept.map(|report| counted(report.counts.tally.scanned, report)).collect();
    let (verb, note) = match heading.mode {
        Mode::Sweep => ("Swept", ""),
        Mode::DryRun => ("Dry run of", ", nothing is written"),
        Mode::Apply => ("Applied a plan to", ""),
    };
    let is_guarded = kinds.iter().any(|report| report.counts.guard.is_some());
    // That there was nothing to do is no news beside what the guard held back.
    let has_counts = kinds.is_empty() || !(scanned.is_empty() || is_guarded && sweep.total() == Tally::default());
    let scanned = if scanned.is_empty() { "nothing".to_owned() } else { enumerated(&scanned, "and") };
    let (host, seconds) = (&heading.host, took.as_secs_f64());
    let mut text = format!("{} {scanned} ({host}) in {seconds:.2} s{note}\n", verb.bold());
    if has_counts {
        text += &counts(sweep);
    }
    for line in kinds.iter().flat_map(|report| notes(report, sweep)).chain(ends(sweep)) {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// `3 continued, 1 escalated; left: 2 waiting`, on a line of its own.
fn counts(sweep: &Summary) -> String {
    format!("{}\n", done_and_left(sweep.total(), sweep.heading.mode == Mode::DryRun, sweep.ended))
}

fn counted(n: u64, report: &KindReport) -> String {
    format!("{n} {}", if n == 1 { report.kind.name() } else { report.kind.plural() })
}

/// What there is to say of one kind.
fn notes(report: &KindReport, sweep: &Summary) -> Vec<String> {
    let KindReport { kind, counts } = report;
    let KindCounts { provided, mode, guard, held_back, tally, oldest_deferred_at, in_quarantine } = counts;
    let mut notes = Vec::new();
    match (provided, mode) {
        (false, _) => notes.push(format!("{}: not provided by this database", kind.plural())),
        (true, KindMode::Off) => notes.push(format!("{}: off", kind.plural())),
        (true, KindMode::Shadow) => {
            let (them, would) = (counted(tally.scanned, report), done_and_left(*tally, true, sweep.ended));
            notes.push(format!("In shadow: {them}, nothing is written. {would}"));
        }
        (true, KindMode::On) => {}
    }
    let whole = guard.iter().map(|guard| guard.sentence(*kind));
    for sentence in whole.chain(held_back.iter().map(|part| part.sentence(*kind))) {
        notes.push(format!("{}\n(if it is the truth: --no-guard)", sentence.red()));
    }
    if 0 < tally.deferred {
        let age = oldest_deferred_at.map(|oldest| sweep.began_at - oldest);
        let age = age.map(|age| format!(", the oldest idle for {}", HumanDuration(age))).unwrap_or_default();
        notes.push(format!("Deferred to the next sweep: {}{age}", counted(tally.deferred, report)));
    }
    if 0 < *in_quarantine {
        let them = counted(*in_quarantine, report);
        notes.push(format!("{} {them}: see sweep quarantine list", "In quarantine:".yellow()));
    }
    notes
}

/// Why the sweep ended, whether wakes are taken up, and whether the clocks can be trusted.
fn ends(sweep: &Summary) -> Vec<String> {
    let stopped = sweep.stopped_by.map(|stopper| match stopper {
        StopReason::Limit => "The limit is reached.",
        StopReason::Deadline => "The deadline is reached.",
    });
    let ended = match sweep.ended {
        SweepEnd::Completed => None,
        SweepEnd::Interrupted => {
            Some("Interrupted by a signal: what was in hand is done, the next sweep does the rest.")
        }
        SweepEnd::Failed => Some("Ended early by an error: not everything was looked at."),
    };
    let stuck = sweep.stuck_wakes.as_ref().filter(|stuck| 0 < stuck.wakes.count);
    let stuck = stuck.map(|stuck| match stuck.wakes.none_is_taken {
        true => stuck.sentence().red().to_string(),
        false => stuck.sentence().yellow().to_string(),
    });
    let empty = sweep.empty.then(|| emptiness(&sweep.heading.host));
    let unswept = sweep.unswept.iter().map(|sentence| sentence.red().to_string());
    let lines = unswept.chain(stopped.into_iter().chain(ended).map(str::to_owned)).chain(stuck).chain(empty);
    lines.chain(sweep.clocks.warnings().into_iter().map(|warning| warning.yellow().to_string())).collect()
}

/// That nothing has been written yet, and how it is.
pub(super) fn emptiness(host: &str) -> String {
    match host {
        "native" => format!("{EMPTY}: docs/native.md shows how a control plane fills it"),
        _ => EMPTY.to_owned(),
    }
}

/// `3 continued, 1 escalated; left: 2 waiting`.
pub(super) fn done_and_left(total: Tally, dry_run: bool, ended: SweepEnd) -> String {
    let counted = |is_meant: fn(&&Outcome) -> bool| {
        let there = Outcome::ALL.iter().filter(is_meant).filter(|outcome| 0 < total.of(**outcome));
        there.map(|outcome| format!("{} {}", total.of(*outcome), coloured(*outcome))).collect::<Vec<_>>().join(", ")
    };
    let (done, left) = (counted(|outcome| outcome.is_change()), counted(|outcome| !outcome.is_change()));
    let would = if dry_run { "Would be: " } else { "" };
    let is_settled = |outcome: Outcome| matches!(outcome, Outcome::Waiting | Outcome::Skipped | Outcome::Healthy);
    // A sweep that did not look at everything does not know that there is nothing to do.
    let nothing = match Outcome::ALL.iter().all(|outcome| is_settled(*outcome) || total.of(*outcome) == 0) {
        true if ended == SweepEnd::Completed => "Nothing to do",
        _ if dry_run => "Nothing would be done",
        _ => "Nothing was done",
    };
    let done = if done.is_empty() { nothing.to_owned() } else { format!("{would}{done}") };
    let left = if left.is_empty() { left } else { format!("; left: {left}") };
    done + &left
}

/// What a sweep did, in a few numbers: outcomes, and how many subjects came to each.
pub fn told(tally: Tally) -> impl Iterator<Item = (Outcome, u64)> {
    let changes = Outcome::ALL.iter().filter(|outcome| outcome.is_change());
    let told = changes.chain(&[Outcome::Failed, Outcome::Deferred]).map(move |outcome| (*outcome, tally.of(*outcome)));
    told.filter(|(_, n)| 0 < *n)
}

fn coloured(outcome: Outcome) -> String {
    let style = match outcome {
        Outcome::Continued | Outcome::Recovered => Style::new().green(),
        Outcome::Escalated
        | Outcome::Abandoned
        | Outcome::Skipped
        | Outcome::Busy
        | Outcome::Changed
        | Outcome::Deferred => Style::new().yellow(),
        Outcome::Unknown | Outcome::Unreadable | Outcome::Failed => Style::new().red(),
        Outcome::HandedOver | Outcome::Waiting | Outcome::Healthy => Style::new(),
    };
    outcome.to_string().style(style).to_string()
}
