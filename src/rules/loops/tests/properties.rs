//! Random loops, random work, random rubbish.

use proptest::prelude::*;

use super::super::TIMES_MIN;
use super::super::*;

/// A sentence of words without digits that are no units and no words for an attempt.
fn sentence() -> impl Strategy<Value = String> {
    prop::collection::vec("[b-df-hj-np-qv-z]{4,9}", 1..6).prop_map(|words| words.join(" "))
}

/// What may change from one repetition to the next.
fn decoration() -> impl Strategy<Value = fn(&str, usize) -> String> {
    let decorations: Vec<fn(&str, usize) -> String> = vec![
        |line, _| line.to_owned(),
        |line, at| format!("[12:{:02}:{:02}] {line}", at / 60 % 60, at % 60),
        |line, at| format!("2026-11-22T04:{:02}:{:02}.{at:03}Z {line}", at / 60 % 60, at % 60),
        |line, at| format!("Nov {} 04:15:{:02} {line}", at % 28 + 1, at % 60),
        |line, at| format!("{line} (attempt {at}/1000)"),
        |line, at| format!("{line}, retry #{at}"),
        |line, at| format!("{line} in {}.{at}s", at % 9),
        |line, at| format!("\x1b[{}m{line}\x1b[0m", 31 + at % 7),
        |line, at| format!("{}%\r{line}", at % 100),
        |line, at| format!("\x1b]0;{at}\x07{line}   "),
    ];
    prop::sample::select(decorations)
}

/// What may come between two lines.
fn interlude() -> impl Strategy<Value = Vec<String>> {
    let spinner = prop::sample::select("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏◐◓✻".chars().collect::<Vec<_>>());
    let line = prop_oneof![
        Just(String::new()),
        Just("-----".to_owned()),
        spinner.clone().prop_map(|glyph| glyph.to_string()),
        (spinner, 0..99).prop_map(|(glyph, seconds)| format!("{glyph} Thinking… ({seconds}s)")),
    ];
    prop::collection::vec(line, 0..3)
}

prop_compose! {
    /// Lines that all differ.
    fn distinct_lines(count: std::ops::Range<usize>)(
        lines in prop::collection::vec(sentence(), count),
    ) -> Vec<String> {
        lines.iter().enumerate().map(|(at, line)| format!("{line} n{at}")).collect()
    }
}

prop_compose! {
    fn looping()(
        before in distinct_lines(0..30),
        lines in distinct_lines(1..9),
        decoration in decoration(),
        interludes in prop::collection::vec(interlude(), 18),
        more in 0usize..3,
        seed in 0usize..1000,
    ) -> (Vec<String>, usize) {
        let (period, times_min) = (lines.len(), TIMES_MIN[lines.len() - 1]);
        let mut output = before;
        for at in 0..period * (times_min + more) {
            output.extend(interludes[at % interludes.len()].clone());
            output.push(decoration(&lines[at % period], (seed + at * 7) % 1000));
        }
        (output, period)
    }
}

/// This many turns, some of which have an odd line, always before the same one of the others.
fn turns_with_odd_lines(times: usize, lines: &[String], place: usize, is_odd: impl Fn(usize) -> bool) -> Vec<String> {
    let turn = |at: usize| {
        let mut turn = lines.to_vec();
        if is_odd(at) {
            turn.insert(place % lines.len(), format!("{}.", ["hm"].repeat(at + 1).join(" ")));
        }
        turn
    };
    (0..times).flat_map(turn).collect()
}

proptest! {
    #[test]
    fn every_loop_is_found((output, period) in looping()) {
        prop_assert_eq!(detect_loop(&output).map(|found| found.period()), Some(period));
    }

    #[test]
    fn lines_that_differ_never_loop(lines in distinct_lines(0..60), decoration in decoration()) {
        let output: Vec<String> = lines.iter().enumerate().map(|(at, line)| decoration(line, at)).collect();
        prop_assert_eq!(detect_loop(&output), None);
    }

    #[test]
    fn a_counter_that_advances_is_never_a_loop(
        lines in prop::collection::vec(sentence(), 1..4),
        counted in 0usize..3,
        shape in 0usize..5,
        steps in prop::collection::vec(1usize..9, 20),
        decoration in decoration(),
    ) {
        let mut count = 0;
        let mut output = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            count += step;
            for (which, line) in lines.iter().enumerate() {
                let counter = [
                    format!("{count}/300"), format!("{count}%"), format!("{count} kB"), format!("{count} of 300"),
                    format!("n{count}"),
                ];
                let line = match which == counted % lines.len() {
                    true => format!("{line} {}", counter[shape]),
                    false => line.clone(),
                };
                output.push(decoration(&line, at));
            }
        }
        prop_assert_eq!(detect_loop(&output), None);
    }

    #[test]
    fn whatever_is_in_front_of_a_loop_does_not_matter(
        (output, period) in looping(), rubbish in prop::collection::vec("\\PC{0,40}", 0..40),
    ) {
        let output: Vec<String> = rubbish.into_iter().chain(output).collect();
        prop_assert_eq!(detect_loop(&output).map(|found| found.period()), Some(period));
    }

    #[test]
    fn every_loop_with_odd_lines_is_found(
        before in distinct_lines(0..30),
        lines in distinct_lines(1..9),
        place in 0usize..8,
        is_odd in prop::collection::vec(any::<bool>(), 8),
    ) {
        let turns = turns_with_odd_lines(TIMES_MIN[lines.len() - 1] + 1, &lines, place, |at| is_odd[at]);
        let output: Vec<String> = before.into_iter().chain(turns).collect();
        prop_assert_eq!(detect_loop(&output).map(|found| found.period()), Some(lines.len()));
    }

    /// Otherwise a session would seem to make progress whenever it is examined right after the odd line.
    #[test]
    fn a_loop_with_an_odd_line_in_each_turn_is_one_at_each_of_its_lines(
        lines in distinct_lines(1..9),
        place in 0usize..8,
    ) {
        let times_min = TIMES_MIN[lines.len() - 1] + 1;
        let output = turns_with_odd_lines(times_min + 3, &lines, place, |_| true);
        for end in times_min * (lines.len() + 1)..output.len() {
            prop_assert_eq!(detect_loop(&output[..end]).map(|found| found.period()), Some(lines.len()), "{}", end);
        }
    }

    #[test]
    fn the_same_lines_around_one_thing_after_the_other_are_no_loop(
        lines in distinct_lines(1..9),
        names in prop::collection::hash_set("[a-z]{4,9}", 12),
        place in 0usize..9,
    ) {
        let turn = |name: String| {
            let mut turn = lines.clone();
            turn.insert(place % (lines.len() + 1), format!("now building {name}"));
            turn
        };
        let output: Vec<String> = names.into_iter().flat_map(turn).collect();
        prop_assert_eq!(detect_loop(&output), None);
    }

    #[test]
    fn no_text_makes_it_panic(lines in prop::collection::vec(any::<String>(), 0..30)) {
        detect_loop(&lines);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..4000)) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        detect_loop(&vec![text; 6]);
    }

    #[test]
    fn what_terminals_and_clocks_write_does_not_make_it_panic(
        lines in prop::collection::vec("([#~%/]|[0-9]{1,4}[:/., %-]|[µ✻é\u{1b}\\[\\]();m]|Nov |Sun |at 0x|1m|[A-Z]{3} \
            ){0,60}", 6..9),
    ) {
        detect_loop(&lines);
    }
}
