//! Values of settings, from flags and from the environment alike: each error says what was expected.

use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::LazyLock;

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, TimeDelta};
use chrono_tz::{TZ_VARIANTS, Tz};
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

use crate::report::Format;
use crate::rules::display::enumerated;
use crate::rules::{After, Escalation, Kind};
use crate::store::connect::listen::ListenMode;
use crate::store::hosts::folders;
use crate::store::read::overview::{Cursor, PageRequest};
use crate::store::work::candidates::Shard;
use crate::store::work::exemptions::Exempts;
pub use crate::store::work::exemptions::Until;
use crate::store::work::outbox::{Destination, Event};
use crate::store::work::runs::RunEnd;
use crate::supervisor::record::Nudges;
use crate::sweep::KindMode;
use crate::verify::Promise;

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

pub fn after(value: &str) -> Parsed<After> {
    if value.trim() == "off" {
        return Ok(After::Off);
    }
    positive_duration(value).map(After::Time).map_err(|why| format!("{why}; or off"))
}

/// The effect of a week is shown of the rows themselves.
pub fn keep(value: &str) -> Parsed<After> {
    if value.trim() == "off" {
        return Ok(After::Off);
    }
    let kept = duration_within(value, TimeDelta::days(7), TEN_YEARS, "of at least 7d and at most ten years");
    kept.map(After::Time).map_err(|why| format!("{why}; or off"))
}

/// PostgreSQL takes no more milliseconds than fit into 32 bits, and nobody waits that long.
pub fn statement_timeout(value: &str) -> Parsed<TimeDelta> {
    duration_within(value, MILLISECOND, TimeDelta::days(1), "of at least 1ms and at most 1d")
}

/// The candidates leave out a session that made progress within the last second; and its supervisor needs a moment.
pub fn at_least_a_second(value: &str) -> Parsed<TimeDelta> {
    duration_within(value, TimeDelta::seconds(1), TEN_YEARS, "of at least 1s and at most ten years")
}

/// A row holds whole seconds.
pub fn whole_seconds(value: &str) -> Parsed<TimeDelta> {
    match duration_within(value, TimeDelta::seconds(1), TEN_YEARS, "of at least 1s and at most ten years")? {
        duration if duration.subsec_nanos() == 0 => Ok(duration),
        _ => Err("expected whole seconds".to_owned()),
    }
}

/// The candidates hide a subject whose wake is younger than a minute: a shorter limit could not be kept.
pub fn at_least_a_minute(value: &str) -> Parsed<TimeDelta> {
    duration_within(value, TimeDelta::minutes(1), TEN_YEARS, "of at least 1m and at most ten years")
}

fn duration_within(value: &str, min: TimeDelta, max: TimeDelta, expected: &str) -> Parsed<TimeDelta> {
    let parsed = humantime::parse_duration(value).map_err(|_| match value.trim() {
        number if !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()) => {
            format!("expected a duration with its unit, such as {number}s, {number}m or {number}h")
        }
        _ => "expected a duration such as 90s, 30m or 1h 30m".to_owned(),
    })?;
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

pub fn page_limit(value: &str) -> Parsed<usize> {
    Ok(between(value, 1, PageRequest::LIMIT_MAX)? as usize)
}

/// Where a page of what needs a person begins.
pub fn cursor(value: &str) -> Parsed<Cursor> {
    value.parse().map_err(str::to_owned)
}

pub fn connections(value: &str) -> Parsed<u32> {
    between(value, 1, 64)
}

fn between(value: &str, min: u32, max: u32) -> Parsed<u32> {
    match value.trim().parse() {
        Ok(n) if (min..=max).contains(&n) => Ok(n),
        _ if max == u32::MAX => Err(format!("expected a whole number from {min} upwards")),
        _ => Err(format!("expected a whole number from {min} to {max}")),
    }
}

pub fn shard(value: &str) -> Parsed<Shard> {
    let numbers =
        value.trim().split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
    match numbers {
        Some((index, count)) if index < count && count <= Shard::COUNT_MAX => Ok(Shard { index, count }),
        _ => Err(format!("expected a part such as 0/4 or 3/4, of at most {}", Shard::COUNT_MAX)),
    }
}

pub fn share(value: &str) -> Parsed<f64> {
    match value.trim().parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("expected a share from 0 to 1, such as 0.5".to_owned()),
    }
}

pub fn timezone(value: &str) -> Parsed<Tz> {
    let value = value.trim();
    Tz::from_str_insensitive(value).map_err(|_| {
        let is_meant = |zone: &&Tz| {
            let city = zone.name().rsplit('/').next().unwrap_or_default();
            city.eq_ignore_ascii_case(&value.replace(' ', "_"))
        };
        let meant = TZ_VARIANTS.iter().find(is_meant);
        let hint = meant.map(|zone| format!("; did you mean {zone}?")).unwrap_or_default();
        format!("expected a time zone such as UTC, Europe/Berlin or America/New_York{hint}")
    })
}

/// Where HTTP is served; None: nowhere.
pub fn http(value: &str) -> Parsed<Option<SocketAddr>> {
    match value.trim() {
        "off" => Ok(None),
        address => address
            .parse()
            .map(Some)
            .map_err(|_| "expected an address such as 127.0.0.1:9464, 0.0.0.0:9464 or [::1]:9464, or off".to_owned()),
    }
}

/// Names of hosts, with commas between them in a setting.
pub fn host_names(value: &str) -> Parsed<Vec<String>> {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    match value.split(',').map(str::trim) {
        names if names.clone().all(is_name) => Ok(names.map(str::to_owned).collect()),
        _ => {
            Err("expected names such as board.example, without a scheme or a port, and with commas between them".into())
        }
    }
}

/// Addresses of machines, with commas between them in a setting.
pub fn addresses(value: &str) -> Parsed<Vec<IpAddr>> {
    let parsed: Result<_, _> = value.split(',').map(|address| address.trim().parse()).collect();
    parsed.map_err(|_| "expected addresses such as 10.0.0.7 or ::1, with commas between them".to_owned())
}

/// What is typed into a terminal, as one line: a control character in it would be a key.
pub fn message(value: &str) -> Parsed<String> {
    match non_empty(value)? {
        text if text.chars().any(char::is_control) => Err("expected one line without control characters".to_owned()),
        text if 1000 < text.chars().count() => Err("expected at most 1000 characters".to_owned()),
        text => Ok(text),
    }
}

/// Why something is as it is.
pub fn reason(value: &str) -> Parsed<String> {
    short(value, 1000)
}

/// The person whom the ledger is to name.
pub fn person(value: &str) -> Parsed<String> {
    short(value, 200)
}

fn short(value: &str, characters: usize) -> Parsed<String> {
    match non_empty(value)? {
        text if characters < text.chars().count() => Err(format!("expected at most {characters} characters")),
        text => Ok(text),
    }
}

/// A command line, as a shell would split it at its spaces and quotes.
#[derive(Clone, Debug)]
pub struct CommandLine(pub Vec<OsString>);

pub fn command_line(text: &str) -> Parsed<CommandLine> {
    let words = shell_words::split(text).map_err(|_| "expected a command whose quotes are all closed")?;
    if words.is_empty() {
        Err("expected a command".to_owned())
    } else {
        Ok(CommandLine(words.into_iter().map(OsString::from).collect()))
    }
}

/// The path of a file or a directory, which may be missing.
pub fn path(value: &str) -> Parsed<PathBuf> {
    if value.trim().is_empty() { Err("expected a path".to_owned()) } else { Ok(PathBuf::from(value)) }
}

/// A text that says something, without the spaces around it.
pub fn non_empty(value: &str) -> Parsed<String> {
    if value.trim().is_empty() { Err("expected a few words".to_owned()) } else { Ok(value.trim().to_owned()) }
}

/// A time without a zone is UTC, and a date is its first moment.
pub fn until(value: &str) -> Parsed<Until> {
    let value = value.trim();
    let utc = value.strip_suffix('Z').unwrap_or(value);
    let naive = |format| NaiveDateTime::parse_from_str(utc, format).ok();
    let date = NaiveDate::parse_from_str(utc, "%Y-%m-%d").ok().and_then(|date| date.and_hms_opt(0, 0, 0));
    let formats = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"];
    let local = date.or_else(|| formats.into_iter().find_map(naive)).map(|naive| naive.and_utc());
    let zoned = ["%Y-%m-%dT%H:%M:%S%.f%:z", "%Y-%m-%dT%H:%M%:z"];
    let zoned = || zoned.into_iter().find_map(|format| DateTime::parse_from_str(value, format).ok());
    let at = local.or_else(|| zoned().map(|at| at.to_utc()));
    match at {
        // What the store would refuse to read back.
        Some(at) if 2200 <= at.year() => Err("expected a time before the year 2200".to_owned()),
        Some(at) => Ok(Until::At(at)),
        None if humantime::parse_duration(value).is_ok() => positive_duration(value).map(Until::In),
        None => {
            Err("expected a duration such as 2d or 12h, or a time such as 2026-12-24 or 2026-12-24T18:00:00Z"
                .to_owned())
        }
    }
}

/// Values of which there are few: each is read and written by its name, and shells complete the names.
#[derive(Clone, Copy)]
pub struct Choice<T: 'static>(fn() -> &'static [T], fn(T) -> &'static str);

/// How logs are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

pub const KIND: Choice<Kind> = Choice::all();
/// What can be exempt.
pub const EXEMPTS: Choice<Exempts> = Choice::all();
/// The events of which people can be notified.
pub const EVENTS: Choice<Event> = Choice::all();
pub const KINDS: Choice<Kind> = Choice(|| Kind::ALL, Kind::plural);
pub const HOST: Choice<&str> = Choice(folders::names, |name| name);
pub const RUN_END: Choice<RunEnd> = Choice::all();
/// What a host is verified by.
pub const CHECK: Choice<Promise> = Choice::all();
/// Where people can be notified; none: nowhere.
pub const NOTIFIED: Choice<Option<Destination>> = Choice(
    || {
        static ALL: LazyLock<Vec<Option<Destination>>> =
            LazyLock::new(|| Destination::ALL.iter().copied().map(Some).chain([None]).collect());
        &ALL
    },
    |destination| destination.map_or("none", Destination::name),
);
pub const SWITCH: Choice<bool> = Choice(|| &[true, false], |is_on| if is_on { "on" } else { "off" });
pub const KIND_MODE: Choice<KindMode> = Choice::all();
pub const LISTENING: Choice<ListenMode> = Choice::all();
pub const FORMAT: Choice<Format> = Choice::all();
/// How something that is no report of a sweep is printed.
pub const LAYOUT: Choice<Format> = Choice(|| &[Format::Table, Format::Json], |format| FORMAT.name(format));
pub const LOG_FORMAT: Choice<LogFormat> = Choice::all();
pub const ESCALATION: Choice<Escalation> = Choice::all();
/// Into which programs something may be typed; by default it depends on the program.
pub const NUDGES: Choice<Nudges> = Choice(
    || &[Nudges::Idle, Nudges::Off],
    |nudges| match nudges {
        Nudges::Known => "known",
        Nudges::Idle => "idle",
        Nudges::Off => "off",
    },
);

impl<T: strum::VariantArray + Into<&'static str>> Choice<T> {
    /// All variants, by the names that their enum gives them.
    pub const fn all() -> Choice<T> {
        Choice(|| T::VARIANTS, T::into)
    }
}

impl<T: Copy> Choice<T> {
    pub fn name(&self, value: T) -> &'static str {
        self.1(value)
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        (self.0)().iter().map(|value| self.name(*value))
    }

    pub fn parse(&self, text: &str) -> Result<T, String> {
        let text = text.trim();
        (self.0)().iter().copied().find(|value| self.name(*value) == text).ok_or_else(|| self.expected(text))
    }

    fn expected(&self, found: &str) -> String {
        let names: Vec<&str> = self.names().collect();
        // One issue, or several.
        let is_meant = |name: &&&str| name.strip_suffix('s') == Some(found) || found.strip_suffix('s') == Some(**name);
        let hint = names.iter().find(is_meant).map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        format!("expected {}{hint}", enumerated(&names, "or"))
    }
}

impl<T: Copy + Send + Sync + 'static> TypedValueParser for Choice<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        let choice = *self;
        (move |text: &str| choice.parse(text)).parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names().map(PossibleValue::new)))
    }
}

/// The names that a list may have, such as the kinds to sweep, separated by commas: a name alone is in the list, one
/// with a + or a - changes the default.
#[derive(Clone, Copy)]
pub struct List<T: 'static>(pub Choice<T>);

/// One entry of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListEntry<T> {
    Named(T),
    Added(T),
    Removed(T),
}

/// What a list says: names alone replace the default. None: nothing is left.
pub fn listed<T: Copy + PartialEq>(entries: &[ListEntry<T>], default: &[T]) -> Option<Vec<T>> {
    let replaces = entries.iter().any(|entry| matches!(entry, ListEntry::Named(_)));
    let mut list = if replaces { Vec::new() } else { default.to_vec() };
    for entry in entries {
        match *entry {
            ListEntry::Named(value) | ListEntry::Added(value) if !list.contains(&value) => list.push(value),
            ListEntry::Named(_) | ListEntry::Added(_) => {}
            ListEntry::Removed(value) => list.retain(|kept| *kept != value),
        }
    }
    Some(list).filter(|list| !list.is_empty())
}

impl<T: Copy> List<T> {
    pub fn parse(&self, text: &str) -> Result<ListEntry<T>, String> {
        let text = text.trim();
        match (text.strip_prefix('+'), text.strip_prefix('-')) {
            (Some(name), _) => self.0.parse(name).map(ListEntry::Added),
            (None, Some(name)) => self.0.parse(name).map(ListEntry::Removed),
            (None, None) => self.0.parse(text).map(ListEntry::Named),
        }
    }
}

impl<T: Copy + Send + Sync + 'static> TypedValueParser for List<T> {
    type Value = ListEntry<T>;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<ListEntry<T>, Error> {
        let list = *self;
        (move |text: &str| list.parse(text)).parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::rules::Kind::{Issue, Session, Step};

    #[test]
    fn what_a_shell_completes_is_accepted_and_means_what_it_is_called() {
        fn check<T: Copy + PartialEq + std::fmt::Debug>(choice: Choice<T>) {
            for value in (choice.0)() {
                assert_eq!(choice.parse(choice.name(*value)), Ok(*value));
            }
        }
        check(KIND);
        check(KINDS);
        check(EVENTS);
        check(KIND_MODE);
        check(LISTENING);
        check(FORMAT);
        check(LOG_FORMAT);
        check(HOST);
        check(CHECK);
        check(SWITCH);
        check(ESCALATION);
        check(NUDGES);
        check(RUN_END);
    }

    const DEFAULT: &[Kind] = &[Session, Issue];

    #[rstest]
    #[case::names_alone_replace_the_default("steps", Some(vec![Step]))]
    #[case::a_plus_adds("+steps", Some(vec![Session, Issue, Step]))]
    #[case::a_minus_takes_away("-issues", Some(vec![Session]))]
    #[case::both_at_once("+steps, -sessions", Some(vec![Issue, Step]))]
    #[case::what_is_there_is_added_once("+issues", Some(DEFAULT.to_vec()))]
    #[case::what_is_missing_is_taken_away_already("-steps", Some(DEFAULT.to_vec()))]
    #[case::changes_of_a_list_that_is_named("issues,+steps,issues", Some(vec![Issue, Step]))]
    #[case::nothing_is_left("-issues,-sessions", None)]
    fn a_list_says_which(#[case] text: &str, #[case] said: Option<Vec<Kind>>) {
        let entries: Result<Vec<_>, _> = text.split(',').map(|name| List(KINDS).parse(name)).collect();
        assert_eq!(listed(&entries.expect("kinds"), DEFAULT), said);
    }

    #[rstest]
    #[case("+plans")]
    #[case("-")]
    #[case("--issues")]
    fn a_name_that_is_not_known_is_refused_behind_a_sign_too(#[case] text: &str) {
        assert_eq!(List(KINDS).parse(text), Err("expected sessions, issues or steps".to_owned()));
    }
}
