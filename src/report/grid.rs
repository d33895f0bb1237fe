//! Rows in columns two spaces apart, in every report for people.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use owo_colors::OwoColorize;

use crate::text::cut;

/// Rows kept of a list for people; JSON has them all.
pub const ROWS_MAX: usize = 200;

/// A terminal that is narrower, or says so, wraps whole lines better than cells.
const COLUMNS_MIN: u16 = 60;

/// Characters of a cell, or of a title above a table.
pub const CELL_MAX: usize = 150;

/// Below their names; `numbers`: the columns that are aligned to the right. Ends with a newline; empty without rows.
pub fn with_header<const N: usize>(
    names: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    numbers: &[usize],
) -> String {
    let mut table = Table::new();
    table.set_header(names.map(|name| name.dimmed().to_string())).add_rows(rows.into_iter().map(cut_cells));
    arranged(table, numbers)
}

/// By themselves.
pub fn without_header<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = Table::new();
    table.add_rows(rows.into_iter().map(cut_cells));
    arranged(table, &[])
}

fn cut_cells<const N: usize>(row: [String; N]) -> [String; N] {
    row.map(|cell| cut(&cell, CELL_MAX))
}

fn arranged(mut table: Table, numbers: &[usize]) -> String {
    if table.is_empty() {
        return String::new();
    }
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if table.width().is_some_and(|columns| columns < COLUMNS_MIN) {
        table.set_content_arrangement(ContentArrangement::Disabled);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((2, 0));
        if numbers.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{}\n", table.trim_fmt())
}
