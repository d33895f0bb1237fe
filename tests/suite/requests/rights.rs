//! A person without the right is refused before anything is written, and told what is missing.

use super::command;
use crate::support::program::command_at;
use crate::support::scratch::Role;
use crate::support::world::{On, World};

const CONFIG: i32 = 78;

#[test]
fn a_role_that_may_only_read_is_told_what_it_lacks_and_writes_nothing() {
    let role = Role::new();
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let session = world.session(None, None);
    let (_, step) = world.stalled_step(Some(&agent));
    let (name, url) = (&role.name, role.at(&world.url));
    world.run(&format!(
        "grant usage on schema sweep to {name}; grant select on all tables in schema sweep to {name};
         grant execute on all functions in schema sweep to {name}"
    ));
    let before = world.rows_written();
    for (request, id, lacks) in [
        ("wake", &issue, &["INSERT on sweep.wakes", "UPDATE on sweep.issues"][..]),
        ("nudge", &session, &["INSERT on sweep.session_commands", "UPDATE on sweep.sessions"]),
        ("relaunch", &session, &["INSERT on sweep.session_commands"]),
        ("heartbeat", &session, &["UPDATE (last_activity_at) on sweep.sessions"]),
        ("pause", &session, &["UPDATE (stall_paused) on sweep.sessions"]),
        ("resume", &session, &["UPDATE (stall_paused) on sweep.sessions"]),
        ("fail-step", &step, &["UPDATE (status) on sweep.plan_steps"]),
        ("skip-step", &step, &["UPDATE (status) on sweep.plan_steps", "UPDATE on sweep.plans"]),
    ] {
        let says = [&["the role", "lacks rights:", "INSERT on sweep.recoveries"], lacks].concat();
        let ran = command_at(&url, command(request).into_iter().chain([id.0.as_str()])).run();
        assert!(!ran.err.contains("INSERT on sweep.comments"), "nobody is told by a comment: {ran}");
        ran.refused(CONFIG, &says);
    }
    assert_eq!(world.rows_written(), before);
}

/// A right on another column of the row, which a sweep needs to lock it, is not enough.
#[test]
fn a_role_that_may_lock_a_row_may_not_therefore_change_it() {
    let role = Role::new();
    let mut world = World::new(On::Postgres);
    let session = world.session(None, None);
    let (name, url) = (&role.name, role.at(&world.url));
    world.run(&format!(
        "grant usage on schema sweep to {name}; grant select, insert on all tables in schema sweep to {name};
         grant update on all tables in schema sweep to {name}; revoke update on sweep.sessions from {name};
         grant update (id) on sweep.sessions to {name}; grant execute on all functions in schema sweep to {name}"
    ));
    command_at(&url, ["session", "nudge", &session.0]).run().done();
    let refused = command_at(&url, ["session", "pause", &session.0]).run();
    refused.refused(CONFIG, &["lacks rights: UPDATE (stall_paused) on sweep.sessions"]);
    world.run(&format!("grant update (stall_paused) on sweep.sessions to {name}"));
    command_at(&url, ["session", "pause", &session.0]).run().done();
}
