//! How durations, times and text that others wrote are shown.

use std::fmt::{Display, Formatter, Result};

use chrono::{DateTime, TimeDelta, Utc};

/// A duration as people say it, in its two largest units: `3h 12m`, `45s`.
pub struct HumanDuration(pub TimeDelta);

impl Display for HumanDuration {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let seconds = self.0.num_seconds().max(0);
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
        match (days, hours, minutes) {
            (0, 0, 0) => write!(f, "{seconds}s"),
            (0, 0, _) => write!(f, "{minutes}m"),
            (0, _, 0) => write!(f, "{hours}h"),
            (0, _, _) => write!(f, "{hours}h {minutes}m"),
            (_, 0, _) => write!(f, "{days}d"),
            (_, _, _) => write!(f, "{days}d {hours}h"),
        }
    }
}

/// For how long a wake has been queued: `for 3h`, or that its time cannot be right.
pub(super) fn queued_for(age: TimeDelta) -> String {
    match age < TimeDelta::zero() {
        true => format!("dated {} in the future", HumanDuration(-age)),
        false => format!("for {}", HumanDuration(age)),
    }
}

/// `1 orphan`, `3 orphans`.
pub fn counted(n: i64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// `a`, `a and b`, `a, b and c`, if the last two are joined by `and`.
pub fn enumerated(words: &[impl AsRef<str>], and: &str) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} {and} {last}", first.join(", ")),
        words => words.concat(),
    }
}

/// A status as people write it: `in progress`.
pub fn humanize(status: &str) -> String {
    status.replace('_', " ")
}

/// A time in reports: to the second, and always in UTC.
pub fn format_utc(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// Text that others wrote, on one line and without invisible characters: neither a row nor a driver's message may
/// change a reader's terminal, or say to a machine what people do not see. What is printed goes through `text::redact`,
/// which hides credentials as well.
pub fn one_line(text: &str) -> String {
    let visible: String = text.chars().filter(|c| c.is_whitespace() || !is_invisible(*c)).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How a comment quotes what others wrote: `text::quoted`. The rules do not know what looks like a credential.
pub type Quote = fn(&str) -> String;

/// A quotation in a comment that leads to a page, in Markdown; `url` has nothing in it that ends a link.
pub(super) fn linked(quotation: String, url: Option<&str>) -> String {
    match url {
        Some(url) => format!("[{quotation}]({url})"),
        None => quotation,
    }
}

/// Unicode's controls (Cc) and formats (Cf), and what it says to ignore where it cannot be drawn
/// (Default_Ignorable_Code_Point): colours of a terminal, reversed orders, joiners, soft hyphens, fillers, variation
/// selectors, tags. They change what is read, or hide in a text what only machines read. A test compares this with
/// Unicode's own tables.
const INVISIBLE: [(char, char); 27] = [
    ('\0', '\u{1F}'),
    ('\u{7F}', '\u{9F}'),
    ('\u{AD}', '\u{AD}'),
    ('\u{34F}', '\u{34F}'),
    ('\u{600}', '\u{605}'),
    ('\u{61C}', '\u{61C}'),
    ('\u{6DD}', '\u{6DD}'),
    ('\u{70F}', '\u{70F}'),
    ('\u{890}', '\u{891}'),
    ('\u{8E2}', '\u{8E2}'),
    ('\u{115F}', '\u{1160}'),
    ('\u{17B4}', '\u{17B5}'),
    ('\u{180B}', '\u{180F}'),
    ('\u{200B}', '\u{200F}'),
    ('\u{202A}', '\u{202E}'),
    ('\u{2060}', '\u{206F}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{FE00}', '\u{FE0F}'),
    ('\u{FEFF}', '\u{FEFF}'),
    ('\u{FFA0}', '\u{FFA0}'),
    ('\u{FFF0}', '\u{FFFB}'),
    ('\u{110BD}', '\u{110BD}'),
    ('\u{110CD}', '\u{110CD}'),
    ('\u{13430}', '\u{1343F}'),
    ('\u{1BCA0}', '\u{1BCA3}'),
    ('\u{1D173}', '\u{1D17A}'),
    ('\u{E0000}', '\u{E0FFF}'),
];

/// True for a character that nobody sees. White space is among them as far as it is a control: a newline, a tab.
pub fn is_invisible(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_control()
    } else {
        INVISIBLE.iter().any(|(first, last)| (*first..=*last).contains(&c))
    }
}
