//! Servers that deny an ordinary role what most let it do: the functions of the server itself.

use crate::support::daemon::{Daemon, NEVER, daemon};
use crate::support::databases::run;
use crate::support::program::{command_at, migrate_at, sweep_at};
use crate::support::scratch::{Role, Scratch, psql};
use crate::support::world::{On, World};

const CONFIG: i32 = 78;

/// What sweep calls of PostgreSQL beyond the functions of plain SQL.
const NEEDED: &str = "{pg_get_userbyid,pg_has_role,pg_is_in_recovery,pg_notify,pg_column_size,pg_relation_is_updatable,\
    pg_column_is_updatable,pg_identify_object}";

/// A database in which no ordinary role may call a function of the server's own, but for those; and its owner, who is
/// no superuser.
fn managed(on: On) -> (Role, Scratch) {
    let owner = Role::new();
    let database = if on == On::Paperclip { Scratch::paperclip() } else { Scratch::empty() };
    database.run(&format!(
        "do $$ declare denied regprocedure; mine regclass; begin
             for denied in select oid from pg_proc where pronamespace = 'pg_catalog'::regnamespace
                 and proname ~ '^(pg_|txid_|inet_|lo_|lo(read|write)|binary_|(query|table|schema|database|cursor)_to_)'
                 and proname <> all ('{NEEDED}') loop
                 execute format('revoke execute on routine %s from public', denied);
             end loop;
             for mine in select oid from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' loop
                 execute format('alter table %s owner to {owner}', mine);
             end loop;
         end $$;
         grant create on database {database} to {owner}; grant usage on schema public to {owner};
         alter role {owner} createrole",
        owner = owner.name,
        database = database.name(),
    ));
    (owner, database)
}

/// All of it as the roles that deploy/postgres/role.sql makes.
fn no_function_is_needed_that_a_server_may_deny(on: On) {
    let (owner, database) = managed(on);
    let url = owner.at(&database.url);
    migrate_at(&url, if on == On::Paperclip { &["--with-listen"][..] } else { &[] }.iter().copied()).run().done();
    psql(&url, include_str!("../../../deploy/postgres/role.sql")).expect("the roles");
    let [sweeper, reader] = ["sweeper", "sweep_reader"].map(|role| format!("{}&user={role}", database.url));
    let mut world = World::at(on, database.url.clone(), None);
    let agent = world.agent("idle");
    let (issue, other) = (world.orphan(&agent), world.orphan(&agent));

    let plan = sweep_at(&reader, ["--dry-run", "--output", "json", "--issue", &other.0]).run().done();
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), &plan.out).expect("a file");
    let explained = command_at(&reader, ["explain", "issue", &issue.0]).run().done();
    assert!(explained.out.contains("A sweep would now: continue it"), "{explained}");
    command_at(&reader, ["status"]).run().done();
    let applied = ["--apply", file.path().to_str().expect("a path")];
    assert!(sweep_at(&sweeper, applied).run().done().out.contains("1 continued"));
    let mut daemon = Daemon::start(daemon(&sweeper, NEVER, ["--at-start", "on", "--listen", "on"]));
    daemon.says("sweep completed");
    daemon.says("listening for runs that end");
    assert!(daemon.get("/metrics").1.contains("sweep_last_sweep_exit_code 0"));
    daemon.ends_well();
    assert_eq!((world.wakes_for(&issue), world.wakes_for(&other)), (1, 1));
    migrate_at(&url, []).run().done();

    // The control: what is denied is denied.
    let denied = psql(&sweeper, "select pg_control_system()").expect_err("a denial");
    assert!(denied.contains("permission denied for function pg_control_system"), "{denied}");
}

#[test]
fn no_function_is_needed_that_a_server_may_deny_on_sweeps_own_tables() {
    no_function_is_needed_that_a_server_may_deny(On::Postgres);
}

#[test]
fn no_function_is_needed_that_a_server_may_deny_on_paperclip() {
    no_function_is_needed_that_a_server_may_deny(On::Paperclip);
}

/// At the first look, while a subject is read, and while one is written.
#[test]
fn what_is_denied_is_named_with_the_role_and_no_fault_of_a_subject() {
    let (owner, database) = managed(On::Postgres);
    let url = owner.at(&database.url);
    let deny = |function: &str| database.run(&format!("revoke execute on function {function} from public"));
    let allow = |function: &str| database.run(&format!("grant execute on function {function} to public"));
    let says = |function: &str| [format!("the role {} lacks rights", owner.name), function.to_owned()];
    let refused = |function: &str| {
        let says = says(&format!("permission denied for function {function}"));
        for program in [sweep_at(&url, []), sweep_at(&url, ["--dry-run"]), command_at(&url, ["status"])] {
            program.run().refused(CONFIG, &[&says[0], &says[1]]);
        }
    };
    migrate_at(&url, []).run().done();
    let mut world = World::at(On::Postgres, database.url.clone(), None);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);

    deny("pg_is_in_recovery()");
    refused("pg_is_in_recovery");
    migrate_at(&url, []).run().done();
    allow("pg_is_in_recovery()");
    deny("pg_get_userbyid(oid)");
    let migrated = says("permission denied for function pg_get_userbyid");
    migrate_at(&url, []).run().refused(CONFIG, &[&migrated[0], &migrated[1]]);
    allow("pg_get_userbyid(oid)");

    // A trigger of the host's, on what a sweep writes.
    database.run(
        "create function public.log() returns trigger language plpgsql as
             'begin perform pg_backend_pid(); return new; end';
         create trigger log before insert on sweep.wakes for each row execute function public.log()",
    );
    for _ in 0..4 {
        let ran = sweep_at(&url, ["--output", "json"]).run();
        assert_eq!((ran.code, &ran.json()["subjects"][0]["outcome"]), (CONFIG, &"failed".into()), "{ran}");
        let reason = ran.json()["subjects"][0]["reason"].as_str().map(str::to_owned).expect("a reason");
        says("permission denied for function pg_backend_pid").iter().for_each(|part| assert!(reason.contains(part)));
    }
    assert_eq!(world.count("failures"), 0);
    assert_eq!(world.text("exit_code::text", "sweeps order by started_at desc limit 1").as_deref(), Some("78"));
    // The control: with the right nothing fails.
    run(&mut world.db, "grant execute on function pg_backend_pid() to public");
    sweep_at(&url, []).run().done();
    assert_eq!(world.wakes_for(&issue), 1);
}
