//! What an agent is doing, how that is known, and when an agent whose quota is used up can go on.

use std::sync::LazyLock;

use chrono::{DateTime, Days, NaiveTime, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;
use regex::Regex;

use crate::rules::session::Activity;

/// Where a statement comes from, the least reliable source first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatementSource {
    /// A rule matches what stands on the screen.
    Screen,
    /// The agent reported it to its terminal: by a title, a notification, a status sequence.
    Sequence,
    /// The agent reported it to `sweep watch event`.
    Event,
}

/// What an agent is doing at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub activity: Activity,
    /// `permission`, `trust`, `login`, `password`, `confirmation`, `choice`, `question`, `enter`; `context`, `quota`.
    pub kind: Option<String>,
    /// The question that it asks, on one line; empty if it asks none.
    pub question: String,
    /// When its quota is available again, in its own words.
    pub resumes: Option<String>,
    pub source: StatementSource,
    /// The rule, the sequence or the event, and the lines of the screen: `screen, rule claude/permission, lines 14 to
    /// 19`.
    pub evidence: String,
}

/// A part of a duration: `2h`, `5 minutes`.
static DURATION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(\d+)\s*(d|h|m|s)(?:ays?|ours?|in(?:ute)?s?|ec(?:ond)?s?|rs?)?\b").expect("a pattern")
});
/// A time of day, and its zone.
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(\d{1,2})(?::(\d{2}))?\s*(am|pm)?\b(?:\s*\(([\w/+-]+)\))?").expect("a pattern")
});

/// Longer than the period of any quota: a time beyond was misread.
const LONGEST: TimeDelta = TimeDelta::days(8);

/// Parses the time at which a quota is available again, None if that fails. `said_at` is when the agent reported it,
/// `zone` the time zone of times that name none.
pub fn resumes_at(text: &str, said_at: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
    let at = match text.trim().strip_prefix("in ") {
        Some(duration) => said_at + after(duration)?,
        None => next(text, said_at, zone)?,
    };
    (at - said_at < LONGEST).then_some(at)
}

/// How long a duration lasts.
fn after(text: &str) -> Option<TimeDelta> {
    let parts = DURATION.captures_iter(text).map(|part| {
        let number: i64 = part[1].parse().ok()?;
        Some(match part[2].to_lowercase().as_str() {
            "d" => TimeDelta::try_days(number)?,
            "h" => TimeDelta::try_hours(number)?,
            "m" => TimeDelta::try_minutes(number)?,
            _ => TimeDelta::try_seconds(number)?,
        })
    });
    let parts: Vec<TimeDelta> = parts.collect::<Option<_>>()?;
    (!parts.is_empty()).then(|| parts.into_iter().sum())
}

/// The next time at which a clock in the zone shows this.
fn next(text: &str, said_at: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
    let found = TIME.captures(text)?;
    let hour: u32 = found[1].parse().ok()?;
    let half = found.get(3).map(|half| half.as_str().to_lowercase());
    if half.is_none() && found.get(2).is_none() {
        return None;
    }
    let hour = match half.as_deref() {
        Some("am") => hour % 12,
        Some(_) => hour % 12 + 12,
        None => hour,
    };
    let minute = found.get(2).map_or(Ok(0), |minute| minute.as_str().parse()).ok()?;
    let time = NaiveTime::from_hms_opt(hour, minute, 0)?;
    let zone = found.get(4).map_or(Some(zone), |zone| zone.as_str().parse().ok())?;
    let today = said_at.with_timezone(&zone).date_naive();
    let at = |day| zone.from_local_datetime(&today.checked_add_days(Days::new(day))?.and_time(time)).earliest();
    (0..2).filter_map(at).map(|at| at.with_timezone(&Utc)).find(|at| said_at < *at)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::later_today("3pm", Some("2026-11-22 14:00"))]
    #[case::with_minutes("3:30 PM", Some("2026-11-22 14:30"))]
    #[case::tomorrow("7am", Some("2026-11-23 06:00"))]
    #[case::of_another_zone("3pm (America/New_York)", Some("2026-11-22 20:00"))]
    #[case::utc("15:00 (UTC)", Some("2026-11-22 15:00"))]
    #[case::in_a_while("in 2h 5m", Some("2026-11-22 14:05"))]
    #[case::in_words("in 2 hours 30 minutes", Some("2026-11-22 14:30"))]
    #[case::in_days("in 3 days", Some("2026-11-25 12:00"))]
    #[case::too_far("in 300 days", None)]
    #[case::no_time("soon", None)]
    #[case::a_number("15", None)]
    #[case::an_hour_that_there_is_not("27:00", None)]
    #[case::a_zone_that_there_is_not("3pm (Mars/Base)", None)]
    fn when_it_can_go_on(#[case] text: &str, #[case] expected: Option<&str>) {
        let said_at = Utc.with_ymd_and_hms(2026, 11, 22, 12, 0, 0).single().expect("a time");
        let at = resumes_at(text, said_at, chrono_tz::Europe::Berlin);
        assert_eq!(at.map(|at| at.format("%Y-%m-%d %H:%M").to_string()).as_deref(), expected);
    }
}
