//! Detects from an agent's output that it goes round in circles.
//!
//! A session loops if and only if no counter advances in the last lines of its output, and these are
//! - one to eight lines in turn, and nothing else: one line six times, two or three four times, more three times; or
//! - the same once more often, with an *odd line* in some turns or in each.
//!
//! *Lines* are those with words: empty lines, spinners and bars are ignored, and a line that differs from the
//! one before only by a higher counter is the same line, drawn again. Lines *repeat* when they are equal without what
//! changes by itself (`scan`): times, durations, rates, the numbers of attempts. The *last* lines reach to the very
//! end: a session that looped and went on to something else is not looping. A counter (`12/300`, `45%`, `3.4 MB`)
//! *advances* when it is higher than ever before in the window, or falls every time. One that starts again and again
//! and never gets further does not.
//!
//! *A turn* is a number of lines, each of which occurred one turn before. *An odd line* is one that occurs less often
//! than there must be turns: a message with other words each time, the id of something, an occasional warning. It does
//! not end a loop if
//! - it is the only one in its turn, and there is one turn more than is needed without odd lines;
//! - it does not continue the odd line before it, as `31 passed` continues `30 passed`, and `deploying b` continues
//!   `deploying a`: that is work on one thing after the other;
//! - it is not both the very last line and the first odd one: then the session went on to something else.
//!
//! Whether a session is at work is not judged here: `watch -n 1 date` loops as well.

mod scan;

use std::borrow::Cow;
use std::fmt::{Display, Formatter, Result};

use anstream::adapter::strip_str;

use super::display::one_line;
use scan::{COUNTER, scan};

/// The loop in which this output ends. It needs the last 40 lines, and more if spinners are among them.
pub fn detect_loop(lines: &[impl AsRef<str>]) -> Option<Loop> {
    let window = Window::parse(lines);
    kinds().find_map(|kind| kind.find_in(&window))
}

/// Lines that a session repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// One to eight lines, as they were last seen: without colours, shortened, and without odd lines.
    pub lines: Vec<String>,
    /// How often they were repeated within the window.
    pub times: usize,
}

impl Loop {
    /// How many lines are repeated in turn.
    pub fn period(&self) -> usize {
        self.lines.len()
    }
}

impl Display for Loop {
    fn fmt(&self, f: &mut Formatter) -> Result {
        write!(f, "{} times “{}”", self.times, self.lines.join("”, “"))
    }
}

/// How often one line, two lines, … eight lines in turn must occur.
pub const TIMES_MIN: [usize; 8] = [6, 4, 4, 3, 3, 3, 3, 3];

/// Within how many lines with words counters are compared, unless the loop needs more.
const COMPARED_MIN: usize = 20;

/// A kind of loop.
pub struct LoopKind {
    /// The number of lines in a turn.
    period: usize,
    times_min: usize,
    /// How many odd lines a turn may have.
    odd_max: usize,
}

/// All kinds of loops: those without odd lines first, and short ones before long ones.
pub fn kinds() -> impl Iterator<Item = LoopKind> {
    [0, 1].into_iter().flat_map(|odd_max| {
        let kind = move |(period, times)| LoopKind { period, times_min: times + odd_max, odd_max };
        (1..).zip(TIMES_MIN).map(kind)
    })
}

impl LoopKind {
    pub fn find_in(&self, window: &Window) -> Option<Loop> {
        let tail = window.last(COMPARED_MIN.max(self.times_min * self.turn_max()));
        let regular = self.regular(tail.classes);
        let times = self.times(tail.classes, &regular);
        if times < self.times_min {
            return None;
        }
        let began = regular[regular.len() - self.period * self.times_min];
        let odd: Vec<usize> = (began..tail.classes.len()).filter(|at| regular.binary_search(at).is_err()).collect();
        // The odd lines are about one thing after the other, each with the same lines around it.
        let is_work = odd.windows(2).any(|pair| tail.line(pair[1]).continues(tail.line(pair[0])));
        if self.is_over(tail.classes.len(), &regular, &odd) || is_work || tail.advances_from(began) {
            return None;
        }
        let lines = regular[regular.len() - self.period..].iter().map(|&at| tail.line(at).seen.clone()).collect();
        Some(Loop { lines, times })
    }

    fn turn_max(&self) -> usize {
        self.period + self.odd_max
    }

    /// The positions of the lines that are not odd.
    fn regular(&self, classes: &[usize]) -> Vec<usize> {
        let often = |&at: &usize| self.times_min <= classes.iter().filter(|&&class| class == classes[at]).count();
        (0..classes.len()).filter(|at| self.odd_max == 0 || often(at)).collect()
    }

    /// How often the last regular lines occurred in turn.
    fn times(&self, classes: &[usize], regular: &[usize]) -> usize {
        let returns = |&which: &usize| {
            let (before, at) = (regular[which - self.period], regular[which]);
            classes[before] == classes[at] && at - before <= self.turn_max()
        };
        (self.period..regular.len()).rev().take_while(returns).count() / self.period + 1
    }

    /// Whether the session went on to something else behind the last regular one of `count` lines with words.
    fn is_over(&self, count: usize, regular: &[usize], odd: &[usize]) -> bool {
        let last_turn = count - regular[regular.len() - self.period];
        self.turn_max() < last_turn || odd.first() > regular.last()
    }
}

/// How many lines with words are examined: four turns of eight lines with an odd one in each, and a few more.
const WORDED_MAX: usize = 40;

/// Among how many lines they are searched, so that a screen full of spinners costs little.
const SEARCHED_MAX: usize = 100;

/// The lines of a window, oldest first.
pub struct Window {
    /// The lines with words, and between them those with only counters.
    lines: Vec<OutputLine>,
    /// The positions of the lines with words.
    worded: Vec<usize>,
    /// A number for each line with words: the same number for equal lines.
    classes: Vec<usize>,
}

/// The end of a window.
pub struct Tail<'a> {
    lines: &'a [OutputLine],
    worded: Vec<usize>,
    pub classes: &'a [usize],
}

impl Window {
    pub fn parse(output: &[impl AsRef<str>]) -> Window {
        let mut worded = 0;
        let is_wanted = |line: &OutputLine| {
            worded += usize::from(line.has_words);
            worded <= WORDED_MAX
        };
        let read = output.iter().rev().take(SEARCHED_MAX).filter_map(|line| OutputLine::parse(line.as_ref()));
        let mut lines: Vec<OutputLine> = read.take_while(is_wanted).collect();
        lines.reverse();
        drop_animations(&mut lines);
        keep_last_drawings(&mut lines);
        let worded: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].has_words).collect();
        let class = |&at: &usize| worded.iter().position(|&first| lines[first].equals(&lines[at]));
        let classes = worded.iter().filter_map(class).collect();
        Window { lines, worded, classes }
    }

    /// The last so many lines with words, and the counters between them.
    pub fn last(&self, count: usize) -> Tail<'_> {
        let (first, began) = self.worded.len().checked_sub(count).map_or((0, 0), |first| (first, self.worded[first]));
        let worded = self.worded[first..].iter().map(|at| at - began).collect();
        Tail { lines: &self.lines[began..], worded, classes: &self.classes[first..] }
    }
}

impl Tail<'_> {
    /// The line with words at this position among them.
    pub fn line(&self, at: usize) -> &OutputLine {
        &self.lines[self.worded[at]]
    }

    /// Whether a counter advances from this line with words on: is further than ever, or falls every time, at least
    /// twice. Once could be chance: of two downloads, one breaks off sooner.
    pub fn advances_from(&self, began: usize) -> bool {
        let window = self.lines;
        (self.worded[began]..window.len()).any(|at| {
            let line = &window[at];
            let same: Vec<&OutputLine> = window[..=at].iter().filter(|earlier| earlier.words == line.words).collect();
            let is_last = window[at + 1..].iter().all(|later| later.words != line.words);
            (0..line.counters.len()).any(|which| {
                let counts: Vec<f64> = same.iter().map(|line| line.counters[which]).collect();
                let (now, earlier) = (line.counters[which], &counts[..counts.len() - 1]);
                let is_further_than_ever = !earlier.is_empty() && earlier.iter().all(|before| *before < now);
                let falls_every_time = 2 < counts.len() && counts.windows(2).all(|pair| pair[1] < pair[0]);
                is_further_than_ever || (is_last && falls_every_time)
            })
        })
    }
}

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

/// One line of output. It has words if and only if it has no spinner, and a letter or a digit outside of counters and
/// changing parts.
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
    let is_redrawn_as = |line: &OutputLine, later: &OutputLine| line.equals(later) && line.counters != later.counters;
    let drawn_again = |at: usize| lines.get(at + 1).is_some_and(|later| is_redrawn_as(&lines[at], later));
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

#[cfg(test)]
mod tests;
