//! P2: a write repeats what was seen, so that even without a lock it changes no row that has changed since.

use diesel::QueryResult;
use diesel::result::Error;
use sweep::rules::issue::IssueFacts;
use sweep::rules::request::Request;
use sweep::rules::session::SessionFacts;
use sweep::rules::step::StepFacts;
use sweep::rules::{Cause, Id, Policy};
use sweep::store::hosts::links::Links;
use sweep::store::work::ledger::{self, Action, LedgerEntry};
use sweep::store::{Access, Db, Subject, Timeouts, Writes};

use crate::support::world::{World, on_each_database};

/// Runs `body` as a sweep does, and returns why it was rolled back: `RollbackTransaction` if nothing was refused.
fn tried(world: &World, body: impl FnOnce(&mut Db) -> QueryResult<()>) -> Error {
    let written = world.connect_as_sweep().in_transaction(Access::Write, &Timeouts::default(), |db| {
        body(db)?;
        Err::<(), Error>(Error::RollbackTransaction)
    });
    written.expect_err("it is rolled back").error()
}

/// Checks that a write about a subject that was seen before `change` is refused, and is accepted without the change.
fn is_refused_after<S: Subject>(
    world: &mut World,
    id: &Id,
    change: &str,
    write: impl Fn(&mut Db, &S) -> QueryResult<()>,
) {
    let mut seen = None;
    let read = tried(world, |db| S::read(db, id).map(|facts| seen = facts));
    let seen = seen.unwrap_or_else(|| panic!("{read}"));
    assert_eq!(tried(world, |db| write(db, &seen)), Error::RollbackTransaction, "the control, before: {change}");
    world.run(change);
    assert_eq!(tried(world, |db| write(db, &seen)), Error::NotFound, "{change}");
}

fn escalate<S: Subject>(db: &mut Db, seen: &S) -> QueryResult<()> {
    let mut writes = Writes::default();
    seen.escalate(&mut writes, &Cause::Exhausted, &Policy::default(), &Links::default());
    writes.execute(db)
}

/// Records an escalation, which settles the open row.
fn settle<S: Subject>(db: &mut Db, seen: &S) -> QueryResult<()> {
    let id = Id::generate();
    let entry = LedgerEntry {
        id: &id,
        sweep_id: &id,
        action: Action::Escalate,
        reason: String::new(),
        attempt: 1,
        wake_id: None,
        requested_by: None,
        blocked_subject: false,
        lost_agent: false,
        settles: Some(seen.history().open.as_ref().expect("an open row")),
    };
    let mut writes = Writes::default();
    ledger::record(&mut writes, seen, &entry);
    writes.execute(db)
}

on_each_database! {
    fn an_issue_that_somebody_changed_is_not_blocked(world) {
        let agent = world.agent("idle");
        for change in ["status = 'done'", "assignee_agent_id = null"] {
            let issue = world.orphan(&agent);
            let change = format!("update issues set {change} where id = '{issue}'");
            is_refused_after::<IssueFacts>(world, &issue, &change, escalate);
        }
    }

    fn what_another_sweep_settled_is_not_settled_again(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.sweep();
        let change = format!("update recoveries set settled_at = created_at where subject_id = '{issue}'");
        is_refused_after::<IssueFacts>(world, &issue, &change, settle);
    }

    fn a_step_that_somebody_finished_is_not_skipped_and_a_plan_that_is_over_not_stalled(world) {
        let agent = world.agent("idle");
        let (plan, step) = world.stalled_step(Some(&agent));
        let change = format!("update plans set status = 'cancelled' where id = '{plan}'");
        is_refused_after::<StepFacts>(world, &step, &change, escalate);
        let change = format!("update plan_steps set status = 'completed' where id = '{step}'");
        is_refused_after::<StepFacts>(world, &step, &change, |db, seen| seen.write(db, Request::SkipStep));
    }

    fn a_session_that_somebody_changed_is_neither_paused_nor_called_alive(world) {
        for (request, change) in [
            (Request::Pause, "stall_paused = true"),
            (Request::Pause, "status = 'terminated'"),
            (Request::Heartbeat, "ended_at = started_at"),
        ] {
            let session = world.session(None, None);
            let change = format!("update sessions set {change} where id = '{session}'");
            is_refused_after::<SessionFacts>(world, &session, &change, |db, seen| seen.write(db, request));
        }
    }
}
