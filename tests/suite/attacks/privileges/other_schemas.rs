//! Tables of other schemas than `public`, whose owners count as well.

use super::CONFIG;
use crate::support::folder::{Folder, example};
use crate::support::scratch::{Role, Scratch};

const UP: &str = "postgres/0001_work/up.sql";

/// Makes a team's tables, and a schema of the role's with tables of its own, whose triggers run what the role likes.
fn beside_a_schema_of(mallory: &Role) -> Scratch {
    let database = Scratch::empty();
    database.run(&std::fs::read_to_string(example("tables.sql")).expect("the tables"));
    database.run(&format!(
        "create schema app authorization {0}; set role {0};
         create table app.audit (task_id bigint); create table app.workers (id bigint, name text, enabled boolean);
         create function app.rise() returns trigger language plpgsql as
             'begin alter role {0} superuser; return new; end';
         create trigger rise before insert on app.audit for each row execute function app.rise()",
        mallory.name
    ));
    database
}

const SAYS: [&str; 2] = ["lacks the table app.audit of Our tasks", "expected tables of the schema public"];

#[track_caller]
fn is_refused(database: &Scratch, folder: &Folder, says: &[&str]) {
    let before = database.catalog();
    folder.migrate(database).refused(CONFIG, says);
    assert_eq!(database.catalog(), before);
}

#[test]
fn a_table_that_is_named_with_its_schema_is_refused_before_anything_is_made() {
    let (mallory, folder) = (Role::new(), Folder::new());
    let database = beside_a_schema_of(&mallory);
    // No view reads the table, which is reached only by its name in host.toml.
    folder.replace("host.toml", "jobs = []", "jobs = []\n\"app.audit\" = []");
    folder.replace(UP, "    return new;", "    insert into app.audit values (new.issue_id);\n    return new;");
    is_refused(&database, &folder, &SAYS);
}

#[test]
fn a_table_that_a_later_folder_names_with_its_schema_is_refused_as_well() {
    let (mallory, folder) = (Role::new(), Folder::new());
    let database = beside_a_schema_of(&mallory);
    folder.migrate(&database).done();
    folder.replace("host.toml", "jobs = []", "jobs = []\n\"app.audit\" = []");
    folder.write("postgres/0002_audit/up.sql", "insert into app.audit values (1);\n");
    folder.write("postgres/0002_audit/down.sql", "select 1;\n");
    is_refused(&database, &folder, &SAYS);
}

/// A host whose tables are sweep's own is asked for no owner.
#[test]
fn a_folder_that_names_no_table_is_refused() {
    let (mallory, folder) = (Role::new(), Folder::new());
    let database = beside_a_schema_of(&mallory);
    folder.replace("host.toml", "[recognition]\ntables = [\"workers\", \"tasks\", \"jobs\"]\n", "");
    folder.replace("host.toml", "workers = []\ntasks = []\njobs = []\n", "");
    folder.replace(UP, "    return new;", "    insert into app.audit values (new.issue_id);\n    return new;");
    is_refused(&database, &folder, &["host.toml: [tables] names none"]);
}

#[test]
fn a_table_of_another_schema_that_a_view_reads_is_asked_for_its_owner() {
    let (mallory, folder) = (Role::new(), Folder::new());
    let database = beside_a_schema_of(&mallory);
    folder.replace(UP, "from public.workers", "from app.workers");
    let says = ["is a superuser, and the table app.workers", "belongs to", &mallory.name];
    is_refused(&database, &folder, &says);
}
