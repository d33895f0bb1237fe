//! The folder of a host that is not built in: reading it, and a beginning of one for a database, which can be
//! installed, and reads and writes nothing yet.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::conclusion::{Failure, config};
use crate::files;
use crate::rules::Kind;
use crate::store::Db;
use crate::store::db::dialect::Dialect;
use crate::store::hosts::catalog::{self, version};
use crate::store::hosts::contract::{CONTRACT, Relation, Usage};
use crate::store::hosts::folders::recognition::IN_PUBLIC;
use crate::store::hosts::folders::{FILES, FIXTURES, Host, MANIFEST, SOURCES, is_odd, names, strict_templates};

const BYTES_MAX: u64 = 1 << 20;
const MIGRATIONS_MAX: usize = 200;
/// Bytes of all files together, as the database keeps them: with what JSON puts around them.
const KEPT_MAX: usize = 900_000;
const DIGITS_MAX: usize = 20;

/// Reads the host in this directory. Whatever else stands there is not read.
pub fn in_directory(directory: &Path) -> Result<Arc<Host>, Failure> {
    let host = read_files(directory).and_then(Host::from_files);
    match host.and_then(|host| refusal(&host).map_or(Ok(host), Err)) {
        Ok(host) if names().contains(&host.name()) => {
            Err(format!("{MANIFEST}: name = {:?}: a host of this name is built in: choose another", host.name()))
        }
        // The owner of no table would be asked for.
        Ok(host) if host.is_native() => {
            Err(format!("{MANIFEST}: [tables] names none: expected every table that is read or written"))
        }
        outcome => outcome,
    }
    .map(Arc::new)
    .map_err(|why| config(format!("{}: {why}", directory.display())))
}

fn read_files(directory: &Path) -> Result<BTreeMap<String, String>, String> {
    let mut files = BTreeMap::from([(MANIFEST.to_owned(), read_text(directory, MANIFEST)?)]);
    for source in SOURCES {
        let fixtures = format!("{source}/{FIXTURES}");
        if directory.join(&fixtures).exists() {
            files.insert(fixtures.clone(), read_text(directory, &fixtures)?);
        }
        for migration in folders_in(&directory.join(source)).map_err(|why| format!("{source}: {why}"))? {
            for way in ["up", "down"] {
                let path = format!("{source}/{migration}/{way}.sql");
                files.insert(path.clone(), read_text(directory, &path)?);
            }
            if 2 * MIGRATIONS_MAX < files.len() {
                return Err(format!("expected at most {MIGRATIONS_MAX} migrations"));
            }
        }
    }
    Ok(files)
}

fn read_text(directory: &Path, path: &str) -> Result<String, String> {
    let found = files::read(&directory.join(path), BYTES_MAX).map_err(|why| format!("{path}: {why}"))?;
    let text = String::from_utf8(found.bytes).ok().filter(|text| !text.contains('\0'));
    text.ok_or_else(|| format!("{path}: expected UTF-8"))
}

/// The names of the folders in a directory; none, where there is no such directory.
fn folders_in(directory: &PathBuf) -> Result<Vec<String>, String> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| files::error_text(&error))?,
    };
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| files::error_text(&error))?.path();
        // A host may keep a README beside them.
        if path.is_dir() {
            let name = path.file_name().and_then(|name| name.to_str());
            folders.push(name.ok_or_else(|| format!("{}: expected UTF-8", path.display()))?.to_owned());
        }
    }
    Ok(folders)
}

/// What is wrong with its migrations, as far as their names say.
pub(super) fn refusal(host: &Host) -> Option<String> {
    let of_sweep: BTreeSet<String> =
        ["postgres", "ledger", "ledger_views", "board/session", "board/issue", "board/step"]
            .iter()
            .flat_map(|source| FILES.get_dir(source).into_iter().flat_map(|source| source.dirs()))
            .map(|folder| version(&folder.path().display().to_string()))
            .collect();
    if SOURCES.iter().all(|source| host.migrations(source).is_empty()) {
        return Some("there are no migrations: expected some in postgres/, sqlite/ or both/".to_owned());
    }
    let kept = host.files_as_json().map_or(0, |files| files.len());
    if KEPT_MAX < kept {
        return Some(format!("its files have {kept} bytes as JSON: expected at most {KEPT_MAX} of all together"));
    }
    let misnamed = |folder: &String| {
        let (name, number) = (folder.rsplit('/').next()?, version(folder));
        let is_number = !number.is_empty() && number.len() <= DIGITS_MAX && number.chars().all(|c| c.is_ascii_digit());
        if !is_number || !name.contains('_') {
            return Some(format!("{folder}: expected a name like 0001_work: a number, _ and words"));
        }
        of_sweep.contains(&number).then(|| format!("{folder}: {number} is the number of one of sweep's own migrations"))
    };
    let folders = SOURCES.iter().flat_map(|source| host.migrations(source));
    folders.collect::<Vec<_>>().iter().find_map(misnamed).or_else(|| {
        let of_one_database = [&["both", "postgres", "postgres_listen"][..], &["both", "sqlite", "sqlite_lasting"]];
        of_one_database.iter().find_map(|sources| {
            let mut seen = BTreeMap::new();
            sources.iter().flat_map(|source| host.migrations(source)).find_map(|folder| {
                let other = seen.insert(version(&folder), folder.clone())?;
                Some(format!("{folder} has the number of {other}: expected one of its own"))
            })
        })
    })
}

/// The folder of its migration.
const MIGRATION: &str = "0001_work";

/// A table of the database, for people.
#[derive(Serialize)]
struct TableToRead {
    name: String,
    columns: String,
    /// What `host.toml` calls it; none, if it cannot name it.
    key: Option<String>,
}

/// The files of a folder called so, by their paths, for the database at hand.
pub fn skeleton(db: &mut Db, folder: &str) -> Result<BTreeMap<String, String>> {
    let dialect = db.dialect();
    let (tables, id) = tables(db).context("looking for tables")?;
    if !tables.iter().any(|table| table.key.is_some()) {
        let expected = dialect.either(IN_PUBLIC, "expected the database of a control plane");
        return Err(config(format!("{} has no tables: {expected}", catalog::name(db)?)).into());
    }
    let tables = Value::from(Serde(&tables));
    let manifest = render("host.toml", context! { name => name_of(folder), id, tables => tables.clone() })?;
    // It knows what is expected of a host like this.
    let no_migration = BTreeMap::from([(MANIFEST.to_owned(), manifest.clone())]);
    let host = Host::from_files(no_migration).map_err(config)?;
    let needed: Vec<&Relation> = CONTRACT.relations_of(&host).filter(|relation| !relation.optional).collect();
    let functions = needed.iter().filter_map(|relation| Some(format!("{}_{}", written_by(relation)?, relation.name)));
    let functions: Vec<String> = functions.collect();
    let relations: Value = needed.iter().map(|relation| to_fill(relation, &host, dialect)).collect();
    let context = context! { sqlite => dialect == Dialect::Sqlite, tables, relations, functions };
    let text = |template: &str| render(template, context.clone());
    Ok(BTreeMap::from([
        (MANIFEST.to_owned(), manifest),
        (format!("{}/{MIGRATION}/up.sql", dialect.name()), text("up.sql")?),
        (format!("{}/{MIGRATION}/down.sql", dialect.name()), text("down.sql")?),
        (format!("{}/{FIXTURES}", dialect.name()), text("fixtures.sql")?),
    ]))
}

fn render(template: &str, context: Value) -> Result<String> {
    let file = FILES.get_file(format!("skeleton/{template}")).and_then(|file| file.contents_utf8());
    Ok(strict_templates().render_str(file.unwrap_or_default(), context)? + "\n")
}

/// What a host may be called, made of what its folder is called.
fn name_of(folder: &str) -> String {
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric();
    let name: String =
        folder.chars().map(|c| if is_of_a_name(c) { c.to_ascii_lowercase() } else { '_' }).take(30).collect();
    match name.starts_with(|c: char| c.is_ascii_lowercase()) && !names().contains(&name.as_str()) {
        true => name,
        false => format!("host_{name}"),
    }
}

/// A relation that the migration makes, for its template: each column has a value of the type that is expected.
fn to_fill(relation: &Relation, host: &Host, dialect: Dialect) -> Value {
    // All facts depend on it.
    let has_a_row = relation.name == "host_behavior";
    let columns = CONTRACT.columns_of(relation, host).map(|column| {
        let value = match (has_a_row, column.type_in(host), dialect) {
            (true, "double precision", Dialect::Postgres) => "1::float8".to_owned(),
            (true, "double precision", Dialect::Sqlite) => "1.0".to_owned(),
            (true, ..) => "'set it to todo'".to_owned(),
            (false, of_type, Dialect::Postgres) => format!("null::{of_type}"),
            (false, _, Dialect::Sqlite) => "null".to_owned(),
        };
        context! { name => &column.0, value, meaning => first_sentence(&column.2) }
    });
    let with_steps = host.kinds().contains(&Kind::Step).then_some(&relation.lookups_with_steps);
    let lookups: Vec<&str> =
        relation.lookups.iter().chain(with_steps.into_iter().flatten()).map(String::as_str).collect();
    context! {
        name => &relation.name,
        about => first_sentence(&relation.about),
        lookups => lookups.join(", "),
        columns => columns.collect::<Value>(),
        has_a_row,
        writes => written_by(relation).into_iter().collect::<Vec<_>>(),
    }
}

/// The statement by which sweep writes a relation, and which its trigger takes.
fn written_by(relation: &Relation) -> Option<&'static str> {
    match relation.usage {
        Usage::Read | Usage::Lock => None,
        Usage::Update => Some("update"),
        Usage::Insert => Some("insert"),
    }
}

/// The first sentence of a text, without Markdown.
fn first_sentence(text: &str) -> String {
    let sentence = text.split(". ").next().unwrap_or(text);
    sentence.replace('`', "").replace('\n', " ")
}

/// The tables, and the type that most of their ids have.
fn tables(db: &mut Db) -> QueryResult<(Vec<TableToRead>, &'static str)> {
    const ON_POSTGRES: &str = "relname::text, attname::text, format_type(atttypid, atttypmod), \
        EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary AND attnum = ANY (indkey)) \
        FROM pg_class c JOIN pg_attribute ON attrelid = c.oid \
        WHERE relnamespace = to_regnamespace('public') AND relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped \
        ORDER BY relname, attnum";
    const ON_SQLITE: &str = "m.name, c.name, lower(c.type), c.pk > 0 \
        FROM main.sqlite_master m JOIN pragma_table_info(m.name, 'main') c \
        WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
        AND m.name NOT LIKE 'sweep\\_%' ESCAPE '\\' \
        ORDER BY m.name, c.cid";
    let columns = db.dialect().either(ON_POSTGRES, ON_SQLITE);
    let columns = sql::<(Text, Text, Text, Bool)>(&format!("SELECT {columns}"));
    let rows: Vec<(String, String, String, bool)> = columns.load(db)?;
    let ids = ["uuid", "bigint", "integer", "text"];
    let has = |id: &str| rows.iter().filter(|(_, _, of_type, is_key)| *is_key && of_type == id).count();
    let id = ids.into_iter().rev().max_by_key(|id| has(id)).unwrap_or("text");
    let mut tables: Vec<TableToRead> = Vec::new();
    for (table, column, of_type, _) in rows {
        // In quotes where TOML needs them.
        let is_bare = table.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        let key = if is_bare { table.clone() } else { format!("\"{table}\"") };
        let key = (!is_odd(&table)).then_some(key);
        // They stand in comments, of one line each.
        let [table, column] = [table, format!("{column} {of_type}")].map(|text| text.replace(char::is_control, " "));
        match tables.last_mut().filter(|last| last.name == table) {
            Some(last) => last.columns = format!("{}, {column}", last.columns),
            None => tables.push(TableToRead { name: table, columns: column, key }),
        }
    }
    Ok((tables, id))
}
