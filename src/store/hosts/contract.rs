//! What sweep reads and writes of a host, as `migrations/contract.toml` has it; and whether its migrations have made
//! that, as far as the catalog shows: what only rows can show is not looked at here.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use serde::Deserialize;

use crate::conclusion::config;
use crate::rules::Kind;
use crate::store::Db;
use crate::store::db::dialect::Dialect;
use crate::store::hosts::folders::{FILES, Host};

pub static CONTRACT: LazyLock<Contract> = LazyLock::new(|| {
    let text = FILES.get_file("contract.toml").and_then(|file| file.contents_utf8()).unwrap_or_default();
    toml::from_str(text).expect("the suite reads it")
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// What several relations have, by its name.
    pub columns: BTreeMap<String, Vec<ContractColumn>>,
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
    /// The columns that sweep updates.
    #[serde(default)]
    updates: Vec<String>,
    #[serde(default)]
    pub optional: bool,
    /// sweep makes it itself, of the runs and wakes of a host with derived facts.
    #[serde(default)]
    pub derived: bool,
    /// Only hosts with derived facts have it.
    #[serde(default)]
    pub for_derived: bool,
    /// What it is, in a few words.
    pub about: String,
    /// What it holds, in Markdown.
    pub text: String,
    /// The columns by which sweep looks rows up, one by one: a host needs an index for each.
    #[serde(default)]
    pub lookups: Vec<String>,
    /// Those by which it does only on hosts with plans.
    #[serde(default)]
    pub lookups_with_steps: Vec<String>,
    /// It has these of `Contract::columns` as well.
    pub like: Option<String>,
    #[serde(default)]
    pub columns: Vec<ContractColumn>,
    /// Columns that only hosts with plans have.
    #[serde(default)]
    pub columns_with_steps: Vec<ContractColumn>,
    /// Columns that only hosts with derived facts have.
    #[serde(default)]
    pub columns_for_derived: Vec<ContractColumn>,
    /// What people may ask for by a command; a host that lacks one of them does not provide that.
    #[serde(default)]
    pub columns_for_requests: Vec<ContractColumn>,
    /// Columns that hosts with derived facts have if their tables are not sweep's.
    #[serde(default)]
    pub columns_unless_native: Vec<ContractColumn>,
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

/// A column: its name, its type with ` or null` if its value may be missing, and what it means, in Markdown.
#[derive(Clone, Deserialize)]
pub struct ContractColumn(pub String, pub String, pub String);

impl ContractColumn {
    /// Its type in this host, as PostgreSQL calls it.
    pub(in crate::store) fn type_in<'a>(&'a self, host: &Host) -> &'a str {
        match self.1.strip_suffix(" or null").unwrap_or(&self.1) {
            "id" => host.id(),
            other => other,
        }
    }
}

impl Contract {
    /// The relations that this host has to make, or may.
    pub(in crate::store) fn relations_of<'a>(&'a self, host: &Host) -> impl Iterator<Item = &'a Relation> {
        let (kinds, derives) = (host.kinds(), host.has_derived_facts());
        let brings = [host.views(Dialect::Postgres), host.views(Dialect::Sqlite)].concat();
        self.relations.iter().filter(move |relation| {
            let is_of_its_kinds = relation.kind.is_none_or(|kind| kinds.contains(&kind));
            let is_derived = relation.derived && !brings.contains(&relation.name);
            is_of_its_kinds && if derives { !is_derived } else { !relation.for_derived }
        })
    }

    /// The columns of a relation that it has on every host.
    pub fn columns<'a>(&'a self, relation: &'a Relation) -> impl Iterator<Item = &'a ContractColumn> {
        let common = relation.like.as_ref().map_or(&[] as &[ContractColumn], |like| &self.columns[like]);
        common.iter().chain(&relation.columns)
    }

    /// The columns of a relation on this host.
    pub(in crate::store) fn columns_of<'a>(
        &'a self,
        relation: &'a Relation,
        host: &Host,
    ) -> impl Iterator<Item = &'a ContractColumn> {
        let with_steps = host.kinds().contains(&Kind::Step).then_some(&relation.columns_with_steps);
        let for_derived = host.has_derived_facts().then_some(&relation.columns_for_derived);
        let unless_native = (host.has_derived_facts() && !host.is_native()).then_some(&relation.columns_unless_native);
        self.columns(relation).chain(with_steps.into_iter().chain(for_derived).chain(unless_native).flatten())
    }
}

/// The relations that stand in the schema, by their names.
type Standing = BTreeMap<String, StandingRelation>;

#[derive(Default)]
struct StandingRelation {
    columns: BTreeMap<String, StandingColumn>,
    takes_inserts: bool,
}

struct StandingColumn {
    /// None, where the database knows none.
    of_type: Option<String>,
    takes_updates: bool,
}

const MISTAKES_SHOWN: usize = 10;

/// Refuses a host whose migrations have made something else than is needed, and says which relation and column, and
/// what was expected.
pub(in crate::store) fn refuse_unlike(db: &mut Db, host: &Host) -> Result<()> {
    let standing = match db {
        Db::Postgres(db) => on_postgres(db).context("looking at what the host's migrations have made")?,
        Db::Sqlite(db) => on_sqlite(db, host)?,
    };
    let mistakes = mistakes(&standing, host);
    let shown = mistakes[..mistakes.len().min(MISTAKES_SHOWN)].join("; ");
    let further = mistakes.len().saturating_sub(MISTAKES_SHOWN);
    let further = if further == 0 { String::new() } else { format!("; and {further} more") };
    let name = host.name();
    let refusal = format!("the host {name} is not as docs/host-reference.md describes a host: {shown}{further}");
    ensure!(mistakes.is_empty(), config(refusal));
    Ok(())
}

fn mistakes(standing: &Standing, host: &Host) -> Vec<String> {
    let of = |relation: &Relation| match standing.get(&relation.name) {
        Some(found) => mistakes_in(relation, found, host),
        None if relation.optional => Vec::new(),
        None => vec![format!("{} is missing: {}", relation.name, relation.about)],
    };
    CONTRACT.relations_of(host).flat_map(of).collect()
}

const WRITABLE: &str = "expected a table, or a view with an INSTEAD OF trigger";

fn mistakes_in(relation: &Relation, found: &StandingRelation, host: &Host) -> Vec<String> {
    let name = &relation.name;
    let refused = relation.usage == Usage::Insert && !found.takes_inserts;
    let refused = refused.then(|| format!("{name} takes no INSERT: {WRITABLE}"));
    let mistake = |column: &ContractColumn, found: Option<&StandingColumn>, is_updated: bool| {
        Some(format!("{name}.{} {}", column.0, mistake_of(column, found, is_updated, host)?))
    };
    let columns = CONTRACT.columns_of(relation, host);
    let columns = columns.filter_map(|it| mistake(it, found.columns.get(&it.0), relation.updates.contains(&it.0)));
    // A host that has one of them has it as it must be.
    let for_requests = relation.columns_for_requests.iter();
    let for_requests = for_requests.filter_map(|it| mistake(it, Some(found.columns.get(&it.0)?), false));
    columns.chain(for_requests).chain(refused).collect()
}

fn mistake_of(
    column: &ContractColumn,
    found: Option<&StandingColumn>,
    is_updated: bool,
    host: &Host,
) -> Option<String> {
    let expected = column.type_in(host);
    match found {
        None => Some(format!("is missing: expected {expected}")),
        Some(StandingColumn { of_type: Some(found), .. }) if !is_fit(found, expected) => {
            Some(format!("is {found}: expected {expected}"))
        }
        Some(found) => (is_updated && !found.takes_updates).then(|| format!("takes no UPDATE: {WRITABLE}")),
    }
}

fn is_fit(found: &str, expected: &str) -> bool {
    match expected {
        // With or without a length.
        "text" => found == "text" || found.starts_with("character"),
        "timestamptz" => found.starts_with("timestamp") && found.ends_with(" with time zone"),
        expected => found == expected,
    }
}

fn on_postgres(db: &mut PgConnection) -> QueryResult<Standing> {
    // A column's type, and of a domain the one that it is of. 8: INSERT, by a trigger as well. A trigger of the type 80
    // is one INSTEAD OF UPDATE, which writes any column; pg_column_is_updatable() asks for one of DELETE as well.
    const COLUMNS: &str = "relname::text, attname::text, \
        format_type(coalesce(nullif(typbasetype, 0), t.oid), atttypmod), \
        pg_relation_is_updatable(c.oid, true) & 8 > 0, pg_column_is_updatable(c.oid, attnum, false) \
        OR EXISTS (SELECT FROM pg_trigger WHERE tgrelid = c.oid AND tgtype & 80 = 80) \
        FROM pg_class c JOIN pg_attribute ON attrelid = c.oid JOIN pg_type t ON t.oid = atttypid \
        WHERE relnamespace = to_regnamespace('sweep') AND relkind IN ('r', 'p', 'v', 'm') AND attnum > 0 \
        AND NOT attisdropped";
    let rows: Vec<(String, String, String, bool, bool)> =
        sql::<(Text, Text, Text, Bool, Bool)>(&format!("SELECT {COLUMNS}")).load(db)?;
    let mut standing = Standing::new();
    for (relation, column, of_type, takes_inserts, takes_updates) in rows {
        let relation = standing.entry(relation).or_default();
        relation.columns.insert(column, StandingColumn { of_type: Some(of_type), takes_updates });
        relation.takes_inserts = takes_inserts;
    }
    Ok(standing)
}

/// There a view's columns have no types, what a view takes is known when it is written to, and that it cannot be read
/// when it is looked at.
fn on_sqlite(db: &mut SqliteConnection, host: &Host) -> Result<Standing> {
    let mut standing = Standing::new();
    for name in CONTRACT.relations_of(host).map(|relation| &relation.name) {
        let columns = sql::<Text>("SELECT name FROM pragma_table_info(").bind::<Text, _>(name).sql(")");
        let columns: Vec<String> = columns
            .load(db)
            .map_err(|error| config(format!("{name} of the host {} cannot be read: {error}", host.name())))?;
        if columns.is_empty() {
            continue;
        }
        let column = |name| (name, StandingColumn { of_type: None, takes_updates: true });
        let columns = columns.into_iter().map(column).collect();
        standing.insert(name.clone(), StandingRelation { columns, takes_inserts: true });
    }
    Ok(standing)
}
