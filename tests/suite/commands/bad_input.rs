//! Arguments and variables that are wrong: one line that names the setting, the value and what was expected; exit code
//! 64 for arguments, 78 for variables; and nothing is made.

mod urls;

use rstest::rstest;

use crate::support::program::{sweep, sweep_at};
use crate::support::world::{On, World};

const USAGE: i32 = 64;
const UNAVAILABLE: i32 = 69;
const CONFIG: i32 = 78;

mod variables {
    use super::*;

    #[rstest]
    #[case::a_word_for_a_duration("SWEEP_ORPHAN_GRACE", "soon", "expected a duration such as 90s, 30m or 1h 30m")]
    #[case::a_negative_duration("SWEEP_ORPHAN_GRACE", "-5m", "expected a duration")]
    #[case::a_duration_without_unit("SWEEP_RETRY_DELAY", "5", "expected a duration")]
    #[case::a_duration_beyond_all("SWEEP_RETRY_DELAY", "20y", "at most ten years")]
    #[case::no_time_at_all("SWEEP_STEP_STALLED_AFTER", "0s", "at least 1ms")]
    #[case::less_than_the_views_can_see("SWEEP_WAKE_STUCK_AFTER", "5s", "at least 1m")]
    #[case::no_connection("SWEEP_CONNECTIONS", "0", "from 1 to 64")]
    #[case::too_many_connections("SWEEP_CONNECTIONS", "65", "from 1 to 64")]
    #[case::no_limit_by_zero("SWEEP_LIMIT", "0", "a whole number from 1")]
    #[case::a_negative_number("SWEEP_ATTEMPTS_MAX", "-1", "a whole number from 0")]
    #[case::a_fraction("SWEEP_ATTEMPTS_PER_DAY_MAX", "1.5", "a whole number from 0")]
    #[case::another_escalation("SWEEP_ESCALATION", "shout", "expected comment_and_block or comment_only")]
    #[case::less_than_a_second("SWEEP_SESSION_SILENT_AFTER", "500ms", "at least 1s")]
    #[case::less_than_a_second_of_a_run("SWEEP_RUN_SILENT_AFTER", "0s", "at least 1s")]
    #[case::nudges_on_end("SWEEP_NUDGE_DELAY", "0s", "at least 1s")]
    #[case::half_a_relaunch("SWEEP_AUTO_RELAUNCH", "maybe", "expected on or off")]
    #[case::another_log_format("SWEEP_LOG_FORMAT", "xml", "expected text or json")]
    #[case::no_filter("SWEEP_LOG", "=", "expected a filter such as warn or sweep=debug")]
    fn a_value_that_is_wrong_is_refused(#[case] name: &str, #[case] value: &str, #[case] expected: &str) {
        let (setting, value) = (format!("{name}: "), format!("“{value}”"));
        let ran = sweep([]).env(name, value.trim_matches(['“', '”'])).run();
        ran.refused(CONFIG, &[&setting, &value, expected]);
    }

    #[test]
    fn a_setting_that_is_misspelt_is_refused_with_the_nearest_known_one() {
        let ran = sweep([]).env("SWEEP_ORFAN_GRACE", "1m").run();
        ran.refused(CONFIG, &["SWEEP_ORFAN_GRACE: no such setting; did you mean SWEEP_ORPHAN_GRACE?"]);
        let ran = sweep([]).env("SWEEP_MOON_PHASE_OFFSET", "1").run();
        ran.refused(CONFIG, &["SWEEP_MOON_PHASE_OFFSET: no such setting", "`sweep config` lists all that there are"]);
    }

    #[rstest]
    #[case("SWEEP_DURABLE", "several subjects always wait for the disk together")]
    #[case("SWEEP_HUNG_AFTER", "ten times SWEEP_STATEMENT_TIMEOUT")]
    #[case("SWEEP_LISTEN_GRACE", "the host says how long it needs")]
    #[case("SWEEP_LOCK_TIMEOUT", "for at most 500ms")]
    #[case("SWEEP_ONLY", "there is only the option --only")]
    #[case("SWEEP_OUTPUT", "use the option --output")]
    #[case("SWEEP_RELAUNCHES_MAX", "a crashed session is relaunched once")]
    #[case("SWEEP_STATEMENT_CACHE", "sweep notices by itself")]
    #[case("SWEEP_TENANT", "there is only the option --tenant")]
    #[case("SWEEP_WATCH_INTERVAL", "follows from its thresholds")]
    fn a_setting_of_an_earlier_release_is_refused_with_what_there_is_in_its_place(
        #[case] name: &str,
        #[case] instead: &str,
    ) {
        sweep([]).env(name, "1").run().refused(CONFIG, &[&format!("{name}: no such setting; "), instead]);
    }

    #[test]
    fn an_empty_variable_is_an_unset_one() {
        let world = World::new(On::Sqlite);
        let mut program = sweep_at(&world.url, ["--dry-run"]);
        for name in ["SWEEP_ORPHAN_GRACE", "SWEEP_LIMIT", "SWEEP_DEADLINE", "SWEEP_LOG", "DATABASE_URL"] {
            program = program.env(name, " ");
        }
        program.run().done();
    }

    #[test]
    fn the_variables_that_kubernetes_sets_for_a_service_named_sweep_are_no_settings() {
        let world = World::new(On::Sqlite);
        let mut program = sweep_at(&world.url, ["--dry-run"]);
        for (name, value) in [
            ("SWEEP_SERVICE_HOST", "10.0.0.7"),
            ("SWEEP_SERVICE_PORT", "80"),
            ("SWEEP_SERVICE_PORT_HTTP", "80"),
            ("SWEEP_PORT", "tcp://10.0.0.7:80"),
            ("SWEEP_PORT_80_TCP_ADDR", "10.0.0.7"),
            ("SWEEP_METRICS_SERVICE_HOST", "10.0.0.8"),
            ("SWEEP_METRICS_PORT_80_TCP", "tcp://10.0.0.8:80"),
        ] {
            program = program.env(name, value);
        }
        program.run().done();
    }
}

mod arguments {
    use super::*;

    #[rstest]
    #[case::zero("--limit 0", "--limit 0: expected a whole number from 1")]
    #[case::no_number("--limit x", "--limit x: expected a whole number from 1")]
    #[case::a_statement_timeout_that_the_server_refuses("--set statement_timeout=30d", "and at most 1d")]
    #[case::no_value("--limit", "--limit: its value is missing")]
    #[case::too_many_connections("--set connections=65", "--set connections=65: expected a whole number from 1 to 64")]
    #[case::another_kind("--only plans", "--only plans: expected sessions, issues or steps")]
    #[case::no_kind("--only=", "--only is empty: expected sessions, issues or steps")]
    #[case::a_negative_duration("--set orphan_grace=-5m", "--set orphan_grace=-5m: expected a duration")]
    #[case::a_negative_duration_behind_an_equals_sign("--set=orphan_grace=-5m", "--set orphan_grace=-5m: expected")]
    #[case::no_time_at_all(
        "--set step_stalled_after=0s",
        "--set step_stalled_after=0s: expected a duration of at least"
    )]
    #[case::less_than_the_views_can_see("--set wake_stuck_after=5s", "--set wake_stuck_after=5s: expected a duration")]
    #[case::another_escalation(
        "--set escalation=shout",
        "--set escalation=shout: expected comment_and_block or comment_only"
    )]
    #[case::another_output("--output yaml", "--output yaml: expected table, json or ndjson")]
    #[case::too_large_a_share("--set guard_share=50", "--set guard_share=50: expected a share from 0 to 1")]
    #[case::no_share("--set guard_share=NaN", "--set guard_share=NaN: expected a share from 0 to 1")]
    #[case::no_time_at_all("--set deadline=0s", "--set deadline=0s: expected a duration of at least 1ms")]
    #[case::no_wakes("--set wakes_per_agent_max=0", "--set wakes_per_agent_max=0: expected a whole number from 1")]
    #[case::another_mode("--set issues=maybe", "--set issues=maybe: expected on, shadow or off")]
    #[case::a_plan_and_kinds("--apply plan.json --only issues", "--apply and --only cannot be used together")]
    #[case::a_plan_that_is_not_there("--apply nowhere.json", "--apply nowhere.json: No such file")]
    #[case::a_session_and_kinds("--session ada-1 --only issues", "--only names kinds")]
    #[case::no_session("--session=", "--session is empty: expected a few words")]
    #[case::a_message_that_is_a_key("--set nudge_message=y\u{3}", "expected one line without control characters")]
    #[case::no_message("--set nudge_message=", "--set nudge_message=: expected a few words")]
    #[case::less_than_a_second("--set session_silent_after=0s", "expected a duration of at least 1s")]
    #[case::a_subject_and_kinds("--issue 0198c2a4-5b1e-7cc3-9d0a-3f2b8e6a7d10 --only issues", "--only names kinds")]
    #[case::an_option_of_an_earlier_release(
        "--orphan-grace 5m",
        "has no option --orphan-grace; use --set orphan_grace=…"
    )]
    #[case::another_one("--durable each", "has no option --durable; several subjects always wait")]
    #[case::a_setting_that_is_misspelt("--set orfan_grace=5m", "no such setting; did you mean orphan_grace?")]
    #[case::a_setting_that_is_gone("--set lock_timeout=1s", "no such setting; a foreign-key check waits")]
    #[case::a_setting_without_a_value("--set limit", "--set limit: expected NAME=VALUE, such as orphan_grace=5m")]
    #[case::a_setting_twice("--set limit=1 --limit 2", "--set limit is given twice")]
    #[case::a_secret("--set slack_url=https://hooks.example", "everybody can read a command line: set SWEEP_SLACK_URL")]
    #[case::a_command_of_an_earlier_release("nudge fence", "there is no command nudge; use `sweep session nudge`")]
    #[case::a_command_about_steps("skip-step x", "there is no command skip-step; use `sweep step skip`")]
    #[case::misspelt("--limt 3", "`sweep` has no option --limt; did you mean --limit?")]
    #[case::unknown("--frobnicate", "`sweep` has no option --frobnicate")]
    #[case::an_unknown_command("frobnicate", "there is no command frobnicate")]
    #[case::an_unknown_host("migrate --host mars", "--host mars: expected native, paperclip or prefect")]
    fn an_argument_that_is_wrong_is_refused(#[case] line: &str, #[case] says: &str) {
        sweep(line.split(' ')).run().refused(USAGE, &[says]);
    }

    #[test]
    fn an_id_that_is_not_there_is_refused() {
        let (world, id) = (World::new(On::Sqlite), "0198c2a4-5b1e-7cc3-9d0a-3f2b8e6a7d10");
        let ran = sweep_at(&world.url, ["--issue", id]).run();
        ran.refused(USAGE, &["there is no issue", id]);
        let ran = sweep_at(&world.url, ["--step", id, "--dry-run"]).run();
        ran.refused(USAGE, &["there is no step", id]);
    }

    #[test]
    fn flags_win_over_the_environment_and_the_environment_over_the_defaults() {
        let mut world = World::new(On::Sqlite);
        let agent = world.agent("idle");
        let _two = [world.orphan(&agent), world.orphan(&agent)];
        let continued = |program: crate::support::program::Program| {
            let ran = program.env("SWEEP_LIMIT", "1").run().done();
            ran.json()["kinds"]["issues"]["continued"].as_i64()
        };
        let dry_run = ["--dry-run", "--output", "json"];
        let with = |further: &[&'static str]| sweep_at(&world.url, [&dry_run, further].concat());
        assert_eq!(continued(with(&[])), Some(1));
        assert_eq!(continued(with(&["--limit", "2"])), Some(2));
        assert_eq!(continued(with(&["--set", "limit=2"])), Some(2));
        let elsewhere = with(&["--limit", "2"]).env("DATABASE_URL", "sqlite:///nowhere");
        assert_eq!(continued(elsewhere), Some(2));
    }

    #[test]
    fn help_and_version_are_no_errors() {
        for (flag, says) in [("--help", "Exit codes"), ("-h", "--dry-run"), ("--version", env!("CARGO_PKG_VERSION"))] {
            let ran = sweep([flag]).run().done();
            assert!(ran.out.contains(says), "{ran}");
            assert_eq!(ran.err, "");
        }
    }
}

#[test]
fn a_kind_that_is_named_twice_is_swept_and_counted_once() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    world.orphan(&agent);
    let ran = sweep_at(&world.url, ["--only", "issues,issues", "--output", "json"]).run().done();
    assert_eq!(ran.json()["kinds"]["issues"]["continued"], 1);
}

#[test]
fn a_kind_behind_a_minus_is_left_out_and_the_others_are_swept() {
    let world = World::new(On::Sqlite);
    let report = sweep_at(&world.url, ["--only", "-issues", "--output", "json"]).run().done().json();
    let swept: Vec<&String> = report["kinds"].as_object().expect("kinds").keys().collect();
    assert_eq!(swept, ["sessions", "steps"]);
}

mod closed_pipes {
    use super::*;

    #[test]
    fn help_that_nobody_reads_ends_quietly() {
        let ran = sweep(["--help"]).without_reader_of_stdout().run().done();
        assert_eq!(ran.err, "");
    }

    #[rstest]
    #[case("table")]
    #[case("json")]
    #[case("ndjson")]
    fn a_report_that_nobody_reads_does_not_stop_the_sweep(#[case] output: &str) {
        let mut world = World::new(On::Sqlite);
        let agent = world.agent("idle");
        let issues: Vec<_> = (0..3).map(|_| world.orphan(&agent)).collect();
        sweep_at(&world.url, ["--output", output]).without_reader_of_stdout().run().done();
        for issue in issues {
            assert_eq!(world.wakes_for(&issue), 1);
        }
    }

    #[test]
    fn a_report_for_which_there_is_no_room_is_a_failure_and_the_sweep_is_done() {
        let mut world = World::new(On::Sqlite);
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let ran = sweep_at(&world.url, ["--output", "json"]).with_a_full_stdout().run();
        ran.says_once(1, &["the report could not be written: No space left on device"]);
        assert_eq!(world.wakes_for(&issue), 1);
    }

    #[test]
    fn an_error_that_nobody_reads_changes_no_exit_code() {
        assert_eq!(sweep([]).without_reader_of_stderr().run().code, CONFIG);
        assert_eq!(sweep(["--limit", "0"]).without_reader_of_stderr().run().code, USAGE);
    }

    #[test]
    fn logs_that_nobody_reads_do_not_stop_the_sweep() {
        let world = World::new(On::Sqlite);
        let ran = sweep_at(&world.url, ["--output", "json"]).without_reader_of_stderr().run();
        assert_eq!((ran.code, ran.json()["ended"].as_str()), (0, Some("completed")));
    }
}
