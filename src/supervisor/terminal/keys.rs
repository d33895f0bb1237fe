//! Tells the keys of a person from what a terminal reports by itself: its focus, its mouse, what it was asked.

use vte::{Params, Parser, Perform};

#[derive(Default)]
pub struct KeyFinder {
    parser: Parser,
    found: Found,
}

impl KeyFinder {
    /// Whether a person has typed a key among these bytes. A report may be split between two calls, but not behind its
    /// first byte, which is the escape key otherwise.
    pub fn has_key(&mut self, bytes: &[u8]) -> bool {
        self.found.has_key = false;
        self.parser.advance(&mut self.found, bytes);
        // The escape key, or one with Alt: no report ends there.
        if let [.., 0x1b] | [.., 0x1b, b'P' | b'X' | b']' | b'^' | b'_'] = bytes {
            *self = KeyFinder { found: Found { has_key: true, ..Found::default() }, ..KeyFinder::default() };
        }
        self.found.has_key
    }
}

#[derive(Default)]
struct Found {
    has_key: bool,
    /// How many characters follow of the oldest form of a report of the mouse.
    of_mouse: u8,
}

impl Perform for Found {
    fn print(&mut self, _: char) {
        self.has_key |= self.of_mouse == 0;
        self.of_mouse = self.of_mouse.saturating_sub(1);
    }

    fn execute(&mut self, _: u8) {
        self.has_key = true;
    }

    /// With a mark before its numbers a sequence is a report.
    fn csi_dispatch(&mut self, _: &Params, marks: &[u8], _: bool, c: char) {
        match c {
            'M' if marks.is_empty() => self.of_mouse = 3,
            'I' | 'O' | 'R' | 'c' | 'n' | 't' => {}
            _ => self.has_key |= marks.is_empty(),
        }
    }

    fn esc_dispatch(&mut self, _: &[u8], _: bool, byte: u8) {
        // It ends a report that is a text.
        self.has_key |= byte != b'\\';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_reports_is_no_key() {
        let reports = [
            "\x1b[I", "\x1b[O", "\x1b[<35;10;5M", "\x1b[<0;10;5m", "\x1b[M !!", "\x1b[?62;22c", "\x1b[>41;3c",
            "\x1b[5;1R", "\x1b[?2026;2$y", "\x1b[0n", "\x1b[?1u", "\x1b[48;24;80;0;0t", "\x1b]11;rgb:0/0/0\x07",
            "\x1b]11;rgb:0/0/0\x1b\\", "\x1bP1+r544e\x1b\\",
        ];
        let mut keys = KeyFinder::default();
        for report in reports {
            assert!(!keys.has_key(report.as_bytes()), "{report:?}");
            let (one, other) = report.as_bytes().split_at(report.len() - 1);
            assert!(one.ends_with(b"\x1b") || !keys.has_key(one) && !keys.has_key(other), "{report:?} in two");
        }
        for key in [
            "y", "\r", "\x03", "\x1b", "\x1b[A", "\x1bOA", "\x1bx", "\x1b[97;5u", "\x1b[200~y\x1b[201~", "é",
            "\x1b[I\x1b[<0;1;1My", "\x1b_", "\x1b]", "\x1bP", "x", "\x1b", "P", "x",
        ] {
            assert!(keys.has_key(key.as_bytes()), "{key:?}");
        }
    }
}
