//! Rows in columns two spaces apart, in every report for people; and sections of overviews: a sentence with such a
//! table below it, which shows ages, states and what a row is about.
//!
//! On a terminal that is too narrow for them, cells are wrapped at their words, the widest first. When that is not
//! enough, the last columns leave the grid and stand below their row.

use std::collections::BTreeMap;
use std::fmt::Display;

use chrono::TimeDelta;
use owo_colors::{OwoColorize, Style};
use textwrap::core::display_width;

use super::page::{self, Page};
use crate::rules::Kind;
use crate::rules::board::BoardState;
use crate::rules::display::HumanDuration;
use crate::store::read::overview::{Counts, SubjectRef};
use crate::text::{cut, redact};

/// Rows kept of a list for people; JSON has them all.
pub const ROWS_MAX: usize = 200;

/// Characters of a cell, or of a title above a table.
pub const CELL_MAX: usize = 150;

/// Between two columns, and before the first.
const GAP: usize = 2;

/// A column of prose that is narrower than this is no pleasure to read.
const PROSE_MIN: usize = 24;

/// A name, a state or an age is not wrapped up to this width.
const NAME_MAX: usize = 20;

/// Words that are longer may be broken.
const WORD_MAX: usize = 36;

/// What stands below a row is indented by so many.
const BELOW: usize = 4;

/// A row of a table.
pub struct GridRow<const N: usize> {
    cells: [String; N],
    /// To the page of what stands in the column `NAME`.
    url: Option<String>,
}

/// The column that has the name of a row's subject.
const NAME: usize = 1;

impl<const N: usize> From<[String; N]> for GridRow<N> {
    fn from(cells: [String; N]) -> GridRow<N> {
        GridRow { cells, url: None }
    }
}

impl<const N: usize> GridRow<N> {
    /// A row about a subject, whose name leads to its page.
    pub fn of_subject(cells: [String; N], url: &Option<String>) -> GridRow<N> {
        GridRow { cells, url: url.clone() }
    }
}

/// Rows below their names, on stdout; `numbers`: the columns that are aligned to the right. Ends with a newline; empty
/// without rows.
pub fn with_header<const N: usize>(
    names: [&str; N],
    rows: impl IntoIterator<Item = impl Into<GridRow<N>>>,
    numbers: &[usize],
) -> String {
    within(Page::of(std::io::stdout()), names, rows, numbers)
}

/// Rows below their names, as `with_header` draws them, on another page.
pub fn within<const N: usize>(
    page: Page,
    names: [&str; N],
    rows: impl IntoIterator<Item = impl Into<GridRow<N>>>,
    numbers: &[usize],
) -> String {
    let rows = rows.into_iter().map(Into::into);
    let rows: Vec<GridRow<N>> = rows.map(|row| GridRow { cells: cut_cells(row.cells), ..row }).collect();
    let header = names.map(|name| name.dimmed().to_string());
    let header = (!rows.is_empty()).then(|| GridRow::from(header));
    let cells = header.iter().chain(&rows).map(|row| &row.cells);
    let widths = Widths::fitting(page, cells, N.saturating_sub(3));
    let header = header.iter().map(|header| widths.row(header, numbers));
    header.chain(rows.iter().map(|row| widths.row(row, numbers) + &widths.below(&names, &row.cells))).collect()
}

/// Rows without names above them, on stdout.
pub fn without_header<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> String {
    let rows: Vec<GridRow<N>> = rows.into_iter().map(|cells| GridRow::from(cut_cells(cells))).collect();
    let widths = Widths::fitting(Page::of(std::io::stdout()), rows.iter().map(|row| &row.cells), 0);
    rows.iter().map(|row| widths.row(row, &[])).collect()
}

fn cut_cells<const N: usize>(row: [String; N]) -> [String; N] {
    row.map(|cell| cut(&cell, CELL_MAX))
}

/// How wide each column is; those behind them stand below.
struct Widths {
    page: Page,
    columns: Vec<usize>,
}

impl Widths {
    /// At most so many of the last columns leave the grid.
    fn fitting<'a, const N: usize>(
        page: Page,
        rows: impl Iterator<Item = &'a [String; N]> + Clone,
        movable: usize,
    ) -> Widths {
        let widest = |measure: fn(&str) -> usize| -> Vec<usize> {
            (0..N).map(|n| rows.clone().map(|row| measure(&row[n])).max().unwrap_or_default()).collect()
        };
        let mut columns = widest(display_width);
        let Some(room) = page.columns else { return Widths { page, columns } };
        let mut tight = widest(longest_word);
        let mut least = tight.clone();
        for (n, (least, natural)) in least.iter_mut().zip(&columns).enumerate() {
            *least = match n + 1 == N {
                true => PROSE_MIN.min(*natural),
                false => NAME_MAX.min(*natural).max(*least),
            };
        }
        let needed = |widths: &[usize]| widths.iter().map(|width| GAP + width).sum::<usize>();
        let moved = |columns: &[usize]| N - columns.len();
        // Two columns below their row are better than wrapped names, and these better than three.
        let fits = |columns: &[usize], least: &[usize], tight: &[usize]| {
            needed(columns) <= room || needed(if moved(columns) < 2 { least } else { tight }) <= room
        };
        while moved(&columns) < movable && !fits(&columns, &least, &tight) {
            columns.pop();
            least.pop();
            tight.pop();
        }
        let least = if needed(&least) <= room { least } else { tight };
        while room < needed(&columns) {
            let shrinkable = (0..columns.len()).filter(|&n| least[n] < columns[n]);
            let Some(widest) = shrinkable.max_by_key(|&n| columns[n]) else { break };
            columns[widest] -= 1;
        }
        Widths { page, columns }
    }

    /// One row, each of its cells on as many lines as it takes.
    fn row<const N: usize>(&self, row: &GridRow<N>, numbers: &[usize]) -> String {
        let cells: Vec<Vec<String>> =
            row.cells.iter().zip(&self.columns).map(|(cell, width)| cell_lines(cell, *width)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or_default();
        let line = |number: usize| {
            let columns = cells.iter().zip(&self.columns).enumerate().map(|(n, (lines, width))| {
                let text = lines.get(number).map_or("", String::as_str);
                let room = " ".repeat(width.saturating_sub(display_width(text)));
                let gap = " ".repeat(GAP);
                // Drawn last: a link has no width.
                let text = self.page.link(text, row.url.as_deref().filter(|_| n == NAME));
                if numbers.contains(&n) { format!("{gap}{room}{text}") } else { format!("{gap}{text}{room}") }
            });
            columns.collect::<String>().trim_end().to_owned() + "\n"
        };
        (0..height).map(line).collect()
    }

    /// What has no room beside the rest: `attempt: 1 of 2; why: nudged to go on`. One column alone needs no name.
    fn below(&self, names: &[&str], cells: &[String]) -> String {
        let moved = self.columns.len()..cells.len();
        let (Some(page), false) = (self.page.columns, moved.is_empty()) else { return String::new() };
        let has_names = 1 < moved.len();
        let noted = moved.filter(|&n| !cells[n].is_empty()).map(|n| match has_names {
            true => format!("{}: {}", names[n], cells[n]),
            false => cells[n].clone(),
        });
        let noted = noted.collect::<Vec<_>>().join("; ");
        let lines = if noted.is_empty() { Vec::new() } else { page::lines(&noted, page.saturating_sub(BELOW).max(1)) };
        lines.iter().map(|line| format!("{}{}\n", " ".repeat(BELOW), line.trim_end())).collect()
    }
}

fn longest_word(cell: &str) -> usize {
    cell.split(' ').map(display_width).max().unwrap_or_default().min(WORD_MAX)
}

/// A cell on lines of at most this width; each has the colour of the whole.
fn cell_lines(cell: &str, width: usize) -> Vec<String> {
    if display_width(cell) <= width {
        return vec![cell.to_owned()];
    }
    let colours = cell.starts_with('\u{1b}').then(|| Some((cell.find('m')? + 1, cell.rfind('\u{1b}')?))).flatten();
    let (begin, end) = colours.filter(|(begin, end)| begin <= end).unwrap_or((0, cell.len()));
    let lines = page::lines(&cell[begin..end], width.max(1));
    lines.iter().map(|line| format!("{}{}{}", &cell[..begin], line.trim_end(), &cell[end..])).collect()
}

/// A time span in words.
pub fn duration(seconds: i64) -> String {
    HumanDuration(TimeDelta::seconds(seconds)).to_string()
}

/// An age, or that the row holds no time that can be read.
pub fn age(seconds: Option<i64>) -> String {
    seconds.map_or("unknown".to_owned(), duration)
}

/// A state or a plan's status in the colour of its urgency.
pub fn coloured(name: &str) -> String {
    paint(redact(name), name)
}

/// A text in the colour of a state.
pub fn paint(text: impl Display, state: &str) -> String {
    let is = |states: &[BoardState]| states.iter().any(|known| known.name() == state);
    let style = match state {
        _ if is(&[BoardState::Orphaned, BoardState::Stalled]) => Style::new().red(),
        _ if is(&[BoardState::Escalated, BoardState::Abandoned, BoardState::Skipped]) => Style::new().yellow(),
        "active" | "executing" | "completed" => Style::new().green(),
        _ => Style::new(),
    };
    text.style(style).to_string()
}

/// The cells of a subject: its kind, what people call it, its agent and its title, as they may be shown.
pub fn cells(subject: &SubjectRef) -> [String; 4] {
    let kind = subject.kind.map(Kind::name).unwrap_or_default().to_owned();
    let [name, agent, title] = [subject.name(), subject.agent.as_deref(), subject.title.as_deref()]
        .map(|text| text.map(redact).unwrap_or_default());
    [kind, name, agent, title]
}

/// A sentence, the rows below it, and how many of the `total` are not among them; empty when there are none.
pub fn section<const N: usize, R: Into<GridRow<N>>>(
    total: i64,
    sentence: impl Display,
    names: [&str; N],
    numbers: &[usize],
    rows: impl ExactSizeIterator<Item = R>,
) -> String {
    let more = match total - rows.len() as i64 {
        _ if total == 0 => return String::new(),
        more if 0 < more => format!("  … and {more} more\n"),
        _ => String::new(),
    };
    format!("{sentence}\n\n{}{more}", with_header(names, rows, numbers))
}

/// The sections that are not empty, each with an empty line before it.
pub fn joined(sections: &[String]) -> String {
    sections.iter().filter(|section| !section.is_empty()).map(|text| format!("\n{text}")).collect()
}

/// All work by its state; a state in which nothing is, is left out. `further`: a line below.
pub fn kinds(kinds: &BTreeMap<&'static str, Counts>, further: Option<[String; 2]>) -> String {
    let lines = kinds.iter().map(|(kind, counts)| {
        let present = counts.states.iter().filter(|(_, n)| 0 < **n);
        let text: Vec<String> = present.map(|(state, n)| format!("{n} {}", coloured(state.name()))).collect();
        let text = match (counts.provided, text.is_empty()) {
            (false, _) => "not provided by this database".to_owned(),
            (true, true) => "none".to_owned(),
            (true, false) => text.join(", "),
        };
        [(*kind).to_owned(), text]
    });
    format!("{}\n\n{}", "All work in progress".bold(), without_header(lines.chain(further)))
}

#[cfg(test)]
mod tests {
    use super::{GridRow, within};
    use crate::report::page::Page;

    const NAMES: [&str; 5] = ["kind", "subject", "idle for", "attempt", "why"];

    fn table(columns: Option<usize>) -> String {
        let rows = [
            ["session", "dmitri-2", "25m", "1 of 2", "nudged to go on"],
            ["step", "SOC 2 evidence #2", "2d 5h", "", "the plan has no agent to wake, and nobody else is there"],
        ];
        let grid = within(Page { columns, ..Page::default() }, NAMES, rows.map(|row| row.map(str::to_owned)), &[2]);
        anstream::adapter::strip_str(&grid).to_string()
    }

    #[test]
    fn a_page_that_is_wide_enough_changes_nothing() {
        assert_eq!(table(Some(110)), table(None));
    }

    #[test]
    fn what_is_too_wide_is_wrapped_at_its_words() {
        insta::assert_snapshot!(table(Some(72)), @r"
        kind     subject            idle for  attempt
        session  dmitri-2                25m  1 of 2
          nudged to go on
        step     SOC 2 evidence #2     2d 5h
          the plan has no agent to wake, and nobody else is there
        ");
    }

    #[test]
    fn what_has_no_room_beside_the_rest_stands_below_it() {
        insta::assert_snapshot!(table(Some(46)), @r"
        kind     subject            idle for
        session  dmitri-2                25m
          attempt: 1 of 2; why: nudged to go on
        step     SOC 2 evidence #2     2d 5h
          why: the plan has no agent to wake, and
          nobody else is there
        ");
    }

    #[test]
    fn no_line_is_longer_than_the_page() {
        for columns in 34..120 {
            let table = table(Some(columns));
            assert!(table.lines().all(|line| line.chars().count() <= columns), "{columns}:\n{table}");
        }
    }

    #[test]
    fn a_name_leads_to_its_page_on_every_line_that_it_takes_and_widths_stay_as_they_are() {
        let row = || ["step", "SOC 2 evidence of the whole year #2", "2d 5h", "", "nobody is there"].map(str::to_owned);
        let drawn = |url: Option<&str>, knows_links| {
            let page = Page { columns: Some(70), knows_links };
            within(page, NAMES, [GridRow::of_subject(row(), &url.map(str::to_owned))], &[2])
        };
        let plain = drawn(None, true);
        let linked = drawn(Some("https://board.example/1"), true);
        assert_eq!(linked.matches("\u{1b}]8;;https://board.example/1\u{1b}\\").count(), 2, "{linked:?}");
        assert_eq!(linked.matches("\u{1b}]8;;\u{1b}\\").count(), 2, "{linked:?}");
        let visible = |text: &str| anstream::adapter::strip_str(text).to_string();
        assert_eq!(visible(&linked), visible(&plain));
        assert_eq!(drawn(Some("https://board.example/1"), false), plain);
    }
}
