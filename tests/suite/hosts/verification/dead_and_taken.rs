//! A host that takes one state of a run, a wake or a note for another one is found out.

use rstest::rstest;

use super::broken_promises::{UP, is_found_out};
use super::tables;
use crate::support::folder::Folder;
use crate::support::scratch::Scratch;

const FIXTURES: &str = "postgres/fixtures.sql";

/// The team's tables, in which a worker notes that it lives, and takes a job before it begins.
fn with_signs_of_life() -> Scratch {
    let database = tables();
    database.run(
        "alter table jobs drop constraint jobs_state_check, add seen_at timestamptz, add claimed_at timestamptz;
         alter table jobs add check (state in ('queued', 'claimed', 'running', 'done', 'failed'))",
    );
    database
}

/// The views of such tables, as they should be: whoever was not heard of for ten minutes is dead, and a job that was
/// taken is no run yet.
fn knows_signs_of_life() -> Folder {
    let folder = Folder::new();
    folder.replace(UP, "when 'done' then 'succeeded' else j.state end as status,\n       j.queued_at", RUN);
    folder.replace(UP, "       j.ended_at as finished_at", "       coalesce(j.ended_at, dead.at) as finished_at");
    folder.replace(UP, "left join wake_jobs w on w.job_id = j.id;", DEAD);
    let taken = "case j.state when 'queued' then 'queued' when 'claimed' then 'claimed' when 'running' then 'claimed'";
    folder.replace(UP, "case j.state when 'queued' then 'queued' when 'running' then 'claimed'", taken);
    folder.replace(FIXTURES, "-- fixture issue: queued\n", BLOCKS);
    folder.replace(
        FIXTURES,
        "state, queued_at) values ({{ issue }}, {{ agent }}, 'running', {{ at }});",
        "state, queued_at, seen_at) values ({{ issue }}, {{ agent }}, 'running', {{ at }}, now());",
    );
    folder
}

const RUN: &str = "when 'done' then 'succeeded'
            when 'running' then case when dead.at is null then 'running' else 'failed' end
            else j.state end as status,
       j.queued_at";

const DEAD: &str = "left join wake_jobs w on w.job_id = j.id
left join lateral (
    select j.seen_at as at where j.state = 'running' and j.seen_at < now() - interval '10 minutes'
) dead on true
where j.state <> 'claimed';";

const BLOCKS: &str = "-- fixture issue: dies
update jobs set seen_at = {{ at }} where task_id = {{ issue }} and state = 'running';

-- fixture issue: claimed
update jobs set state = 'claimed', queued_at = {{ at }}, claimed_at = {{ at }}
where task_id = {{ issue }} and state = 'queued';

-- fixture issue: queued
";

/// The control of all that follow: nothing of it is broken where nothing is mistaken.
#[test]
#[ignore = "played on PostgreSQL 18"]
fn a_host_that_knows_the_dead_and_the_taken_keeps_every_promise() {
    let checks = ["continuation", "recovery", "escalation", "patience", "candidates"];
    super::keeps(&with_signs_of_life(), &knows_signs_of_life(), &checks);
}

#[rstest]
#[case::a_dead_worker_that_counts_as_running(
    "continuation",
    "`-- fixture issue: dies`: issue 10",
    "case when dead.at is null then 'running' else 'failed' end",
    "'running'"
)]
#[case::a_dead_worker_whose_end_is_now(
    "continuation",
    "`-- fixture issue: dies`: issue 10",
    "coalesce(j.ended_at, dead.at)",
    "coalesce(j.ended_at, case when dead.at is not null then now() end)"
)]
#[case::a_claimed_wake_that_is_always_young(
    "escalation",
    "no run has begun, and it would be left alone",
    "       j.queued_at as created_at
from wake_jobs w",
    "       case j.state when 'claimed' then now() else j.queued_at end as created_at
from wake_jobs w"
)]
#[ignore = "played on PostgreSQL 18"]
fn the_dead_and_the_claimed_are_found_out(
    #[case] check: &str,
    #[case] why: &str,
    #[case] from: &str,
    #[case] to: &str,
) {
    let folder = knows_signs_of_life();
    folder.replace(UP, from, to);
    is_found_out(&with_signs_of_life(), &folder, check, why);
}

#[test]
#[ignore = "played on PostgreSQL 18"]
fn a_claimed_wake_without_a_run_that_counts_as_one_is_found_out() {
    let folder = knows_signs_of_life();
    folder.replace(UP, "where j.state <> 'claimed';", ";");
    folder.replace(UP, "else j.state end as status", "when 'claimed' then 'running' else j.state end as status");
    let why = "no run has begun, and it would be left alone: a run is live";
    is_found_out(&with_signs_of_life(), &folder, "escalation", why);
}

#[rstest]
#[case::failed_taken_for_succeeded(
    "recovery",
    "`-- fixture issue: stops` is taken for a success",
    "when 'done' then 'succeeded' else j.state",
    "when 'done' then 'succeeded' when 'failed' then 'succeeded' else j.state"
)]
#[case::a_wake_under_another_id(
    "continuation",
    "wakes has no row with the id",
    "select w.wake_id as id",
    "select md5(w.wake_id::text)::uuid as id"
)]
#[case::a_taken_wake_that_stays_queued(
    "recovery",
    "its wake was taken up, and is queued in wakes: expected claimed or completed",
    "when 'running' then 'claimed' else 'completed'",
    "else 'queued'"
)]
#[case::a_note_that_only_a_log_keeps(
    "escalation",
    "what `-- fixture issue: noted` wrote is gone from tasks",
    "note = concat_ws(E'\\n', nullif(note, ''), new.unblock_action)",
    "note = new.unblock_action"
)]
#[case::a_note_that_a_comment_alone_writes_over(
    "escalation",
    "with SWEEP_ESCALATION=comment_only, issue",
    "note = concat_ws(E'\\n', nullif(note, ''), new.body)",
    "note = case state when 'stuck' then concat_ws(E'\\n', nullif(note, ''), new.body) else new.body end"
)]
#[ignore = "played on PostgreSQL 18"]
fn one_state_that_is_taken_for_another_is_found_out(
    #[case] check: &str,
    #[case] why: &str,
    #[case] from: &str,
    #[case] to: &str,
) {
    let (database, folder) = (tables(), Folder::new());
    database.run(
        "create table history (task_id bigint, note text);
         create function remember() returns trigger language plpgsql as
             'begin insert into public.history values (old.id, old.note); return null; end';
         create trigger remember after update on tasks for each row execute function remember()",
    );
    folder.replace(UP, from, to);
    is_found_out(&database, &folder, check, why);
}
