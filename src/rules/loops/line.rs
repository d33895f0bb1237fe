//! One line of output: what it says, and how far its counters are.
//!
//! A line says something if and only if a letter or a digit is left when counters and all that changes by itself are
//! taken out, and it does not spin.

use super::scan::scan;
use super::terminal::visible;

/// So much of a line is kept for reports.
const SEEN_MAX: usize = 200;

/// Glyphs that turn, and mean other things elsewhere: a bullet, a table's border.
const TURNING: &str = "|/-\\*·";

#[derive(Clone, Debug)]
pub struct Line {
    /// Equal words have equally many counters.
    pub words: String,
    /// What may be a picture of an animation, if the same words appear with another one: `|` before them, dots behind.
    frame: String,
    /// In the order in which they stand.
    pub counters: Vec<f64>,
    /// As opposed to what only spins or counts.
    pub says_something: bool,
    pub seen: String,
}

impl Line {
    /// None of what neither says nor counts anything.
    pub fn read(line: &str) -> Option<Line> {
        let seen = visible(line);
        let (text, frame) = without_frame(&seen);
        let scan = scan(text);
        let says_something = scan.words.contains(char::is_alphanumeric) && !scan.spins;
        let line = Line {
            says_something,
            frame,
            words: scan.words,
            counters: scan.counters,
            seen: seen.chars().take(SEEN_MAX).collect(),
        };
        (line.says_something || !line.counters.is_empty()).then_some(line)
    }

    pub fn says_the_same_as(&self, other: &Line) -> bool {
        self.words == other.words && self.frame == other.frame
    }

    /// Is it the earlier one but for numbers, ids and at most one name, and not for ids alone? Then it is about the next
    /// thing: `31 passed` after `30 passed`, `deploying b` after `deploying a`. An id alone may be random.
    pub fn goes_on_from(&self, earlier: &Line) -> bool {
        let before: Vec<&str> = earlier.words.split(' ').collect();
        let now: Vec<&str> = self.words.split(' ').collect();
        let differing = || before.iter().zip(&now).filter(|(before, now)| before != now);
        let numbers = differing().filter(|(before, now)| without_digits(before).eq(without_digits(now))).count();
        let names = differing().filter(|(before, now)| names_in(before) != names_in(now)).count();
        before.len() == now.len() && names <= 1 && 0 < names + numbers
    }

    /// Is the next line this one, only further on?
    fn is_redrawn_as(&self, later: &Line) -> bool {
        self.says_the_same_as(later) && self.counters != later.counters
    }
}

/// Words that appear in several frames move without saying anything.
pub fn still_animations(lines: &mut Vec<Line>) {
    let moves = |line: &Line| {
        let differs = |other: &Line| other.words == line.words && other.frame != line.frame && !other.frame.is_empty();
        !line.frame.is_empty() && lines.iter().any(differs)
    };
    let moving: Vec<bool> = lines.iter().map(moves).collect();
    for (line, moves) in lines.iter_mut().zip(moving) {
        line.says_something &= !moves;
    }
    lines.retain(|line| line.says_something || !line.counters.is_empty());
}

/// A counter that moves draws its line again; the last one counts.
pub fn keep_last_drawings(lines: &mut Vec<Line>) {
    let drawn_again = |at: usize| lines.get(at + 1).is_some_and(|later| lines[at].is_redrawn_as(later));
    let mut last = (0..lines.len()).map(|at| !drawn_again(at)).collect::<Vec<_>>().into_iter();
    lines.retain(|_| last.next().unwrap_or(true));
}

fn without_frame(seen: &str) -> (&str, String) {
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

/// Without numbers and ids: `deps` and `app` of `deps/app-8f3a1c`, none of `550e8400-e29b-beef`.
fn names_in(word: &str) -> Vec<&str> {
    let has_digit = |text: &str| text.contains(|c: char| c.is_ascii_digit());
    let is_hexadecimal = has_digit(word) && word.chars().all(|c| c.is_ascii_hexdigit() || !c.is_alphanumeric());
    let parts = word.split(|c: char| !c.is_alphanumeric());
    parts.filter(|part| !is_hexadecimal && !has_digit(part)).collect()
}
