//! `tests/times` refuses a suite that takes longer than six minutes.

use std::io::Write;
use std::process::Command;

/// True if the script accepts a run of the suite that took so long.
fn accepts(seconds: f64, test: &str) -> bool {
    let mut run = tempfile::NamedTempFile::new().expect("a file");
    write!(
        run,
        r#"{{ "type": "suite", "event": "started", "test_count": 1 }}
{{ "type": "test", "event": "{test}", "name": "kinds::issues::postgres::a_test", "exec_time": 1.5 }}
{{ "type": "suite", "event": "ok", "passed": 1, "failed": 0, "exec_time": {seconds} }}
"#
    )
    .expect("a run");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/times");
    let ran = Command::new(script).arg("--from").arg(run.path()).output().expect("tests/times");
    let printed = String::from_utf8_lossy(&ran.stdout);
    assert!(printed.contains("1.5 s  kinds::issues::postgres::a_test"), "{printed}");
    ran.status.success()
}

#[test]
fn a_suite_that_takes_longer_than_six_minutes_is_refused() {
    assert!(accepts(359.0, "ok"));
    assert!(!accepts(361.0, "ok"));
    assert!(!accepts(359.0, "failed"));
}
