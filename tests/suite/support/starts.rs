//! Records what tests start, for `tests/times`, which sums it up.

use std::fs::OpenOptions;
use std::io::Write;

/// Things that take time to start.
#[derive(Clone, Copy)]
pub enum Started {
    Database,
    Program,
    Server,
    Sweep,
    Terminal,
}

/// Appends a line with the name of the test to the file that `TEST_STARTS` names; without one, does nothing.
#[expect(clippy::disallowed_methods, reason = "a test's own variable, no setting of sweep's")]
pub fn record(started: Started) {
    let Some(path) = std::env::var_os("TEST_STARTS") else { return };
    let what = match started {
        Started::Database => "database",
        Started::Program => "program",
        Started::Server => "server",
        Started::Sweep => "sweep in process",
        Started::Terminal => "terminal",
    };
    // The thread of a test bears the test's name.
    let thread = std::thread::current();
    let line = format!("{what}\t{}\n", thread.name().unwrap_or_default());
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the file of TEST_STARTS");
}
