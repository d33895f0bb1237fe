//! Sequences that the emulator takes otherwise than terminals do: what a terminal would show differs then.

use vte::{Params, Parser, Perform};

#[derive(Debug, PartialEq, Eq)]
pub enum Odd {
    /// The rows that scroll were set. The cursor goes to the first row of all; the emulator takes the first of these.
    Region,
    /// The cursor goes up a row, or the rows that scroll go down. The emulator scrolls in the first row of all as well.
    ReverseIndex,
    /// What is not protected is erased. Some terminals do nothing.
    SelectiveErase,
}

#[derive(Default)]
pub struct Corrections {
    parser: Parser,
    seen: Seen,
}

#[derive(Default)]
struct Seen {
    odd: Option<Odd>,
    /// The first row that scrolls is not the first of all.
    has_rows_above: bool,
}

impl Corrections {
    /// Takes in a byte, and returns what it ends.
    pub fn ended_by(&mut self, byte: u8) -> Option<Odd> {
        self.parser.advance(&mut self.seen, &[byte]);
        self.seen.odd.take()
    }

    pub fn has_rows_above_region(&self) -> bool {
        self.seen.has_rows_above
    }
}

impl Perform for Seen {
    fn csi_dispatch(&mut self, parameters: &Params, marks: &[u8], _: bool, c: char) {
        match (marks, c) {
            ([], 'r') => {
                let first = parameters.iter().next().and_then(|first| first.first());
                self.has_rows_above = first.is_some_and(|first| 1 < *first);
                self.odd = Some(Odd::Region);
            }
            ([b'?'], 'J' | 'K') => self.odd = Some(Odd::SelectiveErase),
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, _: &[u8], _: bool, byte: u8) {
        match byte {
            b'M' => self.odd = Some(Odd::ReverseIndex),
            b'c' => self.has_rows_above = false,
            _ => {}
        }
    }
}
