//! Rows in columns, as far apart as in the report of a sweep.

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use owo_colors::OwoColorize;

/// Rows kept of a list for people; JSON has them all.
pub const ROWS_MAX: usize = 200;

/// Below their names.
pub fn with_header<const N: usize>(names: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = Table::new();
    table.set_header(names.map(|name| name.dimmed().to_string())).add_rows(rows);
    arranged(table)
}

/// By themselves.
pub fn without_header<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = Table::new();
    table.add_rows(rows);
    arranged(table)
}

fn arranged(mut table: Table) -> String {
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    // A terminal that is that narrow, or says so, wraps whole lines better than cells.
    if table.width().is_some_and(|columns| columns < 60) {
        table.set_content_arrangement(ContentArrangement::Disabled);
    }
    table.column_iter_mut().for_each(|column| {
        column.set_padding((2, 0));
    });
    format!("{}\n", table.trim_fmt())
}
