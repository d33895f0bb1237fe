//! The last lines of an output that have words or counters.

use super::line::{self, Line};

/// How many lines with words are examined: four turns of eight lines with an odd one in each, and a few more.
const WORDED_MAX: usize = 40;

/// Among how many lines they are searched, so that a screen full of spinners costs little.
const SEARCHED_MAX: usize = 100;

/// The lines of a window, oldest first.
pub struct Window {
    /// The lines with words, and between them those with only counters.
    lines: Vec<Line>,
    /// The positions of the lines with words.
    worded: Vec<usize>,
    /// A number for each line with words: the same number for equal lines.
    classes: Vec<usize>,
}

/// The end of a window.
pub struct Tail<'a> {
    lines: &'a [Line],
    worded: Vec<usize>,
    pub classes: &'a [usize],
}

impl Window {
    pub fn read(output: &[impl AsRef<str>]) -> Window {
        let mut worded = 0;
        let is_wanted = |line: &Line| {
            worded += usize::from(line.has_words);
            worded <= WORDED_MAX
        };
        let read = output.iter().rev().take(SEARCHED_MAX).filter_map(|line| Line::read(line.as_ref()));
        let mut lines: Vec<Line> = read.take_while(is_wanted).collect();
        lines.reverse();
        line::drop_animations(&mut lines);
        line::keep_last_drawings(&mut lines);
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
    pub fn line(&self, at: usize) -> &Line {
        &self.lines[self.worded[at]]
    }

    /// Whether a counter advances from this line with words on.
    pub fn advances_from(&self, at: usize) -> bool {
        advance(self.lines, self.worded[at])
    }
}

/// Whether a counter advances from this line on.
fn advance(window: &[Line], began: usize) -> bool {
    (began..window.len()).any(|at| {
        let line = &window[at];
        let same: Vec<&Line> = window[..=at].iter().filter(|earlier| earlier.words == line.words).collect();
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
