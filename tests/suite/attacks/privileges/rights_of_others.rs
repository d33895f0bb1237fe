//! Rights of others on objects in sweep's schema or on a host's tables: refused before any of it is run.

use rstest::rstest;

use super::{CONFIG, ROLES};
use crate::support::databases::{connect, run};
use crate::support::program::{command_at, migrate_at, sweep_at};
use crate::support::scratch::{Role, Scratch, hand_over, psql};
use crate::support::world::{On, World};

/// Makes a function of this role's that makes it a superuser when a superuser runs it.
fn rise(database: &Scratch, mallory: &Role) {
    database.run(&format!("grant create on schema public to {}", mallory.name));
    run(
        &mut connect(&mallory.at(&database.url)),
        &format!(
            "create function public.rise() returns trigger language plpgsql as
                 'begin alter role {} superuser; return null; end'",
            mallory.name
        ),
    );
}

#[rstest]
#[case::triggers("grant trigger on sweep.sweeps to {}", "the right TRIGGER on sweep.sweeps")]
#[case::triggers_on_a_view("grant trigger on sweep.issue_facts to {}", "the right TRIGGER on sweep.issue_facts")]
#[case::keys("grant references on sweep.sweeps to {}", "the right REFERENCES on sweep.sweeps")]
#[case::a_key_to_a_column("grant references (id) on sweep.sweeps to {}", "the right REFERENCES on sweep.sweeps")]
// PostgreSQL 17 is the first that has this right.
#[case::locks(
    "do $$ begin execute case when current_setting('server_version_num')::int < 170000 then 'grant trigger'
         else 'grant maintain' end || ' on sweep.sweeps to {}'; end $$",
    "on sweep.sweeps, which deploy/postgres/role.sql gives to nobody"
)]
#[case::all("grant all on sweep.policy to {}", "on sweep.policy, which deploy/postgres/role.sql gives to nobody")]
#[case::the_record("grant update on sweep.host to {}", "the right UPDATE on sweep.host")]
#[case::a_column("grant update (attempt) on sweep.recoveries to {}", "the right UPDATE on sweep.recoveries")]
#[case::deletions("grant delete on sweep.notifications to {}", "the right DELETE on sweep.notifications")]
#[case::everybody("grant insert on sweep.host to public; select '{}'", "the role public has the right INSERT")]
#[case::everybody_what_some_may(
    "grant insert on sweep.recoveries to public; select '{}'",
    "the role public has the right INSERT on sweep.recoveries"
)]
fn a_right_of_others_on_sweeps_own_tables_is_refused(#[case] grant: &str, #[case] says: &str) {
    let (database, mallory) = (Scratch::empty(), Role::new());
    migrate_at(&database.url, []).run().done();
    database.run(&grant.replace("{}", &mallory.name));
    for command in [&["migrate"][..], &["migrate", "--print"], &["status"], &["--dry-run"], &["--yes"]] {
        command_at(&database.url, command.iter().copied()).run().refused(CONFIG, &[says]);
    }
    database.run(&format!("drop owned by {}; revoke all on sweep.host, sweep.recoveries from public", mallory.name));
    sweep_at(&database.url, []).run().done();
}

#[test]
fn default_privileges_that_would_give_others_rights_are_refused_and_nothing_is_made() {
    let (database, mallory) = (Scratch::empty(), Role::new());
    let printed = migrate_at(&database.url, ["--print"]).run().done().out;
    database.run(&format!("alter default privileges grant all on tables to {}", mallory.name));
    let error = psql(&database.url, &printed).expect_err("the printed SQL asks as well");
    assert!(error.contains("has the right") && error.contains(&mallory.name), "{error}");
    migrate_at(&database.url, []).run().refused(CONFIG, &["has the right", &mallory.name, "revoke"]);
    assert_eq!(psql(&database.url, "select to_regnamespace('sweep') is null").as_deref(), Ok("t"));
    database.run(&format!("alter default privileges revoke all on tables from {}", mallory.name));
}

/// The role's right to put a trigger there may be gone since.
#[test]
fn a_trigger_whose_function_is_a_strangers_is_run_by_nobody() {
    let (database, mallory) = (Scratch::empty(), Role::new());
    migrate_at(&database.url, []).run().done();
    rise(&database, &mallory);
    database.run(&format!(
        "grant usage on schema sweep to {0}; grant trigger on sweep.sweeps, sweep.__diesel_schema_migrations to {0}",
        mallory.name
    ));
    for table in ["sweeps", "__diesel_schema_migrations"] {
        let trigger = format!("create trigger rise after insert on sweep.{table} execute function public.rise()");
        run(&mut connect(&mallory.at(&database.url)), &trigger);
    }
    database.run(&format!("revoke all on sweep.sweeps, sweep.__diesel_schema_migrations from {}", mallory.name));
    for command in [&["--yes"][..], &["status"], &["migrate"], &["migrate", "--print"]] {
        let says = ["the function public.rise(), which the trigger rise on sweep."];
        command_at(&database.url, command.iter().copied()).run().refused(CONFIG, &says);
    }
    assert!(!super::is_superuser(&mallory));
}

#[test]
fn a_trigger_of_a_strangers_on_a_hosts_table_is_refused_like_a_strangers_table() {
    let (database, mallory) = (Scratch::paperclip(), Role::new());
    rise(&database, &mallory);
    database.run("create trigger rise after insert on public.issue_comments execute function public.rise()");
    let says =
        ["the function public.rise(), which the trigger rise on public.issue_comments uses, belongs to", &mallory.name];
    migrate_at(&database.url, []).run().refused(CONFIG, &says);
    let host = hand_over(&database.url);
    database.run(&format!("grant create on database {} to sweep_test_host", database.name()));
    migrate_at(&host, []).run().refused(CONFIG, &says);
    // The control: the operator names that host.
    migrate_at(&host, ["--host", "paperclip"]).run().done();
}

/// The control of these tests: nothing that comes with sweep is a right too many.
#[test]
fn the_roles_that_come_with_sweep_are_refused_nothing() {
    let (database, owner) = (Scratch::empty(), Role::new());
    database.run(&format!(
        "alter role {1} createrole; grant create on database {0} to {1}",
        database.name(),
        owner.name
    ));
    let paperclip = Scratch::paperclip();
    let host = hand_over(&paperclip.url);
    paperclip.run(&format!(
        "alter role sweep_test_host createrole; grant create on database {} to sweep_test_host",
        paperclip.name()
    ));
    for url in [&owner.at(&database.url), &Scratch::empty().url, &host] {
        migrate_at(url, []).run().done();
        psql(url, ROLES).expect("the roles");
        migrate_at(url, []).run().done();
        sweep_at(url, []).run().done();
    }
}

/// A role may update an id because that lets it lock the row.
#[rstest]
#[case::sweeps_own(On::Postgres)]
#[case::paperclip(On::Paperclip)]
fn a_right_that_is_there_to_lock_a_row_writes_nothing(#[case] on: On) {
    let mut world = World::new(on);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    psql(&world.url, ROLES).expect("the roles");
    let operator = format!("{}&user=sweep_operator", world.url);
    for (table, id) in [("agents", &agent), ("issues", &issue)] {
        let lock = format!("select id from sweep.{table} where id = '{}' for share", id.0);
        assert_eq!(psql(&operator, &lock).as_deref(), Ok(id.0.as_str()));
        let update = |value: &str| psql(&operator, &format!("update sweep.{table} set id = {value}"));
        let renamed = update("gen_random_uuid()").expect_err("a denial");
        assert!(renamed.contains("is there to lock the row"), "{renamed}");
        // An id may be set to itself in a table, whose row stays as it is, but not in a view, whose trigger may write.
        assert_eq!(update("id").is_ok(), on == On::Postgres);
    }
}

/// The trusted writes are exactly those that the file grants.
#[test]
fn each_write_that_is_trusted_is_one_that_the_roles_have() {
    let database = Scratch::empty();
    migrate_at(&database.url, []).run().done();
    psql(&database.url, ROLES).expect("the roles");
    let strangers = include_str!("../../../../src/store/hosts/migrate/strangers.sql");
    let (_, list) = strangers.split_once("ledger (relation, writes) as (").expect("the list");
    let (list, _) = list.split_once("\n), written_views").expect("its end");
    let granted = format!(
        "with ledger (relation, writes) as ({list}), granted as (
             select relname::text as relation, privilege_type from pg_class, aclexplode(relacl)
             where relnamespace = 'sweep'::regnamespace and grantee <> relowner
             union select relname || '.' || attname, privilege_type
             from pg_class c join pg_attribute on attrelid = c.oid, aclexplode(attacl)
             where relnamespace = 'sweep'::regnamespace
         )
         select string_agg(relation || ' ' || writes, ', ') from ledger l where writes <> coalesce((
             select string_agg(privilege_type, ' ' order by array_position('{{INSERT,UPDATE,DELETE}}', privilege_type))
             from granted g where g.relation = l.relation and privilege_type <> 'SELECT'), '')"
    );
    assert_eq!(psql(&database.url, &granted).as_deref(), Ok(""));
}

/// A copy's triggers would run with a superuser's rights before anything is asked.
#[test]
fn no_copy_is_made_with_a_superusers_rights() {
    let (database, mallory) = (Scratch::empty(), Role::new());
    database.run(include_str!("../../../../examples/host/tables.sql"));
    rise(&database, &mallory);
    database.run(&format!(
        "alter table tasks owner to {0}; create trigger rise before truncate on tasks execute function public.rise()",
        mallory.name
    ));
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/host");
    for host in [&["--host-dir", folder][..], &["native"]] {
        let verify = [&["host", "verify"], host].concat();
        command_at(&database.url, verify).run().refused(CONFIG, &["is a superuser", "may create databases"]);
    }
    assert!(!super::is_superuser(&mallory));

    // The triggers do not get the rights of another role that verifies either.
    let verify = ["host", "verify", "--host-dir", folder];
    let url = hand_over(&database.url);
    database.run(&format!("alter table tasks owner to {}", mallory.name));
    command_at(&url, verify).run().refused(CONFIG, &["the table public.tasks belongs to", &mallory.name]);
    database.run("alter table tasks owner to sweep_test_host");
    command_at(&url, verify)
        .run()
        .refused(CONFIG, &["the function public.rise(), which the trigger rise on public.tasks uses"]);
    database.run("drop trigger rise on tasks");
    command_at(&url, verify).run().refused(CONFIG, &["the function public.rise() belongs to", &mallory.name]);
}
