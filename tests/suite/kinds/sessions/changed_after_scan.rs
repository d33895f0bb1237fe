//! P2 for sessions: a sweep does not touch a session whose state changed after the scan.

use sweep::rules::session::SessionFacts;
use sweep::rules::{Id, Policy};

use crate::support::in_process::examine_by;
use crate::support::world::on_each_database;

/// One change for each column that the rule for a session reads; `:s` the session, `:i` its issue, `:a` its agent.
const CHANGES: [(&str, &str); 11] = [
    ("paused", "update sessions set status = 'paused' where id = ':s'"),
    ("ended", "update sessions set status = 'terminated', ended_at = :now, exit_code = 0 where id = ':s'"),
    ("interrupted", "update sessions set status = 'interrupted', ended_at = :now where id = ':s'"),
    ("not to be disturbed", "update sessions set stall_paused = :true where id = ':s'"),
    ("active again", "update sessions set last_activity_at = :now where id = ':s'"),
    ("given more time", "update sessions set silent_after_seconds = 999999 where id = ':s'"),
    (
        "nudged",
        "insert into session_commands (id, session_id, command, requested_by) values (':new', ':s', 'nudge', 'host')",
    ),
    ("its issue was finished", "update issues set status = 'done' where id = ':i'"),
    ("its issue was blocked", "update issues set status = 'blocked' where id = ':i'"),
    ("its issue waits", "update issues set waiting_for = 'approval' where id = ':i'"),
    ("its agent was paused", "update agents set status = 'paused' where id = ':a'"),
];

on_each_database! {
    fn a_session_that_changed_after_the_scan_is_left_alone(world) {
        let mut db = world.connect_as_sweep();
        for (what, change) in CHANGES {
            for policy in [Policy::default(), Policy { nudges_max: 0, ..Policy::default() }] {
                let agent = world.agent("idle");
                let issue = world.orphan(&agent);
                let session = world.session(Some(&agent), Some(&issue));
                let (now, yes) =
                    (world.ago(0), if world.on == crate::support::world::On::Sqlite { "1" } else { "true" });
                let change = change.replace(":s", &session.0).replace(":i", &issue.0).replace(":a", &agent.0);
                world.run(&change.replace(":now", &now).replace(":true", yes).replace(":new", &Id::generate().0));

                let done = examine_by::<SessionFacts>(&mut db, &session, &policy);

                assert!(!done.is_change(), "{what}: {done}");
                assert_eq!((world.commands(&session, "nudge"), world.comments_on(&issue)), (0, 0), "{what}");
            }
        }
    }

    /// The control: an unchanged session is touched.
    fn a_session_that_did_not_change_is_nudged(world) {
        let session = world.session(None, None);
        assert!(examine_by::<SessionFacts>(&mut world.connect_as_sweep(), &session, &Policy::default()).is_change());
    }
}
