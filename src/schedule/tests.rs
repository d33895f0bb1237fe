//! The instants are simulated, with the zones' own rules of all years.

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use rstest::rstest;

use super::{CronPattern, Schedule};

fn schedule(pattern: &str, zone: &str) -> Schedule {
    let zone: Tz = zone.parse().expect("a zone");
    Schedule { pattern: CronPattern::parse(pattern).unwrap_or_else(|why| panic!("{pattern}: {why}")), zone }
}

fn utc(text: &str) -> DateTime<Utc> {
    format!("{text}:00Z").parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What is due after the first instant and up to the last, as the zone's wall clock and offset.
fn due(pattern: &str, zone: &str, first: &str, last: &str) -> Vec<String> {
    let (schedule, last) = (schedule(pattern, zone), utc(last));
    let due = schedule.after(utc(first)).take_while(|at| *at <= last);
    due.map(|at| at.with_timezone(&schedule.zone).format("%d %H:%M %z").to_string()).collect()
}

#[rstest]
#[case::skipped("Europe/Berlin", "2026-03-28T12:00", "2026-03-30T12:00", &["29 03:00 +0200", "30 02:30 +0200"])]
#[case::twice("Europe/Berlin", "2026-10-24T12:00", "2026-10-26T12:00", &["25 02:30 +0200", "26 02:30 +0100"])]
#[case::skipped("America/New_York", "2026-03-07T12:00", "2026-03-09T12:00", &["08 03:00 -0400", "09 02:30 -0400"])]
#[case::twice("America/New_York", "2026-11-01T04:00", "2026-11-02T12:00", &["01 02:30 -0500", "02 02:30 -0500"])]
#[case::half_an_hour_skipped("Australia/Lord_Howe", "2026-10-03T00:00", "2026-10-04T23:00",
    &["04 02:30 +1100", "05 02:30 +1100"])]
#[case::half_an_hour_twice("Australia/Lord_Howe", "2026-04-04T00:00", "2026-04-05T23:00",
    &["05 02:30 +1030", "06 02:30 +1030"])]
fn a_daily_time_comes_once_a_day(
    #[case] zone: &str,
    #[case] first: &str,
    #[case] last: &str,
    #[case] expected: &[&str],
) {
    assert_eq!(due("30 2 * * *", zone, first, last), expected);
}

#[test]
fn a_time_that_comes_twice_is_due_the_first_time() {
    let once = ["01 01:30 -0400", "02 01:30 -0500"];
    assert_eq!(due("30 1 * * *", "America/New_York", "2026-11-01T04:00", "2026-11-02T12:00"), once);
    // Also when the daemon starts between both.
    assert_eq!(due("30 1 * * *", "America/New_York", "2026-11-01T05:45", "2026-11-02T12:00"), once[1..]);
    let half = ["05 01:45 +1100", "06 01:45 +1030"];
    assert_eq!(due("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T14:00", "2026-04-05T23:00"), half);
}

/// Croner alone would skip one of two such times, since it treats them as an interval.
#[test]
fn several_times_a_day_are_each_due_once() {
    let skipped = due("30 2,14 * * *", "Europe/Berlin", "2026-03-28T22:00", "2026-03-29T22:00");
    assert_eq!(skipped, ["29 03:00 +0200", "29 14:30 +0200"]);
    let twice = due("0,30 2 * * *", "Europe/Berlin", "2026-10-24T22:00", "2026-10-25T22:00");
    assert_eq!(twice, ["25 02:00 +0200", "25 02:30 +0200"]);
    // Two that were skipped are one sweep.
    assert_eq!(due("0,30 2 * * *", "Europe/Berlin", "2026-03-28T22:00", "2026-03-29T22:00"), ["29 03:00 +0200"]);
}

#[rstest]
#[case("Europe/Berlin", "2026-03-28T00:00", "2026-03-30T00:00")]
#[case("Europe/Berlin", "2026-10-24T00:00", "2026-10-26T00:00")]
#[case("America/New_York", "2026-03-07T00:00", "2026-03-09T00:00")]
#[case("America/New_York", "2026-10-31T00:00", "2026-11-02T00:00")]
#[case("America/Sao_Paulo", "2018-11-03T00:00", "2018-11-05T00:00")]
#[case("America/Sao_Paulo", "2019-02-16T00:00", "2019-02-18T00:00")]
fn every_hour_is_every_hour_whatever_the_clocks_do(#[case] zone: &str, #[case] first: &str, #[case] last: &str) {
    for pattern in ["0 * * * *", "@hourly", "0 0-23 * * *", "0 */1 * * *"] {
        let due: Vec<_> = schedule(pattern, zone).after(utc(first)).take_while(|at| *at <= utc(last)).collect();
        assert_eq!(due.len(), 48, "{pattern} {zone}");
        assert!(due.windows(2).all(|pair| pair[1] - pair[0] == TimeDelta::hours(1)), "{pattern} {zone}: {due:?}");
    }
}

#[rstest]
#[case("2026-10-03T00:00", "2026-10-05T00:00")]
#[case("2026-04-04T00:00", "2026-04-06T00:00")]
fn every_five_minutes_is_every_five_minutes_also_where_clocks_change_by_half_an_hour(
    #[case] first: &str,
    #[case] last: &str,
) {
    let schedule = schedule("*/5 * * * *", "Australia/Lord_Howe");
    let due: Vec<_> = schedule.after(utc(first)).take_while(|at| *at <= utc(last)).collect();
    assert_eq!(due.len(), 2 * 24 * 12);
    assert!(due.windows(2).all(|pair| pair[1] - pair[0] == TimeDelta::minutes(5)), "{due:?}");
}

/// On the wall clock, 02:00 came after an hour and a half.
#[test]
fn full_hours_are_those_of_the_wall_clock() {
    let hours = ["05 01:00 +1100", "05 02:00 +1030", "05 03:00 +1030"];
    assert_eq!(due("0 * * * *", "Australia/Lord_Howe", "2026-04-04T13:30", "2026-04-04T16:30"), hours);
}

#[rstest]
#[case::dropped_summer_time("America/Sao_Paulo", "2019-11-02T12:00", "2019-11-04T00:00", &["03 00:30 -0300"])]
#[case::had_it_before("America/Sao_Paulo", "2018-11-03T12:00", "2018-11-05T00:00", &["04 01:00 -0200"])]
#[case::moved_its_offset("Asia/Almaty", "2024-02-28T12:00", "2024-03-01T12:00", &["29 00:30 +0600", "01 00:30 +0500"])]
#[case::skipped_a_day("Pacific/Apia", "2011-12-29T12:00", "2011-12-31T12:00",
    &["31 00:00 +1400", "31 00:30 +1400", "01 00:30 +1400"])]
fn zones_change_their_rules(#[case] zone: &str, #[case] first: &str, #[case] last: &str, #[case] expected: &[&str]) {
    assert_eq!(due("30 0 * * *", zone, first, last), expected);
}

/// A daemon must find the same times whenever it asks for the next one.
#[rstest]
#[case("*/20 * * * *")]
#[case("30 2 * * *")]
#[case("0 15,45 1,2,3 * * *")]
fn the_next_time_does_not_depend_on_when_it_is_asked_for(#[case] pattern: &str) {
    for (zone, first) in [
        ("Europe/Berlin", "2026-10-24T20:00"),
        ("Europe/Berlin", "2026-03-28T20:00"),
        ("Australia/Lord_Howe", "2026-04-04T10:00"),
        ("Pacific/Apia", "2011-12-29T20:00"),
    ] {
        let schedule = schedule(pattern, zone);
        let all: Vec<_> = schedule.after(utc(first)).take(60).collect();
        assert!(all.is_sorted_by(|one, next| one < next), "{pattern} {zone}: {all:?}");
        for minute in 0..(12 * 60) {
            let asked = utc(first) + TimeDelta::minutes(minute);
            assert_eq!(schedule.next(asked), all.iter().copied().find(|at| asked < *at), "{pattern} {zone} {asked}");
        }
    }
}

#[rstest]
#[case::five_fields("*/5 * * * *", "2026-01-01T00:01", "2026-01-01T00:05:00")]
#[case::six_fields("30 */5 * * * *", "2026-01-01T00:01", "2026-01-01T00:05:30")]
#[case::a_name("@Daily", "2026-01-01T00:01", "2026-01-02T00:00:00")]
#[case::names_of_days("0 6 * * mon-fri", "2026-01-02T07:00", "2026-01-05T06:00:00")]
#[case::leap_days("0 0 29 2 *", "2026-01-01T00:00", "2028-02-29T00:00:00")]
#[case::both_days_must_match("0 0 13 * FRI", "2026-01-01T00:00", "2026-02-13T00:00:00")]
#[case::the_last_day("0 0 L * *", "2026-02-01T00:00", "2026-02-28T00:00:00")]
fn patterns(#[case] pattern: &str, #[case] after: &str, #[case] expected: &str) {
    let next = schedule(pattern, "UTC").next(utc(after)).expect("a next time");
    assert_eq!(next.format("%Y-%m-%dT%H:%M:%S").to_string(), expected);
}

#[test]
fn a_sweep_is_due_at_the_full_second() {
    let between: DateTime<Utc> = "2026-01-01T00:00:07.5Z".parse().expect("an instant");
    let due: Vec<_> = schedule("*/2 * * * * *", "UTC").after(between).take(2).map(|at| at.to_rfc3339()).collect();
    assert_eq!(due, ["2026-01-01T00:00:08+00:00", "2026-01-01T00:00:10+00:00"]);
}

#[rstest]
#[case::nothing("", "expected a schedule such as")]
#[case::four_fields("* * * *", "expected a schedule such as")]
#[case::seven_fields("0 0 0 1 1 * 2030", "expected a schedule such as")]
#[case::out_of_range("61 * * * *", "@yearly; “61” is no minute")]
#[case::a_word("@reboot", "expected a schedule such as")]
#[case::words("every five minutes or so", "@yearly; “every” is no minute")]
#[case::no_such_month("0 0 1 13 *", "@yearly; “13” is no month")]
#[case::no_weekday("0 0 * * 2-mo", "@yearly; “2-mo” is no day of the week")]
#[case::no_such_day("0 0 30 2 *", "there is no such time")]
fn what_is_no_schedule_is_refused(#[case] pattern: &str, #[case] why: &str) {
    let error = CronPattern::parse(pattern).expect_err(pattern);
    assert!(error.contains(why), "{error}");
}
