//! Distinguishes progress from mere motion.
//!
//! Progress is a line with words that were not on the screen before, or a counter that is higher than ever. What
//! changes by itself is none (`rules::loops`: times, durations, rates, attempts, spinners, bars, growing dots); neither
//! is a number that counts seconds, a count of tokens, or the beginning of a line that is known already.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Instant;

use crate::rules::Essence;

/// How many lines are remembered. Printing as many different lines before one of them again is progress.
const REMEMBERED_MAX: usize = 2000;

/// Among how many of the latest lines a mere beginning of a line is recognised.
const LAST_MAX: usize = 64;

/// How many seconds a number may differ from a clock.
const CLOCK_TOLERANCE: f64 = 1.5;

#[derive(Default)]
pub struct Motion {
    /// The highest counters of each line.
    known: HashMap<String, Vec<f64>>,
    /// The lines in the order in which they were first seen.
    order: VecDeque<String>,
    /// Possible clocks: the words around a number, its first value, and when it was seen.
    clocks: HashMap<String, (f64, Instant)>,
}

impl Motion {
    /// Takes in the lines on the screen, and returns whether any of them is progress.
    pub fn is_progress<'a>(&mut self, lines: impl IntoIterator<Item = &'a str>, now: Instant) -> bool {
        let essences: Vec<Essence> = lines.into_iter().filter_map(Essence::parse).collect();
        let clocks = self.clocks_among(&essences, now);
        let mut is_progress = false;
        for essence in &essences {
            // A line that also has a counter is no clock.
            let is_clock = essence.counters.is_empty()
                && essence.only_number().is_some_and(|(around, _)| clocks.contains(&around));
            is_progress |= self.remember(essence) && !is_clock;
        }
        is_progress
    }

    /// The clocks: words that occur once, around a number that has grown by the seconds since it was first seen.
    fn clocks_among(&mut self, essences: &[Essence], now: Instant) -> HashSet<String> {
        let mut numbers: HashMap<String, Option<f64>> = HashMap::new();
        for (around, number) in essences.iter().filter_map(Essence::only_number) {
            numbers.entry(around).and_modify(|number| *number = None).or_insert(Some(number));
        }
        self.clocks.retain(|around, _| numbers.contains_key(around));
        let mut clocks = HashSet::new();
        for (around, number) in numbers {
            let Some(number) = number else { continue };
            let (first, at) = *self.clocks.entry(around.clone()).or_insert((number, now));
            let seconds = now.saturating_duration_since(at).as_secs_f64();
            if (number - first - seconds).abs() > CLOCK_TOLERANCE {
                self.clocks.insert(around, (number, now));
            } else if at < now {
                clocks.insert(around);
            }
        }
        clocks
    }

    /// Remembers a line, and returns whether it is new or has a higher counter.
    fn remember(&mut self, essence: &Essence) -> bool {
        let Essence { words, counters } = essence;
        if let Some(known) = self.known.get_mut(words) {
            let mut is_further = false;
            for (known, counter) in known.iter_mut().zip(counters) {
                is_further |= *known < *counter;
                *known = known.max(*counter);
            }
            return is_further;
        }
        let is_beginning = self.order.iter().rev().take(LAST_MAX).any(|known| known.starts_with(words.as_str()));
        if is_beginning {
            return false;
        }
        if self.order.len() == REMEMBERED_MAX {
            self.order.pop_front().map(|oldest| self.known.remove(&oldest));
        }
        self.order.push_back(words.clone());
        self.known.insert(words.clone(), counters.clone());
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;

    use super::*;

    /// Which of these screens, two seconds apart, show progress.
    fn progress(looks: [&str; 3]) -> Vec<bool> {
        let (mut motion, began) = (Motion::default(), Instant::now());
        let at = |look: usize| began + Duration::from_secs(2 * look as u64);
        looks.iter().enumerate().map(|(look, screen)| motion.is_progress(screen.lines(), at(look))).collect()
    }

    #[rstest]
    #[case::a_spinner(["⠋ Thinking", "⠙ Thinking", "⠹ Thinking"])]
    #[case::bars_that_turn(["| Thinking", "/ Thinking", "- Thinking"])]
    #[case::a_scroll_bar(["│ ~/shop │\none two", "│ ~/shop │ │\none two █", "│ ~/shop │ █\none two │"])]
    #[case::dots(["Waiting.", "Waiting...", "Waiting......"])]
    #[case::a_clock(["now 12:00:01", "now 12:00:03", "now 12:00:05"])]
    #[case::seconds_without_a_unit(["waited 1", "waited 3", "waited 5"])]
    #[case::what_stood_there_before(["one\ntwo", "two", "two\none"])]
    #[case::the_beginning_of_a_known_line(["error: no route", "error: no", "err"])]
    #[case::tests_of_which_as_many_pass(["3 passed in 0.51s", "3 passed in 0.62s", "3 passed in 1.7s"])]
    #[case::a_counter_that_stands(["12/300 files", "12/300 files", "11/300 files"])]
    fn motion_is_no_progress(#[case] looks: [&str; 3]) {
        assert_eq!(progress(looks)[1..], [false, false]);
    }

    #[rstest]
    #[case::new_lines(["one", "one\ntwo", "two\nthree"])]
    #[case::tokens_one_by_one(["The", "The quick brown", "The quick brown fox"])]
    #[case::a_counter(["12/300 files", "13/300 files", "14/300 files"])]
    #[case::tests_that_pass(["3 passed, 2 failed in 0.5s", "4 passed, 1 failed in 0.6s", "5 passed in 0.7s"])]
    #[case::more_tests(["test result: ok. 12 passed", "test result: ok. 20 passed", "test result: ok. 31 passed"])]
    #[case::a_percentage_that_grows_as_a_clock(["45%", "47%", "49%"])]
    #[case::a_number_that_is_no_clock(["row 100", "row 250", "row 391"])]
    #[case::numbered_lines(["test 1 ok", "test 1 ok\ntest 2 ok", "test 2 ok\ntest 3 ok\ntest 4 ok"])]
    fn what_says_something_new_is_progress(#[case] looks: [&str; 3]) {
        assert_eq!(progress(looks)[1..], [true, true]);
    }
}
