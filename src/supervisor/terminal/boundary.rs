//! Where bytes may be inserted into a terminal's output without breaking a character or an escape sequence.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Boundary {
    /// Between characters and sequences.
    #[default]
    Ground,
    /// Inside a character, of which so many bytes are missing.
    Character(u8),
    /// Behind an `ESC`.
    Escape,
    /// Inside `ESC [`, up to a letter.
    Control,
    /// Inside `ESC ]` and its like, up to BEL or `ESC \`.
    String,
    /// Behind an `ESC` inside such a string.
    StringEscape,
}

impl Boundary {
    pub fn is_ground(self) -> bool {
        self == Boundary::Ground
    }

    pub fn after(self, bytes: &[u8]) -> Boundary {
        bytes.iter().fold(self, |boundary, byte| boundary.next(*byte))
    }

    fn next(self, byte: u8) -> Boundary {
        match (self, byte) {
            // CAN and SUB end every sequence.
            (_, 0x18 | 0x1a) => Boundary::Ground,
            (Boundary::String, 0x1b) => Boundary::StringEscape,
            (_, 0x1b) => Boundary::Escape,
            (Boundary::String, 0x07) => Boundary::Ground,
            (Boundary::String, _) => Boundary::String,
            (Boundary::Escape, b'[') => Boundary::Control,
            (Boundary::Escape | Boundary::StringEscape, b']' | b'P' | b'_' | b'^' | b'X') => Boundary::String,
            (Boundary::Escape, 0x20..=0x2f) => Boundary::Escape,
            (Boundary::Escape | Boundary::StringEscape, _) => Boundary::Ground,
            (Boundary::Control, 0x40..=0x7e) => Boundary::Ground,
            (Boundary::Control, _) => Boundary::Control,
            (Boundary::Character(left @ 2..), 0x80..=0xbf) => Boundary::Character(left - 1),
            (_, 0xc2..=0xdf) => Boundary::Character(1),
            (_, 0xe0..=0xef) => Boundary::Character(2),
            (_, 0xf0..=0xf4) => Boundary::Character(3),
            _ => Boundary::Ground,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain(b"abc", true)]
    #[case::a_whole_colour(b"\x1b[1;31m", true)]
    #[case::half_a_colour(b"\x1b[1;3", false)]
    #[case::an_escape(b"\x1b", false)]
    #[case::a_charset(b"\x1b(", false)]
    #[case::a_whole_charset(b"\x1b(B", true)]
    #[case::a_title(b"\x1b]0;title", false)]
    #[case::a_whole_title(b"\x1b]0;title\x07", true)]
    #[case::a_title_with_another_end(b"\x1b]0;title\x1b\\", true)]
    #[case::almost(b"\x1b]0;title\x1b", false)]
    #[case::a_long_string(b"\x1bPq#0;2;0;0;0", false)]
    #[case::half_a_character("é".as_bytes().split_at(1).0, false)]
    #[case::two_thirds_of_one("❯".as_bytes().split_at(2).0, false)]
    #[case::a_whole_one("❯".as_bytes(), true)]
    #[case::no_character(b"\xff\x80", true)]
    #[case::it_was_given_up(b"\x1b]0;ti\x18", true)]
    fn nothing_is_torn_apart(#[case] bytes: &[u8], #[case] is_ground: bool) {
        assert_eq!(Boundary::default().after(bytes).is_ground(), is_ground);
        let one_by_one = bytes.chunks(1).fold(Boundary::default(), Boundary::after);
        assert_eq!(one_by_one.is_ground(), is_ground, "byte by byte");
    }
}
