//! Sequences that the emulator takes otherwise than terminals do: what a terminal would show differs then. And what a
//! program sends to its terminal besides text: its title, signals, the bell, sequences that the emulator does not
//! understand, and strings for the terminal's device that the parser keeps to itself (APC, PM and SOS).

use anstream::adapter::strip_str;
use vt100::{Callbacks, Screen};
use vte::{Params, Perform};

use crate::rules::display::is_invisible;
use crate::screen::{Signal, parse_osc};

/// Ends a sequence that has begun, which then does nothing.
pub const CANCEL: &[u8] = b"\x18";

pub const TO_THE_FIRST_ROW: &[u8] = b"\x1b[H";

pub const TO_THE_LAST_COLUMN: &[u8] = b"\x1b[9999G";

/// Puts the cursor into a row and a column, from 0.
pub fn to(row: u16, column: u16) -> Vec<u8> {
    format!("\x1b[{};{}H", row + 1, column + 1).into_bytes()
}

/// A sequence that the emulator takes otherwise than terminals do.
#[derive(Debug, PartialEq, Eq)]
pub enum Odd {
    /// The rows that scroll are named. The cursor goes to the first row of all; the emulator takes the first of these.
    /// What names no two rows of the screen, terminals ignore.
    Region,
    /// The cursor goes up a row, or the rows that scroll go down. The emulator scrolls in the first row of all as well.
    ReverseIndex,
    /// Another screen is shown. Of some terminals both have the same rows that scroll. The cursor stays, which goes to
    /// the first row in the emulator, and comes back with the other screen if that saves it.
    OtherScreen { saves_cursor: bool },
    /// The cursor goes to another row. Behind a full row, the emulator lets it stand beyond the end of that as well.
    Row,
    /// Behind a full row, terminals differ about where the cursor stands after it.
    Behind,
    /// Behind a full row, and at the beginning of a row that goes on from the one above, terminals differ about where a
    /// cursor that goes to the left stands.
    Back,
}

/// How many numbers, below which one, all terminals take in a sequence.
const NUMBERS_MAX: usize = 16;
const NUMBER_MAX: u16 = u16::MAX;

/// What was read so far of what the emulator takes otherwise.
#[derive(Default)]
pub struct Corrections {
    /// The sequence that ends where the parser has read to.
    pub odd: Option<Odd>,
    /// The rows that were named last, from 1.
    named: (u16, Option<u16>),
    /// The first row that scrolls is this one, from 0.
    pub first: u16,
    /// The last row that scrolls, from 1, if it was named.
    last: Option<u16>,
    /// Since the cursor was last put somewhere, text was written.
    has_text: bool,
    /// Terminals differ about where the cursor stands.
    pub doubts_place: bool,
    /// A string for the terminal's device has ended, but for the sequence that ends it everywhere.
    is_string_open: bool,
    /// Terminals differ about what the screen shows.
    pub is_misread: bool,
}

impl Corrections {
    /// Has the rows that were named scroll from now on, if there are two of them on a screen of so many.
    pub fn adopt_region(&mut self, rows: u16) -> bool {
        let (first, last) = self.named;
        let is_one = first < last.unwrap_or(rows).min(rows);
        if is_one {
            (self.first, self.last) = (first - 1, last);
        }
        is_one
    }

    /// Whether a row, from 0, is beside those that scroll.
    pub fn is_beside_region(&self, row: u16) -> bool {
        row < self.first || self.last.is_some_and(|last| last <= row)
    }

    /// Whether not all of so many rows scroll.
    pub fn has_region(&self, rows: u16) -> bool {
        0 < self.first || self.last.is_some_and(|last| last < rows)
    }

    /// Records that the cursor is put into a column that is known.
    fn place(&mut self) {
        (self.has_text, self.doubts_place) = (false, false);
    }

    /// Records that something other than the end of a string comes.
    fn goes_on(&mut self) {
        self.is_misread |= std::mem::take(&mut self.is_string_open);
    }
}

impl Perform for Corrections {
    fn terminated(&self) -> bool {
        self.odd.is_some()
    }

    fn print(&mut self, c: char) {
        self.goes_on();
        // What is no character, terminals show in any number of cells.
        self.is_misread |= self.doubts_place || c == char::REPLACEMENT_CHARACTER;
        self.has_text = true;
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            // CAN and SUB cancel a string everywhere.
            0x18 | 0x1a => self.is_string_open = false,
            _ => self.goes_on(),
        }
        match byte {
            b'\r' => self.place(),
            0x08 => self.odd = Some(Odd::Back),
            0x09..=0x0c if self.has_text => self.odd = Some(Odd::Behind),
            _ => {}
        }
    }

    /// A device control string may draw a picture, place the cursor or set up characters, unless it asks what the
    /// terminal knows, or is what vim sends to see whether terminals show it.
    fn hook(&mut self, _: &Params, marks: &[u8], _: bool, c: char) {
        self.goes_on();
        self.is_misread |= !matches!((marks, c), ([b'+' | b'$'], 'q') | ([], 'z'));
    }

    fn unhook(&mut self) {
        self.is_string_open = true;
    }

    fn osc_dispatch(&mut self, _: &[&[u8]], _: bool) {
        self.goes_on();
    }

    fn csi_dispatch(&mut self, parameters: &Params, marks: &[u8], is_cut_off: bool, c: char) {
        self.goes_on();
        let is_plain = |number: &[u16]| number.len() == 1 && number[0] < NUMBER_MAX;
        self.is_misread |=
            c != 'm' && (is_cut_off || NUMBERS_MAX < parameters.len() || !parameters.iter().all(is_plain));
        match (marks, c) {
            ([], 'r') => {
                let mut rows = parameters.iter().filter_map(|row| row.first().copied());
                self.named = (rows.next().unwrap_or(0).max(1), rows.next());
                self.odd = Some(Odd::Region);
            }
            ([], 'E' | 'F') => {
                self.place();
                self.odd = Some(Odd::Row);
            }
            ([], 'G' | 'H' | '`' | 'f') => self.place(),
            ([], 'A' | 'B') => self.odd = Some(Odd::Row),
            ([], 'D') => self.odd = Some(Odd::Back),
            ([], '@' | 'J'..='M' | 'P' | 'S' | 'T' | 'X' | 'd') if self.has_text => self.odd = Some(Odd::Behind),
            // Some erase nothing of what is not protected. They differ about which character to repeat, and where rows
            // are counted from.
            ([b'?'], 'J' | 'K') | ([], 'b') => self.is_misread = true,
            ([b'?'], 'h' | 'l') if parameters.iter().any(|mode| mode == [6]) => self.is_misread = true,
            ([b'?'], 'h' | 'l') if parameters.iter().any(|mode| matches!(mode, [47 | 1049])) => {
                self.odd = Some(Odd::OtherScreen { saves_cursor: parameters.iter().any(|mode| mode == [1049]) });
            }
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, _: &[u8], _: bool, byte: u8) {
        match byte {
            b'\\' => self.is_string_open = false,
            _ => self.goes_on(),
        }
        match byte {
            b'M' => self.odd = Some(Odd::ReverseIndex),
            b'8' => self.odd = Some(Odd::Behind),
            b'c' => (self.first, self.last) = (0, None),
            _ => {}
        }
    }
}

/// Whether another terminal may have wrapped a line elsewhere: it is about as long as a row, and terminals differ about
/// how many cells one of its characters takes.
pub fn may_wrap_elsewhere(line: &str, columns: u16) -> bool {
    let (mut cells, mut is_doubtful) = (0, false);
    for c in strip_str(line).flat_map(str::chars) {
        cells += if c.is_ascii() { 1 } else { 2 };
        is_doubtful |= !c.is_ascii() && has_unclear_width(c);
    }
    is_doubtful && usize::from(columns) <= cells
}

/// Whether terminals differ about how many cells a character takes: nobody sees it, it joins or changes others, as
/// those of Indian scripts do, it is none, or is so new that some do not know it.
fn has_unclear_width(c: char) -> bool {
    let joins = matches!(c, '\u{900}'..='\u{dff}' | '\u{20e3}' | '\u{1f1e6}'..='\u{1f1ff}' | '\u{1f3fb}'..='\u{1f3ff}');
    let separates = matches!(c, '\u{2028}' | '\u{2029}');
    let is_new = matches!(c, '\u{4dc0}'..='\u{4dff}' | '\u{1fa70}'..='\u{1faff}' | '\u{30000}'..);
    joins || separates || is_new || is_invisible(c) || c == char::REPLACEMENT_CHARACTER
}

/// The length of a title in characters.
pub const TITLE_MAX: usize = 200;

/// How many signals are kept until they are read.
const SIGNALS_MAX: usize = 16;

/// The terminal mode that programs set while they paint a picture.
const SYNCHRONIZED: u16 = 2026;

/// The terminal modes that are understood, and those that change neither the text on the screen nor where the cursor
/// goes: of keys, mice, colours, the bell, the cursor's look, and of what is reported.
const HARMLESS_MODES: [u16; 36] = [
    1, 4, 5, 6, 7, 8, 9, 12, 13, 14, 25, 47, 66, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016, 1034,
    1035, 1036, 1037, 1039, 1042, 1043, 1049, 2004, 2026, 2031, 2048, 9001,
];

/// Further harmless modes, which are off in a terminal that was reset.
const MODES_TO_RESET: [u16; 3] = [45, 69, 95];

/// The terminal mode that wraps what is too long for a row.
const AUTOWRAP: u16 = 7;

/// What a program sends to its terminal besides the screen.
#[derive(Default)]
pub struct OutOfBand {
    pub title: String,
    pub signals: Vec<Signal>,
    pub has_rung: bool,
    pub is_painting: bool,
    /// How many pictures were begun.
    pub pictures: u64,
    /// The program has used what is not understood here, and its terminal may show something else.
    pub is_misread: bool,
    /// How many rows were wrapped when the program turned that off.
    pub wrapped_before: Option<usize>,
}

impl OutOfBand {
    /// Whether more rows are wrapped than when the program turned that off.
    pub fn has_wrapped_unasked(&self, screen: &Screen) -> bool {
        self.wrapped_before.is_some_and(|before| before < rows_wrapped(screen))
    }

    /// Whether a control sequence that is not understood leaves the text on the screen as it is: it asks or tells the
    /// terminal something, or sets the terminal's usual mode.
    fn is_harmless(mark: Option<u8>, parameters: &[&[u16]], c: char) -> bool {
        let modes = || parameters.iter().filter_map(|mode| mode.first());
        match (mark, c) {
            (Some(b'?'), 'h') => modes().all(|mode| HARMLESS_MODES.contains(mode)),
            (Some(b'?'), 'l') => modes().all(|mode| HARMLESS_MODES.contains(mode) || MODES_TO_RESET.contains(mode)),
            (None, 'c' | 'l' | 'n' | 'q' | 't') | (_, 'm') => true,
            (Some(b'?'), 'c' | 'n' | 'p' | 's') | (Some(b'>'), 'c' | 'n' | 'p' | 'q' | 't') | (Some(b'='), 'c') => true,
            // What is reported of keys.
            (Some(b'?' | b'>' | b'<' | b'='), 'u') => true,
            // A mode is asked for.
            (Some(b'$'), 'p') => true,
            _ => false,
        }
    }
}

fn rows_wrapped(screen: &Screen) -> usize {
    (0..screen.size().0.get()).filter(|row| screen.row_wrapped(*row)).count()
}

impl Callbacks for OutOfBand {
    fn audible_bell(&mut self, _: &mut Screen) {
        self.has_rung = true;
    }

    fn set_window_title(&mut self, _: &mut Screen, title: &[u8]) {
        self.title = String::from_utf8_lossy(title).chars().take(TITLE_MAX).collect();
    }

    /// A text of another size or with other widths, or a picture, moves what stands behind and below.
    fn unhandled_osc(&mut self, _: &mut Screen, parameters: &[&[u8]]) {
        self.is_misread |= match parameters {
            [b"66", ..] => true,
            [b"1337", what, ..] => {
                ["File", "MultipartFile", "UnicodeVersion"].iter().any(|it| what.starts_with(it.as_bytes()))
            }
            _ => false,
        };
        if let Some(signal) = parse_osc(parameters) {
            if self.signals.len() == SIGNALS_MAX {
                // What may be a question is kept for longer.
                let is_other =
                    |signal: &Signal| matches!(signal, Signal::Status(said) if !said.activity.needs_person());
                self.signals.remove(self.signals.iter().position(is_other).unwrap_or(0));
            }
            self.signals.push(signal);
        }
    }

    /// Beyond ASCII control characters move the cursor, or begin a sequence.
    fn unhandled_control(&mut self, _: &mut Screen, byte: u8) {
        self.is_misread |= !byte.is_ascii();
    }

    /// What names a set of characters that take one cell each, or ends a text that the terminal keeps, moves nothing.
    fn unhandled_escape(&mut self, _: &mut Screen, first: Option<u8>, _: Option<u8>, byte: u8) {
        let is_harmless =
            matches!((first, byte), (Some(b'('..=b'/'), _) | (Some(b' '), b'F' | b'G') | (None, b'\\' | b'Z'));
        self.is_misread |= !is_harmless;
    }

    fn unhandled_csi(&mut self, screen: &mut Screen, mark: Option<u8>, _: Option<u8>, parameters: &[&[u16]], c: char) {
        self.is_misread |= !OutOfBand::is_harmless(mark, parameters, c);
        if mark == Some(b'?') && parameters.contains(&[AUTOWRAP].as_slice()) {
            // A program that has turned wrapping off may not write beyond the end of a row: here that is wrapped.
            self.is_misread |= self.has_wrapped_unasked(screen);
            self.wrapped_before = Some(rows_wrapped(screen)).filter(|_| c != 'h');
        }
        if mark == Some(b'?') && parameters.contains(&[SYNCHRONIZED].as_slice()) {
            self.pictures += u64::from(c == 'h' && !self.is_painting);
            // A program may also ask for the mode.
            self.is_painting = c == 'h' || self.is_painting && c != 'l';
        }
    }
}

/// The longest string that may be a question to the terminal.
const LENGTH_MAX: usize = 200;

/// Reads the strings for the terminal's device.
#[derive(Default)]
pub struct DeviceStrings {
    is_escaped: bool,
    /// The string that has begun, from the character that says of which kind it is.
    text: Option<Vec<u8>>,
}

impl DeviceStrings {
    /// Reads on, and returns whether one of the strings may change what the terminal shows.
    pub fn change_screen(&mut self, bytes: &[u8]) -> bool {
        for &byte in bytes {
            // Other controls do not end an escape sequence.
            let goes_on = self.is_escaped && byte < 0x20 && ![0x18, 0x1a].contains(&byte);
            let is_escaped = std::mem::replace(&mut self.is_escaped, byte == 0x1b || goes_on);
            match (&mut self.text, is_escaped, byte) {
                (None, true, b'_' | b'^' | b'X') => self.text = Some(vec![byte]),
                (None, ..) | (Some(_), false, 0x1b) => {}
                (Some(text), false, b' '..=b'~') if text.len() < LENGTH_MAX => text.push(byte),
                (Some(text), true, b'\\') if asks_for_pictures(text) => self.text = None,
                (Some(_), ..) => return true,
            }
        }
        false
    }
}

/// Whether a string asks which pictures a terminal shows, by kitty's protocol, and shows none.
fn asks_for_pictures(text: &[u8]) -> bool {
    let about = text.strip_prefix(b"_G").and_then(|text| text.split(|byte| *byte == b';').next()).unwrap_or_default();
    let mut actions = about.split(|byte| *byte == b',').filter(|key| key.starts_with(b"a=")).peekable();
    actions.peek().is_some() && actions.all(|action| action == b"a=q")
}
