//! The reference of a host is made from the contract that `sweep migrate` checks, and both agree with what Rust reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use regex::Regex;
use sweep::rules::Kind;
use sweep::rules::issue::IssueFacts;
use sweep::rules::session::SessionFacts;
use sweep::rules::step::StepFacts;
use sweep::store::db::columns::FactsColumn;
use sweep::store::hosts::contract::{CONTRACT, ContractColumn, Relation, Usage};

use super::Page;
use super::comparison::{is_blessing, turn};
use super::prose::{WIDTH_MAX, wrapped, wrapped_within};

const BEGIN: &str = "<!-- contract: begin -->\n";
const END: &str = "<!-- contract: end -->\n";

#[test]
fn the_reference_of_a_host_is_the_contract() {
    let _turn = turn();
    let page = Page::load("docs/host-reference.md");
    let (before, made) = page.text.split_once(BEGIN).expect("a line below which all is made");
    let (made, after) = made.split_once(END).expect("a line above which all is made");
    let sections = sections();
    if is_blessing() {
        std::fs::write(&page.path, format!("{before}{BEGIN}{sections}{END}{after}")).expect("a page");
    } else {
        assert!(
            made == sections,
            "docs/host-reference.md is not migrations/contract.toml: `make documents` writes it anew"
        );
    }
}

fn sections() -> String {
    let mut text = "\n## What sweep reads\n".to_owned();
    for (name, columns) in &CONTRACT.columns {
        let _ = write!(text, "\n### All {name}\nEach of the views of {name} has these columns.\n\n{}", table(columns));
    }
    let (read, written): (Vec<&Relation>, Vec<&Relation>) =
        CONTRACT.relations.iter().partition(|relation| relation.usage == Usage::Read);
    text.extend(read.into_iter().map(section));
    text += "\n## What sweep locks and writes\n";
    text.extend(written.into_iter().map(section));
    text
}

fn section(relation: &Relation) -> String {
    let optional = match (relation.optional, relation.for_derived) {
        (true, _) => " (optional)",
        (_, true) => " (for derived facts)",
        _ => "",
    };
    let mut text = format!("\n### `{}`: {}{optional}\n{}\n", relation.name, relation.about, prose(&relation.text));
    let usage = match relation.usage {
        Usage::Read => None,
        Usage::Lock => Some("sweep locks rows of it, and writes none."),
        Usage::Update => Some("sweep locks rows of it, and updates them."),
        Usage::Insert => Some("sweep inserts into it, and reads nothing back."),
    };
    let like = relation.like.as_ref().map(|like| {
        let and = if relation.columns.is_empty() { "" } else { ", and these" };
        let end = if relation.columns.is_empty() { "." } else { ":" };
        format!("It has the columns of [all {like}](#all-{like}){and}{end}")
    });
    let lookups = lookups(relation);
    for sentence in usage.map(str::to_owned).into_iter().chain(lookups).chain(like) {
        let _ = write!(text, "\n{}\n", wrapped(&sentence));
    }
    if !relation.columns.is_empty() {
        let _ = write!(text, "\n{}", table(&relation.columns));
    }
    for (of, columns) in [
        ("Hosts with plans", &relation.columns_with_steps),
        ("Hosts with [derived facts](#derived-facts)", &relation.columns_for_derived),
        ("Such hosts, but for sweep's own tables", &relation.columns_unless_native),
        ("A host without these columns has no such commands", &relation.columns_for_requests),
    ] {
        if !columns.is_empty() {
            let _ = write!(text, "\n{of}:\n\n{}", table(columns));
        }
    }
    text
}

/// Says by which columns rows are looked up.
fn lookups(relation: &Relation) -> Option<String> {
    let list = |columns: &[String]| columns.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ");
    let steps = match list(&relation.lookups_with_steps) {
        columns if columns.is_empty() => columns,
        columns => format!(", of a host with plans also {columns}"),
    };
    let always = list(&relation.lookups);
    (!always.is_empty()).then(|| format!("Looked up by {always}{steps}: an index has to serve each."))
}

/// Wraps paragraphs and lists, each by itself.
fn prose(text: &str) -> String {
    let mark = Regex::new(r"^(- |\d\. )").expect("an expression");
    let line = |line: &str| {
        let indent = " ".repeat(mark.find(line).map_or(0, |mark| mark.len()));
        wrapped_within(WIDTH_MAX - indent.len(), line).replace('\n', &format!("\n{indent}"))
    };
    text.trim().lines().map(line).collect::<Vec<_>>().join("\n")
}

fn table(columns: &[ContractColumn]) -> String {
    let row =
        |ContractColumn(name, of_type, meaning): &ContractColumn| format!("| `{name}` | {of_type} | {meaning} |\n");
    format!("| column | type | meaning |\n|---|---|---|\n{}", columns.iter().map(row).collect::<String>())
}

/// The columns that Rust has for each relation, with their types as the contract writes them.
fn of_rust() -> BTreeMap<String, BTreeMap<String, String>> {
    let table = Regex::new(r"(?:^|\n)    (\w+) (?:\([\w, ]+\) )?\{([^{}]*)\}").expect("an expression");
    let column = Regex::new(r"(\w+) -> ([\w<>]+),").expect("an expression");
    let columns = |text: &str| -> BTreeMap<String, String> {
        column.captures_iter(text).map(|column| (column[1].to_owned(), type_name(&column[2]))).collect()
    };
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/db/schema.rs");
    let tables = std::fs::read_to_string(schema).expect("the tables that Rust reads and writes");
    let mut found: BTreeMap<String, BTreeMap<String, String>> =
        table.captures_iter(&tables).map(|table| (table[1].to_owned(), columns(&table[2]))).collect();
    let of_kinds = [
        ("issue_facts", FactsColumn::all_of::<IssueFacts>()),
        ("step_facts", FactsColumn::all_of::<StepFacts>()),
        ("session_facts", FactsColumn::all_of::<SessionFacts>()),
    ];
    for (view, columns) in of_kinds {
        // Sweep's own views add the exemptions, and which agent the ledger calls lost.
        let is_own = |name: &str| name.contains("exemption") || name == "lost_agent_id";
        let of_host = columns.into_iter().filter(|column| !is_own(column.name));
        let or_null = |column: &FactsColumn| if column.is_nullable { " or null" } else { "" };
        let of_host = of_host.map(|it| (it.name.to_owned(), format!("{}{}", it.of_type, or_null(&it))));
        found.get_mut(view).expect("the names of subjects").extend(of_host);
    }
    found
}

fn type_name(of_rust: &str) -> String {
    if let Some(inner) = of_rust.strip_prefix("Nullable<") {
        return type_name(inner.trim_end_matches('>')) + " or null";
    }
    let names = [
        ("HostId", "id"),
        ("OwnKey", "uuid"),
        ("Text", "text"),
        ("Moment", "timestamptz"),
        ("Bool", "boolean"),
        ("Integer", "integer"),
        ("BigInt", "bigint"),
        ("Double", "double precision"),
        ("JsonDocument", "jsonb"),
    ];
    names.iter().find(|(rust, _)| *rust == of_rust).unwrap_or_else(|| panic!("{of_rust}")).1.to_owned()
}

fn all_columns(relation: &Relation) -> impl Iterator<Item = &ContractColumn> {
    let Relation { columns_with_steps, columns_for_derived, columns_unless_native, columns_for_requests, .. } =
        relation;
    let of_some = [columns_with_steps, columns_for_derived, columns_unless_native, columns_for_requests];
    CONTRACT.columns(relation).chain(of_some.into_iter().flatten())
}

#[test]
fn the_contract_is_what_rust_reads_and_writes() {
    let of_rust = of_rust();
    let mut compared = 0;
    for relation in &CONTRACT.relations {
        let Some(of_rust) = of_rust.get(&relation.name) else { continue };
        let columns = all_columns(relation);
        let of_contract: BTreeMap<&str, &str> = columns.map(|it| (it.0.as_str(), it.1.as_str())).collect();
        // A watcher reads and writes further columns of sweep's own tables.
        let is_more = ["sessions", "session_commands"].contains(&relation.name.as_str());
        for (column, of_type) in
            of_rust.iter().filter(|(column, _)| !is_more || of_contract.contains_key(column.as_str()))
        {
            assert_eq!(of_contract.get(column.as_str()), Some(&of_type.as_str()), "{}.{column}", relation.name);
            compared += 1;
        }
    }
    assert!(120 < compared, "{compared} columns compared");
}

#[test]
fn each_relation_of_a_kind_is_there_for_each_kind_and_columns_have_one_meaning_each() {
    let names: BTreeSet<&str> = CONTRACT.relations.iter().map(|relation| relation.name.as_str()).collect();
    for kind in Kind::ALL {
        for view in ["subjects", "candidates", "facts"] {
            assert!(names.contains(format!("{kind}_{view}").as_str()), "{kind}_{view}");
        }
    }
    for relation in &CONTRACT.relations {
        let columns = all_columns(relation);
        let columns: Vec<&ContractColumn> = columns.collect();
        let once: BTreeSet<&str> = columns.iter().map(|column| column.0.as_str()).collect();
        assert_eq!(once.len(), columns.len(), "{}", relation.name);
        assert!(columns.iter().all(|column| !column.2.is_empty() && !column.2.ends_with('.')), "{}", relation.name);
    }
}
