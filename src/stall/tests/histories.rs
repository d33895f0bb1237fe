//! Whatever happens to a session, its detector sends what a naive model sends, at the same moments.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tokio::runtime::{Builder, Runtime};

use super::model::{Limits, Model};
use super::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Pass(u64),
    Reset,
    Pause,
    Resume,
    NudgeSent,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => (1u64..40).prop_map(Step::Pass),
        3 => Just(Step::Reset),
        1 => Just(Step::Pause),
        2 => Just(Step::Resume),
        1 => Just(Step::NudgeSent),
    ]
}

fn history() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..80)
}

prop_compose! {
    fn limits()(silent_after in 0u64..30, nudge_delay in 0u64..20, nudges_max in 0u32..4,
        per_day_max in 0u32..12) -> Limits {
        Limits { silent_after, nudge_delay, nudges_max, per_day_max }
    }
}

fn clock_of_its_own() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime")
}

type Sent = Vec<(u128, String)>;

/// How a session shows progress.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Life {
    Signs,
    NewLines,
    /// New lines in an endless loop, which is never silent for long.
    NewLinesInALoop,
}

impl Life {
    /// Prints the same as ever.
    fn repeats(self, session: &Watched) {
        if self == Life::NewLinesInALoop {
            (0..6).for_each(|_| session.output("no"));
        }
    }

    fn progresses(self, session: &Watched, step: usize) {
        match self {
            Life::Signs => session.reset(),
            Life::NewLines | Life::NewLinesInALoop => session.output(&loops::new_line(step)),
        }
        self.repeats(session);
    }
}

/// What the detector sends, or the promise that it breaks.
async fn play(history: &[Step], limits: &Limits, life: Life) -> Result<Sent, String> {
    let scene = Scene::new(StallConfig {
        silent_after: Duration::from_millis(limits.silent_after),
        nudge_delay: Duration::from_millis(limits.nudge_delay),
        nudges_max: limits.nudges_max,
        attempts_per_day_max: limits.per_day_max,
        ..StallConfig::default()
    });
    settle().await;
    let count = || scene.received.lock().unwrap().len();
    let mut is_paused = false;
    life.repeats(&scene.session);
    for (number, step) in history.iter().enumerate() {
        let before = count();
        match step {
            Step::Pass(milliseconds) => {
                scene.pass(*milliseconds as f64 / 1e3).await;
                life.repeats(&scene.session);
            }
            Step::Reset => life.progresses(&scene.session, number),
            Step::Pause => scene.session.pause(),
            Step::Resume => scene.session.resume(),
            Step::NudgeSent => scene.session.nudge_sent(),
        }
        settle().await;
        is_paused = *step == Step::Pause || (is_paused && *step != Step::Resume);
        if is_paused && before < count() {
            return Err(format!("sent in a pause: {:?}", scene.received.lock().unwrap()));
        }
    }
    let received = scene.received.lock().unwrap();
    let events: Vec<_> = received.iter().map(|(_, event)| event.clone()).collect();
    grammatical(&events, limits.nudges_max)?;
    // The model does not distinguish the kinds of stalls.
    let described = |event| described(event).replace("stalled, Looping", "stalled");
    Ok(received.iter().map(|(at, event)| (*at, described(event))).collect())
}

fn expect(history: &[Step], limits: &Limits) -> Sent {
    let mut model = Model::new(limits.clone());
    for step in history {
        match step {
            Step::Pass(milliseconds) => model.pass(*milliseconds),
            Step::Reset => model.reset(),
            Step::Pause => model.pause(),
            Step::Resume => model.resume(),
            Step::NudgeSent => model.nudge_sent(),
        }
    }
    model.sent
}

/// Stalled, then at most so many nudges, then at most one escalation, then recovered; and again.
pub fn grammatical(events: &[StallEvent], nudges_max: u32) -> Result<(), String> {
    let (mut is_stalled, mut is_escalated, mut nudges) = (false, false, 0);
    for event in events {
        let is_in_order = match event {
            StallEvent::Stalled { .. } => !std::mem::replace(&mut is_stalled, true),
            StallEvent::AutoNudge { .. } => {
                nudges += 1;
                is_stalled && !is_escalated && nudges <= nudges_max
            }
            StallEvent::Escalated { .. } => is_stalled && !std::mem::replace(&mut is_escalated, true),
            StallEvent::SelfRecovered { .. } => {
                (is_escalated, nudges) = (false, 0);
                std::mem::replace(&mut is_stalled, false)
            }
        };
        if !is_in_order {
            return Err(format!("{event:?} is out of order in {events:?}"));
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_detector_sends_what_the_naive_model_sends(history in history(), limits in limits()) {
        let sent = clock_of_its_own().block_on(play(&history, &limits, Life::Signs)).map_err(TestCaseError::fail)?;
        prop_assert_eq!(sent, expect(&history, &limits));
    }
}

proptest! {
    // Lines take longer than signs of life.
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn progress_in_silence_and_in_a_loop_is_what_signs_of_life_are_to_the_naive_model(
        history in history(), limits in limits(),
        life in prop::sample::select(vec![Life::NewLines, Life::NewLinesInALoop])
    ) {
        let sent = clock_of_its_own().block_on(play(&history, &limits, life)).map_err(TestCaseError::fail)?;
        prop_assert_eq!(sent, expect(&history, &limits));
    }
}

/// Histories, which are alike in every run of the tests.
fn samples() -> Vec<(Vec<Step>, Limits)> {
    let (mut runner, strategy) = (TestRunner::deterministic(), (history(), limits()));
    (0..100).map(|_| strategy.new_tree(&mut runner).expect("a history").current()).collect()
}

/// Negative controls: a model that differs in one limit, or ignores one kind of step, is found out.
#[test]
fn a_model_that_differs_in_anything_is_found_out() {
    let differ = |other: &dyn Fn(&[Step], &Limits) -> Sent| {
        let is_different = |(history, limits): &(Vec<Step>, Limits)| expect(history, limits) != other(history, limits);
        samples().iter().filter(|sample| is_different(sample)).count()
    };
    let without = |ignored: Step| {
        differ(&move |history, limits| {
            expect(&history.iter().copied().filter(|step| *step != ignored).collect::<Vec<_>>(), limits)
        })
    };
    let differences = [
        differ(&|history, limits| expect(history, &Limits { silent_after: limits.silent_after + 1, ..limits.clone() })),
        differ(&|history, limits| expect(history, &Limits { nudge_delay: limits.nudge_delay + 1, ..limits.clone() })),
        differ(&|history, limits| expect(history, &Limits { nudges_max: limits.nudges_max + 1, ..limits.clone() })),
        differ(&|history, limits| expect(history, &Limits { per_day_max: limits.per_day_max + 1, ..limits.clone() })),
        without(Step::Reset),
        without(Step::Pause),
        without(Step::Resume),
        without(Step::NudgeSent),
    ];
    assert!(differences.iter().all(|count| 20 <= *count), "of 100 histories: {differences:?}");
}

#[test]
fn in_random_histories_everything_is_sent() {
    let sent: Vec<_> = samples().iter().flat_map(|(history, limits)| expect(history, limits)).collect();
    let events = ["stalled", "nudge 1/", "nudge 2/", "Exhausted", "NotAllowed", "TooManyAttempts", "recovered after 2"];
    for event in events {
        let count = sent.iter().filter(|(_, sent)| sent.contains(event)).count();
        assert!(10 <= count, "{event}: {count} times in 100 histories");
    }
}

#[test]
fn what_is_out_of_order_is_found() {
    let session_id = id("one");
    let stalled = stalled(session_id.clone(), MINUTE);
    let recovered = StallEvent::SelfRecovered { session_id: session_id.clone(), silent_for: MINUTE, attempts: 0 };
    let cause = Cause::Exhausted;
    let escalated = StallEvent::Escalated { session_id: session_id.clone(), cause, attempts: 0, silent_for: MINUTE };
    let message = "go on".into();
    let nudge = StallEvent::AutoNudge { session_id, attempt: 1, attempts_max: 1, message, silent_for: MINUTE };
    let all = [stalled.clone(), nudge.clone(), escalated.clone(), recovered.clone()];
    assert_eq!(grammatical(&[all.clone(), all].concat(), 1), Ok(()));
    let orders = [
        vec![nudge.clone()],
        vec![escalated.clone()],
        vec![recovered],
        vec![stalled.clone(), stalled.clone()],
        vec![stalled.clone(), nudge.clone(), nudge.clone()],
        vec![stalled.clone(), escalated.clone(), escalated.clone()],
        vec![stalled, escalated, nudge],
    ];
    assert!(orders.iter().all(|order| grammatical(order, 1).is_err()));
}
