//! What a program sends to its terminal besides text: its title, signals, the bell, sequences that the emulator does
//! not understand, and strings for the terminal's device that the parser keeps to itself (APC, PM and SOS).

use vt100::{Callbacks, Screen};

use crate::screen::report::{Signal, parse_osc};

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
    /// A program that has turned wrapping off may not write beyond the end of a row: here that is wrapped.
    fn set_autowrap(&mut self, screen: &Screen, is_on: bool) {
        self.is_misread |= self.has_wrapped_unasked(screen);
        self.wrapped_before = Some(rows_wrapped(screen)).filter(|_| !is_on);
    }

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
            // It asks for a mode.
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
            self.set_autowrap(screen, c == 'h');
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
        bytes.iter().any(|byte| self.changes_screen(*byte))
    }

    fn changes_screen(&mut self, byte: u8) -> bool {
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
        false
    }
}

/// Whether a string asks which pictures a terminal shows, by kitty's protocol, and shows none.
fn asks_for_pictures(text: &[u8]) -> bool {
    let about = text.strip_prefix(b"_G").and_then(|text| text.split(|byte| *byte == b';').next()).unwrap_or_default();
    let mut actions = about.split(|byte| *byte == b',').filter(|key| key.starts_with(b"a=")).peekable();
    actions.peek().is_some() && actions.all(|action| action == b"a=q")
}
