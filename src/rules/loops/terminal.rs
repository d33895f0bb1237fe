//! What is visible of a line in a terminal: no colours, titles or links, and only the last drawing of what was redrawn.

use std::borrow::Cow;

use anstream::adapter::strip_str;

use crate::rules::display::one_line;

/// How many bytes are read at each end of a line: more than people or tools write, and few enough for a hostile line.
const END_MAX: usize = 1_000;

/// Sequences after which the line is drawn again: to the first column, to the line above, erase the line.
const REDRAWS: [&str; 9] =
    ["\x1b[2K", "\x1b[1K", "\x1b[G", "\x1b[0G", "\x1b[1G", "\x1b[A", "\x1b[1A", "\x1b[F", "\x1b[1F"];

/// The visible text of a line, with single spaces.
pub fn visible(line: &str) -> String {
    let mut drawn = without_middle(line, END_MAX);
    if drawn.contains('\x1b') {
        drawn = Cow::Owned(REDRAWS.iter().fold(drawn.into_owned(), |drawn, redraw| drawn.replace(redraw, "\r")));
    }
    let seen = |drawn: &str| Some(one_line(&strip_str(drawn).to_string())).filter(|seen| !seen.is_empty());
    drawn.rsplit('\r').find_map(seen).unwrap_or_default()
}

/// A line; if it is longer than twice `end_max` bytes, its two ends of that size, and its length: long lines that
/// differ in the middle mostly differ in length as well.
pub fn without_middle(line: &str, end_max: usize) -> Cow<'_, str> {
    if line.len() <= 2 * end_max {
        return Cow::Borrowed(line);
    }
    let head = (0..=end_max).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(0);
    let tail = (line.len() - end_max..=line.len()).find(|&at| line.is_char_boundary(at)).unwrap_or(line.len());
    Cow::Owned(format!("{} … {} … {}", &line[..head], line.len(), &line[tail..]))
}
