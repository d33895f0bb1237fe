//! Characters that are not seen themselves.

/// Unicode's controls (Cc) and formats (Cf), and what it says to ignore where it cannot be drawn
/// (Default_Ignorable_Code_Point): colours of a terminal, reversed orders, joiners, soft hyphens, fillers, variation
/// selectors, tags. They change what is read, or hide in a text what only machines read. A test compares this with
/// Unicode's own tables.
const INVISIBLE: [(char, char); 27] = [
    ('\0', '\u{1F}'),
    ('\u{7F}', '\u{9F}'),
    ('\u{AD}', '\u{AD}'),
    ('\u{34F}', '\u{34F}'),
    ('\u{600}', '\u{605}'),
    ('\u{61C}', '\u{61C}'),
    ('\u{6DD}', '\u{6DD}'),
    ('\u{70F}', '\u{70F}'),
    ('\u{890}', '\u{891}'),
    ('\u{8E2}', '\u{8E2}'),
    ('\u{115F}', '\u{1160}'),
    ('\u{17B4}', '\u{17B5}'),
    ('\u{180B}', '\u{180F}'),
    ('\u{200B}', '\u{200F}'),
    ('\u{202A}', '\u{202E}'),
    ('\u{2060}', '\u{206F}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{FE00}', '\u{FE0F}'),
    ('\u{FEFF}', '\u{FEFF}'),
    ('\u{FFA0}', '\u{FFA0}'),
    ('\u{FFF0}', '\u{FFFB}'),
    ('\u{110BD}', '\u{110BD}'),
    ('\u{110CD}', '\u{110CD}'),
    ('\u{13430}', '\u{1343F}'),
    ('\u{1BCA0}', '\u{1BCA3}'),
    ('\u{1D173}', '\u{1D17A}'),
    ('\u{E0000}', '\u{E0FFF}'),
];

/// Is it one of them? White space is among them as far as it is a control: a newline, a tab.
pub fn is_invisible(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_control()
    } else {
        INVISIBLE.iter().any(|(first, last)| (*first..=*last).contains(&c))
    }
}
