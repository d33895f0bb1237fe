//! A host that breaks a promise is found out, and by that promise: each case is one change of the example, and plays
//! the one check that has to see it.

use rstest::rstest;

use super::{SOME_FAILED, tables, verdicts, verify_one};
use crate::support::folder::Folder;
use crate::support::scratch::Scratch;

pub(super) const UP: &str = "postgres/0001_work/up.sql";
const INSERT_A_JOB: &str =
    "insert into public.jobs (task_id, worker_id) values (new.issue_id, new.agent_id) returning id into job;";

#[rstest]
#[case::two_wakes(
    "continuation",
    "expected 1",
    INSERT_A_JOB,
    "insert into public.jobs (task_id, worker_id)
    values (new.issue_id, new.agent_id); insert into public.jobs (task_id, worker_id)
    values (new.issue_id, new.agent_id) returning id into job;"
)]
#[case::no_wake_and_a_row_returned(
    "continuation",
    "finds 0, expected 1",
    "insert into wake_jobs values (new.id, job, new.requested_by, new.reason);",
    "delete from public.jobs where id = job;"
)]
#[case::no_wake_and_none_returned(
    "continuation", "its trigger wrote nothing", "new.reason);\n    return new;", "new.reason);\n    return null;"
)]
#[case::a_wake_for_another_worker(
    "continuation",
    "was woken for it, which is another's",
    "values (new.issue_id, new.agent_id) returning",
    "select new.issue_id, min(id) from public.workers returning"
)]
#[case::an_assignee_that_is_changed(
    "escalation",
    "and is nobody's now",
    "set state = 'stuck', note",
    "set worker_id = null, state = 'stuck', note"
)]
#[case::a_sign_of_life_that_is_not_seen(
    "patience", "it was made a moment ago", "t.changed_at as updated_at", "timestamptz '2026-01-01' as updated_at"
)]
#[case::the_end_of_a_run_that_is_not_seen(
    "patience", "it stopped a moment ago", "j.ended_at as finished_at", "j.queued_at as finished_at"
)]
#[case::live_runs_that_are_not_seen(
    "patience",
    "`-- fixture issue: at work`",
    "when 'done' then 'succeeded' else j.state",
    "when 'failed' then 'failed' else 'succeeded'"
)]
#[case::a_paused_agent_that_is_woken(
    "patience",
    "`-- fixture agent: paused`",
    "case when enabled then 'active' else 'paused' end",
    "'active'"
)]
#[case::an_escalation_that_nobody_sees("escalation", "finds 0 of it", "set state = 'stuck', note", "set note")]
#[case::an_escalation_that_is_none(
    "escalation",
    "finds 0 of it",
    "where id = old.id and state = 'doing';\n    return case when found then new end",
    "where false;\n    return new"
)]
#[case::runs_of_the_worker_and_not_of_the_task(
    "patience",
    "expected to be continued",
    "left join wake_jobs w on w.job_id = j.id;",
    "left join wake_jobs w on w.job_id = j.id union all
     select -j.id - t.id, j.worker_id, t.id, null, null, 'running', j.queued_at, null, null, null, null
     from public.jobs j join public.tasks t using (worker_id) where j.state = 'running' and t.id <> j.task_id;"
)]
#[case::long_runs_that_are_called_dead(
    "patience",
    "it has been at work for 120 minutes, and still is",
    "when 'done' then 'succeeded' else j.state",
    "when 'done' then 'succeeded' 
          when 'running' then case when j.queued_at < now() - interval '1 hour' then 'failed' else 'running' end
     else j.state"
)]
#[case::an_escalation_without_a_word(
    "escalation",
    "no row of the host's has the comment",
    "note = concat_ws(E'\\n', nullif(note, ''), new.body)",
    "note = note"
)]
#[case::a_persons_words_that_are_written_over(
    "escalation",
    "what `-- fixture issue: noted` wrote is gone",
    "note = concat_ws(E'\\n', nullif(note, ''), new.body)",
    "note = new.body"
)]
#[case::a_comment_that_nobody_reads(
    "escalation",
    "with SWEEP_ESCALATION=comment_only, issue",
    "update public.tasks set note = concat_ws(E'\\n', nullif(note, ''), new.body) where id = new.issue_id;",
    "perform from public.tasks where id = new.issue_id;"
)]
#[case::old_rows_that_are_deleted(
    "footprint",
    "a row of jobs was deleted",
    INSERT_A_JOB,
    "delete from public.jobs where ended_at < now() - interval '1 day';
    insert into public.jobs (task_id, worker_id) values (new.issue_id, new.agent_id) returning id into job;"
)]
#[case::other_work_of_the_same_worker(
    "footprint",
    "is about no subject that was touched",
    "set state = 'stuck', note = concat_ws(E'\\n', nullif(note, ''), new.unblock_action), changed_at = new.updated_at
    where id = old.id",
    "set state = 'stuck', note = concat_ws(E'\\n', nullif(note, ''), new.unblock_action), changed_at = new.updated_at
    where worker_id = old.assignee_agent_id"
)]
#[case::a_function_that_anybody_may_call(
    "installation",
    "the role public has the right EXECUTE on function sweep.insert_comment()",
    "revoke execute on function update_issue, insert_wake, insert_comment from public;",
    ""
)]
#[case::a_function_that_finds_the_tables_of_others(
    "installation",
    "finds tables by the search path of whoever calls it",
    "security definer set search_path = sweep, pg_temp as $$
declare",
    "security definer as $$
declare"
)]
#[case::a_function_that_may_not_write(
    "installation",
    "writes with the rights of whoever sweeps",
    "security definer set search_path = sweep, pg_temp as $$
declare",
    "set search_path = sweep, pg_temp as $$
declare"
)]
#[case::a_view_for_everybody(
    "installation",
    "everybody has the right to select sweep.issues",
    "create view comments",
    "grant select on issues to public; create view comments"
)]
#[case::a_policy_on_a_table_of_the_hosts(
    "installation",
    "was not there before: public policy",
    "create view comments",
    "create policy ours on public.tasks using (true); create view comments"
)]
#[case::a_trigger_of_the_hosts_that_is_switched_off(
    "installation",
    "is gone: public CREATE TRIGGER",
    "create view comments",
    "alter table public.audit disable trigger audited; create view comments"
)]
#[case::a_comment_on_every_task(
    "footprint", "is about no subject that was touched", "new.body) where id = new.issue_id", "new.body) where true"
)]
#[case::a_table_that_is_not_named(
    "footprint",
    "audit was written, and is not among",
    INSERT_A_JOB,
    "insert into public.audit values (new.issue_id);
    insert into public.jobs (task_id, worker_id) values (new.issue_id, new.agent_id) returning id into job;"
)]
#[case::a_row_that_is_deleted(
    "footprint",
    "a row of jobs was deleted",
    INSERT_A_JOB,
    "delete from public.jobs where state = 'failed';
    insert into public.jobs (task_id, worker_id) values (new.issue_id, new.agent_id) returning id into job;"
)]
#[case::something_outside_of_the_schema(
    "installation",
    "was not there before",
    "create view host_behavior",
    "create view public.ours as select 1 as one; create view host_behavior"
)]
#[case::something_that_stays(
    "removal",
    "cannot drop",
    "create view host_behavior",
    "create table more (id int); create view host_behavior"
)]
#[case::a_host_that_is_not_locked(
    "locks",
    "did not wait while a sweep had it in hand",
    "from public.tasks t;",
    "from public.tasks_now() t;"
)]
#[case::facts_that_are_slow_with_many_rows(
    "cost",
    "issue_facts of one took",
    "null::text as obstacle",
    "case when (select count(*) from public.tasks) > 1000 then public.slow(0.11) end as obstacle"
)]
#[case::facts_that_are_slow_with_many_queued(
    "cost",
    "expected at most 10s: `SELECT * FROM issue_facts WHERE subject_id IN (",
    "null::text as obstacle",
    "case when (select count(*) from public.jobs where state = 'queued') > 200 then public.slow(0.018) end as obstacle"
)]
#[case::a_slow_statement_of_which_the_plan_is_named(
    "cost",
    "where the time goes: ",
    "null::text as obstacle",
    "case when (select count(*) from public.tasks) > 1000 then public.slow(0.11) end as obstacle"
)]
#[case::facts_that_read_all_wakes_for_each_issue(
    "cost",
    "issue_facts of one reads ",
    "wake_id uuid primary key,\n    job_id bigint not null unique",
    "wake_id uuid not null,\n    job_id bigint not null"
)]
#[case::candidates_that_read_all_work_for_each_issue(
    "cost",
    "issue_candidates reads [",
    "t.changed_at as updated_at",
    "greatest(t.changed_at, (select min(o.changed_at) from public.tasks o where o.state = 'doing' and o.id <> t.id))
        as updated_at"
)]
#[ignore = "played on PostgreSQL 18"]
fn a_host_that_breaks_a_promise_is_found_out_by_it(
    #[case] check: &str,
    #[case] why: &str,
    #[case] from: &str,
    #[case] to: &str,
) {
    let folder = Folder::new();
    folder.replace(UP, from, to);
    is_found_out(&audited(), &folder, check, why);
}

/// Their queue stands in neither view.
#[test]
fn wakes_of_the_host_that_are_not_seen_are_found_out() {
    let folder = Folder::new();
    folder.replace(
        UP,
        "where coalesce(j.state = 'queued', false) and not exists (select from wake_jobs w where w.job_id = j.id);",
        "where false;",
    );
    folder.replace(
        UP,
        "left join wake_jobs w on w.job_id = j.id;",
        "left join wake_jobs w on w.job_id = j.id where j.state <> 'queued';",
    );
    is_found_out(&audited(), &folder, "patience", "`-- fixture issue: queued`");
}

fn audited() -> Scratch {
    let database = tables();
    database.run(
        "create table audit (task_id bigint);
         create function audited() returns trigger language plpgsql as 'begin return new; end';
         create trigger audited before insert on audit for each row execute function audited();
         create function tasks_now() returns setof tasks language sql stable as 'select * from public.tasks';
         create function slow(seconds float) returns text language plpgsql stable as
             'begin perform pg_sleep(seconds); return null; end'",
    );
    database
}

#[track_caller]
pub(super) fn is_found_out(database: &Scratch, folder: &Folder, check: &str, why: &str) {
    let ran = verify_one(&database.url, folder, check);
    assert_eq!(ran.code, SOME_FAILED, "{ran}");
    let certificate = ran.json();
    // Without an installation nothing else is played.
    let played = match check {
        "installation" => vec![("installation", "broken")],
        other => vec![("installation", "kept"), (other, "broken")],
    };
    assert_eq!((verdicts(&certificate), &certificate["holds"]), (played, &false.into()), "{certificate:#}");
    let broken = certificate["checks"].as_array().and_then(|checks| checks.last()).expect("a check");
    assert!(broken["evidence"].to_string().contains(why), "{broken:#}");
}
