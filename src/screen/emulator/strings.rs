//! Strings for the terminal's device that the parser keeps to itself: APC, PM and SOS.

/// No question is as long as this.
const LENGTH_MAX: usize = 200;

#[derive(Default)]
pub struct Strings {
    is_escaped: bool,
    /// The string that has begun, from the character that says of which kind it is.
    text: Option<Vec<u8>>,
}

impl Strings {
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
