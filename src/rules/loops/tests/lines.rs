//! The words of one line.

use rstest::rstest;

use super::super::OutputLine;
use super::super::scan::{CHANGING, COUNTER};

#[rstest]
#[case::colours("\x1b[1;31merror\x1b[0m: no", "error: no")]
#[case::a_title("\x1b]0;✳ Fix the bug\x07error", "error")]
#[case::a_link("\x1b]8;;https://a.example/1\x1b\\a.rs\x1b]8;;\x1b\\ failed", "a.rs failed")]
#[case::a_line_drawn_again("10%\r20%\rdone", "done")]
#[case::a_line_that_ends_as_on_windows("error: no\r\n", "error: no")]
#[case::a_line_erased("Thinking\x1b[2K\x1b[1Gerror: no", "error: no")]
#[case::iso("2026-11-22T04:15:03.123Z error", "~ error")]
#[case::iso_with_a_zone("2026-11-22T04:15:03+01:00 error", "~ error")]
#[case::as_python_logs("2026-11-22 04:15:03,123 - root - ERROR - no", "~ - root - ERROR - no")]
#[case::as_postgresql_logs("2026-11-22 04:15:03.123 UTC [71] ERROR", "~ [71] ERROR")]
#[case::syslog("Nov  2 04:15:03 host app[71]: no", "~ host app[71]: no")]
#[case::as_date_prints_it("Sun Nov 22 04:15:03 UTC 2026", "~")]
#[case::as_web_servers_log(
    "::1 - - [22/Nov/2026:04:15:03 +0000] \"GET / HTTP/1.1\" 200 -",
    "::1 - - [~] \"GET / HTTP/1.1\" 200"
)]
#[case::a_time_of_day("[12:00:01] no", "[~] no")]
#[case::a_time_of_day_that_is_named("error at 12:00:01: no", "error at ~: no")]
#[case::half_a_day("4:15:03 PM no", "~ no")]
#[case::in_json(r#"{"time":"2026-11-22T04:15:03Z","msg":"no"}"#, r#"{"time":"~","msg":"no"}"#)]
#[case::seconds_since_1970("1763784903.123 no", "~ no")]
#[case::milliseconds_in_json(r#"{"level":50,"time":1763784903000,"msg":"no"}"#, r#"{"level":50,"time":~,"msg":"no"}"#)]
#[case::seconds_in_json(r#"{"ts": 1763784901.123, "msg": "no"}"#, r#"{"ts": ~, "msg": "no"}"#)]
#[case::seconds_behind_a_name("timestamp=1763784901 no", "timestamp=~ no")]
#[case::a_large_number_behind_another_name(r#"{"order":1763784901}"#, r#"{"order":1763784901}"#)]
#[case::seconds_since_the_start("[   12.345678] usb: no", "[~] usb: no")]
#[case::a_large_number("order 1763784903 sent", "order 1763784903 sent")]
#[case::a_date_is_a_word("loading 2026-11-22", "loading 2026-11-22")]
#[case::a_date_of_a_partition("loading 11/22/2026", "loading 11/22/2026")]
#[case::a_duration("finished in 12.3s", "finished in ~")]
#[case::a_duration_in_words("took 4 seconds", "took ~")]
#[case::a_duration_in_two_units("took 1m 23s", "took ~")]
#[case::a_duration_in_two_units_close("took 1m23s", "took ~")]
#[case::a_rate("at 3.4 MB/s", "at ~")]
#[case::a_part("12/300 files", "#/300 files")]
#[case::a_part_in_words("page 12 of 300", "page # of 300")]
#[case::a_part_in_bytes("12.5/45.6 MB", "#/45.6 MB")]
#[case::a_percentage("[ 45%] Building a.o", "[#] Building a.o")]
#[case::bytes("read 1,234 bytes", "read #")]
#[case::a_bar("[=====>      ] 12/300", "#/300")]
#[case::an_address("listening on 127.0.0.1:8080", "listening on 127.0.0.1:8080")]
#[case::a_path("src/12/300/a.rs", "src/12/300/a.rs")]
#[case::an_attempt("attempt 3", "attempt ~")]
#[case::an_attempt_of_some("(attempt 3/10)", "(attempt ~/10)")]
#[case::a_setting("retry_count=3", "retry_count=~")]
#[case::as_pip_retries("Retrying (Retry(total=4, connect=None))", "Retrying (Retry(total=~, connect=None))")]
#[case::an_ordinal("2nd attempt", "~ attempt")]
#[case::an_hour("took 1 hour 2 minutes", "took ~")]
#[case::a_sign_that_somebody_wrote("# 5/10 ~ 3", "# #/10 ~ 3")]
#[case::a_table("a          b", "a b")]
fn a_line_says_what_is_left(#[case] line: &str, #[case] words: &str) {
    let line = OutputLine::parse(line).map(|line| line.words.replace(COUNTER, "#").replace(CHANGING, "~"));
    assert_eq!(line.unwrap_or_else(|| "~".to_owned()), words);
}
