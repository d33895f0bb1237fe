//! Points in time, as programs print them.

use chrono::format::{Parsed, StrftimeItems, parse_and_remainder};

/// Marks for what is taken out of a line. Visible text has none, so that a `#` in it is not taken for a counter.
pub const COUNTER: char = '\u{1}';
pub const CHANGING: char = '\u{2}';

/// The formats, the most complete first. A date alone is a word: a job may process one day after the other.
const FORMATS: [&str; 9] = [
    "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y/%m/%d %H:%M:%S", "%d/%b/%Y:%H:%M:%S", "%d/%m/%Y %H:%M:%S",
    "%a, %d %b %Y %H:%M:%S", "%a %b %d %H:%M:%S", "%b %d %H:%M:%S", "%H:%M:%S",
];

const ZONES: [&str; 9] = ["Z", " UTC", " GMT", " CET", " CEST", " AM", " PM", "am", "pm"];

/// The length of the point in time with which a text begins; `before` is the text in front of it.
pub fn length(text: &str, before: &str) -> Option<usize> {
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
    rest.strip_prefix(" 20").and_then(after_two_digits).unwrap_or(rest)
}

fn after_two_digits(text: &str) -> Option<&str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (digits == 2).then(|| &text[2..])
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
