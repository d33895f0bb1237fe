//! What sweep reads and writes of a host, as `migrations/contract.toml` has it, and whether a host's migrations have
//! made it. What only the rows can show, `sweep host verify` looks at.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use anyhow::{Context, Result};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use serde::Deserialize;

use super::Db;
use super::hosts::{FILES, Host};
use crate::conclusion::config;
use crate::rules::Kind;

pub static CONTRACT: LazyLock<Contract> = LazyLock::new(|| {
    let text = FILES.get_file("contract.toml").and_then(|file| file.contents_utf8()).unwrap_or_default();
    toml::from_str(text).expect("the suite reads it")
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// What several relations have, by its name.
    pub columns: BTreeMap<String, Vec<Column>>,
    #[serde(rename = "relation")]
    pub relations: Vec<Relation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relation {
    pub name: String,
    /// Hosts without this kind need none. None: every host needs it.
    pub kind: Option<Kind>,
    #[serde(default, rename = "use")]
    pub usage: Usage,
    #[serde(default)]
    pub optional: bool,
    /// In a few words.
    pub about: String,
    /// In Markdown.
    pub text: String,
    /// It has these of `Contract::columns` as well.
    pub like: Option<String>,
    #[serde(default)]
    pub columns: Vec<Column>,
    /// Of hosts with plans.
    #[serde(default)]
    pub columns_with_steps: Vec<Column>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Usage {
    #[default]
    Read,
    Lock,
    Update,
    Insert,
}

/// Its name, its type with ` or null` if its value may be missing, and what it means, in Markdown.
#[derive(Clone, Deserialize)]
pub struct Column(pub String, pub String, pub String);

const OR_NULL: &str = " or null";

impl Column {
    /// As PostgreSQL calls it; `id`, the host's own.
    fn type_name(&self) -> &str {
        self.1.strip_suffix(OR_NULL).unwrap_or(&self.1)
    }
}

impl Contract {
    /// What a host with these kinds has to have, or may.
    fn of(&self, kinds: &[Kind]) -> impl Iterator<Item = &Relation> {
        self.relations.iter().filter(|relation| relation.kind.is_none_or(|kind| kinds.contains(&kind)))
    }

    /// The columns of a kind's facts that must not be null.
    pub(super) fn facts_with_a_value(&self, kind: Kind) -> impl Iterator<Item = &str> {
        let name = format!("{kind}_facts");
        let facts = self.relations.iter().find(move |relation| relation.name == name);
        let columns = facts.into_iter().flat_map(|facts| self.columns(facts, Kind::ALL));
        columns.filter(|column| !column.1.ends_with(OR_NULL)).map(|column| column.0.as_str())
    }

    /// Of a relation, for a host with these kinds.
    pub fn columns<'a>(&'a self, relation: &'a Relation, kinds: &[Kind]) -> Vec<&'a Column> {
        let common = relation.like.as_ref().map_or(&[] as &[Column], |like| &self.columns[like]);
        let of_steps: &[Column] = if kinds.contains(&Kind::Step) { &relation.columns_with_steps } else { &[] };
        // A relation may say more about a column than all do.
        let own = |column: &Column| relation.columns.iter().any(|own| own.0 == column.0);
        common.iter().filter(|column| !own(column)).chain(&relation.columns).chain(of_steps).collect()
    }
}

/// A relation that stands in the schema.
#[derive(Default)]
struct Standing {
    /// The type of each column; none, where the database knows none.
    columns: BTreeMap<String, Option<String>>,
    takes_inserts: bool,
    takes_updates: bool,
}

const MISTAKES_SHOWN: usize = 10;

/// Refuses a host whose migrations have made something else than is needed, and says which relation and column, and
/// what was expected.
pub fn refuse_unlike(db: &mut Db, host: &Host) -> Result<()> {
    let standing = match db {
        Db::Postgres(db) => on_postgres(db),
        Db::Sqlite(db) => on_sqlite(db),
    }
    .context("looking at what the host's migrations have made")?;
    let mistakes = mistakes(&standing, host);
    if mistakes.is_empty() {
        return Ok(());
    }
    let shown = mistakes[..mistakes.len().min(MISTAKES_SHOWN)].join("; ");
    let further = mistakes.len().saturating_sub(MISTAKES_SHOWN);
    let further = if further == 0 { String::new() } else { format!("; and {further} more") };
    let name = host.name();
    Err(config(format!("the host {name} is not as docs/host-reference.md describes a host: {shown}{further}")).into())
}

fn mistakes(standing: &BTreeMap<String, Standing>, host: &Host) -> Vec<String> {
    let kinds = host.kinds();
    let mut mistakes = Vec::new();
    for relation in CONTRACT.of(&kinds) {
        let name = &relation.name;
        let Some(found) = standing.get(name) else {
            if !relation.optional {
                mistakes.push(format!("{name} is missing: {}", relation.about));
            }
            continue;
        };
        for column in CONTRACT.columns(relation, &kinds) {
            let (column, expected) = (&column.0, column.type_name());
            match found.columns.get(column) {
                None => mistakes.push(format!("{name}.{column} is missing: expected {expected}")),
                Some(Some(found)) if !is_fit(found, expected, host) => {
                    let expected = if expected == "id" { host.id() } else { expected };
                    mistakes.push(format!("{name}.{column} is {found}: expected {expected}"));
                }
                Some(_) => (),
            }
        }
        match relation.usage {
            Usage::Insert if !found.takes_inserts => {
                mistakes
                    .push(format!("{name} takes no INSERT: expected a table, or a view with an INSTEAD OF trigger"));
            }
            Usage::Update if !found.takes_updates => {
                mistakes
                    .push(format!("{name} takes no UPDATE: expected a table, or a view with an INSTEAD OF trigger"));
            }
            Usage::Read | Usage::Lock | Usage::Insert | Usage::Update => (),
        }
    }
    mistakes
}

fn is_fit(found: &str, expected: &str, host: &Host) -> bool {
    match expected {
        "id" => found == host.id() || host.id() == "text" && is_text(found),
        "text" => is_text(found),
        "timestamptz" => found.starts_with("timestamp") && found.ends_with(" with time zone"),
        expected => found == expected,
    }
}

/// With or without a length.
fn is_text(found: &str) -> bool {
    found == "text" || found.starts_with("character")
}

fn on_postgres(db: &mut PgConnection) -> QueryResult<BTreeMap<String, Standing>> {
    // A column's type, and of a domain the one that it is of. 8 and 4: INSERT and UPDATE, by a trigger as well.
    const COLUMNS: &str = "relname::text, attname::text, \
        format_type(coalesce(nullif(typbasetype, 0), t.oid), atttypmod), \
        pg_relation_is_updatable(c.oid, true) & 8 > 0, pg_relation_is_updatable(c.oid, true) & 4 > 0 \
        FROM pg_class c JOIN pg_attribute ON attrelid = c.oid JOIN pg_type t ON t.oid = atttypid \
        WHERE relnamespace = to_regnamespace('sweep') AND relkind IN ('r', 'p', 'v', 'm') AND attnum > 0 \
        AND NOT attisdropped";
    type Row = (String, String, String, bool, bool);
    let rows: Vec<Row> = sql::<(Text, Text, Text, Bool, Bool)>(&format!("SELECT {COLUMNS}")).load(db)?;
    let mut standing: BTreeMap<String, Standing> = BTreeMap::new();
    for (relation, column, of_type, takes_inserts, takes_updates) in rows {
        let relation = standing.entry(relation).or_default();
        relation.columns.insert(column, Some(of_type));
        (relation.takes_inserts, relation.takes_updates) = (takes_inserts, takes_updates);
    }
    Ok(standing)
}

/// There a view's columns have no types, and what a view takes is known when it is written to.
fn on_sqlite(db: &mut SqliteConnection) -> QueryResult<BTreeMap<String, Standing>> {
    const COLUMNS: &str =
        "m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type IN ('table', 'view')";
    let rows: Vec<(String, String)> = sql::<(Text, Text)>(&format!("SELECT {COLUMNS}")).load(db)?;
    let mut standing: BTreeMap<String, Standing> = BTreeMap::new();
    for (relation, column) in rows {
        let relation = standing.entry(relation).or_default();
        relation.columns.insert(column, None);
        (relation.takes_inserts, relation.takes_updates) = (true, true);
    }
    Ok(standing)
}
