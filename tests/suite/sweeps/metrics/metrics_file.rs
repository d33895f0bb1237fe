//! The file of metrics: written after every sweep, in one step, and never a reason for a sweep to fail.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::text_format::samples;
use crate::support::program::sweep_at;
use crate::support::scratch::Role;
use crate::support::world::{On, World};
use sweep::store::Timeouts;
use sweep::store::connect::open::Url;
use sweep::store::read::metrics::read_from;

const CONFIG: i32 = 78;

fn in_a_directory() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("sweep.prom");
    (directory, file)
}

fn name(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[test]
fn the_file_is_there_after_a_sweep_for_everybody_to_read_and_nothing_else_is() {
    for on in [On::Postgres, On::Sqlite, On::Paperclip] {
        let mut world = World::new(on);
        let agent = world.agent("idle");
        world.orphan(&agent);
        let (directory, file) = in_a_directory();

        sweep_at(&world.url, ["--dry-run", "--set", &format!("metrics_file={}", name(&file))]).run().done();
        assert!(!file.exists(), "a dry run is none");
        sweep_at(&world.url, ["--set", &format!("metrics_file={}", name(&file))]).run().done();

        let reported = samples(&std::fs::read_to_string(&file).expect("a file"));
        assert_eq!(reported[r#"recoveries_total{kind="issue",action="continue"}"#], 1.0);
        let mode = file.metadata().expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("rights");
        sweep_at(&world.url, []).env("SWEEP_METRICS_FILE", &file).run().done();
        assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 1);
    }
}

#[test]
fn a_sweep_that_was_refused_or_stopped_is_reported_as_well() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    world.orphans(&agent, 0..31);
    let (_directory, file) = in_a_directory();
    let reported = |file: &Path| samples(&std::fs::read_to_string(file).expect("a file"));

    let ran =
        sweep_at(&world.url, ["--set", &format!("metrics_file={}", name(&file))]).env("SWEEP_GUARD_SHARE", "0.5").run();
    assert_eq!(ran.code, 4, "{ran}");
    assert_eq!(reported(&file)["last_sweep_exit_code"], 4.0);
    std::fs::remove_file(&file).expect("a file");
    let ran = sweep_at(&world.url, ["--set", &format!("metrics_file={}", name(&file)), "--tenant", "nobody"]).run();
    assert_eq!(ran.code, 64, "{ran}");
    assert_eq!(reported(&file)["last_sweep_exit_code"], 4.0, "a refused one leaves no row");
}

#[test]
fn when_the_database_is_gone_the_old_file_stays() {
    let (_directory, file) = in_a_directory();
    std::fs::write(&file, "old").expect("a file");
    let nowhere = "postgres://app@127.0.0.1:1/app";

    let ran = sweep_at(nowhere, ["--set", &format!("metrics_file={}", name(&file))]).run();

    ran.says_once(69, &["cannot reach PostgreSQL"]);
    assert!(ran.err.contains("WARN the metrics could not be written to"), "{ran}");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "old");
}

#[test]
fn a_file_that_cannot_be_written_is_a_warning_and_a_path_that_is_wrong_is_refused() {
    let world = World::new(On::Sqlite);
    let ran = sweep_at(&world.url, ["--set", "metrics_file=/proc/sweep.prom"]).run().done();
    assert!(ran.err.contains("WARN the metrics could not be written to /proc/sweep.prom"), "{ran}");

    let refused = |path: &str, why: &str| {
        sweep_at(&world.url, ["--set", &format!("metrics_file={path}")])
            .run()
            .refused(CONFIG, &["--set metrics_file: ", why]);
        let program = sweep_at(&world.url, ["--dry-run"]).env("SWEEP_METRICS_FILE", path);
        program.run().refused(CONFIG, &["SWEEP_METRICS_FILE: ", why]);
    };
    refused("/nowhere/sweep.prom", "there is no directory /nowhere");
    refused("/tmp", "expected the name of a file");
}

#[test]
fn reading_the_metrics_takes_few_rights_and_names_those_that_are_missing() {
    let role = Role::new();
    let mut world = World::new(On::Postgres);
    let url = Url::parse(&role.at(&world.url)).expect("a URL");
    let relations = "sweep.__diesel_schema_migrations, sweep.host, sweep.sweeps, sweep.recoveries, sweep.failures, \
        sweep.notifications, sweep.interventions, sweep.exemptions, sweep.agent_exemptions, sweep.tenant_exemptions";
    for right in ["usage on schema sweep".to_owned(), format!("select on {relations}")] {
        world.run(&format!("grant {right} to {}", role.name));
    }
    let error = read_from(&url, &Timeouts::default(), &Arc::default()).expect_err("a right is missing");
    let views = [
        "session_states", "issue_states", "step_states", "escalated_issues", "ledger_days", "upkeep", "false_rescues",
        "policy", "untaken_wakes", "wake_pickups",
    ];
    let views = views.map(|view| format!("sweep.{view}"));
    let lacks = views.each_ref().map(|view| format!("SELECT on {view}")).join(", ");
    assert!(format!("{error:#}").contains(&format!("lacks rights: {lacks}")), "{error:#}");
    world.run(&format!("grant select on {} to {}", views.join(", "), role.name));
    read_from(&url, &Timeouts::default(), &Arc::default()).unwrap_or_else(|error| panic!("{error:#}"));
}
