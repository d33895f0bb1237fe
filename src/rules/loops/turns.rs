//! Lines that are repeated in turn, and odd lines between them.
//!
//! *A turn* is a number of lines, each of which occurred one turn before. *An odd line* is one that occurs less often
//! than there must be turns: a message with other words each time, the id of something, an occasional warning. It does
//! not end a loop if
//! - it is the only one in its turn, and there is one turn more than is needed without odd lines;
//! - it does not continue the odd line before it, as `31 passed` continues `30 passed`, and `deploying b` continues
//!   `deploying a`: that is work on one thing after the other;
//! - it is not both the very last line and the first odd one: then the session went on to something else.

use std::fmt::{Display, Formatter, Result};

use super::line::{OutputLine, drop_animations, keep_last_drawings};

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
        if self.is_over(tail.classes.len(), &regular, &odd) || is_work(&tail, &odd) || tail.advances_from(began) {
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

/// Whether the odd lines are about one thing after the other, each with the same lines around it.
fn is_work(tail: &Tail, odd: &[usize]) -> bool {
    odd.windows(2).any(|pair| tail.line(pair[1]).continues(tail.line(pair[0])))
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

    /// Whether a counter advances from this line with words on.
    pub fn advances_from(&self, at: usize) -> bool {
        advance(self.lines, self.worded[at])
    }
}

/// Whether a counter advances from this line on.
fn advance(window: &[OutputLine], began: usize) -> bool {
    (began..window.len()).any(|at| {
        let line = &window[at];
        let same: Vec<&OutputLine> = window[..=at].iter().filter(|earlier| earlier.words == line.words).collect();
        let is_last = window[at + 1..].iter().all(|later| later.words != line.words);
        (0..line.counters.len()).any(|which| {
            let counts: Vec<f64> = same.iter().map(|line| line.counters[which]).collect();
            is_further_than_ever(&counts) || (is_last && falls_every_time(&counts))
        })
    })
}

fn is_further_than_ever(counts: &[f64]) -> bool {
    counts.split_last().is_some_and(|(last, earlier)| !earlier.is_empty() && earlier.iter().all(|before| before < last))
}

/// Whether a counter falls every time, at least twice. Once could be chance: of two downloads, one breaks off sooner.
fn falls_every_time(counts: &[f64]) -> bool {
    counts.len() > 2 && counts.windows(2).all(|pair| pair[1] < pair[0])
}
