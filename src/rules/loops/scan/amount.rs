//! Numbers with a meaning: durations, rates, counters, attempts.

/// The meaning of a number.
#[derive(Debug, PartialEq)]
pub enum Amount {
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

/// Words that may stand between such a word and its number.
const LINKS: [&str; 10] = ["in", "after", "count", "number", "no", "nr", "of", "total", "left", "remaining"];

/// The amount with which a text begins, and its length.
pub fn of(text: &str) -> Option<(usize, Amount)> {
    let (length, number) = number(text)?;
    let rest = &text[length..];
    if rest.starts_with('%') {
        return Some((length + 1, Amount::Counter(number)));
    }
    let spaces = usize::from(rest.starts_with(' '));
    let unit = unit(&rest[spaces..]);
    let whole = length + spaces + unit.len();
    let behind = &text[whole..];
    if !unit.is_empty() && is_per_something(behind) {
        return Some((whole + per_length(behind), Amount::Rate));
    }
    if is_time(unit, spaces) {
        // `1m23s`
        let more = of(behind).filter(|(_, amount)| *amount == Amount::Duration).map_or(0, |(length, _)| length);
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

fn is_per_something(behind: &str) -> bool {
    behind.strip_prefix('/').is_some_and(|per| ["s", "sec", "second", "it", "min", "file"].contains(&unit(per)))
}

fn per_length(behind: &str) -> usize {
    1 + unit(&behind[1..]).len()
}

/// Whether a whole follows: `/300`, ` / 300`, ` of 300`, but not `/11/2026`.
fn is_of_a_whole(rest: &str) -> bool {
    let whole = ["/", " / ", " of "].iter().find_map(|of| rest.strip_prefix(of));
    whole.and_then(|whole| number(whole).map(|(length, _)| &whole[length..])).is_some_and(|behind| {
        let unit_length = unit(behind.trim_start()).len();
        ends(behind) || (unit_length > 0 && bytes(unit(behind.trim_start())).is_some())
    })
}

fn is_of_attempts(rest: &str) -> bool {
    let Some(noun) = rest.strip_prefix(' ') else {
        return false;
    };
    let noun = ["more ", "failed "].iter().find_map(|word| noun.strip_prefix(word)).unwrap_or(noun);
    ATTEMPTS.contains(&unit(noun).to_lowercase().as_str())
}

/// Whether a word counts attempts: `attempt`, `retry_count`.
pub fn counts_attempts(word: &str) -> bool {
    word.split(['_', '-']).any(|part| ATTEMPTS.contains(&part))
}

/// Whether a word may stand between such a word and its number.
pub fn links(word: &str) -> bool {
    LINKS.contains(&word)
}

/// Whether a word names the id of a request: `request_id`, `x-request-id`, `requestId`, `request id`.
pub fn names_request(before: &str, word: &str) -> bool {
    let joined: String = word.chars().filter(|c| c.is_alphanumeric()).collect();
    ["requestid", "traceid", "correlationid"].iter().any(|name| joined.ends_with(name))
        || (before == "request" && word == "id")
}
