//! Keeps the screen of a terminal from the bytes that a program writes to it, and shows what a person sees on it. The
//! size of the screen bounds its memory.

mod sequences;

use std::num::NonZeroU16;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use vt100::{Cell, Parser, Screen};

use super::Signal;
use crate::rules::display::is_invisible;
use sequences::{
    CANCEL, Corrections, DeviceStrings, Odd, OutOfBand, TITLE_MAX, TO_THE_FIRST_ROW, TO_THE_LAST_COLUMN,
    may_wrap_elsewhere, to,
};

/// A screen counts as still when nothing was drawn for this long.
const STILL_AFTER: Duration = Duration::from_secs(5);

/// How long a picture is waited for: its program may have forgotten to reset the mode.
const PAINTING_LASTS: Duration = Duration::from_millis(500);

/// The mode in which a terminal takes what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineMode {
    /// The terminal itself shows what is typed.
    pub echo: bool,
    /// The program is given whole lines; otherwise it reads each key and shows what it likes.
    pub canonical: bool,
}

impl LineMode {
    /// Whether the program asks for something that nobody may see, such as a password.
    pub fn hides(self) -> bool {
        self.canonical && !self.echo
    }
}

/// A screen as it stands at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// The lines that have scrolled off, oldest first, as before they were wrapped.
    pub above: Vec<String>,
    /// The rows from top to bottom, without trailing spaces.
    pub rows: Vec<String>,
    /// For each row, whether it is wrapped into the next one.
    pub wrapped: Vec<bool>,
    /// The row of the cursor, from 0; if the program hides the cursor, of the one that it draws itself.
    pub cursor_row: usize,
    /// The cursor's row, before the cursor.
    pub before_cursor: String,
    /// The cursor's row, from the cursor on.
    pub behind_cursor: String,
    /// The cursor's row from the cursor on, without dim text: a program shows hints so where nothing has been typed.
    pub solid_behind_cursor: String,
    pub title: String,
    /// Whether a full-screen program has switched to the alternate screen.
    pub is_alternate: bool,
    /// None if the terminal's mode cannot be read.
    pub mode: Option<LineMode>,
    /// Nothing was drawn within the last seconds.
    pub is_still: bool,
    /// The bell has rung since anything was drawn last.
    pub has_rung: bool,
    /// The program has used sequences that are not understood here, and its terminal may show something else.
    pub is_misread: bool,
}

/// A screen as another terminal has kept it, with its colours.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Capture {
    /// Rows and columns.
    pub size: (u16, u16),
    /// Row and column, from 0.
    pub cursor: (u16, u16),
    pub has_cursor: bool,
    pub is_alternate: bool,
    pub title: String,
    /// Up to `LINES_ABOVE` lines that have scrolled off, and the screen itself: lines as before they were wrapped.
    pub text: String,
}

impl Capture {
    /// How many lines are kept that have scrolled off.
    pub const LINES_ABOVE: usize = 41;
}

impl Look {
    /// Whether the rows from this one to the cursor's are one text, wrapped by the terminal or indented by the program.
    pub fn is_one_text(&self, first: usize) -> bool {
        let is_indented = |row: usize| self.rows.get(row).is_some_and(|text| text.starts_with("  "));
        let goes_on = |row: usize| self.wrapped.get(row) == Some(&true) || is_indented(row + 1);
        first <= self.cursor_row && (first..self.cursor_row).all(goes_on)
    }

    /// All lines that are not empty, oldest first, as before they were wrapped.
    pub fn lines(&self) -> Vec<String> {
        let rows = self.rows.iter().cloned().zip(self.wrapped.iter().copied());
        let lines = self.above.iter().cloned().chain(joined(rows));
        lines.filter(|line| !line.trim().is_empty()).collect()
    }
}

/// Joins rows to lines as before they were wrapped. With each row comes whether it is wrapped into the next one.
fn joined(rows: impl IntoIterator<Item = (String, bool)>) -> Vec<String> {
    let (mut lines, mut goes_on): (Vec<String>, bool) = (Vec::new(), false);
    for (row, wraps) in rows {
        match lines.last_mut().filter(|_| goes_on) {
            Some(line) => line.push_str(&row),
            None => lines.push(row),
        }
        goes_on = wraps;
    }
    lines
}

/// The screen of one terminal.
pub struct Emulator {
    parser: Parser<OutOfBand>,
    /// Finds the sequences that are to be corrected.
    sequences: vte::Parser,
    corrections: Corrections,
    strings: DeviceStrings,
    /// When anything was last drawn, also on the terminal that a screen was captured from.
    pub drawn_at: Option<Instant>,
    /// When the latest picture was begun.
    begun_at: Option<Instant>,
    /// Since when a picture is waited for; further ones that are begun meanwhile prolong nothing.
    awaited_since: Option<Instant>,
}

impl Default for Emulator {
    fn default() -> Emulator {
        Emulator::new((24, 80))
    }
}

impl Emulator {
    pub fn from_capture(capture: &Capture) -> Emulator {
        let Capture { size, cursor, has_cursor, is_alternate, title, text } = capture;
        let mut emulator = Emulator::new(*size);
        let screen = if *is_alternate { "\x1b[?1049h" } else { "" };
        let text = text.strip_suffix('\n').unwrap_or(text).replace('\n', "\r\n");
        let hides = if *has_cursor { "" } else { "\x1b[?25l" };
        emulator.feed(&[screen.as_bytes(), text.as_bytes(), &to(cursor.0, cursor.1), hides.as_bytes()].concat());
        let title = title.chars().take(TITLE_MAX).collect();
        let is_misread = text.lines().any(|line| may_wrap_elsewhere(line, size.1));
        *emulator.parser.callbacks_mut() = OutOfBand { title, is_misread, ..OutOfBand::default() };
        emulator
    }

    /// An empty screen of this size, on which the program goes on drawing where it is.
    pub fn emptied(&self) -> Emulator {
        let screen = self.parser.screen();
        Emulator::from_capture(&Capture {
            size: self.size(),
            cursor: screen.cursor_position(),
            has_cursor: !screen.hide_cursor(),
            is_alternate: screen.alternate_screen(),
            ..Capture::default()
        })
    }

    pub fn new((rows, columns): (u16, u16)) -> Emulator {
        let parser = parser((at_least_one(rows), at_least_one(columns)));
        Emulator {
            parser,
            sequences: vte::Parser::new(),
            corrections: Corrections::default(),
            strings: DeviceStrings::default(),
            drawn_at: None,
            begun_at: None,
            awaited_since: None,
        }
    }

    /// Adopts a size, and returns the one before.
    pub fn resize(&mut self, (rows, columns): (u16, u16)) -> (u16, u16) {
        let (size, before) = ((at_least_one(rows), at_least_one(columns)), self.size());
        let adopt = |parser: &mut Parser<OutOfBand>| parser.set_size(size.0, size.1);
        self.catch_panic(adopt).or_else(|| self.catch_panic(adopt));
        before
    }

    /// The size, in rows and columns.
    pub fn size(&self) -> (u16, u16) {
        let (rows, columns) = self.parser.screen().size();
        (rows.get(), columns.get())
    }

    /// Takes in the bytes that the program has written.
    pub fn process(&mut self, bytes: &[u8], now: Instant) {
        self.drawn_at = Some(now);
        let out_of_band = self.parser.callbacks_mut();
        out_of_band.has_rung &= bytes.contains(&0x07);
        let pictures = out_of_band.pictures;
        self.feed(bytes);
        if self.parser.callbacks().pictures != pictures {
            self.begun_at = Some(now);
        }
    }

    fn feed(&mut self, mut bytes: &[u8]) {
        self.parser.callbacks_mut().is_misread |= self.strings.change_screen(bytes);
        while !bytes.is_empty() {
            // The parser reads on to the next escape sequence, whatever controls come before that.
            let end = bytes.iter().position(|byte| matches!(byte, 0x08..=0x0c)).map_or(bytes.len(), |at| at + 1);
            let length = self.sequences.advance_until_terminated(&mut self.corrections, &bytes[..end]);
            let (read, rest) = bytes.split_at(length);
            bytes = rest;
            // The last byte is held back until it is known where the cursor is.
            let (before, last) = read.split_at(length - 1);
            self.parse(before);
            match self.corrections.odd.take() {
                None => self.parse(last),
                Some(odd) => self.correct(&odd, last),
            }
            self.parser.callbacks_mut().is_misread |= self.corrections.is_misread;
        }
    }

    /// Whether the last cell of the row is written, and the next character would begin the next row.
    fn is_behind_row(&self) -> bool {
        self.size().1 <= self.parser.screen().cursor_position().1
    }

    /// Ends a sequence as terminals do.
    fn correct(&mut self, odd: &Odd, last: &[u8]) {
        let (rows, was_alternate) = (self.size().0, self.is_alternate());
        let (row, column) = self.parser.screen().cursor_position();
        let is_behind_row = self.is_behind_row();
        let goes_on_from_above = 0 < row && self.parser.screen().row_wrapped(row - 1);
        let is_ignored = match odd {
            Odd::ReverseIndex => 0 < self.corrections.first && row == 0,
            Odd::Region => !self.corrections.adopt_region(rows),
            _ => false,
        };
        self.parse(if is_ignored { CANCEL } else { last });
        match odd {
            Odd::Region if !is_ignored => self.parse(TO_THE_FIRST_ROW),
            // Terminals stop at the end of the rows that scroll, from outside of them as well.
            Odd::Row if self.corrections.is_beside_region(row) => self.parser.callbacks_mut().is_misread = true,
            Odd::Row if self.is_behind_row() => self.parse(TO_THE_LAST_COLUMN),
            Odd::Behind | Odd::ReverseIndex if is_behind_row || self.is_behind_row() => {
                self.corrections.doubts_place = true;
            }
            Odd::Back if is_behind_row || column == 0 && goes_on_from_above => {
                self.corrections.doubts_place = true;
            }
            Odd::OtherScreen { saves_cursor } => {
                self.parser.callbacks_mut().is_misread |= self.corrections.has_region(rows);
                match (was_alternate, self.is_alternate()) {
                    (false, true) if !is_behind_row => self.parse(&to(row, column)),
                    (true, false) if *saves_cursor => {}
                    _ => self.corrections.doubts_place = true,
                }
            }
            _ => {}
        }
    }

    fn parse(&mut self, bytes: &[u8]) {
        self.catch_panic(|parser| parser.process(bytes));
    }

    /// Some sequences make the parser panic: wide characters in narrow or resized windows. Then the screen is empty
    /// until something is drawn, while the program's terminal shows more.
    fn catch_panic<T>(&mut self, body: impl FnOnce(&mut Parser<OutOfBand>) -> T) -> Option<T> {
        let size = self.parser.screen().size();
        let done = catch_unwind(AssertUnwindSafe(|| body(&mut self.parser)));
        if done.is_err() {
            self.parser = parser(size);
            self.parser.callbacks_mut().is_misread = true;
        }
        done.ok()
    }

    /// Whether only a part of a picture is painted, by the program's own account, and the rest is to be waited for.
    pub fn is_painting(&mut self, now: Instant) -> bool {
        self.awaited_since = self.awaited_since.or(self.begun_at).filter(|_| !self.is_whole());
        self.awaited_since.is_some_and(|at| now.saturating_duration_since(at) < PAINTING_LASTS)
    }

    /// Whether the program has ended each picture that it has begun.
    pub fn is_whole(&self) -> bool {
        !self.parser.callbacks().is_painting
    }

    /// Takes the signals that the program has sent since the last call, oldest first.
    pub fn take_signals(&mut self) -> Vec<Signal> {
        std::mem::take(&mut self.parser.callbacks_mut().signals)
    }

    /// Whether a full-screen program has switched to the alternate screen.
    pub fn is_alternate(&self) -> bool {
        self.parser.screen().alternate_screen()
    }

    /// Whether the program distinguishes what is pasted from keys.
    pub fn takes_pastes(&self) -> bool {
        self.parser.screen().bracketed_paste()
    }

    pub fn title(&self) -> &str {
        &self.parser.callbacks().title
    }

    /// The screen as it is now; `mode` is that of the terminal.
    pub fn current_look(&mut self, mode: Option<LineMode>, now: Instant) -> Look {
        let is_still = self.drawn_at.is_none_or(|at| STILL_AFTER <= now.saturating_duration_since(at));
        let look = self.catch_panic(look_at).unwrap_or_default();
        Look { mode, is_still, ..look }
    }
}

/// A terminal of this many rows and columns, on which nothing was drawn yet.
fn parser((rows, columns): (NonZeroU16, NonZeroU16)) -> Parser<OutOfBand> {
    Parser::new_with_callbacks(rows, columns, Capture::LINES_ABOVE, OutOfBand::default())
}

fn at_least_one(size: u16) -> NonZeroU16 {
    NonZeroU16::new(size).unwrap_or(NonZeroU16::MIN)
}

/// What the screen shows now; the terminal's mode is not known here.
fn look_at(parser: &mut Parser<OutOfBand>) -> Look {
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
    let (mut above, mut left) = (Vec::new(), screen.scrollback_len());
    while 0 < left && !screen.alternate_screen() {
        screen.set_scrollback(left);
        let shown = left.min(height);
        let rows = screen.rows(0, width.get()).take(shown).map(visible).zip(0..);
        above.extend(rows.map(|(row, at)| (row, screen.row_wrapped(at))));
        left -= shown;
    }
    screen.set_scrollback(0);
    joined(above)
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

#[cfg(test)]
mod tests;
