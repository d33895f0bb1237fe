//! How durations, times and text that others wrote are shown.

mod invisible;

use std::fmt::{Display, Formatter, Result};

use chrono::{DateTime, TimeDelta, Utc};

pub use invisible::is_invisible;

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
