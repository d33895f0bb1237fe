//! Scans a line for its words, without what changes by itself, and for its counters.
//!
//! *What changes by itself* is a time of day, a duration, a rate, the number of an attempt, the id of a request, a
//! spinner, a bar. *A counter* is a part of a whole (`12/300`, `12 of 300`), a percentage, or an amount of bytes. Any
//! other number is a word: `test 12 passed` and `test 13 passed` are different lines.

mod amount;
mod time;

use amount::Amount;
pub use time::{CHANGING, COUNTER};

/// The result of a scan.
#[derive(Default)]
pub struct Scan {
    /// The words, with `COUNTER` and `CHANGING` in the place of what was taken out.
    pub words: String,
    /// The counters, in the order of their `COUNTER` marks.
    pub counters: Vec<f64>,
    /// Whether there was a spinner.
    pub spins: bool,
    /// The next number counts attempts.
    counts_attempts: bool,
    /// The next word is the id of a request.
    names_request: bool,
    last_word: String,
}

pub fn scan(text: &str) -> Scan {
    let mut scan = Scan::default();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let (before, rest) = (text[..at].chars().next_back(), &text[at..]);
        at += scan.part(before, next, rest);
    }
    scan.words.truncate(scan.words.trim_end().len());
    scan
}

impl Scan {
    /// Takes in the part with which the rest begins, and returns its length.
    fn part(&mut self, before: Option<char>, next: char, rest: &str) -> usize {
        if is_spinner(next) {
            self.spins = true;
            return next.len_utf8();
        }
        if is_bar(next) {
            return next.len_utf8();
        }
        if let Some(length) = bracketed_bar(rest) {
            return length;
        }
        // A value in JSON may follow a colon directly: `"time":1763784903`.
        if before.is_none_or(|before| !is_attached(before)) || self.words.ends_with("\":") {
            if let Some(length) = time::length(rest, &self.words) {
                self.skip();
                return length;
            }
            if let Some((length, amount)) = amount::of(rest) {
                self.take(amount, &rest[..length]);
                return length;
            }
        }
        if next.is_alphanumeric() || next == '_' {
            return self.word(rest);
        }
        self.mark(next);
        next.len_utf8()
    }

    fn take(&mut self, amount: Amount, text: &str) {
        match amount {
            Amount::Duration | Amount::Rate | Amount::Attempt => self.skip(),
            Amount::Counter(_) | Amount::Number if self.counts_attempts => {
                self.skip();
                self.counts_attempts = false;
            }
            Amount::Counter(count) => {
                self.counters.push(count);
                self.words.push(COUNTER);
            }
            Amount::Number => self.words.push_str(text),
        }
    }

    /// Marks a changing part; several in a row are one: `59s` becomes `1m 0s`.
    fn skip(&mut self) {
        if !self.words.trim_end().ends_with(CHANGING) {
            self.words.push(CHANGING);
        }
    }

    /// Takes in a punctuation mark. Three or more in a row are two, since a line of hyphens is as long as the terminal
    /// is wide; spaces after a bracket are dropped: `[  5%]`.
    fn mark(&mut self, mark: char) {
        let repeats = self.words.chars().rev().take(2).filter(|&before| before == mark).count() == 2;
        let separates = mark == ' ' && self.words.chars().next_back().is_none_or(|before| " [(".contains(before));
        if !repeats && !separates {
            self.words.push(mark);
        }
    }

    fn word(&mut self, rest: &str) -> usize {
        let belongs = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let length = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        let word = rest[..length].to_lowercase();
        let is_address = word.len() > 7 && word.starts_with("0x") && self.last_word == "at";
        match self.names_request || is_address {
            true => self.skip(),
            false => self.words.push_str(&rest[..length]),
        }
        self.names_request = amount::names_request(&self.last_word, &word);
        self.counts_attempts = amount::counts_attempts(&word) || (self.counts_attempts && amount::links(&word));
        self.last_word = word;
        length
    }
}

/// Whether a digit after this character is only a part of a word, a version, a path, or a place in a file.
fn is_attached(before: char) -> bool {
    before.is_alphanumeric() || "_-.:/\\@$".contains(before)
}

/// Braille patterns, quarters of circles and squares, stars, moons, clocks.
fn is_spinner(c: char) -> bool {
    matches!(c, '\u{2800}'..='\u{28ff}' | '◐'..='◓' | '◜'..='◟' | '◰'..='◷' | '▖'..='▟' | '🌑'..='🌘' | '🕐'..='🕧')
        || "✢✳✶✻✽⏳⌛".contains(c)
}

fn is_bar(c: char) -> bool {
    matches!(c, '▀'..='▕') || "■□▪▫▬▭▮▯▰▱━╸╺╾╼".contains(c)
}

/// The length of a bar such as `[=====>   ]`.
fn bracketed_bar(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('[')?;
    let length = inside.find(|c| !"=->#.* ".contains(c))?;
    (length > 2 && inside[length..].starts_with(']')).then_some(length + 2)
}
