//! systemd's journal has a time and a priority for each line: there the log has neither a time of its own nor another
//! form, whether a daemon wrote it or a single sweep.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::support::daemon::{EACH_SECOND, daemon};
use crate::support::program::{Program, sweep, sweep_at};
use crate::support::wait::wait_for;
use crate::support::world::{On, World};

/// A file that says to be the journal.
struct Journal {
    _directory: TempDir,
    path: PathBuf,
    file: File,
}

impl Journal {
    fn new() -> Journal {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("journal");
        let file = File::options().create(true).append(true).open(&path).expect("a file");
        Journal { _directory: directory, path, file }
    }

    /// Has a program log into the journal, as systemd starts a service.
    fn take_log_of(&self, program: Program) -> Program {
        let of = self.file.metadata().expect("a file");
        program.env("JOURNAL_STREAM", format!("{}:{}", of.dev(), of.ino())).with_stderr_in(&self.file)
    }

    fn lines(&self) -> Vec<String> {
        std::fs::read_to_string(&self.path).expect("a file").lines().map(str::to_owned).collect()
    }

    fn line(&self, words: &str) -> Option<String> {
        self.lines().into_iter().find(|line| line.contains(words))
    }
}

/// One issue to continue, one step to escalate.
fn work() -> World {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    world.orphan(&agent);
    world.stalled_step(None);
    world
}

#[test]
fn each_line_of_a_sweep_has_its_priority_and_no_time() {
    let (world, journal) = (work(), Journal::new());
    journal.take_log_of(sweep_at(&world.url, [])).run().done();
    let lines = journal.lines();
    assert_eq!(lines.len(), 3, "{lines:?}");
    for (line, begins) in lines.iter().zip(["<6> INFO issue T-", "<4> WARN step Launch #1", "<6> INFO sweep completed"])
    {
        assert!(line.starts_with(begins), "{line}");
    }
}

#[test]
fn a_daemon_writes_the_same_lines() {
    let (world, journal) = (work(), Journal::new());
    let mut program = journal.take_log_of(daemon(&world.url, EACH_SECOND, []));
    let mut child = program.start();
    wait_for("a sweep", || journal.line("sweep completed"));
    kill_process(Pid::from_child(&child), Signal::TERM).expect("a signal");
    assert!(child.wait().expect("an end").success());
    let lines = journal.lines();
    assert!(lines.iter().any(|line| line.starts_with("<4> WARN step Launch #1")), "{lines:?}");
    let has_priority =
        |line: &String| ["<3>ERROR ", "<4> WARN ", "<6> INFO "].iter().any(|mark| line.starts_with(mark));
    assert!(lines.iter().all(has_priority), "{lines:?}");
}

#[test]
fn in_json_a_line_has_its_priority_and_no_time_as_well() {
    let (world, journal) = (work(), Journal::new());
    journal.take_log_of(sweep_at(&world.url, [])).env("SWEEP_LOG_FORMAT", "json").run().done();
    for line in journal.lines() {
        let (priority, document) = line.split_once('>').expect("a priority");
        let document: serde_json::Value = serde_json::from_str(document).expect("JSON");
        assert!(document["timestamp"].is_null() && document["message"].is_string(), "{line}");
        assert_eq!(priority, if document["level"] == "WARN" { "<4" } else { "<6" });
    }
}

#[test]
fn why_a_service_failed_is_an_error() {
    let journal = Journal::new();
    assert_eq!(journal.take_log_of(sweep(["--limit", "none"])).run().code, 64);
    assert_eq!(journal.take_log_of(sweep(["daemon"])).env("SWEEP_SCHEDULE", "hourly").run().code, 78);
    let lines = journal.lines();
    assert!(lines.len() == 2 && lines.iter().all(|line| line.starts_with("<3>sweep: ")), "{lines:?}");
}

#[test]
fn what_does_not_go_to_the_journal_has_its_time_and_no_priority() {
    let (world, journal) = (work(), Journal::new());
    let elsewhere = File::create(journal.path.with_file_name("elsewhere")).expect("a file");
    let ran = journal.take_log_of(sweep_at(&world.url, [])).with_stderr_in(&elsewhere);
    ran.run().done();
    let text = std::fs::read_to_string(journal.path.with_file_name("elsewhere")).expect("a file");
    assert!(
        text.lines().count() == 3 && text.lines().all(|line| line.starts_with("20") && line.contains("Z ")),
        "{text}"
    );
    assert_eq!(journal.lines(), [""; 0]);
}
