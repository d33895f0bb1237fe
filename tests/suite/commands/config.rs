//! `sweep config`: what every setting is and where it comes from, and never a secret.

use serde_json::Value;
use sweep::settings::definition::KnownSetting;
use sweep::settings::resolve::{ScopeFlags, SweepFlags};
use sweep::settings::table::all;
use sweep::settings::{Environment, Settings, resolve};

use crate::support::program::sweep;

const CONFIG: i32 = 78;

fn row<'a>(reported: &'a Value, name: &str) -> &'a Value {
    let rows = reported["settings"].as_array().expect("settings");
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name} in {reported:#}"))
}

#[test]
fn every_default_that_is_shown_is_the_one_that_is_used() {
    let names: Vec<String> = all().map(KnownSetting::variable).collect();
    let given: Vec<(&str, &str)> =
        names.iter().zip(all()).map(|(name, known)| (name.as_str(), known.default.as_str())).collect();
    // The user who runs the test has another home.
    let home = [("STATE_DIRECTORY", "/var/lib/sweep")];
    let of = |variables: &[(&str, &str)]| {
        let environment = Environment::of(variables);
        let sweep = Settings::resolve(SweepFlags::default(), &environment).expect("settings");
        let daemon = resolve::daemon(ScopeFlags::default(), &environment).expect("settings");
        (sweep, daemon)
    };

    let debug = |variables: &[_]| format!("{:?}", of(variables));
    assert_eq!(debug(&[&given[..], &home].concat()), debug(&home));
}

#[test]
fn every_setting_is_shown_with_its_value_and_its_source() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("sweep.env");
    std::fs::write(&file, "SWEEP_DEADLINE=5m\nSWEEP_LIMIT=7\n").expect("a file");
    let program = sweep(["config", "--output", "json", "--config", file.to_str().expect("a path")]);
    let reported =
        program.env("SWEEP_LIMIT", "9").env("DATABASE_URL", "postgres://app:hunter2@db/app").run().done().json();

    assert!((45..=55).contains(&all().count()), "an operator is to hold them in mind: {}", all().count());
    for known in all() {
        row(&reported, &known.variable());
    }
    let url = row(&reported, "DATABASE_URL");
    assert_eq!((&url["value"], &url["source"]), (&"postgres://***@db/app".into(), &"environment".into()));
    let deadline = row(&reported, "SWEEP_DEADLINE");
    assert_eq!((&deadline["value"], &deadline["source"]), (&"5m".into(), &"file".into()));
    assert_eq!(deadline["file"], file.to_str().expect("a path"));
    let limit = row(&reported, "SWEEP_LIMIT");
    assert_eq!((&limit["value"], &limit["source"]), (&"9".into(), &"environment".into()));
    let grace = row(&reported, "SWEEP_ORPHAN_GRACE");
    assert_eq!((&grace["value"], &grace["source"], &grace["error"]), (&"2m".into(), &"default".into(), &Value::Null));
    assert_eq!(row(&reported, "SWEEP_CONFIG")["value"], file.to_str().expect("a path"));
}

#[test]
fn no_secret_is_shown_wherever_it_is_kept() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("kept");
    std::fs::write(&file, "https://hooks.slack.com/services/hunter2\n").expect("a file");
    let database = directory.path().join("url");
    std::fs::write(&database, "postgres://app:hunter2@db/app\n").expect("a file");
    for layout in ["table", "json"] {
        let program = sweep(["config", "--output", layout])
            .env("SWEEP_SLACK_URL_FILE", &file)
            .env("SWEEP_WEBHOOK_URL", "https://example.org/hunter2")
            .env("SWEEP_WEBHOOK_SECRET", "hunter2")
            .env("SWEEP_PING_URL", "https://example.org/hunter2")
            .env("PGPASSWORD", "hunter2")
            .env("DATABASE_URL_FILE", &database);

        let ran = program.run().done();

        assert!(!ran.out.contains("hunter2") && !ran.err.contains("hunter2"), "{ran}");
        assert!(ran.out.contains("postgres://***@db/app"), "{ran}");
        if layout == "json" {
            let reported = ran.json();
            for name in ["SWEEP_SLACK_URL", "SWEEP_WEBHOOK_URL", "SWEEP_WEBHOOK_SECRET", "SWEEP_PING_URL", "PGPASSWORD"]
            {
                assert_eq!(
                    (&row(&reported, name)["value"], &row(&reported, name)["secret"]),
                    (&"***".into(), &true.into()),
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn a_value_that_cannot_be_used_is_shown_with_what_is_wrong() {
    let program =
        |layout| sweep(["config", "--output", layout]).env("SWEEP_DEADLINE", "soon").env("SWEEP_LOG_FORMAT", "xml");

    let ran = program("table").run();
    ran.says_once(CONFIG, &["what is set cannot be used: SWEEP_DEADLINE, SWEEP_LOG_FORMAT"]);
    assert!(ran.out.contains("soon") && ran.out.contains("expected a duration such as"), "{ran}");

    let ran = program("json").run();
    assert_eq!(ran.code, CONFIG);
    let reported = ran.json();
    assert_eq!(row(&reported, "SWEEP_LOG_FORMAT")["error"], "“xml”: expected text or json");
    assert_eq!(row(&reported, "SWEEP_LIMIT")["error"], Value::Null);
}

/// A URL that is right with its secret only is not blamed for what is wrong elsewhere, nor for its secret.
#[test]
fn what_needs_another_setting_is_not_blamed_for_a_third_one() {
    let wrong = [
        ("SWEEP_LIMIT", "some", "abc"),
        ("SWEEP_WEBHOOK_SECRET", "5", "whsec_hunter2"),
        ("SWEEP_WEBHOOK_URL", "5", ""),
    ];
    for (name, limit, secret) in wrong {
        let program = sweep(["config", "--output", "json"]).env("SWEEP_WEBHOOK_URL", "https://ops.example/sweep");
        let ran = program.env("SWEEP_WEBHOOK_SECRET", secret).env("SWEEP_LIMIT", limit).run();
        ran.says_once(CONFIG, &["what is set cannot be used: "]);
        assert!(ran.err.trim_end().ends_with(&format!(": {name}")), "{ran}");
    }
}

#[test]
fn a_secret_whose_file_is_missing_is_reported_by_its_name() {
    let ran = sweep(["config"]).env("SWEEP_SLACK_URL_FILE", "/nowhere").run();
    ran.says_once(CONFIG, &["SWEEP_SLACK_URL_FILE"]);
    assert!(ran.out.contains("cannot read /nowhere"), "{ran}");
}

#[test]
fn a_setting_that_is_not_known_is_refused_as_everywhere() {
    sweep(["config"]).env("SWEEP_ORFAN_GRACE", "1m").run().refused(CONFIG, &["did you mean SWEEP_ORPHAN_GRACE?"]);
}

#[test]
fn the_table_has_what_is_set_before_what_is_not() {
    let ran = sweep(["config"]).env("SWEEP_DEADLINE", "5m").run().done();
    let place = |word: &str| ran.out.find(word).unwrap_or_else(|| panic!("no {word}: {ran}"));
    assert!(
        place("SWEEP_DEADLINE") < place("Everything else") && place("Everything else") < place("SWEEP_LIMIT"),
        "{ran}"
    );
    assert!(ran.out.lines().all(|line| line.trim_end() == line), "{ran}");
}
