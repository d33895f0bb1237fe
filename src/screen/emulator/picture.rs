//! What a person sees on the screen: its rows, and what stands around the cursor.

use std::ops::Range;

use vt100::{Cell, Parser, Screen};

use super::corrections::may_wrap_elsewhere;
use super::out_of_band::OutOfBand;
use crate::rules::display::is_invisible;
use crate::screen::look::Look;

/// What the screen shows now; the terminal's mode is not known here.
pub fn look_at(parser: &mut Parser<OutOfBand>) -> Look {
    let above = above(parser.screen_mut());
    let (screen, out_of_band) = (parser.screen(), parser.callbacks());
    let (height, width) = screen.size();
    let wrapped: Vec<bool> = (0..height.get()).map(|row| screen.row_wrapped(row)).collect();
    // A row that is wrapped may end in a space.
    let row = |(row, wraps): (String, &bool)| if *wraps { row } else { row.trim_end().to_owned() };
    let rows: Vec<String> = screen.rows(0, width.get()).map(visible).zip(&wrapped).map(row).collect();
    let (row, column) = cursor(screen);
    let part = |columns: Range<u16>, is_shown: &dyn Fn(&Cell) -> bool| {
        let cells = columns.filter_map(|column| screen.cell(row, column)).filter(|cell| !cell.is_wide_continuation());
        visible(cells.map(|cell| if cell.has_contents() && is_shown(cell) { cell.contents() } else { " " }).collect())
    };
    let behind = column..width.get();
    // A cursor that the program draws itself is one inverse cell: on nothing, or on the first character of a hint.
    let is_dim = |cell: &Cell| cell.dim() && cell.has_contents();
    let is_on_hint = (column + 1..column + 3).filter_map(|next| screen.cell(row, next)).any(is_dim);
    let is_drawn_cursor = |cell: &Cell| {
        let is_here = screen.cell(row, column).is_some_and(|at| std::ptr::eq(at, cell));
        cell.inverse() && is_here && (is_on_hint || cell.contents().trim().is_empty())
    };
    Look {
        above,
        wrapped,
        rows,
        cursor_row: row.into(),
        before_cursor: part(0..column, &|_| true),
        solid_behind_cursor: part(behind.clone(), &|cell| !cell.dim() && !is_drawn_cursor(cell)).trim_end().to_owned(),
        behind_cursor: part(behind, &|_| true).trim_end().to_owned(),
        title: out_of_band.title.clone(),
        is_alternate: screen.alternate_screen(),
        has_rung: out_of_band.has_rung,
        is_misread: out_of_band.is_misread || out_of_band.has_wrapped_unasked(screen) || is_wrapped_elsewhere(screen),
        takes_pastes: screen.bracketed_paste(),
        ..Look::default()
    }
}

/// Whether a line on the screen may have another number of rows in another terminal.
fn is_wrapped_elsewhere(screen: &Screen) -> bool {
    let columns = screen.size().1.get();
    let is_filled = |row, column| {
        screen.cell(row, column).is_some_and(|cell: &Cell| cell.has_contents() || cell.is_wide_continuation())
    };
    // A wide character does not fit into the last cell.
    let leaves_cell = |row: u16| {
        let is_wide_next = screen.cell(row + 1, 0).is_some_and(Cell::is_wide);
        is_wide_next && !is_filled(row, columns - 1) && is_filled(row, columns.saturating_sub(2))
    };
    let mut line = String::new();
    screen.rows(0, columns).zip(0..).any(|(text, row)| {
        line.push_str(&text);
        let goes_on = screen.row_wrapped(row) || leaves_cell(row);
        !goes_on && may_wrap_elsewhere(&std::mem::take(&mut line), columns)
    })
}

/// A part of the screen as a person sees it: characters without a width take no cell, and belong to no text.
fn visible(text: String) -> String {
    text.chars().filter(|c| !is_invisible(*c)).collect()
}

/// The lines that have scrolled off, read a screenful at a time.
fn above(screen: &mut Screen) -> Vec<String> {
    let (height, width) = screen.size();
    let height = usize::from(height.get());
    let mut lines: Vec<String> = Vec::new();
    let (mut left, mut goes_on) = (screen.scrollback_len(), false);
    while 0 < left && !screen.alternate_screen() {
        screen.set_scrollback(left);
        let shown = left.min(height);
        let rows: Vec<String> = screen.rows(0, width.get()).take(shown).map(visible).collect();
        for (at, row) in rows.iter().enumerate() {
            match lines.last_mut().filter(|_| goes_on) {
                Some(line) => line.push_str(row),
                None => lines.push(row.clone()),
            }
            goes_on = screen.row_wrapped(at as u16);
        }
        left -= shown;
    }
    screen.set_scrollback(0);
    lines
}

/// The position of the cursor. For a program that hides it, the cell that it draws in its place: a single inverse one.
fn cursor(screen: &Screen) -> (u16, u16) {
    let real = screen.cursor_position();
    if !screen.hide_cursor() {
        return real;
    }
    let (height, width) = screen.size();
    let is_inverse = |row, column| screen.cell(row, column).is_some_and(Cell::inverse);
    let is_alone = |row, column: u16| {
        is_inverse(row, column) && !is_inverse(row, column + 1) && (column == 0 || !is_inverse(row, column - 1))
    };
    let mut drawn = (0..height.get()).rev().flat_map(|row| (0..width.get()).map(move |column| (row, column)));
    drawn.find(|&(row, column)| is_alone(row, column)).unwrap_or(real)
}
