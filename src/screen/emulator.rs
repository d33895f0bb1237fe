//! The screen of a terminal, kept from the bytes that a program writes to it. In memory it is as large as the screen.

use std::num::NonZeroU16;
use std::ops::Range;
use std::time::{Duration, Instant};

use vt100::{Callbacks, Cell, Parser, Screen};

use super::look::{LineMode, Look};
use super::signal::{Signal, of_osc};

/// Lines that are remembered when they have scrolled off.
pub const ABOVE_MAX: usize = 41;

/// How long nothing may have been drawn until a screen counts as still.
const STILL_AFTER: Duration = Duration::from_secs(5);

/// Characters of a title.
const TITLE_MAX: usize = 200;

/// Signals that wait to be looked at.
const SIGNALS_MAX: usize = 16;

/// The mode by which programs say that they begin to paint, and that they have ended.
const SYNCHRONIZED: u16 = 2026;

/// Whoever says for so long that it paints has forgotten to say that it has ended.
const PAINTING_LASTS: Duration = Duration::from_millis(500);

pub struct Emulator {
    parser: Parser<Heard>,
    drawn_at: Option<Instant>,
    /// The latest picture's beginning.
    painting_since: Option<Instant>,
}

/// What came with the bytes besides the screen.
#[derive(Default)]
struct Heard {
    title: String,
    signals: Vec<Signal>,
    has_rung: bool,
    is_painting: bool,
    /// How many it has begun to paint.
    pictures: u64,
}

impl Callbacks for Heard {
    fn audible_bell(&mut self, _: &mut Screen) {
        self.has_rung = true;
    }

    fn set_window_title(&mut self, _: &mut Screen, title: &[u8]) {
        self.title = String::from_utf8_lossy(title).chars().take(TITLE_MAX).collect();
    }

    fn unhandled_osc(&mut self, _: &mut Screen, parameters: &[&[u8]]) {
        if let Some(signal) = of_osc(parameters) {
            if self.signals.len() == SIGNALS_MAX {
                self.signals.remove(0);
            }
            self.signals.push(signal);
        }
    }

    fn unhandled_csi(&mut self, _: &mut Screen, mark: Option<u8>, _: Option<u8>, parameters: &[&[u16]], c: char) {
        if mark == Some(b'?') && parameters.contains(&[SYNCHRONIZED].as_slice()) {
            self.is_painting = c == 'h';
            self.pictures += u64::from(self.is_painting);
        }
    }
}

/// A screen as another terminal keeps it, with its colours.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Capture {
    /// In rows and columns.
    pub size: (u16, u16),
    /// In row and column, from 0.
    pub cursor: (u16, u16),
    pub has_cursor: bool,
    pub is_alternate: bool,
    pub title: String,
    /// What has scrolled off, as far as it is wanted, and the screen itself: line by line, as they were before they were wrapped.
    pub text: String,
}

impl Capture {
    /// So many lines that have scrolled off are wanted.
    pub const LINES_ABOVE: usize = ABOVE_MAX;
}

impl Emulator {
    pub fn of(capture: &Capture) -> Emulator {
        let Capture { size, cursor, has_cursor, is_alternate, title, text } = capture;
        let mut emulator = Emulator::new(*size);
        if *is_alternate {
            emulator.parser.process(b"\x1b[?1049h");
        }
        emulator.parser.process(text.strip_suffix('\n').unwrap_or(text).replace('\n', "\r\n").as_bytes());
        emulator.parser.process(format!("\x1b[{};{}H", cursor.0 + 1, cursor.1 + 1).as_bytes());
        if !has_cursor {
            emulator.parser.process(b"\x1b[?25l");
        }
        let heard = emulator.parser.callbacks_mut();
        *heard = Heard { title: title.chars().take(TITLE_MAX).collect(), ..Heard::default() };
        emulator
    }

    pub fn new((rows, columns): (u16, u16)) -> Emulator {
        Emulator {
            parser: Parser::new_with_callbacks(at_least_one(rows), at_least_one(columns), ABOVE_MAX, Heard::default()),
            drawn_at: None,
            painting_since: None,
        }
    }

    pub fn resize(&mut self, (rows, columns): (u16, u16)) {
        self.parser.set_size(at_least_one(rows), at_least_one(columns));
    }

    pub fn take_in(&mut self, bytes: &[u8], now: Instant) {
        self.drawn_at = Some(now);
        let heard = self.parser.callbacks_mut();
        heard.has_rung &= bytes.contains(&0x07);
        let pictures = heard.pictures;
        self.parser.process(bytes);
        if self.parser.callbacks().pictures != pictures {
            self.painting_since = Some(now);
        }
    }

    /// Is it in the middle of a picture, by its own account?
    pub fn is_painting(&self, now: Instant) -> bool {
        let has_just_begun = self.painting_since.is_some_and(|at| now.saturating_duration_since(at) < PAINTING_LASTS);
        self.parser.callbacks().is_painting && has_just_begun
    }

    /// When anything was drawn last, of a screen that was made anew.
    pub fn drawn_at(&mut self, at: Option<Instant>) {
        self.drawn_at = at;
    }

    /// What the program has said of itself since this was asked last, oldest first.
    pub fn take_signals(&mut self) -> Vec<Signal> {
        std::mem::take(&mut self.parser.callbacks_mut().signals)
    }

    /// Is it a full-screen program's, which is gone when that ends?
    pub fn is_alternate(&self) -> bool {
        self.parser.screen().alternate_screen()
    }

    pub fn title(&self) -> &str {
        &self.parser.callbacks().title
    }

    pub fn look(&mut self, mode: Option<LineMode>, now: Instant) -> Look {
        let above = self.above();
        let (screen, heard) = (self.parser.screen(), self.parser.callbacks());
        let (height, width) = screen.size();
        let wrapped: Vec<bool> = (0..height.get()).map(|row| screen.row_wrapped(row)).collect();
        // A row that goes on in the next one may end in a space.
        let row = |(row, wraps): (String, &bool)| if *wraps { row } else { row.trim_end().to_owned() };
        let rows: Vec<String> = screen.rows(0, width.get()).zip(&wrapped).map(row).collect();
        let (row, column) = cursor(screen);
        let part = |columns: Range<u16>, is_shown: &dyn Fn(&Cell) -> bool| {
            let cells =
                columns.filter_map(|column| screen.cell(row, column)).filter(|cell| !cell.is_wide_continuation());
            cells
                .map(|cell| if cell.has_contents() && is_shown(cell) { cell.contents() } else { " " })
                .collect::<String>()
        };
        let behind = column..width.get();
        let is_still = self.drawn_at.is_none_or(|at| STILL_AFTER <= now.saturating_duration_since(at));
        Look {
            above,
            wrapped,
            rows,
            cursor_row: row.into(),
            before_cursor: part(0..column, &|_| true),
            // A cursor that the program draws itself is a cell in other colours.
            solid_behind_cursor: part(behind.clone(), &|cell| !cell.dim() && !cell.inverse()).trim_end().to_owned(),
            behind_cursor: part(behind, &|_| true).trim_end().to_owned(),
            title: heard.title.clone(),
            is_alternate: screen.alternate_screen(),
            mode,
            is_still,
            has_rung: heard.has_rung,
        }
    }

    /// What has scrolled off, a screenful at a time.
    fn above(&mut self) -> Vec<String> {
        let screen = self.parser.screen_mut();
        let (height, width) = screen.size();
        let height = usize::from(height.get());
        let mut lines: Vec<String> = Vec::new();
        let (mut left, mut goes_on) = (screen.scrollback_len(), false);
        while 0 < left && !screen.alternate_screen() {
            screen.set_scrollback(left);
            let shown = left.min(height);
            let rows: Vec<String> = screen.rows(0, width.get()).take(shown).collect();
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
}

/// Of a program that hides the cursor, the cell that it draws in its place: one alone in other colours.
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

fn at_least_one(size: u16) -> NonZeroU16 {
    NonZeroU16::new(size).unwrap_or(NonZeroU16::MIN)
}
