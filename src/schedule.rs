//! When sweeps are due, by a cron pattern in a time zone.
//!
//! A sweep is due at an instant if and only if the zone's wall clock then shows a time that the pattern names. A
//! pattern that lists its times of day one by one (`30 2 * * *`) is meant once a day: a time that the clocks skip is
//! due right after the gap, and one that occurs twice is due the first time. Any other (`*/5 * * * *`, `0 9-17 * * *`)
//! is meant to repeat: a time that is skipped is not due, and one that occurs twice is due twice.
//!
//! The crate `croner` knows the calendar, on a clock that is never changed. Changes of the clock are handled here,
//! since croner does not keep two equal times apart.

#[cfg(test)]
mod tests;

use std::fmt::{Debug, Display, Formatter};

use chrono::{DateTime, MappedLocalTime, NaiveDateTime, Offset, TimeDelta, TimeZone, Timelike, Utc};
use chrono_tz::Tz;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};

/// A pattern that has a next time.
#[derive(Clone, PartialEq)]
pub struct CronPattern {
    text: String,
    cron: Cron,
    /// Whether it lists its times of day one by one.
    is_fixed: bool,
}

/// Shows the text only, not the sets of croner.
impl Debug for CronPattern {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        f.debug_tuple("CronPattern").field(&self.text).finish()
    }
}

/// A pattern in a time zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    pub pattern: CronPattern,
    pub zone: Tz,
}

const EXPECTED: &str = "expected a schedule such as */5 * * * * (minute, hour, day of the month, month, day of the \
    week; with six \
                        fields the first is the second), @hourly, @daily, @weekly, @monthly or @yearly";

/// Common schedules by their names.
const NAMED: [(&str, &str); 7] = [
    ("@hourly", "0 0 * * * *"),
    ("@daily", "0 0 0 * * *"),
    ("@midnight", "0 0 0 * * *"),
    ("@weekly", "0 0 0 * * 0"),
    ("@monthly", "0 0 0 1 * *"),
    ("@yearly", "0 0 0 1 1 *"),
    ("@annually", "0 0 0 1 1 *"),
];

/// The fields of a pattern that has seconds.
const FIELDS: [&str; 6] = ["second", "minute", "hour", "day of the month", "month", "day of the week"];

/// The first field that is wrong by itself, and what it should be.
fn wrong_field<'a>(parser: &CronParser, fields: &'a str) -> Option<(&'a str, &'static str)> {
    fields.split(' ').zip(FIELDS).find(|(field, name)| {
        let alone = FIELDS.map(|other| if other == *name { *field } else { "*" });
        parser.parse(&alone.join(" ")).is_err()
    })
}

impl CronPattern {
    /// Parses five fields, six with seconds, or a name. A day of the month and a day of the week must both match.
    pub fn parse(text: &str) -> Result<CronPattern, String> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let named = NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(&text));
        let fields = match (named, text.split(' ').count()) {
            (Some((_, fields)), _) => (*fields).to_owned(),
            (None, 5) => format!("0 {text}"),
            (None, 6) => text.clone(),
            (None, _) => return Err(EXPECTED.to_owned()),
        };
        let parser = CronParser::builder().seconds(Seconds::Required).year(Year::Disallowed).dom_and_dow(true).build();
        let cron = parser.parse(&fields).map_err(|_| match wrong_field(&parser, &fields) {
            Some((field, name)) => format!("{EXPECTED}; “{field}” is no {name}"),
            None => EXPECTED.to_owned(),
        })?;
        let is_fixed = fields.split(' ').take(3).all(|field| !field.contains(['*', '?', '/', '-']));
        let pattern = CronPattern { text, cron, is_fixed };
        match pattern.next(DateTime::UNIX_EPOCH.naive_utc(), Strictly::After) {
            Some(_) => Ok(pattern),
            None => {
                Err("there is no such time; when a day of the month and a day of the week are given, both must match"
                    .to_owned())
            }
        }
    }

    /// The next time on a clock that is never changed.
    fn next(&self, from: NaiveDateTime, strictly: Strictly) -> Option<NaiveDateTime> {
        let from = from.and_utc();
        self.cron.find_next_occurrence(&from, strictly == Strictly::AtOrAfter).ok().map(|next| next.naive_utc())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Strictly {
    After,
    AtOrAfter,
}

impl Schedule {
    /// The first instant after this one at which a sweep is due.
    pub fn next(&self, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let after = after.with_nanosecond(0)?;
        if self.pattern.is_fixed { self.next_fixed(after) } else { self.next_repeated(after) }
    }

    /// All instants after this one at which sweeps are due, in order.
    pub fn after(&self, after: DateTime<Utc>) -> impl Iterator<Item = DateTime<Utc>> {
        std::iter::successors(self.next(after), |&previous| self.next(previous))
    }

    /// The next instant of a pattern that is due once for each time on the wall clock, however the clocks change.
    fn next_fixed(&self, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let mut local = self.local(after);
        loop {
            local = self.pattern.next(local, Strictly::After)?;
            let instant = match self.zone.from_local_datetime(&local) {
                MappedLocalTime::Single(only) => only.to_utc(),
                MappedLocalTime::Ambiguous(first, _) => first.to_utc(),
                MappedLocalTime::None => self.end_of_gap(local),
            };
            if after < instant {
                return Some(instant);
            }
        }
    }

    /// The next instant of a pattern that repeats. Between two changes of the clocks, each time has one instant.
    fn next_repeated(&self, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let (mut from, mut strictly) = (after, Strictly::After);
        loop {
            let offset = self.offset(from);
            let next = (self.pattern.next(self.local(from), strictly)? - offset).and_utc();
            match self.change_between(from, next) {
                None => return Some(next),
                Some(change) => (from, strictly) = (change, Strictly::AtOrAfter),
            }
        }
    }

    fn offset(&self, at: DateTime<Utc>) -> TimeDelta {
        let offset = self.zone.offset_from_utc_datetime(&at.naive_utc()).fix();
        TimeDelta::seconds(i64::from(offset.local_minus_utc()))
    }

    fn local(&self, at: DateTime<Utc>) -> NaiveDateTime {
        at.with_timezone(&self.zone).naive_local()
    }

    /// The first second up to `last` with another offset than `first`. No zone changes twice in twelve hours.
    fn change_between(&self, first: DateTime<Utc>, last: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let offset = self.offset(first);
        let mut before = first;
        while before < last {
            let behind = (before + TimeDelta::hours(12)).min(last);
            if self.offset(behind) != offset {
                return Some(first_without(before, behind, |at| self.offset(at) == offset));
            }
            before = behind;
        }
        None
    }

    /// When the clocks skipped this time; a zone that moved across the date line skipped a day.
    fn end_of_gap(&self, skipped: NaiveDateTime) -> DateTime<Utc> {
        let (before, behind) = (skipped.and_utc() - TimeDelta::hours(38), skipped.and_utc() + TimeDelta::hours(38));
        first_without(before, behind, |at| self.local(at) < skipped)
    }
}

/// The first second at which something no longer holds; it holds at `before`, and not at `behind`.
fn first_without(before: DateTime<Utc>, behind: DateTime<Utc>, holds: impl Fn(DateTime<Utc>) -> bool) -> DateTime<Utc> {
    let at = |seconds| DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    let (mut before, mut behind) = (before.timestamp(), behind.timestamp());
    while before + 1 < behind {
        let middle = before + (behind - before) / 2;
        *(if holds(at(middle)) { &mut before } else { &mut behind }) = middle;
    }
    at(behind)
}

/// Every five minutes.
impl Default for Schedule {
    fn default() -> Schedule {
        Schedule { pattern: CronPattern::parse("*/5 * * * *").expect("a pattern"), zone: Tz::UTC }
    }
}

impl Display for CronPattern {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        write!(f, "{} ({})", self.pattern, self.zone)
    }
}
