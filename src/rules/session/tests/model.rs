//! A session over a day, a supervisor and a ledger in memory: whatever happens, the rules keep their bounds.

use proptest::prelude::*;

use super::*;
use crate::rules::detect_loop;

/// What happens before the next sweep, and how many seconds pass.
#[derive(Clone, Copy, Debug)]
enum Event {
    Nothing,
    Progress,
    Repetition,
    Crash,
    Delivery,
}

fn any_event() -> impl Strategy<Value = (Event, i64)> {
    let event = prop_oneof![
        3 => Just(Event::Nothing),
        2 => Just(Event::Progress),
        3 => Just(Event::Repetition),
        1 => Just(Event::Crash),
        4 => Just(Event::Delivery),
    ];
    (event, 1i64..900)
}

/// What the ledger holds: when, and whether it was an attempt, an escalation or a recovery.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Entry {
    Attempt,
    Escalation,
    Recovery,
}

struct Model {
    now: i64,
    session: Session,
    queued: Option<(i64, ContinueBy)>,
    ledger: Vec<(i64, Entry)>,
}

impl Model {
    fn new() -> Model {
        let session = Session { active_at: at(0), progressed_at: at(0), started_at: at(0), ..session() };
        Model { now: 0, session, queued: None, ledger: Vec::new() }
    }

    fn happen(&mut self, event: Event) {
        let runs = self.session.ended.is_none();
        match event {
            Event::Progress if runs => {
                (self.session.active_at, self.session.progressed_at) = (at(self.now), at(self.now));
                self.session.recent_output = vec!["one".to_owned(), "two".to_owned()];
            }
            Event::Repetition if runs => {
                self.session.active_at = at(self.now);
                self.session.recent_output = vec!["Error: refused".to_owned(); 8];
            }
            Event::Crash if runs => self.session.ended = Some(Ended { at: at(self.now), exit_code: Some(1) }),
            Event::Delivery => {
                if let Some((_, ContinueBy::Relaunch)) = self.queued.take()
                    && !runs
                {
                    (self.session.started_at, self.session.active_at, self.session.ended) =
                        (at(self.now), at(self.now), None);
                    self.session.progressed_at = at(self.now);
                    self.session.recent_output = vec!["starting".to_owned()];
                }
            }
            Event::Nothing | Event::Progress | Event::Repetition | Event::Crash => {}
        }
        self.session.pending_command_since = self.queued.map(|(since, _)| at(since));
    }

    /// As the view says.
    fn history(&self) -> History {
        let last =
            |wanted: &[Entry]| self.ledger.iter().rev().find(|(_, entry)| wanted.contains(entry)).map(|(at, _)| *at);
        let began = last(&[Entry::Escalation, Entry::Recovery]).unwrap_or(0);
        let count = |since: i64, wanted| {
            self.ledger.iter().filter(|(at, entry)| since <= *at && *entry == wanted).count() as u32
        };
        let open = self.ledger.last().filter(|(_, entry)| *entry != Entry::Recovery);
        History {
            episode_began_at: at(began),
            attempts: count(began, Entry::Attempt),
            attempts_last_day: count(self.now - 86_399, Entry::Attempt),
            last_attempt_at: last(&[Entry::Attempt]).map(at),
            escalated: open.is_some_and(|(_, entry)| *entry == Entry::Escalation),
            escalations_last_day: count(self.now - 86_399, Entry::Escalation),
            open: open.map(|(since, _)| OpenRecovery { id: Id("r".to_owned()), since: at(*since) }),
            ..History::never_tried(self.session.active_at, at(self.now))
        }
    }

    fn sweep(&mut self, policy: &Policy) -> Result<Decision, TestCaseError> {
        let facts = facts_of(self.session.clone(), None, self.history());
        let decision = decide(&facts, policy).decision;
        match &decision {
            Decision::Continue { remedy, .. } => {
                prop_assert!(self.queued.is_none(), "one command at a time");
                self.queued = Some((self.now, *remedy));
                self.ledger.push((self.now, Entry::Attempt));
            }
            Decision::Escalate(_) => self.ledger.push((self.now, Entry::Escalation)),
            Decision::Recovered(_) => self.ledger.push((self.now, Entry::Recovery)),
            Decision::HandedOver(_) => unreachable!("nobody takes it over"),
            Decision::Abandon(_) => unreachable!("its agent can always be woken"),
            Decision::Leave(_) | Decision::Skip(_) | Decision::Wait { .. } => {}
        }
        self.session.pending_command_since = self.queued.map(|(since, _)| at(since));
        Ok(decision)
    }

    /// No sign of life came between these attempts, whatever the rules made of the signs.
    fn attempts_in_a_row(&self) -> u32 {
        let since = self.session.progressed_at.max(self.session.started_at);
        self.ledger.iter().filter(|(moment, entry)| since <= at(*moment) && *entry == Entry::Attempt).count() as u32
    }
}

proptest! {
    #[test]
    fn no_history_exceeds_the_bounds(
        events in prop::collection::vec(any_event(), 1..200), nudges_max in 0u32..4, relaunches_max in 0u32..3,
        per_day in 0u32..6, auto_relaunch: bool,
    ) {
        let policy =
            Policy { nudges_max, relaunches_max, attempts_per_day_max: per_day, auto_relaunch, ..Policy::default() };
        let mut model = Model::new();
        for (event, seconds) in events {
            model.now += seconds;
            model.happen(event);
            let decision = model.sweep(&policy)?;
            let repeats = detect_loop(&model.session.recent_output).is_some();
            let quiet = at(model.now) - model.session.active_at <= TimeDelta::minutes(5);
            if model.session.ended.is_none() && quiet && !repeats {
                let acts = matches!(decision, Decision::Continue { .. } | Decision::Escalate(_));
                prop_assert!(!acts, "a healthy session is never touched: {decision:?}");
            }
            prop_assert!(model.attempts_in_a_row() <= nudges_max.max(relaunches_max), "too many in an episode");
            let last_day =
                model.ledger.iter().filter(|(moment, entry)| model.now - 86_400 < *moment && *entry == Entry::Attempt);
            prop_assert!(last_day.count() as u32 <= per_day, "too many in a day");
            let again = model.sweep(&policy)?;
            let leaves = matches!(again, Decision::Leave(_) | Decision::Skip(_) | Decision::Wait { .. });
            prop_assert!(leaves, "a second sweep has nothing to do: {decision:?}, {again:?}");
        }
    }
}

/// Negative controls: rules that forget a bound are caught by the same counts.
#[test]
fn a_history_that_exceeds_the_bounds_is_caught() {
    let policy = Policy { nudges_max: 9, ..Policy::default() };
    let mut model = Model::new();
    for _ in 0..4 {
        model.now += 400;
        model.happen(Event::Delivery);
        model.sweep(&policy).expect("a decision");
    }
    assert!(Policy::default().nudges_max < model.attempts_in_a_row());
}
