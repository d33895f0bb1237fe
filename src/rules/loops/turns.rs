//! Lines that come in turn, and odd lines between them.
//!
//! *A turn* is so many lines, each of which was said one turn before. *An odd line* is one that is said less often than there
//! must be turns: a message in other words each time, the id of something, a warning now and then. It is no end of a loop if
//! - it is the only one in a turn, and there is one turn more than there must be without;
//! - it does not go on from the odd line before it, as `31 passed` does from `30 passed`, and `deploying b` from
//!   `deploying a`: that is work on one thing after the other;
//! - it is not the last line of all and the first odd one: then the session went on to something else.

use super::Loop;
use super::window::{Tail, Window};

/// How often one line, two lines, … eight lines in turn must be said.
pub const TIMES_MIN: [usize; 8] = [6, 4, 4, 3, 3, 3, 3, 3];

/// Counters are compared within so many lines that say something, or as many as the loop needs.
const COMPARED_MIN: usize = 20;

/// A way of going round in circles.
pub struct Kind {
    /// So many lines in turn.
    period: usize,
    times_min: usize,
    /// So many odd lines in a turn.
    odd_max: usize,
}

/// First those without odd lines, short ones first.
pub fn kinds() -> impl Iterator<Item = Kind> {
    [0, 1].into_iter().flat_map(|odd_max| {
        let kind = move |(period, times)| Kind { period, times_min: times + odd_max, odd_max };
        (1..).zip(TIMES_MIN).map(kind)
    })
}

impl Kind {
    pub fn find_in(&self, window: &Window) -> Option<Loop> {
        let tail = window.last(COMPARED_MIN.max(self.times_min * self.turn_max()));
        let regular = self.regular(tail.says);
        let times = self.times(tail.says, &regular);
        if times < self.times_min {
            return None;
        }
        let began = regular[regular.len() - self.period * self.times_min];
        let odd: Vec<usize> = (began..tail.says.len()).filter(|at| regular.binary_search(at).is_err()).collect();
        if self.is_over(tail.says.len(), &regular, &odd) || is_work(&tail, &odd) || tail.advances_from(began) {
            return None;
        }
        let lines = regular[regular.len() - self.period..].iter().map(|&at| tail.line(at).seen.clone()).collect();
        Some(Loop { lines, times })
    }

    fn turn_max(&self) -> usize {
        self.period + self.odd_max
    }

    /// Where the lines stand that are not odd.
    fn regular(&self, says: &[usize]) -> Vec<usize> {
        let often = |&at: &usize| self.times_min <= says.iter().filter(|&&said| said == says[at]).count();
        (0..says.len()).filter(|at| self.odd_max == 0 || often(at)).collect()
    }

    /// How often the last regular lines were said in turn.
    fn times(&self, says: &[usize], regular: &[usize]) -> usize {
        let returns = |&which: &usize| {
            let (before, at) = (regular[which - self.period], regular[which]);
            says[before] == says[at] && at - before <= self.turn_max()
        };
        (self.period..regular.len()).rev().take_while(returns).count() / self.period + 1
    }

    /// Did the session go on to something else, behind the last regular line?
    fn is_over(&self, said: usize, regular: &[usize], odd: &[usize]) -> bool {
        let last_turn = said - regular[regular.len() - self.period];
        self.turn_max() < last_turn || odd.first() > regular.last()
    }
}

/// One thing after the other, each with the same lines around it.
fn is_work(tail: &Tail, odd: &[usize]) -> bool {
    odd.windows(2).any(|pair| tail.line(pair[1]).goes_on_from(tail.line(pair[0])))
}
