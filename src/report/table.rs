//! The report for people: one line that sums up, one row per touched subject, then what was left and why.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::TimeDelta;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, ContentArrangement, Table as Grid};
use owo_colors::{OwoColorize, Style};

use super::{Examined, Heading, KindReport, Outcome, Tally};
use crate::rules::words::{Spoken, one_line};
use crate::store::ledger::Ended;

/// Rows kept of each part; JSON has them all.
const ROWS_MAX: usize = 200;

/// The rows of a report, collected until its end.
#[derive(Default)]
pub struct Table {
    touched: Rows,
    left: Rows,
    /// Healthy subjects are counted by their reason.
    healthy: BTreeMap<String, u64>,
}

#[derive(Default)]
struct Rows {
    kept: Vec<Examined>,
    more: u64,
}

impl Table {
    pub fn add(&mut self, examined: Examined) {
        match examined.outcome {
            outcome if outcome.is_change() => self.touched.add(examined),
            Outcome::Healthy => *self.healthy.entry(examined.reason).or_default() += 1,
            _ => self.left.add(examined),
        }
    }

    pub fn render(
        &self,
        heading: &Heading,
        kinds: &[KindReport],
        total: Tally,
        ended: Ended,
        took: Duration,
    ) -> String {
        let mut text = summary(heading, kinds, total, ended, took);
        for report in kinds.iter().filter(|report| !report.provided) {
            text += &format!("{}: not provided by this database\n", report.kind.plural());
        }
        let outcome = if heading.dry_run { "would be" } else { "outcome" };
        text += &self.touched.print(
            "",
            ["kind", "subject", "finding", "idle for", outcome, "attempt"],
            |row| {
                let attempt = row
                    .attempt
                    .map(|n| format!("{n} of {}", row.attempts_max))
                    .unwrap_or_default();
                let finding = row
                    .finding
                    .map(|finding| finding.to_string())
                    .unwrap_or_else(|| row.reason.clone());
                [
                    row.kind.to_string(),
                    name(row),
                    one_line(&finding),
                    idle(row),
                    coloured(row.outcome),
                    attempt,
                ]
            },
        );
        text += &self.left.print(
            "Left as it is:\n",
            ["kind", "subject", "outcome", "idle for", "why", ""],
            |row| {
                [
                    row.kind.to_string(),
                    name(row),
                    coloured(row.outcome),
                    idle(row),
                    one_line(&row.reason),
                    String::new(),
                ]
            },
        );
        if !self.healthy.is_empty() {
            let reasons: Vec<String> = self
                .healthy
                .iter()
                .map(|(reason, n)| format!("{n} × {}", one_line(reason)))
                .collect();
            text += &format!("\nHealthy at a closer look: {}\n", reasons.join(", "));
        }
        text
    }
}

impl Rows {
    fn add(&mut self, examined: Examined) {
        if self.kept.len() < ROWS_MAX {
            self.kept.push(examined)
        } else {
            self.more += 1
        }
    }

    fn print(&self, title: &str, head: [&str; 6], cells: impl Fn(&Examined) -> [String; 6]) -> String {
        if self.kept.is_empty() {
            return String::new();
        }
        let mut grid = Grid::new();
        grid.load_style(UTF8_HORIZONTAL_ONLY)
            .set_content_arrangement(ContentArrangement::Dynamic);
        grid.set_header(head.map(|name| name.dimmed().to_string()));
        // Longest idle first, whichever worker was quickest.
        let mut rows: Vec<&Examined> = self.kept.iter().collect();
        rows.sort_by_key(|row| (row.kind, row.outcome, row.idle_since, row.id.clone()));
        for row in rows {
            grid.add_row(cells(row));
        }
        if let Some(column) = grid.column_mut(3) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let more = if self.more == 0 {
            String::new()
        } else {
            format!("… and {} more: --output ndjson shows all\n", self.more)
        };
        let lines: Vec<&str> = std::iter::once("").chain(title.lines()).collect();
        format!("{}\n{}\n{more}", lines.join("\n"), grid.trim_fmt())
    }
}

/// `Swept 12 issues and 4 steps (native) in 0.03 s: 3 continued, 1 escalated; left: 2 waiting`.
fn summary(heading: &Heading, kinds: &[KindReport], total: Tally, ended: Ended, took: Duration) -> String {
    let scanned: Vec<String> = kinds
        .iter()
        .filter(|report| report.provided)
        .map(|report| {
            let noun = if report.tally.scanned == 1 {
                report.kind.name()
            } else {
                report.kind.plural()
            };
            format!("{} {noun}", report.tally.scanned)
        })
        .collect();
    let (verb, would) = if heading.dry_run {
        ("Dry run, nothing is written: looked at", "would be ")
    } else {
        ("Swept", "")
    };
    // Destructured so that a new counter cannot be forgotten.
    let Tally {
        scanned: _,
        continued,
        escalated,
        recovered,
        waiting,
        skipped,
        healthy,
        busy,
        unknown,
        quarantined,
        failed,
    } = total;
    let done = counters(&[
        (continued, Outcome::Continued),
        (escalated, Outcome::Escalated),
        (recovered, Outcome::Recovered),
    ]);
    let left = counters(&[
        (waiting, Outcome::Waiting),
        (skipped, Outcome::Skipped),
        (healthy, Outcome::Healthy),
        (busy, Outcome::Busy),
        (unknown, Outcome::Unknown),
        (quarantined, Outcome::Quarantined),
        (failed, Outcome::Failed),
    ]);
    let done = if done.is_empty() {
        "nothing to do".to_owned()
    } else {
        format!("{would}{done}")
    };
    let left = if left.is_empty() {
        left
    } else {
        format!("; left: {left}")
    };
    let ended = match ended {
        Ended::Completed => "",
        Ended::Interrupted => "\nInterrupted by a signal: what was in hand is done, the next sweep does the rest.",
        Ended::Failed => "\nEnded early: the database went away.",
    };
    let (scanned, host, seconds) = (scanned.join(" and "), heading.host, took.as_secs_f64());
    format!(
        "{} {scanned} ({host}) in {seconds:.2} s: {done}{left}{ended}\n",
        verb.bold()
    )
}

fn counters(counters: &[(u64, Outcome)]) -> String {
    let shown = counters
        .iter()
        .filter(|(n, _)| 0 < *n)
        .map(|(n, outcome)| format!("{n} {outcome}"));
    shown.collect::<Vec<_>>().join(", ")
}

/// The identifier; the id where there is none.
fn name(row: &Examined) -> String {
    one_line(row.identifier.as_deref().unwrap_or(&row.id.0))
}

fn idle(row: &Examined) -> String {
    row.idle_seconds
        .map(|seconds| Spoken(TimeDelta::seconds(seconds)).to_string())
        .unwrap_or_default()
}

fn coloured(outcome: Outcome) -> String {
    let style = match outcome {
        Outcome::Continued | Outcome::Recovered => Style::new().green(),
        Outcome::Escalated | Outcome::Skipped | Outcome::Busy => Style::new().yellow(),
        Outcome::Unknown | Outcome::Quarantined | Outcome::Failed => Style::new().red(),
        Outcome::Waiting | Outcome::Healthy => Style::new(),
    };
    outcome.name().style(style).to_string()
}
