//! What sweep reads and writes of a host, as `migrations/contract.toml` has it.

mod check;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::rules::Kind;
use crate::store::db::dialect::Dialect;
use crate::store::hosts::folders::{FILES, Host};

pub(in crate::store) use check::refuse_unlike;

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
    /// Its type as PostgreSQL calls it; `id`, the host's own.
    fn type_name(&self) -> &str {
        self.1.strip_suffix(" or null").unwrap_or(&self.1)
    }

    /// Its type in this host, as PostgreSQL calls it.
    pub(in crate::store) fn type_in<'a>(&'a self, host: &Host) -> &'a str {
        match self.type_name() {
            "id" => host.id(),
            other => other,
        }
    }
}

impl Contract {
    /// The relations that this host has to make, or may.
    fn relations_of<'a>(&'a self, host: &Host) -> impl Iterator<Item = &'a Relation> {
        let (kinds, derives) = (host.kinds(), host.has_derived_facts());
        let brings = [host.views(Dialect::Postgres), host.views(Dialect::Sqlite)].concat();
        self.relations.iter().filter(move |relation| {
            let is_of_its_kinds = relation.kind.is_none_or(|kind| kinds.contains(&kind));
            let is_derived = relation.derived && !brings.contains(&relation.name);
            is_of_its_kinds && if derives { !is_derived } else { !relation.for_derived }
        })
    }

    /// The relations that this host has to make.
    pub(in crate::store) fn needed_of<'a>(&'a self, host: &Host) -> impl Iterator<Item = &'a Relation> {
        self.relations_of(host).filter(|relation| !relation.optional)
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
