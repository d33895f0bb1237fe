//! The words of a line without what changes by itself, and its counters.
//!
//! *What changes by itself* says nothing: a time of day, a duration, a rate, the number of an attempt, the id of a request,
//! a glyph that spins, a bar. *A counter* is a part of a whole (`12/300`, `12 of 300`), a percentage, or an amount of bytes.
//! Every other number is a word: `test 12 passed` and `test 13 passed` say different things.

mod amount;
mod time;

use amount::Amount;

/// Stand for what is taken out; no visible text has them, so that a `#` that somebody wrote is not taken for a counter.
pub const COUNTER: char = '\u{1}';
pub const CHANGING: char = '\u{2}';

/// What is left of a line.
#[derive(Default)]
pub struct Scan {
    /// With `COUNTER` and `CHANGING` for what was taken out.
    pub words: String,
    /// In the order of their `COUNTER`s.
    pub counters: Vec<f64>,
    /// A glyph that does nothing but turn was among them.
    pub spins: bool,
    /// The number that comes next counts attempts.
    counts_attempts: bool,
    /// The word that comes next is the id of a request.
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
    /// Takes the part with which the rest begins, and tells its length.
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
        // `"time":1763784903`: a value in JSON stands by itself.
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

    /// Two in a row are one: `59s` becomes `1m 0s`.
    fn skip(&mut self) {
        if !self.words.trim_end().ends_with(CHANGING) {
            self.words.push(CHANGING);
        }
    }

    /// A line of hyphens is as long as a terminal is wide, and brackets are padded: `[  5%]`.
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

/// Not the beginning of a number but a part of one, of a version, a path, or a place in a file.
fn is_attached(before: char) -> bool {
    before.is_alphanumeric() || "_-.:/\\@$".contains(before)
}

/// Braille patterns, quarters of circles and squares, stars, moons, clocks.
fn is_spinner(c: char) -> bool {
    matches!(c, '\u{2800}'..='\u{28ff}' | '◐'..='◓' | '◜'..='◟' | '◰'..='◷' | '▖'..='▟' | '🌑'..='🌘' | '🕐'..='🕧')
        || "✢✳✶✻✽⏳⌛".contains(c)
}

fn is_bar(c: char) -> bool {
    matches!(
        c,
        '▀'
            ..='▕'
                | '■'
                | '□'
                | '▪'
                | '▫'
                | '▬'
                | '▭'
                | '▮'
                | '▯'
                | '▰'
                | '▱'
                | '━'
                | '╸'
                | '╺'
                | '╾'
                | '╼'
    )
}

/// `[=====>   ]`
fn bracketed_bar(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('[')?;
    let length = inside.find(|c| !"=->#.* ".contains(c))?;
    (length > 2 && inside[length..].starts_with(']')).then_some(length + 2)
}
