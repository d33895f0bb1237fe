//! Tables of what is a loop and what is not; properties of both.

use rstest::rstest;

use super::*;

mod lines;
mod odd_lines;
mod properties;

/// The period of the loop that is found, and how often its lines are repeated.
fn found(lines: &[&str]) -> Option<(usize, usize)> {
    detect_loop(lines).map(|found| (found.period(), found.times))
}

fn times(times: usize, lines: &[&str]) -> Vec<String> {
    (0..times).flat_map(|_| lines.iter().map(|&line| line.to_owned())).collect()
}

/// The lines so many times, with 1, 2, 3 … for `{}`.
fn counted(times: usize, lines: &[&str]) -> Vec<String> {
    (1..=times).flat_map(|at| lines.iter().map(move |line| line.replace("{}", &at.to_string()))).collect()
}

fn period(lines: &[String]) -> Option<usize> {
    detect_loop(lines).map(|found| found.period())
}

#[rstest]
#[case::one_line_five_times(5, &["permission denied"], None)]
#[case::one_line_six_times(6, &["permission denied"], Some((1, 6)))]
#[case::one_line_for_ever(100, &["permission denied"], Some((1, 20)))]
#[case::two_lines_three_times(3, &["edit a.rs", "test failed"], None)]
#[case::two_lines_four_times(4, &["edit a.rs", "test failed"], Some((2, 4)))]
#[case::two_lines_for_ever(100, &["edit a.rs", "test failed"], Some((2, 10)))]
#[case::three_lines_three_times(3, &["read a.rs", "edit a.rs", "test failed"], None)]
#[case::three_lines_four_times(4, &["read a.rs", "edit a.rs", "test failed"], Some((3, 4)))]
#[case::three_lines_of_which_two_are_the_same(4, &["retry", "retry", "giving up"], Some((3, 4)))]
#[case::four_lines_twice(2, &["read", "edit", "build", "test"], None)]
#[case::four_lines_three_times(3, &["read", "edit", "build", "test"], Some((4, 3)))]
#[case::five_lines_for_ever(20, &["a1", "b2", "c3", "d4", "e5"], Some((5, 4)))]
#[case::eight_lines_twice(2, &["a", "b", "c", "d", "e", "f", "g", "h"], None)]
#[case::eight_lines_three_times(3, &["a", "b", "c", "d", "e", "f", "g", "h"], Some((8, 3)))]
#[case::eight_lines_of_which_some_are_the_same(3, &["a", "b", "a", "b", "a", "b", "c", "c"], Some((8, 3)))]
#[case::nine_lines_in_turn_are_none_we_know(9, &["a", "b", "c", "d", "e", "f", "g", "h", "i"], None)]
#[case::empty_lines_are_no_lines(6, &["permission denied", "", "  \t "], Some((1, 6)))]
#[case::rules_and_brackets_say_nothing(20, &["-----", "}", "=========="], None)]
#[case::a_terminal_of_another_width(6, &["x", "----------"], Some((1, 6)))]
fn a_loop_is_one_to_eight_lines_often_enough(
    #[case] often: usize,
    #[case] lines: &[&str],
    #[case] loops: Option<(usize, usize)>,
) {
    let lines = times(often, lines);
    assert_eq!(found(&lines.iter().map(String::as_str).collect::<Vec<_>>()), loops);
}

#[rstest]
#[case::a_retry_at_another_time("[12:00:0{}] Error: connection refused, retrying", Some(1))]
#[case::a_retry_that_counts_itself("Connection error, retrying (attempt {}/10)", Some(1))]
#[case::a_retry_that_counts_down("{} retries left", Some(1))]
#[case::a_retry_that_waits_longer("timeout, retrying in {}s", Some(1))]
#[case::a_retry_that_took_its_time("timeout after 1{}.5 seconds", Some(1))]
#[case::a_request_has_its_own_id(r#"529 {"type":"overloaded_error","request_id":"req_0{}xZ"}"#, Some(1))]
#[case::an_object_lives_elsewhere("Retrying after NewConnectionError('<Connection object at 0x7f00aa{}0>')", Some(1))]
#[case::a_rate_is_not_progress("waiting for data, {} kB/s", Some(1))]
#[case::a_download_that_goes_on("Downloading {}/300", None)]
#[case::a_percentage_that_goes_on("Downloading {}%", None)]
#[case::bytes_that_grow("Downloaded {} MB", None)]
#[case::a_bar_without_words(" {}%|███▌      | {}/300 [00:0{}<00:15, 3.4it/s]", None)]
#[case::a_number_in_a_text("test {} passed", None)]
#[case::a_version("Compiling foo v1.{}.3", None)]
#[case::a_place_in_a_file("src/a.rs:1{}:5: missing semicolon", None)]
#[case::a_place_as_eslint_prints_it("1{}:05  error  Missing semicolon  semi", None)]
#[case::a_day_of_a_backfill("loading 2026-11-0{}", None)]
#[case::an_id_of_a_thing("delivered order 7f00aa{}0", None)]
fn what_changes_by_itself_hides_no_loop_and_what_progresses_is_none(#[case] line: &str, #[case] loops: Option<usize>) {
    assert_eq!(period(&counted(9, &[line])), loops);
}

#[rstest]
#[case::a_counter_between_the_errors(counted(6, &["Downloading {}/300", "warning: slow mirror"]), None)]
#[case::a_counter_without_words(counted(9, &["{}%", "warning: slow mirror"]), None)]
#[case::a_counter_on_a_spinner(counted(9, &["⠙ {}/300", "warning: slow mirror"]), None)]
#[case::a_counter_that_stands(times(6, &["Downloading 12/300", "connection reset"]), Some(2))]
#[case::a_counter_that_counts_down((1..9).rev().map(|left| format!("waiting for {left}/8 shards"))
    .flat_map(|line| [line, "polling".to_owned()]).collect(), None)]
#[case::a_counter_that_begins_again(times(4, &["fetching 10%", "fetching 35%", "fetching 80%", "early EOF"]), Some(2))]
#[case::a_counter_that_never_gets_further(
    [30, 25, 80, 12, 44, 23, 61].iter().flat_map(|at| [format!("fetching {at}%"), "early EOF".to_owned()]).collect(),
    Some(2)
)]
#[case::a_counter_that_got_further_at_last(
    [30, 25, 12, 44, 80].iter().flat_map(|at| [format!("fetching {at}%"), "early EOF".to_owned()]).collect(), None
)]
#[case::a_sign_that_somebody_wrote(times(8, &["# 5/10", "12% 5/10"]), Some(2))]
#[case::the_tests_fail_less_often(counted(6, &["edit a.rs", "1{} passed, 3 failed"]), None)]
#[case::the_tests_fail_as_before(times(6, &["edit a.rs", "12 passed, 3 failed in 0.42s"]), Some(2))]
fn a_counter_neither_hides_nor_fakes_a_loop(#[case] lines: Vec<String>, #[case] loops: Option<usize>) {
    assert_eq!(period(&lines), loops);
}

#[rstest]
#[case::spinners_alone(&["⠋", "⠙", "⠹"], None)]
#[case::spinners_with_words(&["⠋ Thinking", "⠙ Thinking", "⠹ Thinking"], None)]
#[case::the_same_spinner_again_and_again(&["⠋ Thinking"], None)]
#[case::bars_that_turn(&["| Thinking", "/ Thinking", "- Thinking", "\\ Thinking"], None)]
#[case::bars_that_turn_behind(&["Solving: |", "Solving: /", "Solving: -", "Solving: \\"], None)]
#[case::dots_that_grow(&["Waiting.", "Waiting..", "Waiting..."], None)]
#[case::dots_that_do_not_grow(&["Waiting..."], Some(1))]
#[case::a_list(&["- permission denied"], Some(1))]
#[case::spinners_between(&["⠋ Thinking", "permission denied", "⠙ Thinking", "⠹ Thinking"], Some(1))]
#[case::turning_bars_between(&["| Thinking", "permission denied", "/ Thinking", "- Thinking"], Some(1))]
#[case::growing_dots_between(&["edit a.rs", "Running.", "Running..", "test failed"], Some(2))]
fn a_spinner_neither_hides_nor_fakes_a_loop(#[case] lines: &[&str], #[case] loops: Option<usize>) {
    assert_eq!(period(&times(8, lines)), loops);
}

#[test]
fn who_looped_and_went_on_is_not_looping() {
    let mut lines = times(10, &["permission denied"]);
    lines.push("asking for the key".to_owned());
    assert_eq!(detect_loop(&lines), None);
    lines.extend(times(6, &["permission denied"]));
    assert_eq!(detect_loop(&lines).map(|found| found.times), Some(6));
}

#[test]
fn a_loop_may_end_in_the_middle_of_a_turn() {
    let mut lines = times(4, &["edit a.rs", "test failed"]);
    lines.push("edit a.rs".to_owned());
    assert_eq!(
        detect_loop(&lines),
        Some(Loop { lines: vec!["test failed".to_owned(), "edit a.rs".to_owned()], times: 4 })
    );
}

#[test]
fn a_line_is_reported_as_it_was_seen_and_shortened() {
    let line = format!("\x1b[31m12:00:01\x1b[0m Error: {}", "no ".repeat(100));
    let lines = detect_loop(&vec![line; 6]).expect("a loop").lines;
    assert!(lines[0].starts_with("12:00:01 Error: no no"), "{lines:?}");
    assert_eq!(lines[0].chars().count(), 200);
}

#[test]
fn no_line_is_no_loop() {
    assert_eq!(detect_loop(&[""; 0]), None);
}
