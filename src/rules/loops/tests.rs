//! Tables of what is a loop and what is not; properties of both.

use rstest::rstest;

use super::*;

mod lines;
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

const IDS: [&str; 8] = ["8f3a1c", "90b2ee", "c41d07", "5e77ab", "d0d0f1", "1a2b3c", "77aa01", "e9f4b8"];

const NAMES: [&str; 8] = ["auth", "billing", "catalog", "mail", "orders", "search", "tokens", "users"];

/// A remark in other words in each turn; some remarks have as many words as the one before.
fn remark(at: usize) -> String {
    format!("Perhaps {} or {}{}?", NAMES[at % 8], NAMES[(at + 3) % 8], " after all".repeat(at % 8 / 2))
}

/// Turns in which `{remark}`, `{id}`, `{name}` and `{at}` differ; a line behind `~` is in some turns only.
fn turns(times: usize, lines: &[&str]) -> Vec<String> {
    let line = |at: usize, line: &str| {
        let line = if [1, 2, 5].contains(&(at % 6)) { line.trim_start_matches('~') } else { line };
        let line = line.replace("{remark}", &remark(at)).replace("{at}", &at.to_string());
        let line = line.replace("{id}", IDS[at % 8]).replace("{name}", NAMES[at % 8]);
        (!line.starts_with('~')).then_some(line)
    };
    (0..times).flat_map(|at| lines.iter().filter_map(move |&text| line(at, text))).collect()
}

#[rstest]
#[case::one_line_and_a_remark(7, &["{remark}", "permission denied"], Some((1, 7)))]
#[case::too_few_of_them(6, &["{remark}", "permission denied"], None)]
#[case::two_lines_and_a_remark(5, &["{remark}", "edit a.rs", "test failed"], Some((2, 5)))]
#[case::too_few_of_two(4, &["{remark}", "edit a.rs", "test failed"], None)]
#[case::three_lines_and_an_id(5, &["opened", "created session {id}", "test failed", "closed"], Some((3, 5)))]
#[case::four_lines_and_an_id(4, &["open", "created session {id}", "edit", "test", "close"], Some((4, 4)))]
#[case::too_few_of_four(3, &["open", "created session {id}", "edit", "test", "close"], None)]
#[case::eight_lines_and_a_remark(4, &["a", "b", "c", "d", "{remark}", "e", "f", "g", "h"], Some((8, 4)))]
#[case::a_remark_at_the_end_of_each_turn(5, &["edit a.rs", "test failed", "{remark}"], Some((2, 5)))]
#[case::a_warning_now_and_then(6, &["edit a.rs", "~warning: slow disk", "test failed"], Some((2, 6)))]
#[case::a_remark_now_and_then(6, &["read a.rs", "edit a.rs", "test failed", "~{remark}"], Some((3, 5)))]
#[case::two_remarks_in_a_turn(9, &["{remark}", "edit a.rs", "and {remark}", "test failed"], None)]
#[case::remarks_alone(9, &["{remark}"], None)]
#[case::a_count_is_work(9, &["edit a.rs", "cargo test", "{at} passed, 12 failed"], None)]
#[case::one_thing_after_the_other_is_work(9, &["pull the image", "deploying svc-{at}", "start it", "healthy"], None)]
#[case::a_counter_that_goes_on(9, &["read a.rs", "edit a.rs", "test failed", "{at}/300"], None)]
fn an_odd_line_in_a_turn_is_no_end_of_a_loop(
    #[case] often: usize,
    #[case] lines: &[&str],
    #[case] loops: Option<(usize, usize)>,
) {
    let lines = turns(often, lines);
    assert_eq!(found(&lines.iter().map(String::as_str).collect::<Vec<_>>()), loops);
}

#[rstest]
#[case::a_name("deploying {name}", None)]
#[case::a_name_in_a_path("PASS packages/{name}/index.test.js", None)]
#[case::a_name_and_an_id("Running unittests src/lib.rs (target/debug/deps/{name}-{id})", None)]
#[case::a_number("31{at} passed; 12 failed", None)]
#[case::a_number_and_an_id("order {at}: sent as {id}", None)]
#[case::an_id("sent as {id}", Some(3))]
#[case::an_id_that_has_parts("sent as 550e8400-{id}-beef", Some(3))]
#[case::an_id_that_is_not_hexadecimal("sent as msg_01{id}Xz", Some(3))]
#[case::other_words("{remark}", Some(3))]
fn who_reports_one_thing_after_the_other_is_at_work(#[case] odd: &str, #[case] loops: Option<usize>) {
    assert_eq!(period(&turns(8, &["pull", odd, "start", "healthy"])), loops);
}

#[test]
fn the_first_odd_line_ends_a_loop_and_of_later_ones_two_in_a_turn() {
    let mut lines = times(9, &["edit a.rs", "test failed"]);
    lines.push("warning: slow disk".to_owned());
    assert_eq!(period(&lines), None, "the first one, at the end");
    lines.extend(times(2, &["edit a.rs", "test failed"]));
    assert_eq!(period(&lines), Some(2), "the first one, in the middle");
    lines.push("One moment".to_owned());
    assert_eq!(period(&lines), Some(2), "the second one, at the end");
    lines.push("asking for the key".to_owned());
    assert_eq!(period(&lines), None, "two in one turn");
}

#[test]
fn lines_that_differ_at_another_place_each_time_are_not_found() {
    let differing = ["w", "b", "c", "d", "a", "x", "c", "d", "a", "b", "y", "d", "a", "b", "c", "z"];
    assert_eq!(found(&differing), None);
}
