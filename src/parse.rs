//! Values of settings, from flags and from the environment alike: each error says what was expected.

use chrono::TimeDelta;
use uuid::Uuid;

use crate::cli::Format;
use crate::rules::{Escalation, Id, Kind};

type Parsed<T> = Result<T, String>;

const MILLISECOND: TimeDelta = TimeDelta::milliseconds(1);
/// Durations above this are no settings but mistakes, and would overflow the database's arithmetic.
const TEN_YEARS: TimeDelta = TimeDelta::days(3650);

pub fn duration(value: &str) -> Parsed<TimeDelta> {
    duration_within(value, TimeDelta::zero(), TEN_YEARS, "of at most ten years")
}

pub fn positive_duration(value: &str) -> Parsed<TimeDelta> {
    duration_within(value, MILLISECOND, TEN_YEARS, "of at least 1ms and at most ten years")
}

/// PostgreSQL takes no more milliseconds than fit into 32 bits, and nobody waits that long.
pub fn statement_timeout(value: &str) -> Parsed<TimeDelta> {
    duration_within(value, MILLISECOND, TimeDelta::days(1), "of at least 1ms and at most 1day")
}

/// Longer than the server's deadlock_timeout, and the host could be chosen as a deadlock's victim instead of the sweep.
pub fn lock_timeout(value: &str) -> Parsed<TimeDelta> {
    let below_a_second = TimeDelta::milliseconds(999);
    duration_within(value, MILLISECOND, below_a_second, "of at least 1ms and below 1s, the server's deadlock_timeout")
}

/// The candidates hide a subject whose wake is younger than a minute: a shorter limit could not be kept.
pub fn at_least_a_minute(value: &str) -> Parsed<TimeDelta> {
    duration_within(value, TimeDelta::minutes(1), TEN_YEARS, "of at least 1m and at most ten years")
}

fn duration_within(value: &str, min: TimeDelta, max: TimeDelta, expected: &str) -> Parsed<TimeDelta> {
    let parsed = humantime::parse_duration(value)
        .map_err(|error| format!("expected a duration such as 90s, 30m or 1h 30m ({error})"))?;
    match TimeDelta::from_std(parsed) {
        Ok(duration) if (min..=max).contains(&duration) => Ok(duration),
        _ => Err(format!("expected a duration {expected}")),
    }
}

pub fn number(value: &str) -> Parsed<u32> {
    between(value, 0, 1_000_000)
}

pub fn positive(value: &str) -> Parsed<u32> {
    between(value, 1, u32::MAX)
}

pub fn connections(value: &str) -> Parsed<u32> {
    between(value, 1, 64)
}

fn between(value: &str, min: u32, max: u32) -> Parsed<u32> {
    match value.trim().parse() {
        Ok(n) if (min..=max).contains(&n) => Ok(n),
        _ => Err(format!("expected a whole number from {min} to {max}")),
    }
}

pub fn escalation(value: &str) -> Parsed<Escalation> {
    match value {
        "comment_and_block" => Ok(Escalation::CommentAndBlock),
        "comment_only" => Ok(Escalation::CommentOnly),
        _ => Err("expected comment_and_block or comment_only".to_owned()),
    }
}

pub fn format(value: &str) -> Parsed<Format> {
    clap::ValueEnum::from_str(value, false).map_err(|_| "expected table, json or ndjson".to_owned())
}

/// The format of what is one document, and no list of subjects.
pub fn document(value: &str) -> Parsed<Format> {
    match format(value) {
        Ok(format @ (Format::Table | Format::Json)) => Ok(format),
        Ok(Format::Ndjson) | Err(_) => Err("expected table or json".to_owned()),
    }
}

pub fn kind(value: &str) -> Parsed<Kind> {
    Kind::ALL.into_iter().find(|kind| kind.plural() == value.trim()).ok_or_else(|| {
        let known: Vec<_> = Kind::ALL.into_iter().map(Kind::plural).collect();
        format!("expected one of {}", known.join(", "))
    })
}

pub fn kinds(value: &str) -> Parsed<Vec<Kind>> {
    value.split(',').map(kind).collect()
}

pub fn id(value: &str) -> Parsed<Id> {
    let expected = |_| "expected a uuid such as 0198c2a4-5b1e-7cc3-9d0a-3f2b8e6a7d10".to_owned();
    Uuid::parse_str(value.trim()).map(|uuid| Id(uuid.to_string())).map_err(expected)
}
