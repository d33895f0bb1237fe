//! Whatever hosts and people do between two sweeps, what sweep does about one issue is bounded: random histories of 200
//! events over about 30 days. The suite plays random histories on the real views, too.

mod host;

use std::sync::LazyLock;

use chrono::TimeDelta;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::issue::IssueFacts;
use super::*;
use host::{Assigned, Decide, Event, Host};

const EVENTS: usize = 200;

fn event() -> impl Strategy<Value = Event> {
    let status = prop::sample::select(vec!["blocked", "done", "todo"]);
    let reason = prop::sample::select(vec!["issue_continuation_needed", "process_lost"]);
    let assigned = prop::sample::select(vec![Assigned::Agent(0), Assigned::Agent(1), Assigned::User, Assigned::Nobody]);
    let agent_status = prop::sample::select(vec!["paused", "terminated"]);
    prop_oneof![
        40 => Just(Event::Sweep),
        3 => Just(Event::OwnRun),
        2 => reason.prop_map(Event::HostRun),
        2 => any::<bool>().prop_map(|is_continuation| Event::HostWake { is_continuation }),
        20 => any::<bool>().prop_map(|runs| Event::WakeServed { runs }),
        25 => Just(Event::RunsEnd),
        4 => Just(Event::Heartbeat),
        1 => (1i64..15_000).prop_map(Event::Lease),
        1 => Just(Event::WorkerStart),
        2 => status.prop_map(Event::Status),
        // Far more often than people would: a tug of war.
        20 => Just(Event::Status("in_progress")),
        2 => Just(Event::Restart),
        2 => Just(Event::Edit),
        1 => assigned.prop_map(Event::Assign),
        6 => Just(Event::Assign(Assigned::Agent(0))),
        1 => agent_status.prop_map(Event::AgentStatus),
        6 => Just(Event::AgentStatus("idle")),
        1 => (-100i64..400).prop_map(Event::Wait),
        4 => Just(Event::Wait(0)),
        2 => Just(Event::Prune),
    ]
}

/// Seconds until the next event: bursts, working days and nights; 3.6 hours on average.
fn gap() -> impl Strategy<Value = i64> {
    prop_oneof![3 => 0i64..2, 6 => 0i64..900, 6 => 900i64..15_000, 2 => 15_000i64..180_000]
}

fn history() -> impl Strategy<Value = Vec<(Event, i64)>> {
    prop::collection::vec((event(), gap()), EVENTS)
}

prop_compose! {
    fn policy()(
        attempts_max in 0u32..5, attempts_per_day_max in 0u32..7, retry in 0i64..120, grace in 0i64..30, blocks: bool,
        silent in 1i64..240,
    ) -> Policy {
        Policy {
            attempts_max,
            attempts_per_day_max,
            retry_delay: TimeDelta::minutes(retry),
            orphan_grace: TimeDelta::minutes(grace),
            run_silent_after: TimeDelta::minutes(silent),
            escalation: if blocks { Escalation::CommentAndBlock } else { Escalation::CommentOnly },
            ..Policy::default()
        }
    }
}

/// Ends with the first promise that is broken.
fn play(history: &[(Event, i64)], policy: &Policy, decide: Decide) -> Result<Host, String> {
    let mut host = Host::new();
    for (event, seconds) in history {
        host.now += TimeDelta::seconds(*seconds);
        host.play(event, policy, decide)?;
    }
    Ok(host)
}

proptest! {
    #[test]
    fn no_history_makes_sweep_do_more_than_it_may(history in history(), policy in policy()) {
        play(&history, &policy, decide).map_err(TestCaseError::fail)?;
    }
}

/// A history, each event with its time, and the policy by which sweeps decide in it.
type Sample = (Vec<(Event, i64)>, Policy);

/// Histories, which are alike in every run of the tests.
static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    let (mut runner, strategy) = (TestRunner::deterministic(), (history(), policy()));
    (0..300).map(|_| strategy.new_tree(&mut runner).expect("a history").current()).collect()
});

fn forgetful(facts: &IssueFacts, policy: &Policy, forget: fn(&mut History)) -> Verdict {
    let mut facts = facts.clone();
    forget(&mut facts.history);
    decide(&facts, policy)
}

/// Negative controls: each bound is reached, and a rule that forgot it would be found out.
#[test]
fn a_rule_that_forgets_a_bound_breaks_it() {
    let rules: [(Decide, &str); 9] = [
        (|facts, policy| decide(facts, &Policy { attempts_max: 9, ..policy.clone() }), "continuations in an episode"),
        (|facts, policy| forgetful(facts, policy, |history| history.attempts = 0), "continuations in an episode"),
        (
            |facts, policy| forgetful(facts, policy, |history| history.attempts_last_day = 0),
            "continuations in 24 hours",
        ),
        (
            |facts, policy| forgetful(facts, policy, |history| history.escalations_last_day = 0),
            "escalations in 24 hours",
        ),
        (|facts, policy| forgetful(facts, policy, |history| history.last_attempt_at = None), "it was just continued"),
        (|facts, policy| forgetful(facts, policy, |history| history.abandoned = false), "people know of it already"),
        (
            |facts, policy| decide(&IssueFacts { pending_wake_since: None, ..facts.clone() }, policy),
            "somebody is on it",
        ),
        (
            |facts, policy| decide(facts, &Policy { run_silent_after: TimeDelta::zero(), ..policy.clone() }),
            "a run that lives is taken",
        ),
        (
            |facts, policy| {
                let runs = UnendedRuns { has_live_run: false, ..facts.runs.clone() };
                decide(&IssueFacts { runs, ..facts.clone() }, policy)
            },
            "a run that lives is taken",
        ),
    ];
    for (rule, broken) in rules {
        let failures = SAMPLES.iter().filter_map(|(history, policy)| play(history, policy, rule).err());
        assert!(failures.into_iter().any(|failure| failure.contains(broken)), "nobody noticed: {broken}");
    }
}

#[test]
fn in_random_histories_everything_happens() {
    let played = SAMPLES.iter().map(|(history, policy)| play(history, policy, decide).expect("all is bounded"));
    let hosts: Vec<Host> = played.collect();
    for (action, at_least) in
        [("continue", 900), ("escalate", 900), ("recover", 900), ("hand_over", 150), ("abandon", 20)]
    {
        let count = hosts.iter().flat_map(|host| &host.ledger).filter(|row| row.action == action).count();
        assert!(at_least <= count, "{count} × {action} in {} histories", hosts.len());
    }
    let lost: usize = hosts.iter().map(|host| host.lost_runs).sum();
    assert!(100 <= lost, "{lost} runs are lost in {} histories", hosts.len());
    let days = hosts.iter().map(|host| (host.now - Host::new().now).num_days()).sum::<i64>() / hosts.len() as i64;
    assert!((20..=40).contains(&days), "{days} days on average");
}
