//! Code of others that a host's tables, sweep's own tables, or a copy would run: it is refused before it runs.

use rstest::rstest;

use super::CONFIG;
use crate::support::databases::{connect, run};
use crate::support::program::{command_at, migrate_at};
use crate::support::scratch::{Role, Scratch, hand_over, psql};
use crate::support::server::Server;

/// Makes a schema `lent`, in which the role has one of each kind of thing that tables may run, or be.
fn lend(database: &Scratch, mallory: &Role) {
    database.run(&format!("create schema lent authorization {}; grant usage on schema lent to public", mallory.name));
    run(
        &mut connect(&mallory.at(&database.url)),
        "create function lent.called() returns text language plpgsql immutable as 'begin return null; end';
         create function lent.triggered() returns trigger language plpgsql as 'begin return null; end';
         create function lent.hashed(text) returns int language plpgsql immutable as 'begin return 1; end';
         create domain lent.words as text;
         create view lent.view as select lent.called() as called;
         create table lent.own (id int primary key, name text)",
    );
}

const THINGS: [(&str, &str); 16] = [
    ("alter table {t} add lent text default lent.called()", "the function lent.called(), which the default value"),
    ("alter table {t} add check (lent.called() is null)", "the function lent.called(), which the table constraint"),
    ("create index on {t} ((lent.called()))", "the function lent.called(), which the index"),
    ("create policy lent on {t} using (lent.called() is null)", "the function lent.called(), which the policy"),
    ("create rule lent as on update to {t} do also select lent.called()", "the function lent.called(), which the rule"),
    ("alter table {t} add lent lent.words", "the type lent.words, which the table column"),
    (
        "create domain public.words as text check (lent.called() is null); alter table {t} add lent public.words",
        "the function lent.called(), which the domain constraint",
    ),
    ("create table lent.child () inherits ({t}); alter table lent.child owner to {m}", "the table lent.child belongs"),
    (
        "create table public.child () inherits ({t}); alter table public.child owner to {o};
         create trigger lent before insert on public.child execute function lent.triggered()",
        "the function lent.triggered(), which the trigger",
    ),
    (
        "create rule lent as on update to {t} do also insert into lent.own values (1)",
        "the table lent.own, which the rule",
    ),
    (
        "create view public.lent as select * from lent.view;
         create policy lent on {t} using (exists (select from public.lent))",
        "the function lent.called(), which the rule",
    ),
    (
        "create operator class public.lent for type text using hash as function 1 lent.hashed(text);
         alter table {t} add lent text; create index on {t} using hash (lent public.lent)",
        "the function lent.hashed(pg_catalog.text), which the function of access method",
    ),
    (
        "create table lent.key (id uuid references {t} on delete cascade); alter table lent.key owner to {m}",
        "the table lent.key, which the table constraint",
    ),
    ("grant references on {t} to {m}", "the right REFERENCES on"),
    ("grant references (id) on {t} to {m}", "the right REFERENCES on"),
    ("grant trigger on {t} to {m}", "the right TRIGGER on"),
];

#[test]
fn whatever_of_a_strangers_a_hosts_table_runs_is_refused() {
    for (statement, says) in THINGS {
        let (mallory, database) = (Role::new(), Scratch::paperclip());
        lend(&database, &mallory);
        let owner = hand_over(&database.url);
        database.run(&format!("grant create on database {} to sweep_test_host", database.name()));
        let names = [("{t}", "public.issue_comments"), ("{m}", &mallory.name), ("{o}", "sweep_test_host")];
        database.run(&names.iter().fold(statement.to_owned(), |text, (name, value)| text.replace(name, value)));
        migrate_at(&owner, []).run().refused(CONFIG, &[says, &mallory.name]);
        // The control: the operator names that host.
        migrate_at(&owner, ["--host", "paperclip"]).run().done();
    }
}

#[test]
fn whatever_of_a_strangers_a_table_of_sweeps_runs_is_refused() {
    for (statement, says) in THINGS {
        let (mallory, database) = (Role::new(), Scratch::empty());
        migrate_at(&database.url, []).run().done();
        lend(&database, &mallory);
        let names = [("{t}", "sweep.recoveries"), ("{m}", &mallory.name), ("{o}", "postgres")];
        database.run(&names.iter().fold(statement.to_owned(), |text, (name, value)| text.replace(name, value)));
        for command in [&["migrate"][..], &["status"], &["--yes"]] {
            command_at(&database.url, command.iter().copied()).run().refused(CONFIG, &[says, &mallory.name]);
        }
    }
}

/// PostgreSQL has no list of the objects of its own roles, of which others may be members.
#[rstest]
#[case::a_host("public.issue_comments")]
#[case::sweep("sweep.recoveries")]
fn what_belongs_to_a_role_of_postgresqls_own_is_a_strangers(#[case] table: &str) {
    let (mallory, database) = (Role::new(), Scratch::paperclip());
    if table.starts_with("sweep") {
        migrate_at(&database.url, []).run().done();
    }
    lend(&database, &mallory);
    database.run(&format!(
        "create trigger lent before insert on {table} execute function lent.triggered();
         alter function lent.triggered() owner to pg_monitor"
    ));
    let says = ["the function lent.triggered(), which the trigger lent on", "belongs to pg_monitor"];
    migrate_at(&database.url, []).run().refused(CONFIG, &says);
}

#[test]
fn a_trigger_of_a_strangers_on_every_statement_is_refused() {
    let (mallory, database) = (Role::new(), Scratch::empty());
    lend(&database, &mallory);
    run(
        &mut connect(&mallory.at(&database.url)),
        "create function lent.evented() returns event_trigger language plpgsql as 'begin end'",
    );
    database.run("create event trigger lent on ddl_command_start execute function lent.evented()");
    let says = "the function lent.evented(), which the event trigger lent uses, belongs to";
    migrate_at(&database.url, ["--host", "native"]).run().refused(CONFIG, &[says, &mallory.name]);
}

/// The next migration would run the copy of a host's folder.
#[test]
fn a_superuser_is_refused_where_others_may_write_all_tables() {
    // A membership holds on the whole server, and would have other tests refused.
    let server = Server::start();
    migrate_at(&server.url, []).run().done();
    psql(&server.url, "create role mallory; grant pg_write_all_data to mallory").expect("a member");
    migrate_at(&server.url, []).run().refused(CONFIG, &["mallory may write all tables", "revoke pg_write_all_data"]);
}

/// Objects made by these rights would be called with the owner's rights, or would write the ledger.
#[rstest]
#[case::a_function("grant execute on function sweep.{f} to {m}", "the right EXECUTE on function sweep.")]
#[case::a_function_of_everybody(
    "grant execute on function sweep.{f} to public",
    "the right EXECUTE on function sweep."
)]
#[case::a_view_of_the_ledger(
    "grant update on sweep.open_recoveries to {m}",
    "the right UPDATE on sweep.open_recoveries"
)]
#[case::a_column_of_a_view(
    "grant insert (kind) on sweep.open_recoveries to {m}",
    "the right INSERT on sweep.open_recoveries"
)]
#[case::a_column_of_a_hosts_to_everybody(
    "grant update (status) on sweep.issues to public",
    "the role public has the right UPDATE on sweep.issues"
)]
fn what_runs_with_the_owners_rights_is_lent_to_nobody(#[case] grant: &str, #[case] says: &str) {
    let (mallory, database) = (Role::new(), Scratch::paperclip());
    migrate_at(&database.url, ["--host", "paperclip", "--as-superuser"]).run().done();
    let grant = grant.replace("{m}", &mallory.name).replace("{f}", "log_recovery()");
    database.run(&grant);
    for command in [&["migrate"][..], &["status"], &["--yes"]] {
        command_at(&database.url, command.iter().copied()).run().refused(CONFIG, &[says, "revoke"]);
    }
}

/// PostgreSQL 16 is the first that lets a role administer another one and have none of its rights.
#[test]
fn whoever_only_administers_a_role_does_not_trust_it() {
    let (mallory, owner, database) = (Role::new(), Role::new(), Scratch::empty());
    database.run(&format!(
        "grant create on database {0} to {1}; create schema sweep authorization {2};
         do $$ begin if current_setting('server_version_num')::int >= 160000 then
             execute 'grant {2} to {1} with admin true, inherit false, set false'; end if; end $$",
        database.name(),
        owner.name,
        mallory.name
    ));
    let says = ["the schema sweep belongs to", &mallory.name, "is no member of that role"];
    migrate_at(&owner.at(&database.url), []).run().refused(CONFIG, &says);
}

/// A copy is of the whole database: everything in it is read and emptied.
#[rstest]
#[case::a_table(
    "create table lent.own (id int references public.tasks)",
    "the table lent.own, which the table constraint"
)]
#[case::a_function("create function lent.called() returns int return 1", "the function lent.called() belongs to")]
#[case::a_type("create type lent.kind as enum ()", "the type lent.kind belongs to")]
#[case::a_schema("create schema of_hers", "the schema of_hers belongs to")]
fn no_copy_is_made_of_a_database_in_which_anything_is_a_strangers(#[case] statement: &str, #[case] says: &str) {
    let (mallory, database) = (Role::new(), Scratch::empty());
    database.run(include_str!("../../../../examples/host/tables.sql"));
    let owner = hand_over(&database.url);
    let verify = ["host", "verify", "--host-dir", concat!(env!("CARGO_MANIFEST_DIR"), "/examples/host")];
    database.run(&format!("grant references, trigger on public.tasks to {}", mallory.name));
    database.run(&format!("grant create on database {} to {}", database.name(), mallory.name));
    let right = "the right REFERENCES on public.tasks belongs to";
    command_at(&owner, verify).run().refused(CONFIG, &[right, &mallory.name]);

    database.run(&format!(
        "create schema lent authorization sweep_test_host; grant all on schema lent to {}",
        mallory.name
    ));
    run(&mut connect(&mallory.at(&database.url)), statement);
    command_at(&owner, verify).run().refused(CONFIG, &[says, &mallory.name]);
}
