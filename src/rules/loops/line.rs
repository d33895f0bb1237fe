//! One line of output: its words and its counters.
//!
//! A line has words if and only if it has no spinner, and a letter or a digit outside of counters and changing parts.

use std::borrow::Cow;

use anstream::adapter::strip_str;

use super::scan::{COUNTER, scan};
use crate::rules::display::one_line;

/// How many characters of a line are kept for reports.
const SEEN_MAX: usize = 200;

/// Glyphs of spinners that have other meanings elsewhere, such as a bullet or a table's border.
const TURNING: &str = "|/-\\*·";

/// Ends of rows that are as wide as the screen: borders, scroll bars, and the space before them.
const RIGHT_EDGES: [char; 6] = [' ', '│', '┃', '║', '█', '▐'];

/// How many bytes are read at each end of a line: more than people or tools write, and few enough for a hostile line.
const END_MAX: usize = 1_000;

/// Sequences after which the line is drawn again: to the first column, to the line above, erase the line.
const REDRAWS: [&str; 9] =
    ["\x1b[2K", "\x1b[1K", "\x1b[G", "\x1b[0G", "\x1b[1G", "\x1b[A", "\x1b[1A", "\x1b[F", "\x1b[1F"];

#[derive(Clone, Debug)]
pub struct OutputLine {
    /// The line without what changes by itself. Lines with equal words have equally many counters.
    pub words: String,
    /// What may be a picture of an animation, if the same words occur with another one: `|` before them, dots behind.
    frame: String,
    /// The counters, in their order in the line.
    pub counters: Vec<f64>,
    /// False for a line that is only a spinner, a bar or a counter.
    pub has_words: bool,
    /// The line as it was visible, shortened.
    pub seen: String,
}

impl OutputLine {
    /// Parses a line; None if it has neither words nor counters.
    pub fn parse(line: &str) -> Option<OutputLine> {
        let seen = visible(line);
        let (text, frame) = without_frame(&seen);
        let scan = scan(text);
        let has_words = scan.words.contains(char::is_alphanumeric) && !scan.spins;
        let line = OutputLine {
            has_words,
            frame,
            words: scan.words,
            counters: scan.counters,
            seen: seen.chars().take(SEEN_MAX).collect(),
        };
        (line.has_words || !line.counters.is_empty()).then_some(line)
    }

    pub fn equals(&self, other: &OutputLine) -> bool {
        self.words == other.words && self.frame == other.frame
    }

    /// Whether this line is the earlier one but for numbers, ids and at most one name: then it is about the next thing,
    /// as `31 passed` after `30 passed`, or `deploying b` after `deploying a`. Not for ids alone, which may be random.
    pub fn continues(&self, earlier: &OutputLine) -> bool {
        let before: Vec<&str> = earlier.words.split(' ').collect();
        let now: Vec<&str> = self.words.split(' ').collect();
        let differing = || before.iter().zip(&now).filter(|(before, now)| before != now);
        let numbers = differing().filter(|(before, now)| without_digits(before).eq(without_digits(now))).count();
        let names = differing().filter(|(before, now)| names_in(before) != names_in(now)).count();
        before.len() == now.len() && names <= 1 && 0 < names + numbers
    }

    /// Whether a later line is this one with other counters.
    fn is_redrawn_as(&self, later: &OutputLine) -> bool {
        self.equals(later) && self.counters != later.counters
    }
}

/// A line without what changes by itself: times, durations, rates, attempts, spinners, bars, trailing dots.
#[derive(Clone, Debug, PartialEq)]
pub struct Essence {
    pub words: String,
    /// The counters, in their order in the line.
    pub counters: Vec<f64>,
}

impl Essence {
    /// The essence of a line; None if it has neither words nor counters.
    pub fn parse(line: &str) -> Option<Essence> {
        let OutputLine { words, counters, .. } = OutputLine::parse(line)?;
        Some(Essence { words, counters })
    }

    /// The words around the only number, and the number; None if there are more numbers or none.
    pub fn only_number(&self) -> Option<(String, f64)> {
        let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
        let first = self.words.find(|c: char| c.is_ascii_digit())?;
        let (before, rest) = self.words.split_at(first);
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (number, behind) = rest.split_at(length);
        if behind.contains(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let number = number.trim_end_matches(['.', ',']).replace(',', "").parse().ok()?;
        Some((format!("{before}{COUNTER}{behind}"), number))
    }
}

/// Drops the words that occur in several frames: they are an animation.
pub fn drop_animations(lines: &mut Vec<OutputLine>) {
    let moves = |line: &OutputLine| {
        let differs =
            |other: &OutputLine| other.words == line.words && other.frame != line.frame && !other.frame.is_empty();
        !line.frame.is_empty() && lines.iter().any(differs)
    };
    let moving: Vec<bool> = lines.iter().map(moves).collect();
    for (line, moves) in lines.iter_mut().zip(moving) {
        line.has_words &= !moves;
    }
    lines.retain(|line| line.has_words || !line.counters.is_empty());
}

/// Keeps the last of successive lines that differ only by their counters: they are one line, drawn again.
pub fn keep_last_drawings(lines: &mut Vec<OutputLine>) {
    let drawn_again = |at: usize| lines.get(at + 1).is_some_and(|later| lines[at].is_redrawn_as(later));
    let mut last = (0..lines.len()).map(|at| !drawn_again(at)).collect::<Vec<_>>().into_iter();
    lines.retain(|_| last.next().unwrap_or(true));
}

fn without_frame(seen: &str) -> (&str, String) {
    let seen = seen.trim_end_matches(RIGHT_EDGES);
    let turning = |glyph: char| TURNING.contains(glyph);
    let (before, text) = match seen.split_once(' ') {
        Some((glyph, text)) if glyph.chars().all(turning) && glyph.chars().count() == 1 => (glyph, text),
        _ => ("", seen),
    };
    let (text, behind) = match text.rsplit_once(' ') {
        Some((text, glyph)) if glyph.chars().all(turning) && glyph.chars().count() == 1 => (text, glyph),
        _ => (text, ""),
    };
    let undotted = text.trim_end_matches(['.', '…', ' ']);
    (undotted, format!("{before}{}{behind}", &text[undotted.len()..]))
}

fn without_digits(word: &str) -> impl Iterator<Item = char> {
    word.chars().filter(|c| !c.is_ascii_digit())
}

/// The parts of a word that are no numbers or ids: `deps` and `app` of `deps/app-8f3a1c`, none of `550e8400-e29b-beef`.
fn names_in(word: &str) -> Vec<&str> {
    let has_digit = |text: &str| text.contains(|c: char| c.is_ascii_digit());
    let is_hexadecimal = has_digit(word) && word.chars().all(|c| c.is_ascii_hexdigit() || !c.is_alphanumeric());
    let parts = word.split(|c: char| !c.is_alphanumeric());
    parts.filter(|part| !is_hexadecimal && !has_digit(part)).collect()
}

/// What is visible of a line in a terminal, with single spaces: no colours, titles or links, and only the last drawing
/// of what was redrawn.
fn visible(line: &str) -> String {
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
