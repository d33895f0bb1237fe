//! The explanation as people read it.

use chrono::{DateTime, TimeDelta, Utc};
use insta::assert_snapshot;
use sweep::report::explain::Explanation;
use sweep::rules::issue::IssueFacts;
use sweep::rules::{Assignee, Exemption, History, Id, OpenRecovery, Policy, UnendedRuns, Whose};
use sweep::store::Label;
use sweep::store::hosts::links::Links;
use sweep::store::work::ledger::{Past, Recovery};
use sweep::store::work::quarantine::FailingSubject;

fn at(minutes: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).expect("a time") + TimeDelta::minutes(minutes)
}

fn id() -> Id {
    Id("15500000-0000-4000-8000-000000000012".to_owned())
}

fn orphan() -> IssueFacts {
    let agent = Id("a6e00000-0000-4000-8000-000000000002".to_owned());
    let (name, status) = (Some("Bruno".to_owned()), Some("idle".to_owned()));
    IssueFacts {
        id: id(),
        tenant: "acme".to_owned(),
        identifier: Some("ACM-12".to_owned()),
        title: "Import contacts from CSV".to_owned(),
        status: "in_progress".to_owned(),
        assignee: Assignee::Agent { id: agent, name, status, obstacle: None },
        assigned_to_user: false,
        runs: UnendedRuns::default(),
        pending_wake_since: None,
        pending_wake: None,
        declared_wait: None,
        last_run_id: None,
        last_run_ended_at: None,
        last_run_end: None,
        host_plan: None,
        unreachable: None,
        run_end_grace: TimeDelta::milliseconds(500),
        unstarted: None,
        resume_advice: "set it to todo".to_owned(),
        resume_commands: None,
        history: History { episode_began_at: at(-230), ..History::never_tried(at(-184), at(0)) },
    }
}

fn print(facts: &IssueFacts, past: Past, failure: Option<FailingSubject>) -> String {
    let label = Label { id: id(), tenant: Some("acme".to_owned()), identifier: Some("ACM-12".to_owned()) };
    let text = Explanation::of(label, facts, &Policy::default(), &Links::default(), past, failure).table();
    anstream::adapter::strip_str(&text).to_string()
}

#[test]
fn an_orphan_that_was_never_tried() {
    let past = Past { total: 0, latest: Vec::new() };
    assert_snapshot!(print(&orphan(), past, None), @r#"
issue ACM-12  Import contacts from CSV
tenant acme, assigned to Bruno (idle), 15500000-0000-4000-8000-000000000012

An issue is orphaned if and only if:
  ✓  it is in progress                        in progress
  ✓  no person has it                         nobody
  ✓  an agent is assigned                     Bruno (idle)
  ✓  no run is live                           none
  ✓  no wake is pending                       none
  ✓  no wait is declared                      none
  ✓  its host is done with its last run       yes
  ✓  its last run ended longer than 0.5s ago  none has ended
  ✓  it is idle for longer than 2m            3h 4m, since 2027-01-15 04:56:00 UTC
So it is orphaned.

History
  episode      began 3h 50m ago, at 2027-01-15 04:10:00 UTC
  attempts     0 of 1 in this episode
  in 24 hours  0 of 4 attempts, 0 of 4 escalations

  No sweep has done anything about it that is still recorded.

A sweep would now: continue it with one wake (attempt 1 of 1).
What would change that: a run, a wake or another sign of life; or an exemption (sweep exempt add).
"#);
}

#[test]
fn an_issue_with_a_past_that_is_left_and_in_quarantine() {
    let history = History {
        attempts: 1,
        attempts_unserved: 0,
        attempts_last_day: 2,
        last_attempt_at: Some(at(-30)),
        escalations_last_day: 1,
        open: Some(OpenRecovery { id: id(), since: at(-30) }),
        exemption: Some(Exemption {
            whose: Whose::Subject,
            reason: "a customer's call".to_owned(),
            until: Some(at(-60)),
        }),
        ..orphan().history
    };
    let row = |minutes, action: &str, reason: &str, settled_at| Recovery {
        created_at: at(minutes),
        action: action.to_owned(),
        attempt: 1,
        reason: reason.to_owned(),
        requested_by: None,
        blocked_subject: action == "escalate",
        settled_at,
    };
    let latest = vec![
        row(-300, "escalate", "no attempt is left", Some(at(-30))),
        row(-30, "continue", "nobody is working on it", None),
    ];
    let failure = FailingSubject {
        kind: "issue".to_owned(),
        id: id(),
        sweeps: 3,
        reason: "no wakes for this one".to_owned(),
        last_at: at(-10),
        quarantined_at: Some(at(-10)),
    };
    let facts = IssueFacts { pending_wake_since: Some(at(-30)), history, ..orphan() };
    assert_snapshot!(print(&facts, Past { total: 7, latest }, Some(failure)), @r#"
issue ACM-12  Import contacts from CSV
tenant acme, assigned to Bruno (idle), 15500000-0000-4000-8000-000000000012

An issue is orphaned if and only if:
  ✓  it is in progress                        in progress
  ✓  no person has it                         nobody
  ✓  an agent is assigned                     Bruno (idle)
  ✓  no run is live                           none
  ✗  no wake is pending                       one, for 30m
  ✓  no wait is declared                      none
  ✓  its host is done with its last run       yes
  ✓  its last run ended longer than 0.5s ago  none has ended
  ✓  it is idle for longer than 2m            3h 4m, since 2027-01-15 04:56:00 UTC
Not all of it holds.

History
  episode       began 3h 50m ago, at 2027-01-15 04:10:00 UTC
  attempts      1 of 1 in this episode
  in 24 hours   2 of 4 attempts, 1 of 4 escalations
  last attempt  30m ago, at 2027-01-15 07:30:00 UTC
  exemption     expired 1h ago: a customer's call
  failures      in 3 sweeps running, the last 10m ago, at 2027-01-15 07:50:00 UTC: no wakes for this one

  The latest 2 of 7:
  when                     what      attempt  why                          settled
  2027-01-15 03:00:00 UTC  escalate  1        no attempt is left; blocked  2027-01-15 07:30:00 UTC
  2027-01-15 07:30:00 UTC  continue  1        nobody is working on it      open

A sweep would now: leave it: a wake is queued.
But it is in quarantine since 2027-01-15 07:50:00 UTC, and sweeps skip it until it is released:
  sweep quarantine release issue 15500000-0000-4000-8000-000000000012
What would change that: its wake is taken up, or waits for so long that it counts as stuck.
"#);
}
