//! Owners of the schema, and roles to which a migration would lend its rights.

mod functions;
mod lent;
mod names;
mod other_schemas;
mod planted;
mod rights_of_others;

use rstest::rstest;

use crate::support::databases::{connect, connect_server, run, server};
use crate::support::program::{Ran, migrate_at, sweep_at};
use crate::support::receiver::Receiver;
use crate::support::scratch::{Role, Scratch, psql};
use crate::support::world::{On, World};

const CONFIG: i32 = 78;

/// The file that grants sweep's roles their rights.
const ROLES: &str = include_str!("../../../deploy/postgres/role.sql");

fn is_superuser(role: &Role) -> bool {
    let sql = format!("select rolsuper from pg_roles where rolname = '{}'", role.name);
    psql(&server(), &sql).expect("an answer") == "t"
}

/// Has another role create the schema `sweep` first, with a table that every migration writes to.
fn lay_a_trap(database: &Scratch, mallory: &Role) {
    database.run(&format!("grant create on database {} to {}", database.name(), mallory.name));
    run(
        &mut connect(&mallory.at(&database.url)),
        &format!(
            "create schema sweep;
             create table sweep.__diesel_schema_migrations (version varchar(50) primary key, run_on timestamp default \
             now());
             create function sweep.rise() returns trigger language plpgsql as
                 'begin alter role {} superuser; return new; end';
             create trigger rise before insert on sweep.__diesel_schema_migrations for each row execute function \
             sweep.rise()",
            mallory.name
        ),
    );
}

#[test]
fn a_schema_that_somebody_else_made_first_gets_no_rights_of_a_migration() {
    let (database, mallory) = (Scratch::empty(), Role::new());
    lay_a_trap(&database, &mallory);
    for arguments in [&[][..], &["--print"], &["--host", "native"]] {
        let says = [
            "the schema sweep belongs to", &mallory.name, "a superuser who does not own it",
            "drop schema sweep cascade",
        ];
        migrate_at(&database.url, arguments.iter().copied()).run().refused(CONFIG, &says);
    }
    let printed = migrate_at(&Scratch::empty().url, ["--print"]).run().done().out;
    let error = psql(&database.url, &printed).expect_err("the printed SQL asks as well");
    assert!(error.contains("the schema sweep belongs to"), "{error}");
    assert!(!is_superuser(&mallory));

    // The control: the trap would have given this much.
    let trapped = psql(&database.url, "insert into sweep.__diesel_schema_migrations values ('1')");
    assert!(trapped.is_ok() && is_superuser(&mallory), "{trapped:?}");
    run(&mut connect_server(), &format!("alter role {} nosuperuser", mallory.name));
}

#[rstest]
#[case::a_table("create table sweep.issues ()", "sweep.issues belongs to")]
#[case::a_view("create view sweep.agents as select 1 as id", "sweep.agents belongs to")]
#[case::a_function(
    "create function sweep.lower(text) returns text language sql as 'select $1'",
    "the function sweep.lower(pg_catalog.text) belongs to"
)]
#[case::an_operator(
    "create operator sweep.= (leftarg = text, rightarg = text, function = texteq)",
    "the operator sweep.=(pg_catalog.text,pg_catalog.text) belongs to"
)]
#[case::a_type("create domain sweep.uuid as text", "the type sweep.uuid belongs to")]
#[case::nothing_yet("select", "may create in the schema sweep")]
fn what_others_put_into_our_schema_is_refused(#[case] statement: &str, #[case] says: &str) {
    let (database, mallory) = (Scratch::empty(), Role::new());
    database.run(&format!("create schema sweep; grant usage, create on schema sweep to {}", mallory.name));
    run(&mut connect(&mallory.at(&database.url)), statement);

    migrate_at(&database.url, []).run().refused(CONFIG, &[says, &mallory.name]);

    // The control: a role that owns nothing in sweep's schema, and may do nothing there, is no danger.
    database.run(&format!("drop owned by {0} cascade; revoke all on schema sweep from {0}", mallory.name));
    migrate_at(&database.url, []).run().done();
}

#[test]
fn a_schema_in_which_everybody_may_create_is_refused() {
    let database = Scratch::empty();
    database.run("create schema sweep; grant create on schema sweep to public");
    migrate_at(&database.url, [])
        .run()
        .refused(CONFIG, &["the role public may create in the schema sweep", "revoke create"]);
}

/// The administrator of a role may make anybody a member of it, without asking them.
#[test]
fn a_superuser_who_was_made_a_member_of_the_owner_is_refused_all_the_same() {
    let (database, mallory) = (Scratch::empty(), Role::new());
    lay_a_trap(&database, &mallory);
    run(&mut connect_server(), &format!("grant {} to postgres", mallory.name));
    migrate_at(&database.url, []).run().refused(CONFIG, &["the schema sweep belongs to", &mallory.name]);
    assert!(!is_superuser(&mallory));
}

#[test]
fn the_owner_of_the_schema_and_the_members_of_that_role_migrate_it() {
    let (database, owner, member) = (Scratch::empty(), Role::new(), Role::new());
    database.run(&format!(
        "grant create on database {} to {}; grant {1} to {2}",
        database.name(),
        owner.name,
        member.name
    ));
    let as_owner = |ran: Ran| assert!(ran.done().out.contains("host native"));
    run(&mut connect(&owner.at(&database.url)), "create schema sweep");
    as_owner(migrate_at(&member.at(&database.url), []).run());
    as_owner(migrate_at(&owner.at(&database.url), []).run());

    let owners = "select string_agg(distinct pg_get_userbyid(owner), ' ') from (
        select relowner as owner from pg_class where relnamespace = 'sweep'::regnamespace
        union all select proowner from pg_proc where pronamespace = 'sweep'::regnamespace) made";
    assert_eq!(psql(&database.url, owners).as_deref(), Ok(owner.name.as_str()));
}

#[test]
fn sql_that_a_member_of_the_owner_runs_makes_what_is_the_owners() {
    let (database, owner, member) = (Scratch::empty(), Role::new(), Role::new());
    database.run(&format!(
        "grant create on database {0} to {1}; grant {2} to {1}; create schema sweep authorization {2}",
        database.name(),
        member.name,
        owner.name
    ));
    let printed = migrate_at(&member.at(&database.url), ["--print"]).run().done().out;
    psql(&member.at(&database.url), &printed).expect("it is run");
    let owners = "select string_agg(distinct tableowner, ' ') from pg_tables where schemaname = 'sweep'";
    assert_eq!(psql(&database.url, owners).as_deref(), Ok(owner.name.as_str()));
}

/// A database of Paperclip's whose tables belong to a role of their own.
fn hosted() -> (Scratch, Role) {
    let (database, host) = (Scratch::paperclip(), Role::new());
    database.run(&format!(
        "do $$ declare one record; begin
             for one in select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' loop
                 execute format('alter table public.%I owner to {0}', one.relname);
             end loop;
         end $$;
         grant create on database {1} to {0}",
        host.name,
        database.name()
    ));
    (database, host)
}

#[test]
fn a_superuser_lends_his_rights_to_a_hosts_triggers_only_when_the_operator_says_so() {
    let (database, host) = hosted();
    let before = database.catalog();
    let says = ["is a superuser, and the table public.activity_log belongs to", &host.name, "--as-superuser"];
    for arguments in [&[][..], &["--print"]] {
        migrate_at(&database.url, arguments.iter().copied()).run().refused(CONFIG, &says);
    }
    assert_eq!(database.catalog(), before);

    let printed = migrate_at(&host.at(&database.url), ["--print"]).run().done().out;
    let error = psql(&database.url, &printed).expect_err("the printed SQL asks as well");
    assert!(error.contains("is a superuser, and the table public.activity_log"), "{error}");

    migrate_at(&database.url, ["--as-superuser"]).run().done();
    // Nothing is left to make, so no rights can be lent.
    migrate_at(&database.url, []).run().done();
}

#[test]
fn the_owner_of_the_hosts_tables_migrates_and_sweeps() {
    let (database, host) = hosted();
    let url = host.at(&database.url);
    let printed = migrate_at(&url, ["--print"]).run().done().out;
    psql(&url, &printed).expect("the host's own role runs it");
    migrate_at(&url, ["--with-listen"]).run().done();
    sweep_at(&url, []).run().done();
}

/// PostgreSQL lets every role hold any advisory lock for ever, so nothing may wait for one.
#[test]
fn a_role_that_may_only_connect_holds_up_neither_a_migration_nor_a_notification() {
    let mallory = Role::new();
    let hold = |database: &str| {
        let mut hostile = connect(&mallory.at(database));
        for key in [7_281_936_450_172_i64, 5_370_651_749_108_302, 5_370_651_749_108_303] {
            run(&mut hostile, &format!("select pg_advisory_lock({key})"));
        }
        hostile
    };
    let database = Scratch::empty();
    let _held = hold(&database.url);
    migrate_at(&database.url, []).run().done();

    let mut world = World::new(On::Postgres);
    let _held = hold(&world.url);
    world.stalled_step(None);
    let receiver = Receiver::new();
    let settings =
        [("SWEEP_WEBHOOK_SECRET", "whsec_aHVudGVyMi1odW50ZXIy".to_owned()), ("SWEEP_WEBHOOK_URL", receiver.url())];
    let program = settings.iter().fold(sweep_at(&world.url, []), |program, (name, value)| program.env(name, value));
    let ran = program.env("SWEEP_NOTIFY_PRIVATE", "on").run().done();
    assert!(ran.out.contains("1 escalated"), "{ran}");
    assert_eq!(receiver.requests().len(), 1);

    let refused = psql(&mallory.at(&world.url), "begin; lock table sweep.notifications in share update exclusive mode");
    assert!(refused.is_err_and(|error| error.contains("permission denied")));
}
