//! docs/schema/ is the SQL that `sweep migrate` runs, for people: a file for each database and built-in host. A change
//! of a template therefore shows as a change of SQL.

use std::path::Path;

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use sweep::store::hosts::{folders, guest};

use super::comparison::is_blessing;
use crate::support::program::migrate_at;
use crate::support::scratch::{Scratch, new_file};

/// The SQL of `sweep migrate --print` before any migration.
fn printed(url: &str) -> String {
    migrate_at(url, ["--print"]).run().done().out
}

/// Makes tables with the names by which this host is recognised.
fn named_like(host: &str) -> String {
    let host = folders::named(host).expect("a built-in host");
    host.tables().iter().map(|table| format!("create table {table} (id int);\n")).collect()
}

/// The views that sweep makes for each connection to a file of this host.
fn temporary_views(host: &str) -> String {
    let host = folders::named(host).expect("a built-in host");
    let parts = guest::temporary_views(&host).expect("the views");
    parts.into_iter().map(|(folder, views)| format!("\n-- {folder}\n{views}")).collect()
}

fn compare_file(name: &str, schema: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema").join(name);
    if is_blessing() {
        std::fs::write(&path, schema).expect("a file");
    } else {
        let shown = std::fs::read_to_string(&path).expect("a file");
        assert!(shown == schema, "docs/schema/{name} is not what is made: `make documents` writes the file anew");
    }
}

#[test]
fn the_schema_of_each_database_and_host_can_be_read_in_the_documents() {
    let (_directory, _, file) = new_file();
    compare_file("sqlite.sql", &printed(&file));
    compare_file("postgres.sql", &printed(&Scratch::empty().url));
    compare_file("paperclip.postgres.sql", &printed(&Scratch::paperclip().url));

    let prefect = Scratch::empty();
    prefect.run(&named_like("prefect"));
    compare_file("prefect.postgres.sql", &printed(&prefect.url));

    let (_directory, path, guest) = new_file();
    let mut owner = SqliteConnection::establish(&path.display().to_string()).expect("a file");
    owner.batch_execute(&named_like("prefect")).expect("the tables");
    let views = temporary_views("prefect");
    compare_file("prefect.sqlite.sql", &format!("{}\n-- For each connection\n{views}", printed(&guest)));
}
