//! Functions of the schema `sweep`: the comment on each says who may call it, and no role gets more.

use rstest::rstest;

use super::ROLES;
use crate::support::folder::Folder;
use crate::support::program::command_at;
use crate::support::scratch::{Role, Scratch, hand_over, psql};
use crate::support::world::{On, World};

const SOME_FAILED: i32 = 1;
const CONFIG: i32 = 78;
const UP: &str = "postgres/0001_work/up.sql";
const DOWN: &str = "postgres/0001_work/down.sql";

/// Copies the example's folder, with a function that changes all tasks with its owner's rights.
fn with_a_function(comment: &str, volatility: &str) -> Folder {
    let folder = Folder::new();
    let up = std::fs::read_to_string(folder.path().join(UP)).expect("a file");
    folder.write(
        UP,
        &format!(
            "{up}
             create function write_all() returns bigint language sql security definer
             set search_path = sweep, pg_temp as $$ update public.tasks set title = 'evil' returning 1::bigint $$;
             create function close_all() returns bigint language plpgsql {volatility} security definer
             set search_path = sweep, pg_temp as $$ begin return write_all(); end $$;
             revoke execute on function write_all, close_all from public;
             {comment}"
        ),
    );
    let down = std::fs::read_to_string(folder.path().join(DOWN)).expect("a file");
    folder.write(DOWN, &format!("drop function close_all; drop function write_all; {down}"));
    folder
}

fn tables() -> Scratch {
    let database = Scratch::empty();
    database.run(include_str!("../../../../examples/host/tables.sql"));
    database
}

#[test]
fn a_function_that_only_triggers_call_is_granted_to_nobody() {
    let database = tables();
    with_a_function("", "volatile").migrate(&database).done();
    // An earlier version of the file granted functions by their shape.
    psql(&database.url, ROLES).expect("the roles");
    psql(&database.url, "grant execute on function sweep.close_all to sweep_reader").expect("a grant");
    psql(&database.url, ROLES).expect("the roles");
    for role in ["sweeper", "sweep_reader", "sweep_operator"] {
        let url = format!("{}&user={role}", database.url);
        let denied = psql(&url, "select sweep.close_all()").expect_err("a denial");
        assert!(denied.contains("permission denied for function close_all"), "{role}: {denied}");
    }
    let reader = format!("{}&user=sweep_reader", database.url);
    let denied = psql(&reader, "select sweep.take_issue(null)").expect_err("a denial");
    assert!(denied.contains("permission denied for function take_issue"), "{denied}");
    command_at(&reader, ["status"]).run().done();
    command_at(&format!("{}&user=sweeper", database.url), ["--output", "json"]).run().done();
}

fn evidence_of(folder: &Folder) -> String {
    let path = folder.path().display().to_string();
    let verify = ["host", "verify", "--host-dir", &path, "--check", "patience", "--output", "json"];
    let ran = command_at(&hand_over(&tables().url), verify).run();
    assert_eq!(ran.code, SOME_FAILED, "{ran}");
    ran.json()["checks"][0]["evidence"].to_string()
}

#[test]
fn a_host_by_whose_functions_whoever_looks_may_write_keeps_no_promise() {
    let comment = "comment on function close_all is 'called by views';";
    let says = evidence_of(&with_a_function(comment, "volatile"));
    assert!(says.contains("the function sweep.close_all() may be called by whoever looks, and may write"), "{says}");
    let says = evidence_of(&with_a_function(comment, "stable"));
    assert!(says.contains("whoever looks may write by a function that views call"), "{says}");
    let view = "create view evil as select close_all();";
    let says = evidence_of(&with_a_function(view, "stable"));
    assert!(says.contains("a view calls the function sweep.close_all(), which whoever looks may not"), "{says}");
}

#[test]
fn a_function_for_whoever_looks_that_writes_only_by_some_argument_is_found() {
    let says = evidence_of(&with_a_function(
        "create function close(task text) returns bigint language plpgsql stable security definer
             set search_path = sweep, pg_temp
             as $$ begin return case when task is not null then close_all() end; end $$;
         revoke execute on function close from public;
         comment on function close is 'called by views';",
        "volatile",
    ));
    assert!(says.contains("whoever looks may write by a function that views call"), "{says}");
}

#[rstest]
#[case::others_first("public, sweep, pg_temp")]
#[case::what_is_temporary_first("pg_temp, sweep")]
#[case::what_is_temporary_unnamed("''")]
fn a_function_that_may_find_what_others_made_is_found(#[case] path: &str) {
    let function = format!("alter function write_all set search_path = {path};");
    let says = evidence_of(&with_a_function(&function, "volatile"));
    assert!(
        says.contains("the function sweep.write_all() runs with its owner's rights, and finds tables by"),
        "{says}"
    );
}

#[test]
fn a_host_that_grants_what_stands_in_its_schema_keeps_no_promise() {
    let mallory = Role::new();
    for (grant, says) in [
        ("select (title) on issues to public", "everybody has the right to select sweep.issues.title"),
        ("update (status) on issues to public", "the role public has the right UPDATE on sweep.issues"),
        ("update (status) on issues to {m}", "the role {m} has the right to update sweep.issues.status"),
        ("insert on wakes to {m}", "the role {m} has the right to insert sweep.wakes"),
    ] {
        let [grant, says] = [grant, says].map(|text| text.replace("{m}", &mallory.name));
        let evidence = evidence_of(&with_a_function(&format!("grant {grant};"), "volatile"));
        assert!(evidence.contains(&says), "{says}: {evidence}");
    }
}

/// The detail of PostgreSQL's error is the whole row, with columns that the role may not read.
#[test]
fn a_write_that_a_hosts_tables_refuse_shows_nothing_of_their_rows() {
    let mut world = World::new(On::Paperclip);
    let agent = world.agent("idle");
    world.orphan(&agent);
    world.run("update public.issues set description = 'secret'");
    psql(&world.url, ROLES).expect("the roles");
    let wake = "insert into sweep.wakes (id, agent_id, issue_id) select gen_random_uuid(), null, id from sweep.issues";
    for (role, write) in [
        ("sweeper", "update sweep.issues set status = null"),
        ("sweeper", "update sweep.issues set status = 'blocked', updated_at = null"),
        ("sweeper", wake),
        ("sweep_operator", wake),
    ] {
        let refused = psql(&format!("{}&user={role}", world.url), write).expect_err("a refusal");
        assert!(refused.contains("null value in column"), "{write}: {refused}");
        assert!(!refused.contains("DETAIL"), "{write}: {refused}");
    }

    let database = tables();
    with_a_function("", "volatile").migrate(&database).done();
    psql(&database.url, ROLES).expect("the roles");
    database.run(
        "insert into public.workers (name) values ('Ada');
         insert into public.tasks (title, state, worker_id, note)
         select 'Mend', 'doing', id, 'secret' from public.workers",
    );
    let sweeper = format!("{}&user=sweeper", database.url);
    for (set, says) in
        [("status = null", "sets a task stuck"), ("status = 'blocked', updated_at = null", "null value in column")]
    {
        let refused = psql(&sweeper, &format!("update sweep.issues set {set}")).expect_err("a refusal");
        assert!(refused.contains(says) && !refused.contains("DETAIL"), "{set}: {refused}");
    }
}

/// Views may be no security barriers because nothing is hidden by them: decisions.md#views-are-no-barriers
#[test]
fn the_views_with_texts_leave_out_no_subject_whatever_its_state() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    for status in ["todo", "in_progress", "done", "cancelled"] {
        let issue = world.orphan(&agent);
        world.set("issues", &issue, &format!("status = '{status}'"));
        let session = world.session(Some(&agent), Some(&issue));
        world.set("sessions", &session, "status = 'terminated'");
    }
    psql(&world.url, ROLES).expect("the roles");
    let reader = format!("{}&user=sweep_reader", world.url);
    for (view, subjects) in [("issue_facts", "4"), ("issue_details", "4"), ("session_facts", "4")] {
        let count = format!("select count(distinct subject_id) from sweep.{view}");
        assert_eq!(psql(&reader, &count).as_deref(), Ok(subjects), "{view}");
    }
}

/// PostgreSQL counts a procedure among the routines, but not among the functions.
#[test]
fn a_procedure_that_was_granted_is_taken_back() {
    let database = tables();
    let procedure = "create procedure close_tasks() language sql security definer set search_path = sweep, pg_temp
             as $$ update public.tasks set title = 'evil' $$; revoke execute on procedure close_tasks from public;";
    let folder = with_a_function(procedure, "volatile");
    let down = std::fs::read_to_string(folder.path().join(DOWN)).expect("a file");
    folder.write(DOWN, &format!("drop procedure close_tasks; {down}"));
    folder.migrate(&database).done();
    psql(&database.url, ROLES).expect("the roles");
    psql(&database.url, "grant execute on procedure sweep.close_tasks to sweep_reader").expect("a grant");
    psql(&database.url, ROLES).expect("the roles");
    let denied =
        psql(&format!("{}&user=sweep_reader", database.url), "call sweep.close_tasks()").expect_err("a denial");
    assert!(denied.contains("permission denied for procedure close_tasks"), "{denied}");
}

#[test]
fn a_function_that_everybody_may_call_with_its_owners_rights_is_not_installed() {
    let database = tables();
    let folder = with_a_function("grant execute on function close_all to public;", "volatile");
    folder.migrate(&database).refused(CONFIG, &["the role public has the right EXECUTE on function sweep.close_all()"]);
}

#[test]
fn a_function_of_a_strangers_that_a_view_of_the_folder_calls_is_refused() {
    let (mallory, database) = (Role::new(), tables());
    database.run(&format!(
        "create function label() returns text return 'x'; alter function label() owner to {}",
        mallory.name
    ));
    let folder = with_a_function("create view labels as select public.label() as label;", "volatile");
    let says =
        ["the function public.label(), which the rule \"_RETURN\" on sweep.labels uses, belongs to", &mallory.name];
    folder.migrate(&database).refused(CONFIG, &says);
}
