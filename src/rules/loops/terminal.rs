//! What a terminal leaves to be seen of a line: no colours, titles or links, and of what was drawn over only the last.

use std::borrow::Cow;

use anstream::adapter::strip_str;

use crate::rules::words::one_line;

/// Bytes that are read at each end of a line: beyond what people or tools write, within what a hostile line may cost.
const END_MAX: usize = 1_000;

/// What comes next is drawn over what was there: to the first column, to the line above, the line erased.
const REDRAWS: [&str; 9] =
    ["\x1b[2K", "\x1b[1K", "\x1b[G", "\x1b[0G", "\x1b[1G", "\x1b[A", "\x1b[1A", "\x1b[F", "\x1b[1F"];

/// On one line, words one space apart.
pub fn visible(line: &str) -> String {
    let mut drawn = ends(line);
    if drawn.contains('\x1b') {
        drawn = Cow::Owned(REDRAWS.iter().fold(drawn.into_owned(), |drawn, redraw| drawn.replace(redraw, "\r")));
    }
    let seen = |drawn: &str| Some(one_line(&strip_str(drawn).to_string())).filter(|seen| !seen.is_empty());
    drawn.rsplit('\r').find_map(seen).unwrap_or_default()
}

/// A long line's two ends and its length: what differs in the middle mostly differs in length, too.
fn ends(line: &str) -> Cow<'_, str> {
    if line.len() <= 2 * END_MAX {
        return Cow::Borrowed(line);
    }
    let head = (0..=END_MAX).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(0);
    let tail = (line.len() - END_MAX..=line.len()).find(|&at| line.is_char_boundary(at)).unwrap_or(line.len());
    Cow::Owned(format!("{} … {} … {}", &line[..head], line.len(), &line[tail..]))
}
