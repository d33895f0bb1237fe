//! The tables of docs/json.md are made from the schemas.

use std::fmt::Write;

use serde_json::Value;

use super::Page;
use super::comparison::{is_blessing, turn};
use super::derived_schemas;
use super::prose::wrapped;
use crate::support::json;

const MADE_BELOW: &str = "<!-- All below is made from schemas/ by `make documents`. -->\n";

/// The schemas, in the order of the page.
const SECTIONS: [&str; 23] = [
    "report", "report-line", "databases", "common", "attention", "status", "plan-status", "work-list",
    "attention-page", "plan-status-page", "dry-run-page", "explanation", "request", "run", "done", "exemptions",
    "quarantine", "hosts", "certificate", "diagnosis", "settings", "message", "counts",
];

#[test]
fn the_fields_in_the_document_are_those_of_the_schemas() {
    let _turn = turn();
    if is_blessing() {
        derived_schemas::write();
    }
    let (page, schemas) = (Page::load("docs/json.md"), json::schemas());
    assert_eq!(SECTIONS.len(), schemas.len());
    let (before, made) = page.text.split_once(MADE_BELOW).expect("the line below which all is made");
    for name in schemas.keys() {
        assert!(before.contains(&format!("(schemas/{name})")), "no row of the first table leads to {name}");
    }
    let sections: String = SECTIONS.iter().map(|name| section(&schemas[&format!("{name}.schema.json")])).collect();
    if is_blessing() {
        std::fs::write(&page.path, format!("{before}{MADE_BELOW}{sections}")).expect("a page");
    } else {
        assert_eq!(made, sections, "`make documents` writes them anew");
    }
}

#[test]
fn every_field_of_every_schema_is_described_and_says_what_null_means_where_it_may_be_null() {
    fn check_fields(place: &str, schema: &Value) {
        for (name, field) in fields(schema, "properties") {
            let place = format!("{place}.{name}");
            let is_known = field.get("$ref").is_some() || field.get("const").is_some();
            let is_described = is_known || word(field, "description").ends_with('.');
            assert!(is_described, "{place}: {field}");
            let says_null = word(field, "description").to_lowercase().contains("null");
            assert!(says_null || !kind_of(field).ends_with(" or null"), "{place}: {field}");
        }
        let inside = schema.as_object().into_iter().flat_map(|fields| fields.iter());
        inside.for_each(|(name, inside)| check_fields(&format!("{place}.{name}"), inside));
        schema.as_array().into_iter().flatten().for_each(|inside| check_fields(place, inside));
    }
    json::schemas().iter().for_each(|(name, schema)| check_fields(name, schema));
}

/// The section of one document: what it is, its fields, and its named parts.
fn section(schema: &Value) -> String {
    let mut text = format!("\n## {}\n{}\n", word(schema, "title"), wrapped(word(schema, "description")));
    text += &part(schema);
    for variant in list(schema, "oneOf") {
        let _ = writeln!(text, "\nA `{}` has {}.", word(variant, "title"), parts_in(variant));
    }
    for (name, named) in fields(schema, "$defs") {
        let _ = writeln!(text, "\n### {}", heading(name));
        if !word(named, "description").is_empty() {
            let _ = writeln!(text, "{}", wrapped(word(named, "description")));
        }
        text += &part(named);
    }
    text
}

/// The fields of an object.
fn part(schema: &Value) -> String {
    let (parts, rows) = (parts_in(schema), rows(schema, ""));
    let parts = match (parts.as_str(), rows.is_empty()) {
        ("", _) => String::new(),
        (parts, true) => format!("\nIt has {parts}.\n"),
        (parts, false) => format!("\nIt has {parts}, and:\n"),
    };
    let table = if rows.is_empty() { rows } else { format!("\n| field | | |\n|---|---|---|\n{rows}") };
    parts + &table
}

/// `the fields of [heading](#heading) and [summary](#summary)`.
fn parts_in(schema: &Value) -> String {
    let links = list(schema, "allOf").iter().chain(schema.get("$ref").map(|_| schema)).map(kind_of);
    let links: Vec<String> = links.collect();
    if links.is_empty() { String::new() } else { format!("the fields of {}", links.join(" and ")) }
}

/// A row for each field, and for each field of an inner object that has no name of its own.
fn rows(schema: &Value, before: &str) -> String {
    let mut text = String::new();
    for (name, field) in fields(schema, "properties") {
        // A row of a table is one line.
        let meaning = word(field, "description").replace('\n', " ");
        let _ = writeln!(text, "| `{before}{name}` | {} | {meaning} |", kind_of(field));
        text += &match word(field, "type") {
            "array" => rows(&field["items"], &format!("{before}{name}[].")),
            _ => rows(list(field, "anyOf").first().unwrap_or(field), &format!("{before}{name}.")),
        };
    }
    text
}

/// The type of a field, in words.
fn kind_of(field: &Value) -> String {
    if let Some(reference) = field["$ref"].as_str() {
        let name = reference.rsplit('/').next().expect("a name");
        return format!("[{}](#{})", heading(name).to_lowercase(), heading(name).to_lowercase().replace(' ', "-"));
    }
    if let [part, ..] = list(field, "allOf") {
        return kind_of(part);
    }
    match list(field, "anyOf") {
        [] => {}
        [some, null] if null["type"] == "null" => return format!("{} or null", kind_of(some)),
        several => return several.iter().map(kind_of).collect::<Vec<_>>().join(" or "),
    }
    if let Some(value) = field.get("const") {
        return format!("`{value}`");
    }
    if let values @ [_, ..] = list(field, "enum") {
        let named: Vec<String> = values.iter().filter_map(Value::as_str).map(|value| format!("`{value}`")).collect();
        let null = if values.contains(&Value::Null) { " or null" } else { "" };
        return format!("one of {}{null}", named.join(", "));
    }
    let types = list(field, "type");
    let null = if types.contains(&Value::Null) || types.iter().any(|of| of == "null") { " or null" } else { "" };
    let of = types.first().unwrap_or(&field["type"]).as_str().unwrap_or_default();
    format!("{}{null}", kind_named(of, field))
}

fn kind_named(of: &str, field: &Value) -> String {
    match of {
        "string" if word(field, "format") == "date-time" => "time".to_owned(),
        "string" => "text".to_owned(),
        "integer" => "whole number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" if field.get("prefixItems").is_some() => {
            let places: Vec<String> = list(field, "prefixItems").iter().map(kind_of).collect();
            format!("list of {}", places.join(" and "))
        }
        "array" if field["items"]["type"] == "object" => "list of objects".to_owned(),
        "array" => format!("list of {}", kind_of(&field["items"])),
        "object" => "object".to_owned(),
        of => of.to_owned(),
    }
}

/// The heading of a part: `kind_report` becomes *Kind report*, and `heading_fields`, a part of others, *Heading*.
fn heading(name: &str) -> String {
    let name = name.strip_suffix("_fields").unwrap_or(name).replace('_', " ");
    name[..1].to_uppercase() + &name[1..]
}

fn word<'a>(schema: &'a Value, name: &str) -> &'a str {
    schema.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(schema: &'a Value, name: &str) -> &'a [Value] {
    schema.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn fields<'a>(schema: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    schema.get(name).and_then(Value::as_object).into_iter().flatten()
}
