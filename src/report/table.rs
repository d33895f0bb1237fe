//! The report for people: what was done and left in two lines, then one row per subject.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use owo_colors::OwoColorize;

use super::grid::{self, GridRow, ROWS_MAX};
use super::page::{self, Page};
use super::summary::{coloured, counts, summary};
use crate::rules::display::HumanDuration;
use crate::sweep::{Examined, Mode, Outcome, Summary};

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
    detail: Detail,
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

    /// An empty one, of as much detail.
    pub(super) fn anew(&self) -> Table {
        Table::of(self.detail)
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
        row.idle_seconds.map(|seconds| HumanDuration(TimeDelta::seconds(seconds)).to_string()).unwrap_or_default(),
        if row.shadow { format!("(shadow) {}", coloured(row.outcome)) } else { coloured(row.outcome) },
        attempt.map(|n| format!("{n} of {}", row.attempts_max)).unwrap_or_default(),
        row.reason.clone(),
    ];
    GridRow::of_subject(cells, row.url.as_deref())
}
