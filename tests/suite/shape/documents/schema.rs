//! docs/schema/ is the SQL of the migrations, for people: a file for sweep's own tables on each database, and one for
//! each host beside them with what is not alike there. A change of a template therefore shows once, as a change of SQL.

use std::path::Path;

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use regex::Regex;
use sweep::store::hosts::{folders, guest};

use super::comparison::is_blessing;
use crate::support::program::migrate_at;
use crate::support::scratch::{Scratch, new_file};

/// The migrations that `sweep migrate --print` shows before any has run, each below the name of its folder: without
/// what checks the database before and after them, and without what records that they have run.
fn printed(url: &str) -> Vec<String> {
    let folder = Regex::new(r"(?m)^-- (\w+/)+\d{4}-\d\d-\d\d-\d{6}_\w+$").expect("an expression");
    let record = Regex::new(r"\ninsert into \w*__diesel_schema_migrations").expect("an expression");
    let sql = migrate_at(url, ["--print"]).run().done().out;
    let starts: Vec<usize> = folder.find_iter(&sql).map(|found| found.start()).collect();
    let migrations = starts.iter().map(|start| record.splitn(&sql[*start..], 2).next().unwrap_or_default());
    migrations.map(|migration| migration.trim_end().to_owned() + "\n").collect()
}

/// Makes tables with the names by which this host is recognised.
fn named_like(host: &str) -> String {
    let host = folders::named(host).expect("a built-in host");
    host.tables().iter().map(|table| format!("create table {table} (id int);\n")).collect()
}

/// The views that sweep makes for each connection to a file of this host.
fn temporary_views(host: &str) -> Vec<String> {
    let host = folders::named(host).expect("a built-in host");
    let parts = guest::temporary_views(&host).expect("the views");
    parts.into_iter().map(|(folder, views)| format!("-- {folder}\n{}\n", views.trim_end())).collect()
}

/// Compares a file with these migrations, but for those that another file shows already.
fn compare_file(name: &str, migrations: &[String], shown_already: &[String]) {
    let new = migrations.iter().filter(|migration| !shown_already.contains(migration));
    let schema = &new.map(String::as_str).collect::<Vec<_>>().join("\n");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema").join(name);
    if is_blessing() {
        std::fs::write(&path, schema).expect("a file");
    } else {
        let shown = std::fs::read_to_string(&path).expect("a file");
        assert!(shown == *schema, "docs/schema/{name} is not what is made: `make documents` writes the file anew");
    }
}

#[test]
fn the_schema_of_each_database_and_host_can_be_read_in_the_documents() {
    let (_directory, _, file) = new_file();
    let (sqlite, postgres) = (printed(&file), printed(&Scratch::empty().url));
    let paperclip = printed(&Scratch::paperclip().url);
    assert!(10 < sqlite.len() && 10 < postgres.len());
    compare_file("sqlite.sql", &sqlite, &[]);
    compare_file("postgres.sql", &postgres, &[]);
    compare_file("paperclip.postgres.sql", &paperclip, &postgres);

    let prefect = Scratch::empty();
    prefect.run(&named_like("prefect"));
    compare_file("prefect.postgres.sql", &printed(&prefect.url), &postgres);

    let (_directory, path, guest) = new_file();
    let mut owner = SqliteConnection::establish(&path.display().to_string()).expect("a file");
    owner.batch_execute(&named_like("prefect")).expect("the tables");
    compare_file("prefect.sqlite.sql", &[printed(&guest), temporary_views("prefect")].concat(), &sqlite);
}
