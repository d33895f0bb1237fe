//! A plain table: columns two spaces apart, and their names dimmed.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use owo_colors::OwoColorize;

/// A terminal that is narrower, or says so, wraps whole lines better than cells.
const COLUMNS_MIN: u16 = 60;

/// `numbers`: the columns that are aligned to the right. Ends with a newline; empty when there is no row.
pub fn grid<const N: usize>(header: [&str; N], rows: Vec<[String; N]>, numbers: &[usize]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut grid = Table::new();
    grid.load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header.map(|name| name.dimmed().to_string()))
        .add_rows(rows);
    if grid.width().is_some_and(|columns| columns < COLUMNS_MIN) {
        grid.set_content_arrangement(ContentArrangement::Disabled);
    }
    for (index, column) in grid.column_iter_mut().enumerate() {
        column.set_padding((2, 0));
        if numbers.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{}\n", grid.trim_fmt())
}
