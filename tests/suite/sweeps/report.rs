//! The printed report, as people and programs read it.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use insta::assert_snapshot;
use sweep::report::{Detail, Format, Report};
use sweep::rules::{Finding, Id, Kind, Policy};
use sweep::store::work::ledger::SweepEnd;
use sweep::sweep::{Examined, Fault, KindMode, Observer, Outcome, Summary};
use sweep::sweep::{Heading, Mode, SCHEMA};

use crate::support::json;

fn now() -> DateTime<Utc> {
    DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(20_000)
}

fn heading(mode: Mode) -> Heading {
    Heading {
        schema: SCHEMA,
        mode,
        host: "native".to_owned(),
        database: "0199c0de-0000-4000-8000-000000000001/agents".to_owned(),
        schema_version: "20261124000204".to_owned(),
        policy: Policy::default(),
        newest_sweeps: Vec::new(),
    }
}

fn examined(n: u32, outcome: Outcome, idle_minutes: i64, reason: &str) -> Examined {
    Examined {
        kind: Kind::Issue,
        id: Id(format!("00000000-0000-4000-8000-{n:012}")),
        identifier: Some(format!("ACM-{n}")),
        tenant: Some("acme".to_owned()),
        url: None,
        finding: Some(Finding::Orphaned),
        decision: Some("continue"),
        reason: reason.to_owned(),
        attempt: Some(1),
        attempts_max: 1,
        idle_seconds: Some(idle_minutes * 60),
        agent_name: None,
        agent_id: None,
        outcome,
        shadow: false,
        fault: Fault::default(),
        ahead: None,
        idle_since: Some(now() - TimeDelta::minutes(idle_minutes)),
    }
}

/// As if these issues had been examined.
fn sweep_of(heading: Heading, rows: impl IntoIterator<Item = Examined>, ended: SweepEnd, mut report: Report) {
    let mut summary = Summary { heading, began_at: now(), ..Summary::default() };
    report.begins(&summary.heading);
    summary.begin(Kind::Issue, true, KindMode::On);
    for row in rows {
        summary.count(&row);
        report.subject(&row);
    }
    summary.begin(Kind::Step, false, KindMode::On);
    let summary = Summary { ended, took: Duration::from_millis(34), ..summary };
    report.ends(&summary);
    report.written().expect("a report");
}

fn print(format: Format, dry_run: bool, ended: SweepEnd, rows: Vec<Examined>) -> String {
    let mut out = Vec::new();
    let mode = if dry_run { Mode::DryRun } else { Mode::Sweep };
    sweep_of(heading(mode), rows, ended, Report::new(format, Detail::Table, &mut out));
    anstream::adapter::strip_str(&String::from_utf8(out).expect("text")).to_string()
}

fn one_of_each() -> Vec<Examined> {
    vec![
        examined(1, Outcome::Continued, 192, "nobody is working on it"),
        examined(2, Outcome::Escalated, 12, "no attempt is left"),
        Examined { finding: None, ..examined(3, Outcome::Recovered, 5, "it is done") },
        Examined { finding: None, ..examined(4, Outcome::Waiting, 2880, "it waits: approval") },
        examined(5, Outcome::Skipped, 300, "Ada is paused"),
        Examined { finding: None, ..examined(6, Outcome::Healthy, 1, "a wake is queued") },
        examined(7, Outcome::Busy, 40, "somebody else has it in hand"),
        examined(8, Outcome::Unknown, 41, "server closed the connection unexpectedly"),
        Examined {
            identifier: None,
            finding: None,
            idle_seconds: None,
            ..examined(9, Outcome::Unreadable, 0, "no plausible time")
        },
        examined(10, Outcome::Failed, 42, "no wakes for this one"),
        Examined { finding: None, ..examined(11, Outcome::HandedOver, 6, "a person has it") },
    ]
}

#[test]
fn a_sweep_is_summed_up_then_listed() {
    assert_snapshot!(print(Format::Table, false, SweepEnd::Completed, one_of_each()), @r#"
Swept 11 issues (native) in 0.03 s
1 continued, 1 escalated, 1 recovered, 1 handed over; left: 1 waiting, 1 skipped, 1 healthy, 1 busy, 1 unknown, 1 unreadable, 1 failed
steps: not provided by this database

  kind   subject                               finding   idle for  outcome      attempt  why
  issue  ACM-1                                 orphaned    3h 12m  continued    1 of 1   nobody is working on it
  issue  ACM-2                                 orphaned       12m  escalated    1 of 1   no attempt is left
  issue  ACM-3                                                 5m  recovered             it is done
  issue  ACM-11                                                6m  handed over           a person has it

  issue  ACM-4                                                 2d  waiting               it waits: approval
  issue  ACM-5                                 orphaned        5h  skipped               Ada is paused
  issue  ACM-7                                 orphaned       40m  busy                  somebody else has it in hand
  issue  ACM-8                                 orphaned       41m  unknown      1 of 1   server closed the connection unexpectedly
  issue  00000000-0000-4000-8000-000000000009                      unreadable            no plausible time
  issue  ACM-10                                orphaned       42m  failed                no wakes for this one

  Healthy at a closer look: 1 × a wake is queued
"#);
}

#[test]
fn a_dry_run_says_what_would_be() {
    let rows = vec![examined(1, Outcome::Continued, 192, "nobody is working on it")];
    assert_snapshot!(print(Format::Table, true, SweepEnd::Completed, rows), @r#"
Dry run of 1 issue (native) in 0.03 s, nothing is written
Would be: 1 continued
steps: not provided by this database

  kind   subject  finding   idle for  would be   attempt  why
  issue  ACM-1    orphaned    3h 12m  continued  1 of 1   nobody is working on it
"#);
}

#[test]
fn a_sweep_without_subjects_has_nothing_to_do() {
    assert_snapshot!(print(Format::Table, false, SweepEnd::Completed, Vec::new()), @r#"
Swept 0 issues (native) in 0.03 s
Nothing to do
steps: not provided by this database
"#);
}

#[test]
fn json_has_the_fields_that_programs_rely_on() {
    let rows = vec![examined(1, Outcome::Continued, 192, "nobody is working on it")];
    assert_snapshot!(print(Format::Json, false, SweepEnd::Interrupted, rows), @r#"
{
  "schema": 1,
  "mode": "sweep",
  "host": "native",
  "database": "0199c0de-0000-4000-8000-000000000001/agents",
  "schema_version": "20261124000204",
  "policy": {"orphan_grace_seconds":120,"step_stalled_after_seconds":1800,"session_silent_after_seconds":300,"run_silent_after_seconds":3600,"session_waiting_after_seconds":10,"session_no_progress_after_seconds":900,"wake_stuck_after_seconds":3600,"abandoned_after_seconds":3600,"paused_after_seconds":86400,"retry_delay_seconds":300,"attempts_max":1,"attempts_per_day_max":4,"escalation":"comment_and_block","nudge_delay_seconds":120,"nudges_max":2,"nudge_message":"You seem to be stuck. Go on with your task, or say what you need.","auto_relaunch":false,"relaunches_max":1},
  "newest_sweeps": [],
  "subjects": [
    {"kind":"issue","id":"00000000-0000-4000-8000-000000000001","identifier":"ACM-1","tenant":"acme","url":null,"finding":"orphaned","decision":"continue","reason":"nobody is working on it","attempt":1,"attempts_max":1,"agent_id":null,"idle_seconds":11520,"outcome":"continued","shadow":false}
  ],
  "began_at": "2024-10-04T00:00:00Z",
  "kinds": {"issues":{"provided":true,"mode":"on","guard":null,"held_back":[],"scanned":1,"continued":1,"escalated":0,"recovered":0,"handed_over":0,"abandoned":0,"waiting":0,"skipped":0,"healthy":0,"changed":0,"deferred":0,"busy":0,"unknown":0,"unreadable":0,"failed":0,"oldest_deferred_at":null,"in_quarantine":0},"steps":{"provided":false,"mode":"on","guard":null,"held_back":[],"scanned":0,"continued":0,"escalated":0,"recovered":0,"handed_over":0,"abandoned":0,"waiting":0,"skipped":0,"healthy":0,"changed":0,"deferred":0,"busy":0,"unknown":0,"unreadable":0,"failed":0,"oldest_deferred_at":null,"in_quarantine":0}},
  "unswept": [],
  "stopped_by": null,
  "stuck_wakes": null,
  "clocks": {"skew_seconds":0.0,"host_behind_seconds":null,"future_seconds":null,"future_subject":null,"ledger_future_seconds":null},
  "empty": false,
  "ended": "interrupted",
  "duration_ms": 34
}
"#);
}

#[test]
fn every_line_of_ndjson_says_what_it_is_and_all_together_say_what_the_json_report_does() {
    let text = print(Format::Ndjson, true, SweepEnd::Completed, one_of_each());
    let lines: Vec<serde_json::Value> = text.lines().map(json::parse_valid).collect();
    let types: Vec<_> = lines.iter().map(|line| line["type"].as_str().expect("a type")).collect();
    assert_eq!((types[0], types[12]), ("heading", "summary"));
    assert_eq!(types[1..12], ["subject"; 11]);

    let mut together = serde_json::Map::new();
    let without_type = |line: &serde_json::Value| {
        let mut fields = line.as_object().expect("an object").clone();
        fields.remove("type");
        fields
    };
    together.extend(without_type(&lines[0]));
    together.insert("subjects".to_owned(), lines[1..12].iter().map(without_type).collect());
    together.extend(without_type(&lines[12]));
    let whole: serde_json::Value = json::parse_valid(&print(Format::Json, true, SweepEnd::Completed, one_of_each()));
    assert_eq!(serde_json::Value::Object(together), whole);
}

/// Titles and messages are written by others: they must not reach the terminal as commands.
#[test]
fn what_others_wrote_cannot_change_the_terminal() {
    let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2J\nACM-1\u{9b}31m";
    let row = Examined { identifier: Some(hostile.to_owned()), ..examined(1, Outcome::Failed, 5, hostile) };
    let mut out = Vec::new();
    let report = Report::new(Format::Table, Detail::Table, &mut out);
    sweep_of(heading(Mode::Sweep), [row], SweepEnd::Completed, report);
    let text = String::from_utf8(out).expect("text");
    assert!(
        !text.contains("\u{1b}]") && !text.contains('\u{7}') && !text.contains("\u{1b}[2J") && !text.contains('\u{9b}'),
        "{text:?}"
    );
}

/// P9: of a long report the table keeps the first rows; JSON has them all, row by row.
#[test]
fn a_table_of_a_hundred_thousand_rows_stays_short() {
    let rows = (0..100_000).map(|n| examined(n, Outcome::Continued, 60, "nobody is working on it")).collect();
    let text = print(Format::Table, false, SweepEnd::Completed, rows);
    assert!(text.lines().count() < 220);
    assert!(text.contains("99800 more: --output ndjson shows all"), "{}", &text[text.len() - 200..]);
}

/// A reader who notes how much came at once.
#[derive(Default)]
struct Gulps {
    count: usize,
    largest: usize,
}

impl std::io::Write for Gulps {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.count += 1;
        self.largest = self.largest.max(text.len());
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// P9
#[test]
fn json_of_twenty_thousand_rows_is_written_row_by_row_and_never_held() {
    for format in [Format::Json, Format::Ndjson] {
        let mut gulps = Gulps::default();
        let rows = (0..20_000).map(|n| examined(n, Outcome::Continued, 60, "nobody is working on it"));
        let report = Report::new(format, Detail::Table, &mut gulps);
        sweep_of(heading(Mode::DryRun), rows, SweepEnd::Completed, report);
        assert!(20_000 < gulps.count && gulps.largest < 2000, "{} at once in {}", gulps.largest, gulps.count);
    }
}
