//! What a database under load does not do in time is no evidence against a host, and none for it.

use rstest::rstest;
use serde_json::Value;

use super::{tables, verdicts, verify_one};
use crate::support::folder::Folder;
use crate::support::program::command_at;
use crate::support::scratch::hand_over;

/// Trying again helps.
const BUSY: i32 = 75;

const FIXTURES: &str = "postgres/fixtures.sql";
const UP: &str = "postgres/0001_work/up.sql";

/// Its block takes longer than a statement may.
fn too_slow_to_try() -> Folder {
    let folder = Folder::new();
    let slow = "-- fixture issue: at work\nset local statement_timeout = '20ms'; select pg_sleep(1);\n";
    folder.replace(FIXTURES, "-- fixture issue: at work\n", slow);
    folder
}

/// Its scheduler has the rows in hand that a sweep would write.
fn always_locked() -> Folder {
    let folder = Folder::new();
    let waits = "begin\n    raise exception 'canceling statement due to lock timeout' using errcode = '55P03';\n    \
        insert into public.jobs";
    folder.replace(UP, "begin\n    insert into public.jobs", waits);
    folder
}

#[rstest]
#[case::a_block(
    too_slow_to_try(),
    "patience",
    &["`-- fixture issue: at work` (", "insert into jobs", "statement timeout"]
)]
#[case::a_sweep(
    always_locked(),
    "continuation",
    &["issue 10", "a statement of a sweep's on agents, issues, wakes, comments", "lock timeout"]
)]
#[case::several_sweeps(
    always_locked(),
    "rivals",
    &["a statement of a sweep's on agents, issues, wakes", "lock timeout"]
)]
fn what_waited_in_vain_is_not_decided_and_names_the_statement(
    #[case] folder: Folder,
    #[case] check: &str,
    #[case] says: &[&str],
) {
    let ran = verify_one(&tables().url, &folder, check);
    assert_eq!(ran.code, BUSY, "{ran}");
    let certificate = ran.json();
    assert_eq!(verdicts(&certificate), [("installation", "kept"), (check, "not_decided")], "{certificate:#}");
    assert_eq!(certificate["holds"], Value::Null, "{certificate:#}");
    let evidence = certificate["checks"][1]["evidence"].to_string();
    for part in says {
        assert!(evidence.contains(part), "{part}: {evidence}");
    }
}

#[test]
fn people_read_what_was_waited_for_and_that_trying_again_may_help() {
    let (database, folder) = (tables(), too_slow_to_try());
    let path = folder.path().display().to_string();
    let verify = ["host", "verify", "--host-dir", &path, "--check", "patience"];
    let ran = command_at(&hand_over(&database.url), verify).run();
    assert_eq!((ran.code, ran.err.as_str()), (BUSY, ""), "{ran}");
    for part in [
        "  patience      not decided",
        "\npatience is not decided:\n  - `-- fixture issue: at work`",
        "\nThe promise that was tried is kept. Not decided, so try again: patience.\n",
    ] {
        assert!(ran.out.contains(part), "{part}: {ran}");
    }
}
