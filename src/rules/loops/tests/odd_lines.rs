//! Loops with occasional odd lines, and work that looks like them.

use rstest::rstest;

use super::*;

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
