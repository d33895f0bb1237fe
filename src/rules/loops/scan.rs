//! Scans a line for its words, without what changes by itself, and for its counters.
//!
//! *What changes by itself* is a time of day, a duration, a rate, the number of an attempt, the id of a request, a
//! spinner, a bar. *A counter* is a part of a whole (`12/300`, `12 of 300`), a percentage, or an amount of bytes. Any
//! other number is a word: `test 12 passed` and `test 13 passed` are different lines.

use chrono::format::{Parsed, StrftimeItems, parse_and_remainder};

/// Marks for what is taken out of a line. Visible text has none, so that a `#` in it is not taken for a counter.
pub const COUNTER: char = '\u{1}';
pub const CHANGING: char = '\u{2}';

/// A line as it was scanned.
#[derive(Default)]
pub struct ScannedLine {
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

/// Scans a line from its beginning to its end.
pub fn scan(text: &str) -> ScannedLine {
    let mut scan = ScannedLine::default();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let (before, rest) = (text[..at].chars().next_back(), &text[at..]);
        at += scan.part(before, next, rest);
    }
    scan.words.truncate(scan.words.trim_end().len());
    scan
}

impl ScannedLine {
    /// Takes in the part with which the rest begins, and returns its length.
    fn part(&mut self, before: Option<char>, next: char, rest: &str) -> usize {
        if is_spinner(next) {
            self.spins = true;
            return next.len_utf8();
        }
        let is_bar = matches!(next, '▀'..='▕') || "■□▪▫▬▭▮▯▰▱━╸╺╾╼".contains(next);
        if is_bar {
            return next.len_utf8();
        }
        if let Some(length) = bracketed_bar(rest) {
            return length;
        }
        // A value in JSON may follow a colon directly: `"time":1763784903`.
        // A digit may also be only a part of a word, a version, a path, or a place in a file.
        let is_attached = |before: char| before.is_alphanumeric() || "_-.:/\\@$".contains(before);
        if before.is_none_or(|before| !is_attached(before)) || self.words.ends_with("\":") {
            if let Some(length) = time_length(rest, &self.words) {
                self.skip();
                return length;
            }
            if let Some((length, amount)) = amount_of(rest) {
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
        self.names_request = names_request(&self.last_word, &word);
        self.counts_attempts = counts_attempts(&word) || (self.counts_attempts && LINKS.contains(&word.as_str()));
        self.last_word = word;
        length
    }
}

/// Braille patterns, quarters of circles and squares, stars, moons, clocks.
fn is_spinner(c: char) -> bool {
    matches!(c, '\u{2800}'..='\u{28ff}' | '◐'..='◓' | '◜'..='◟' | '◰'..='◷' | '▖'..='▟' | '🌑'..='🌘' | '🕐'..='🕧')
        || "✢✳✶✻✽⏳⌛".contains(c)
}

/// The length of a bar such as `[=====>   ]`.
fn bracketed_bar(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('[')?;
    let length = inside.find(|c| !"=->#.* ".contains(c))?;
    (length > 2 && inside[length..].starts_with(']')).then_some(length + 2)
}

/// The meaning of a number.
#[derive(Debug, PartialEq)]
enum Amount {
    /// `12.3s`, `4 seconds`, `1m23s`.
    Duration,
    /// `3.4 MB/s`, `12it/s`.
    Rate,
    /// `3 retries left`, `2nd attempt`, `5 times`.
    Attempt,
    /// `12/300`, `45%`, `3.4 MB`, which is counted in bytes.
    Counter(f64),
    /// Any other number.
    Number,
}

/// Units of time, and those that are one only directly behind their number (`5m`, but not `5 m`).
const TIMES: [&str; 16] = [
    "ns", "us", "µs", "μs", "ms", "s", "sec", "secs", "second", "seconds", "min", "mins", "minute", "minutes", "hour",
    "hours",
];
const TIMES_IF_CLOSE: [&str; 4] = ["m", "h", "hr", "hrs"];

/// Words before or behind the number of an attempt.
const ATTEMPTS: [&str; 12] = [
    "attempt", "attempts", "retry", "retries", "retrying", "retried", "try", "tries", "reconnect", "reconnecting",
    "backoff", "times",
];

/// Words that may stand between a word for attempts and its number.
const LINKS: [&str; 10] = ["in", "after", "count", "number", "no", "nr", "of", "total", "left", "remaining"];

/// The amount with which a text begins, and its length.
fn amount_of(text: &str) -> Option<(usize, Amount)> {
    let (length, number) = number(text)?;
    let rest = &text[length..];
    if rest.starts_with('%') {
        return Some((length + 1, Amount::Counter(number)));
    }
    let spaces = usize::from(rest.starts_with(' '));
    let unit = unit(&rest[spaces..]);
    let whole = length + spaces + unit.len();
    let behind = &text[whole..];
    if let Some(per) = length_of_per(behind).filter(|_| !unit.is_empty()) {
        return Some((whole + per, Amount::Rate));
    }
    if is_time(unit, spaces) {
        // `1m23s`
        let more = amount_of(behind).filter(|(_, amount)| *amount == Amount::Duration).map_or(0, |(length, _)| length);
        return (more > 0 || ends(behind)).then_some((whole + more, Amount::Duration));
    }
    if let Some(bytes) = bytes(unit).filter(|_| ends(behind) || behind.starts_with('/')) {
        return Some((whole, Amount::Counter(number * bytes)));
    }
    if is_of_a_whole(rest) {
        return Some((length, Amount::Counter(number)));
    }
    let ordinal = if ["st", "nd", "rd", "th"].iter().any(|ordinal| rest.starts_with(ordinal)) { 2 } else { 0 };
    match is_of_attempts(&rest[ordinal..]) {
        true => Some((length + ordinal, Amount::Attempt)),
        false => ends(rest).then_some((length, Amount::Number)),
    }
}

/// A longer number is no amount; reading it to its end from each of its digits would take too long.
const NUMBER_MAX: usize = 32;

/// The number with which a text begins, and its length: `12`, `1,234`, `0.52`, but not the beginning of `1.2.3`.
fn number(text: &str) -> Option<(usize, f64)> {
    let is_part = |byte: u8| byte.is_ascii_digit() || byte == b'.' || byte == b',';
    let length = text.bytes().take(NUMBER_MAX).take_while(|&byte| is_part(byte)).count();
    let digits = text[..length].trim_end_matches(['.', ',']);
    let number = digits.replace(',', "").parse().ok().filter(|_| digits.starts_with(|c: char| c.is_ascii_digit()))?;
    Some((digits.len(), number))
}

fn unit(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len())]
}

fn is_time(unit: &str, spaces: usize) -> bool {
    TIMES.contains(&unit) || (spaces == 0 && TIMES_IF_CLOSE.contains(&unit))
}

/// How many bytes a unit stands for.
fn bytes(unit: &str) -> Option<f64> {
    match unit.to_lowercase().as_str() {
        "b" | "byte" | "bytes" => Some(1.0),
        "kb" | "kbytes" | "kilobytes" => Some(1e3),
        "mb" | "mbytes" | "megabytes" => Some(1e6),
        "gb" | "gigabytes" => Some(1e9),
        "tb" => Some(1e12),
        "kib" => Some(1_024.0),
        "mib" => Some(1_048_576.0),
        "gib" => Some(1_073_741_824.0),
        "tib" => Some(1_099_511_627_776.0),
        _ => None,
    }
}

/// Whether a number ends here: no letter, digit or decimal point follows.
fn ends(behind: &str) -> bool {
    let mut next = behind.chars();
    match next.next() {
        None => true,
        Some('.' | ':' | '-' | '/') => !next.next().is_some_and(char::is_alphanumeric),
        Some(c) => !c.is_alphanumeric() && c != '_',
    }
}

/// The length of what makes an amount a rate: `/s`, `/file`.
fn length_of_per(behind: &str) -> Option<usize> {
    let per = unit(behind.strip_prefix('/')?);
    ["s", "sec", "second", "it", "min", "file"].contains(&per).then_some(1 + per.len())
}

/// Whether a whole follows: `/300`, ` / 300`, ` of 300`, but not `/11/2026`.
fn is_of_a_whole(rest: &str) -> bool {
    let whole = ["/", " / ", " of "].iter().find_map(|of| rest.strip_prefix(of));
    whole
        .and_then(|whole| number(whole).map(|(length, _)| &whole[length..]))
        .is_some_and(|behind| ends(behind) || bytes(unit(behind.trim_start())).is_some())
}

fn is_of_attempts(rest: &str) -> bool {
    let Some(noun) = rest.strip_prefix(' ') else {
        return false;
    };
    let noun = ["more ", "failed "].iter().find_map(|word| noun.strip_prefix(word)).unwrap_or(noun);
    ATTEMPTS.contains(&unit(noun).to_lowercase().as_str())
}

/// Whether a word counts attempts: `attempt`, `retry_count`.
fn counts_attempts(word: &str) -> bool {
    word.split(['_', '-']).any(|part| ATTEMPTS.contains(&part))
}

/// Whether a word names the id of a request: `request_id`, `x-request-id`, `requestId`, `request id`.
fn names_request(before: &str, word: &str) -> bool {
    let joined: String = word.chars().filter(|c| c.is_alphanumeric()).collect();
    ["requestid", "traceid", "correlationid"].iter().any(|name| joined.ends_with(name))
        || (before == "request" && word == "id")
}

/// The formats of points in time, the most complete first. A date alone is a word: a job may process one day after the
/// other.
const FORMATS: [&str; 9] = [
    "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y/%m/%d %H:%M:%S", "%d/%b/%Y:%H:%M:%S", "%d/%m/%Y %H:%M:%S",
    "%a, %d %b %Y %H:%M:%S", "%a %b %d %H:%M:%S", "%b %d %H:%M:%S", "%H:%M:%S",
];

/// What may follow a time of day.
const ZONES: [&str; 9] = ["Z", " UTC", " GMT", " CET", " CEST", " AM", " PM", "am", "pm"];

/// The length of the point in time with which a text begins; `before` is the text in front of it.
fn time_length(text: &str, before: &str) -> Option<usize> {
    if !may_begin(text) {
        return None;
    }
    let rest = FORMATS.iter().find_map(|format| after(text, format)).map(without_zone);
    let rest = rest.or_else(|| between_brackets(text, before)).or_else(|| epoch(text, before))?;
    (!rest.starts_with(|c: char| c.is_alphanumeric())).then_some(text.len() - rest.len())
}

/// A cheap check, since most words and numbers are no time.
fn may_begin(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    match digits {
        0 => text.starts_with(|c: char| "ADFJMNOSTW".contains(c)) && text.bytes().take(24).any(|byte| byte == b':'),
        1 | 2 => text[digits..].starts_with([':', '/', '.']),
        4 => text[digits..].starts_with(['-', '/', '.']),
        _ => text[digits..].starts_with('.') || digits >= 10,
    }
}

fn after<'text>(text: &'text str, format: &str) -> Option<&'text str> {
    parse_and_remainder(&mut Parsed::new(), text, StrftimeItems::new(format)).ok()
}

/// The rest without what may follow a time of day: fractions of a second, a zone, AM or PM, the year.
fn without_zone(rest: &str) -> &str {
    let fraction = rest.strip_prefix(['.', ',']).map(|digits| digits.trim_start_matches(|c: char| c.is_ascii_digit()));
    let rest = fraction.unwrap_or(rest);
    let rest = ZONES.iter().find_map(|zone| rest.strip_prefix(zone)).unwrap_or(rest);
    let rest = ["%:z", " %z"].iter().find_map(|format| after(rest, format)).unwrap_or(rest);
    let year = rest.strip_prefix(" 20").filter(|year| year.bytes().take_while(u8::is_ascii_digit).count() == 2);
    year.map_or(rest, |year| &year[2..])
}

/// Minutes and seconds as in `[00:12]`, `[00:12<00:15]`; elsewhere they may be a place in a file: `12:34 error`.
fn between_brackets<'text>(text: &'text str, before: &str) -> Option<&'text str> {
    let rest = before.ends_with(['[', '(', '<', CHANGING]).then(|| after(text, "%M:%S"))??;
    rest.starts_with(['<', ',', ']', ')']).then_some(rest)
}

/// The names of times in JSON and in `key=value`.
const NAMES: [&str; 4] = ["time", "ts", "timestamp", "t"];

/// Seconds or milliseconds since 1970, at the beginning of a line or behind such a name; or seconds since the start, as
/// in `[   12.345678]`.
fn epoch<'text>(text: &'text str, before: &str) -> Option<&'text str> {
    let name = before.trim_end().strip_suffix([':', '=']).map(|before| before.trim_end_matches(['"', ' ']));
    let is_named = name.is_some_and(|before| {
        let name = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        NAMES.contains(&name.to_lowercase().as_str())
    });
    if !is_named && !before.chars().all(|c| "[(#".contains(c)) {
        return None;
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &text[digits..];
    let fraction = rest.strip_prefix('.').map(|digits| digits.trim_start_matches(|c: char| c.is_ascii_digit()));
    let is_date = text.starts_with('1') && (digits == 10 || digits == 13);
    let is_uptime = fraction.is_some_and(|rest| rest.starts_with(']')) && before == "[";
    (is_date || is_uptime).then_some(fraction.unwrap_or(rest))
}
