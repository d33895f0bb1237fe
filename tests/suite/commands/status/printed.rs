//! The printed status, as people read it.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use insta::assert_snapshot;
use sweep::report::status::whole;
use sweep::rules::board::BoardState;
use sweep::rules::step::{PlanStatus, StepCounts};
use sweep::rules::{Id, Kind};
use sweep::store::read::overview::{
    Age, Effect, Exemptions, ItemKind, Overview, Status, Stranded, SubjectRef, SweepSummary, Sweeper,
};
use sweep::store::read::plan::PlanSummary;
use sweep::store::work::counts::Tally;

use super::sample::{counts, item, now, orphan, quiet, subject, swept, unreported};

fn plain(status: &Overview<Status>) -> String {
    anstream::adapter::strip_str(&whole(status)).to_string()
}

#[test]
fn what_needs_attention_comes_first() {
    let step =
        SubjectRef { kind: Some(Kind::Step), identifier: Some("Launch #2".to_owned()), agent: None, ..subject(2) };
    let step = Stranded { subject: step, state: BoardState::Stalled, ..orphan(2, 90) };
    let nameless = SubjectRef { identifier: None, ..subject(9) };
    let nameless = Stranded { subject: nameless, age: Age::default(), ..orphan(9, 0) };
    let plan = PlanStatus {
        stored: "stalled".to_owned(),
        derived: "stalled".to_owned(),
        stalled: true,
        progress_percent: 33,
        step_counts: StepCounts { total: 3, done: 1, in_progress: 1, stalled: 1 },
        current_step: Some((2, "Build the page".to_owned())),
        stuck_seconds: Some(5400),
    };
    let part = Status {
        orphans: vec![nameless, orphan(1, 192), step],
        orphans_total: 60,
        escalations: vec![item(3, ItemKind::Escalated, 26 * 60, "no attempt is left")],
        escalations_total: 1,
        plans: vec![PlanSummary {
            id: Id::generate(),
            tenant: "acme".to_owned(),
            title: "Launch".to_owned(),
            status: plan,
        }],
        plans_total: 1,
        abandoned: vec![item(6, ItemKind::Abandoned, 4 * 1440, "Femi is terminated")],
        abandoned_total: 1,
        stuck_wakes: vec![item(4, ItemKind::StuckWake, 190, "stuck wake: queued for 3h 10m")],
        stuck_wakes_total: 1,
        no_wake_is_taken: true,
        quarantined: vec![item(5, ItemKind::Quarantined, 1, "no plausible time")],
        quarantined_total: 1,
        exemptions: Exemptions { holding: 2, expired: 1 },
        notifications: unreported(),
        effect: Effect {
            days: 7,
            continuations: 40,
            recovered: 20,
            handed_over: 10,
            escalated: 7,
            abandoned: 1,
            continued_again: 1,
            still_open: 1,
            false_rescues: 2,
        },
        ..quiet().part
    };
    let nothing = Tally::default();
    let much = Tally { continued: 3, escalated: 2, recovered: 1, handed_over: 4, ..nothing };
    let sweeper = Sweeper {
        sweeps: vec![
            swept(1, None, None, nothing),
            SweepSummary { partial: true, ..swept(4, Some("completed"), None, nothing) },
            swept(9, Some("completed"), Some(1), Tally { failed: 1, deferred: 40, ..nothing }),
            swept(14, Some("failed"), Some(69), nothing),
            swept(2000, Some("completed"), Some(0), much),
        ],
        last_success_at: Some(now() - TimeDelta::minutes(2000)),
        last_success_age_seconds: Some(120_000),
        ..Sweeper::default()
    };
    let issues = counts(&[(BoardState::Orphaned, 59), (BoardState::Escalated, 1), (BoardState::Active, 0)]);
    let steps = counts(&[(BoardState::Stalled, 1), (BoardState::Active, 12)]);
    let kinds = BTreeMap::from([("issues", issues), ("steps", steps)]);
    let status = Overview { tenant: Some("acme".to_owned()), kinds, sweeper, part, ..quiet() };
    assert_snapshot!(plain(&status), @r#"
Status (native, tenant acme) at 2024-10-04 00:00:00 UTC
Last success: 1d 9h ago. Is it still scheduled?

60 orphans: in progress, and nobody is at work

  kind   subject                               state         for  agent  title
  issue  00000000-0000-4000-8000-000000000009  orphaned  unknown  Ada    Mend the fence
  issue  ACM-1                                 orphaned   3h 12m  Ada    Mend the fence
  step   Launch #2                             stalled    1h 30m         Mend the fence
  … and 57 more

1 escalation waits for a person

  kind   subject    for  agent  why                 title
  issue  ACM-3    1d 2h  Ada    no attempt is left  Mend the fence

1 plan has a stalled step

  plan    done  stalled  current step       stuck for
  Launch   33%        1  #2 Build the page     1h 30m

1 subject is abandoned: the agent is gone or cannot be woken

  kind   subject  for  why                 title
  issue  ACM-6     4d  Femi is terminated  Mend the fence

1 wake is stuck: queued for longer than 1h, and none was taken up in that time

  kind   subject  queued for  agent  title
  issue  ACM-4        3h 10m  Ada    Mend the fence

1 row is quarantined: no longer examined

  kind   subject  for  why
  issue  ACM-5     1m  no plausible time

2 notifications could not be delivered

  destination  event          subject           since  last error
  slack        session stuck  session chiara-4  1d 1h  HTTP 404
  slack        guard stopped  session –         1d 1h  HTTP 404

3 notifications wait, the oldest for 11m: HTTP 500

All work in progress

  issues      59 orphaned, 1 escalated
  steps       1 stalled, 12 active
  exemptions  2, and 1 expired

Last sweeps

      began    took  ended               did
     1m ago          running, or killed
     4m ago  1.23 s  completed           nothing to do (of a part)
     9m ago  1.23 s  completed, exit 1   1 failed, 40 deferred
    14m ago  1.23 s  failed, exit 69
  1d 9h ago  1.23 s  completed           3 continued, 2 escalated, 1 recovered, 4 handed over

40 continuations in the last 7 days

  20 (50%) recovered, 10 (25%) handed over, 7 (18%) escalated, 1 (2%) abandoned, 1 continued again, 1 still open
  False rescues: 2, where a run was live after all
"#);
}

#[test]
fn a_quiet_company_is_reported_in_a_few_lines() {
    let mut status = quiet();
    status.sweeper.last_success_age_seconds = Some(240);
    status.sweeper.sweeps.push(swept(4, Some("completed"), Some(0), Tally::default()));
    assert_snapshot!(plain(&status), @r#"
Status (native) at 2024-10-04 00:00:00 UTC
Last success: 4m ago
Nothing needs attention

All work in progress

  issues  none
  steps   not provided by this database

Last sweeps

   began    took  ended      did
  4m ago  1.23 s  completed  nothing to do
"#);
}

#[test]
fn a_database_that_was_never_swept_says_so() {
    assert_snapshot!(plain(&quiet()), @r#"
Status (native) at 2024-10-04 00:00:00 UTC
Never swept
Nothing needs attention

All work in progress

  issues  none
  steps   not provided by this database
"#);
}

/// A schedule that has stopped is the worst news of all.
#[test]
fn the_age_of_the_last_success_is_red_when_there_is_none_or_it_is_older_than_a_day() {
    let is_red =
        |status: &Overview<Status>| whole(status).lines().nth(1).is_some_and(|line| line.contains("\u{1b}[31m"));
    let of_sweeper = |sweeper| Overview { sweeper, ..quiet() };
    let succeeded = |age| of_sweeper(Sweeper { last_success_age_seconds: Some(age), ..Sweeper::default() });
    let failed = vec![swept(5, Some("failed"), Some(69), Tally::default())];
    assert!(is_red(&quiet()));
    assert!(is_red(&of_sweeper(Sweeper { sweeps: failed, ..Sweeper::default() })));
    assert!(is_red(&succeeded(86_401)));
    assert!(!is_red(&succeeded(86_400)));
}
