//! A daemon that is a guest in another program's file: runs that end there are noticed if the host's folder says where.

use rstest::rstest;

use super::guest_files::Owner;
use crate::support::daemon::{Daemon, EACH_SECOND, NEVER, daemon};
use crate::support::folder::Folder;
use crate::support::program::migrate_at;
use crate::support::wait::wait_for;

const CONFIG: i32 = 78;

/// The example's folder, whose jobs say when they ended.
fn folder_with_run_ends() -> Folder {
    let folder = Folder::copy_of("examples/host".as_ref());
    let runs = "create view runs as";
    let ends = "create view run_ends as select cast(strftime('%s', j.ended_at) as integer) as id, j.task_id as \
                subject_id from main.jobs j where j.ended_at is not null;\n\n";
    folder.replace("sqlite/0001_work/up.sql", runs, &format!("{ends}{runs}"));
    folder
}

const ENDS: &str = "update jobs set state = 'failed', ended_at = datetime('now') where id = 1";

#[rstest]
#[case("wal")]
#[case("delete")]
fn the_task_of_a_job_that_ended_is_continued_at_once(#[case] journal: &str) {
    let (mut owner, folder) = (Owner::new(journal), folder_with_run_ends());
    owner.run("pragma busy_timeout = 5000");
    let directory = folder.path().display().to_string();
    migrate_at(&owner.url, ["--host-dir", &directory]).run().done();
    let program = daemon(&owner.url, NEVER, ["--listen", "on"]).env("SWEEP_HOST_DIR", &directory);
    let mut daemon = Daemon::start(program);
    daemon.says("listening for runs that end");
    owner.run(ENDS);
    let queued = "select task_id || '' from jobs where state = 'queued'";
    wait_for("a job", || (owner.texts(queued) == ["2"]).then_some(()));
    owner.run("update tasks set note = 'written later' where id = 1");
    daemon.ends_well();
    assert_eq!(owner.texts("select note from tasks where id = 1"), ["written later"]);
}

#[test]
fn a_host_that_notes_no_ends_has_the_schedule_unless_somebody_insists() {
    let owner = Owner::with_sweep("wal");
    let example = crate::support::folder::example("");
    let daemon_of = |schedule, further: &[&'static str]| {
        daemon(&owner.url, schedule, further.iter().copied()).env("SWEEP_HOST_DIR", &example)
    };
    daemon_of(NEVER, &["--listen", "on"]).run().refused(CONFIG, &["its host has no `run_ends`", "host-reference.md"]);
    let mut daemon = Daemon::start(daemon_of(EACH_SECOND, &[]));
    daemon.says("INFO runs that end are not heard of, the schedule finds them: nothing notes in the file");
    daemon.says_times(2, "sweep completed");
    daemon.ends_well();
}
