//! Sequences that the emulator takes otherwise than terminals do: what a terminal would show differs then.

use vte::{Params, Parser, Perform};

/// Ends a sequence that has begun, which then does nothing.
pub const CANCEL: &[u8] = b"\x18";

pub const TO_THE_FIRST_ROW: &[u8] = b"\x1b[H";

pub const TO_THE_LAST_COLUMN: &[u8] = b"\x1b[9999G";

#[derive(Debug, PartialEq, Eq)]
pub enum Odd {
    /// The rows that scroll were set. The cursor goes to the first row of all; the emulator takes the first of these.
    Region,
    /// The cursor goes up a row, or the rows that scroll go down. The emulator scrolls in the first row of all as well.
    ReverseIndex,
    /// What is not protected is erased. Some terminals do nothing.
    SelectiveErase,
    /// Another screen is shown. Of some terminals both have the same rows that scroll.
    OtherScreen,
    /// The cursor goes to another row. Behind a full row, the emulator lets it stand beyond the end of that as well.
    Row,
    /// Behind a full row, terminals differ about where the cursor stands after it.
    Behind,
}

#[derive(Default)]
pub struct Corrections {
    parser: Parser,
    seen: Seen,
}

#[derive(Default)]
struct Seen {
    odd: Option<Odd>,
    /// The rows that scroll are not the first ones of all.
    has_rows_above: bool,
    /// The last row that scrolls, from 1, if it was named.
    last: Option<u16>,
    /// Since the cursor was last put somewhere, text was written.
    has_text: bool,
    /// Terminals differ about where the cursor stands.
    doubts_place: bool,
    /// Text was written where they do.
    has_doubtful_text: bool,
}

impl Corrections {
    /// Reads up to the end of the next of these sequences, and returns how many bytes those are, and which one ends.
    pub fn read(&mut self, bytes: &[u8]) -> (usize, Option<Odd>) {
        // The parser reads on to the next escape sequence, whatever controls come before that.
        let end = bytes.iter().position(|byte| matches!(byte, 0x08 | 0x0a..=0x0c)).map_or(bytes.len(), |at| at + 1);
        let length = self.parser.advance_until_terminated(&mut self.seen, &bytes[..end]);
        (length, self.seen.odd.take())
    }

    pub fn doubts_place(&mut self) {
        self.seen.doubts_place = true;
    }

    pub fn has_doubtful_text(&self) -> bool {
        self.seen.has_doubtful_text
    }

    pub fn has_rows_above_region(&self) -> bool {
        self.seen.has_rows_above
    }

    /// Whether not all of so many rows scroll.
    pub fn has_region(&self, rows: u16) -> bool {
        self.seen.has_rows_above || self.seen.last.is_some_and(|last| last < rows)
    }
}

impl Perform for Seen {
    fn terminated(&self) -> bool {
        self.odd.is_some()
    }

    fn print(&mut self, _: char) {
        self.has_doubtful_text |= self.doubts_place;
        self.has_text = true;
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\r' => (self.has_text, self.doubts_place) = (false, false),
            0x08 | 0x0a..=0x0c if self.has_text => self.odd = Some(Odd::Behind),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, parameters: &Params, marks: &[u8], _: bool, c: char) {
        match (marks, c) {
            ([], 'r') => {
                let mut rows = parameters.iter().filter_map(|row| row.first().copied());
                let (first, last) = (rows.next().unwrap_or(0).max(1), rows.next().filter(|last| 0 < *last));
                // Of one row terminals make no region.
                if last.is_none_or(|last| first < last) {
                    (self.has_rows_above, self.last) = (1 < first, last);
                    self.odd = Some(Odd::Region);
                }
            }
            ([], 'E' | 'F' | 'G' | 'H' | '`' | 'f') => (self.has_text, self.doubts_place) = (false, false),
            ([], 'A' | 'B' | 'd' | 'e') if self.has_text => self.odd = Some(Odd::Row),
            ([], '@' | 'D' | 'J'..='M' | 'P' | 'S' | 'T' | 'X') if self.has_text => self.odd = Some(Odd::Behind),
            ([b'?'], 'J' | 'K') => self.odd = Some(Odd::SelectiveErase),
            ([b'?'], 'h' | 'l') if parameters.iter().any(|mode| matches!(mode, [47 | 1049])) => {
                self.odd = Some(Odd::OtherScreen);
            }
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, _: &[u8], _: bool, byte: u8) {
        match byte {
            b'M' => self.odd = Some(Odd::ReverseIndex),
            b'c' => (self.has_rows_above, self.last) = (false, None),
            _ => {}
        }
    }
}
