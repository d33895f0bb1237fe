//! Loops on real logs: what `docs/loops.md` says of them holds.

mod evaluation;

use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use evaluation::{CIRCLES, Log};
use sweep::rules::{Loop, detect_loop};

use crate::support::rounds::rounds;

/// Logs of programs that print the same three lines for each of their tests, and nothing else.
const REPETITIVE: [&str; 2] = ["jest", "pytest-prints"];

fn logs() -> Vec<Log> {
    evaluation::read_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs"))
}

/// A log, and where a loop is found in it although it is healthy.
type WithAlarms = (Log, Vec<(usize, Loop)>);

/// All false alarms of each log, which two tests want to know.
static FALSE_ALARMS: LazyLock<Vec<WithAlarms>> = LazyLock::new(|| {
    let with_alarms = |log: Log| (log.false_alarms(), log);
    logs().into_iter().map(with_alarms).map(|(alarms, log)| (log, alarms)).collect()
});

#[test]
fn no_healthy_log_raises_a_false_alarm_but_the_two_that_repeat_themselves() {
    for (log, alarms) in FALSE_ALARMS.iter().filter(|(log, _)| !REPETITIVE.contains(&log.name.as_str())) {
        assert_eq!(*alarms, [], "{}", log.name);
    }
}

#[test]
fn the_false_alarm_rate_is_the_documented_one() {
    let windows: usize = FALSE_ALARMS.iter().map(|(log, _)| log.windows()).sum();
    let alarms: usize = FALSE_ALARMS.iter().map(|(_, alarms)| alarms.len()).sum();
    assert_eq!((windows, alarms), (4_039, 113));
}

#[test]
fn every_loop_is_found_in_time_and_none_is_called_too_early_or_too_late() {
    let logs = logs();
    let places: Vec<_> = rounds(evaluation::places(&logs)).collect();
    for circle in &CIRCLES {
        let outcome = circle.put_into(&places);
        assert!(0 < outcome.put_in, "{}", circle.name);
        assert_eq!(
            (outcome.found, outcome.called_too_early, outcome.called_too_late),
            (outcome.put_in, 0, 0),
            "{}",
            circle.name
        );
    }
}

/// A thousand times as long costs no more, whatever it is made of.
#[test]
fn a_hostile_line_costs_no_more_than_a_long_one() {
    for part in ["a", "1 ", "12:34:56 ", "\x1b[1m", "\r", "[", "Nov ", "\u{fffd}", "attempt 1/", "1m", "1."] {
        let line = part.repeat(1_000_000 / part.len());
        let began = Instant::now();
        detect_loop(&[line.as_str(); 100]);
        assert!(began.elapsed() < Duration::from_secs(2), "{part:?}: {:?}", began.elapsed());
    }
}
