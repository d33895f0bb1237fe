//! SQLite files of other programs, in which sweep is a guest. It keeps its ledger there, with a prefix, and nothing
//! else: a view that lasts would stand in the way when the program changes its own tables. All else is made for each
//! connection, as temporary views: those of the ledger, under the names by which it is read and written everywhere, and
//! those of the host.

use anyhow::{Context, Result};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable, Text};

use crate::conclusion::config;
use crate::store::db::dialect::{Dialect, SQLITE_CLOCK};
use crate::store::hosts::catalog::{PREFIX, over_the_ledger, quoted, up};
use crate::store::hosts::folders::{self, Host};

/// Makes what sweep needs for this connection, where it is a guest already. Of a host that is not trusted nothing is
/// made: `sweep migrate` may record another one, and all else refuses the file.
pub fn settle_in(db: &mut SqliteConnection) -> Result<()> {
    match folders::recorded_by_guest(db)? {
        Some(host) if host.is_trusted() => make_views(db, &host),
        Some(_) => Ok(present_tables(db)?),
        None => Ok(()),
    }
}

/// Replaces what an earlier host, or an earlier text of it, has made for this connection.
pub fn make_views(db: &mut SqliteConnection, host: &Host) -> Result<()> {
    let making = "making what sweep needs for this connection";
    let stale: Vec<String> =
        sql::<Text>("SELECT name FROM sqlite_temp_master WHERE type = 'view'").load(db).context(making)?;
    for view in stale {
        db.batch_execute(&format!("DROP VIEW temp.{}", quoted(&view))).context(making)?;
    }
    present_tables(db).context(making)?;
    for (folder, views) in temporary_views(host)? {
        db.batch_execute(&views).map_err(|error| config(format!("{folder}: {error}")))?;
    }
    Ok(())
}

/// The SQL that makes a host's views for one connection, with the folder of each part.
pub fn temporary_views(host: &Host) -> Result<Vec<(String, String)>> {
    let rendered = |folder: String| {
        // A host's text says `create view` on either database.
        let views = up(&folder, host, Dialect::Sqlite)?.replace("create view ", "create temp view ");
        Ok((folder, views.replace("create trigger ", "create temp trigger ")))
    };
    over_the_ledger(Dialect::Sqlite, host).into_iter().map(rendered).collect()
}

#[derive(Queryable)]
struct TableColumn {
    name: String,
    default: Option<String>,
    is_key: bool,
}

/// Presents each table with the prefix under its name without it.
pub fn present_tables(db: &mut SqliteConnection) -> QueryResult<()> {
    const OURS: &str = "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name LIKE 'sweep\\_%' ESCAPE '\\'";
    const COLUMNS: &str = "SELECT name, dflt_value, pk > 0 FROM pragma_table_info(";
    for table in sql::<Text>(OURS).load::<String>(db)? {
        let columns = sql::<(Text, Nullable<Text>, Bool)>(COLUMNS).bind::<Text, _>(&table).sql(", 'main')");
        let columns: Vec<TableColumn> = columns.load(db)?;
        db.batch_execute(&presented(&table, &columns))?;
    }
    Ok(())
}

/// A default is a text of the file's, which is run only where it can do nothing: a number, a text, a truth or a time.
fn is_value(default: &str) -> bool {
    let quoted = default.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    let is_text = quoted.is_some_and(|text| !text.contains('\''));
    is_text
        || default.parse::<i64>().is_ok()
        || ["false", "true", "current_timestamp", SQLITE_CLOCK].iter().any(|known| known.eq_ignore_ascii_case(default))
}

/// The statements that make a view of a table, with triggers that write to it.
fn presented(table: &str, columns: &[TableColumn]) -> String {
    let plain = table.strip_prefix(PREFIX).unwrap_or(table);
    let (name, table) = (quoted(plain), quoted(table));
    let each = |text: &dyn Fn(&TableColumn, &str) -> String| -> String {
        columns.iter().map(|column| text(column, &quoted(&column.name))).collect::<Vec<_>>().join(", ")
    };
    let names = each(&|_, name| name.to_owned());
    // What a statement leaves out is null here.
    let values = each(&|column, name| match column.default.as_deref().filter(|default| is_value(default)) {
        Some(default) => format!("coalesce(new.{name}, {default})"),
        None => format!("new.{name}"),
    });
    let changes = each(&|_, name| format!("{name} = new.{name}"));
    let keys = columns.iter().filter(|column| column.is_key).map(|column| quoted(&column.name));
    let is_it = keys.map(|key| format!("{key} = old.{key}")).collect::<Vec<_>>().join(" AND ");
    let trigger = |event: &str, does: String| {
        let trigger = quoted(&format!("{event} on {plain}"));
        format!("CREATE TEMP TRIGGER IF NOT EXISTS {trigger} INSTEAD OF {event} ON {name} BEGIN {does}; END;\n")
    };
    format!("CREATE TEMP VIEW IF NOT EXISTS {name} AS SELECT {names} FROM main.{table};\n")
        + &trigger("INSERT", format!("INSERT INTO {table} ({names}) VALUES ({values})"))
        + &trigger("UPDATE", format!("UPDATE {table} SET {changes} WHERE {is_it}"))
        + &trigger("DELETE", format!("DELETE FROM {table} WHERE {is_it}"))
}
