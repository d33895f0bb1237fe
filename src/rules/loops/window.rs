//! The last lines of an output, as far as they say or count something.

use super::counters;
use super::line::{self, Line};

/// So many lines that say something are looked at: four turns of eight lines with an odd one in each, and a few more.
const SAID_MAX: usize = 40;

/// So many lines are searched for them, that a screen full of spinners costs little.
const SEARCHED_MAX: usize = 100;

/// Oldest first.
pub struct Window {
    /// Those that say something, and between them those that count something.
    lines: Vec<Line>,
    /// Where among them those stand that say something.
    said: Vec<usize>,
    /// What each of those says: equal numbers for the same.
    says: Vec<usize>,
}

/// The end of a window.
pub struct Tail<'a> {
    lines: &'a [Line],
    said: Vec<usize>,
    pub says: &'a [usize],
}

impl Window {
    pub fn read(output: &[impl AsRef<str>]) -> Window {
        let mut said = 0;
        let enough = |line: &Line| {
            said += usize::from(line.says_something);
            said <= SAID_MAX
        };
        let read = output.iter().rev().take(SEARCHED_MAX).filter_map(|line| Line::read(line.as_ref()));
        let mut lines: Vec<Line> = read.take_while(enough).collect();
        lines.reverse();
        line::still_animations(&mut lines);
        line::keep_last_drawings(&mut lines);
        let said: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].says_something).collect();
        let first_to_say = |&at: &usize| said.iter().position(|&first| lines[first].says_the_same_as(&lines[at]));
        let says = said.iter().filter_map(first_to_say).collect();
        Window { lines, said, says }
    }

    /// So many of the lines that say something, and what counts something between them.
    pub fn last(&self, count: usize) -> Tail<'_> {
        let (first, began) = self.said.len().checked_sub(count).map_or((0, 0), |first| (first, self.said[first]));
        let said = self.said[first..].iter().map(|at| at - began).collect();
        Tail { lines: &self.lines[began..], said, says: &self.says[first..] }
    }
}

impl Tail<'_> {
    /// Of those that say something.
    pub fn line(&self, at: usize) -> &Line {
        &self.lines[self.said[at]]
    }

    /// Does a counter get somewhere, from this line on?
    pub fn advances_from(&self, at: usize) -> bool {
        counters::advance(self.lines, self.said[at])
    }
}
