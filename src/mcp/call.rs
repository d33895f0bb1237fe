//! One call of a tool: what it is called with, and how small its answer is.
//!
//! What the schema of the arguments says is what is held against them, so that both are one. An agent pays for each
//! word that it reads: a list is given page by page; what has no pages is cut until it is small enough, and says beside
//! each list how many there are.

use anyhow::Result;
use chrono::TimeDelta;
use rmcp::handler::server::tool::schema_for_input;
use rmcp::model::JsonObject;
use rmcp::schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::conclusion::{Failure, usage};
use crate::rules::Kind;
use crate::sweep::{Cancel, Options};
use crate::text::{cut, misread, redact};

/// The options of the server: plain data.
#[derive(Clone, Debug)]
pub struct McpOptions {
    /// The database, the rules and the links; and what a dry run goes by.
    pub sweep: Options,
    /// When a step is stalled, as a plan's status has it; None: as the latest sweep had it.
    pub step_stalled_after: Option<TimeDelta>,
    /// Are the tools there that change something?
    pub allows_changes: bool,
    /// The session of which each call of a tool is a sign of life.
    pub session: Option<String>,
    /// The person for whom changes are asked for.
    pub asker: String,
}

/// One call of a tool.
pub struct Call<'a> {
    pub options: &'a McpOptions,
    pub cancel: &'a Cancel,
    /// What the client calls itself.
    pub client: Option<&'a str>,
}

impl Call<'_> {
    /// Names who asks for a change: `ada by claude-code 2.1`.
    pub fn asker(&self) -> String {
        match self.client {
            Some(client) => format!("{} by {client}", self.options.asker),
            None => self.options.asker.clone(),
        }
    }
}

/// Characters of a value in an error.
const SHOWN_MAX: usize = 100;

/// The schema of a tool's arguments: an object of plain values. What need not be given is not required, and has no
/// null beside its type: a model has one thing less to choose from.
pub fn schema<T: JsonSchema + 'static>() -> JsonObject {
    let mut schema = schema_for_input::<T>().map(|schema| schema.as_ref().clone()).unwrap_or_default();
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flatten().filter_map(|(_, property)| property.as_object_mut()) {
        let plain = property.get("type").and_then(|of| of.as_array()?.iter().find(|of| **of != "null")).cloned();
        property.extend(plain.map(|plain| ("type".to_owned(), plain)));
        property.remove("format");
        property.remove("default");
    }
    schema.remove("$schema");
    schema
}

/// The arguments, checked as their schema says. Refuses the first that is wrong, with its name, its value and what was
/// expected.
pub fn checked<T: JsonSchema + DeserializeOwned + 'static>(given: JsonObject) -> Result<T, Failure> {
    // A model that has nothing to say of an argument may say so.
    let given: JsonObject = given.into_iter().filter(|(_, value)| !value.is_null()).collect();
    let schema = schema::<T>();
    let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    for (name, value) in &given {
        let Some(property) = properties.get(name) else {
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let name = shown(&json!(name));
            return Err(usage(format!("{name}: there is no such argument; expected of these: {known}")));
        };
        // No text of PostgreSQL has one.
        if value.as_str().is_some_and(|text| text.contains('\0')) {
            return Err(usage(format!("{name}: {}: expected a text without NUL characters", shown(value))));
        }
        if !fits(value, property) {
            return Err(usage(format!("{name}: {}: expected {}", shown(value), expected(property))));
        }
    }
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        if !given.contains_key(name) {
            return Err(usage(format!("{name}: it is missing, expected {}", expected(&properties[name]))));
        }
    }
    serde_json::from_value(Value::Object(given))
        .map_err(|error| usage(format!("the arguments: {}", misread::json(&error))))
}

fn shown(value: &Value) -> String {
    cut(&redact(&value.to_string()), SHOWN_MAX)
}

fn fits(value: &Value, property: &Value) -> bool {
    let is_within = |n: u64, min: &str, max: &str| {
        property[min].as_u64().is_none_or(|min| min <= n) && property[max].as_u64().is_none_or(|max| n <= max)
    };
    let is_of_its_type = match (property["type"].as_str(), value) {
        (Some("string"), Value::String(text)) => is_within(text.chars().count() as u64, "minLength", "maxLength"),
        (Some("integer"), Value::Number(n)) => n.as_u64().is_some_and(|n| is_within(n, "minimum", "maximum")),
        (Some("boolean"), Value::Bool(_)) => true,
        _ => false,
    };
    is_of_its_type && property["enum"].as_array().is_none_or(|known| known.contains(value))
}

fn expected(property: &Value) -> String {
    if let Some(known) = property["enum"].as_array() {
        let known: Vec<&str> = known.iter().filter_map(Value::as_str).collect();
        return format!("one of {}", known.join(", "));
    }
    match property["type"].as_str() {
        Some("integer") => format!("a whole number from {} to {}", property["minimum"], property["maximum"]),
        Some("boolean") => "true or false".to_owned(),
        _ => format!("a text of {} to {} characters", property["minLength"], property["maxLength"]),
    }
}

/// The argument `after` is no place between two pages.
pub fn no_place(after: &str) -> Failure {
    usage(format!("after: {}: expected the next_page of an earlier answer", shown(&json!(after))))
}

/// The names of the kinds, for schemas.
pub fn kinds() -> Vec<&'static str> {
    Kind::ALL.iter().map(|kind| kind.name()).collect()
}

/// Bytes of an answer as JSON.
pub const BYTES_MAX: usize = 25_000;

/// Rows of a page, unless another number is asked for.
pub const ROWS: usize = 20;

/// Bytes of the rows of a page: what stands around them is small.
const PAGE_BYTES_MAX: usize = BYTES_MAX - 5_000;

/// Characters of a text in an answer that would be too long otherwise.
const TEXT_MAX: usize = 200;

/// The first of these rows that fit in one answer, each with its place; at least one, if there is one. And where the
/// next page begins: behind the row of this place; none: there is none.
pub fn page_of(rows: impl IntoIterator<Item = (String, Value)>, limit: usize) -> (Vec<Value>, Option<String>) {
    let (mut page, mut bytes, mut last) = (Vec::new(), 0, None);
    for (place, row) in rows {
        bytes += row.to_string().len() + 1;
        if limit <= page.len() || PAGE_BYTES_MAX < bytes && !page.is_empty() {
            return (page, last);
        }
        page.push(row);
        last = Some(place);
    }
    (page, None)
}

/// Which rows of a list stay when it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    First,
    Last,
}

/// The document with each of these lists, named by JSON pointers, of at most so many rows.
pub fn with_rows(mut document: Value, lists: &[&str], keep: Keep, rows: usize) -> Value {
    for list in lists {
        let Some(list) = document.pointer_mut(list).and_then(Value::as_array_mut) else { continue };
        match keep {
            Keep::First => list.truncate(rows),
            Keep::Last => drop(list.drain(..list.len().saturating_sub(rows))),
        }
    }
    document
}

/// The document with items that name no commands: those are a person's, and many of them no tool does.
pub fn without_commands(mut document: Value, lists: &[&str]) -> Value {
    for list in lists {
        for item in document.pointer_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            item.get_mut("commands").into_iter().for_each(|commands| *commands = json!([]));
        }
    }
    document
}

/// The document, small enough: if it is not, its texts are cut, and then its lists.
pub fn small(document: Value, lists: &[&str], keep: Keep) -> Value {
    let is_small = |document: &Value| document.to_string().len() <= BYTES_MAX;
    if is_small(&document) {
        return document;
    }
    let mut document = with_short_texts("", document);
    let longest = |document: &Value| {
        let lengths = lists.iter().filter_map(|list| document.pointer(list)?.as_array().map(Vec::len));
        lengths.max().unwrap_or_default()
    };
    while !is_small(&document) && 1 < longest(&document) {
        let rows = longest(&document) / 2;
        document = with_rows(document, lists, keep, rows);
    }
    document
}

/// A name and an address are of use only if they are whole.
fn with_short_texts(name: &str, document: Value) -> Value {
    let is_whole = matches!(name, "id" | "url" | "next_page") || name.ends_with("_id");
    match document {
        Value::String(text) if !is_whole => Value::String(cut(&text, TEXT_MAX)),
        Value::Array(values) => values.into_iter().map(|value| with_short_texts(name, value)).collect(),
        Value::Object(fields) => {
            let short = fields.into_iter().map(|(name, value)| {
                let value = with_short_texts(&name, value);
                (name, value)
            });
            Value::Object(short.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => document,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{BYTES_MAX, Keep, page_of, small};

    fn page(number: usize, text: &str, limit: usize) -> (usize, Option<String>) {
        let (page, next) = page_of(rows(number, text), limit);
        (page.len(), next)
    }

    fn rows(number: usize, text: &str) -> Vec<(String, Value)> {
        (0..number).map(|n| (n.to_string(), json!({ "id": n.to_string(), "title": text }))).collect()
    }

    #[test]
    fn a_page_ends_at_its_limit_or_when_it_is_full_and_says_where_it_goes_on() {
        assert_eq!(page(3, "a", 20), (3, None));
        assert_eq!(page(20, "a", 20), (20, None));
        assert_eq!(page(21, "a", 20), (20, Some("19".to_owned())));
        let (fitting, next) = page(100, &"é".repeat(500), 100);
        assert!((10..20).contains(&fitting) && next == Some((fitting - 1).to_string()), "{fitting}");
        assert_eq!(page(2, &"é".repeat(20_000), 100), (1, Some("0".to_owned())), "one is always there");
        assert_eq!(page(0, "", 20), (0, None));
    }

    #[test]
    fn what_is_too_long_is_cut_first_in_its_texts_and_then_in_its_lists() {
        let list = |number, text: &str| rows(number, text).into_iter().map(|(_, row)| row).collect::<Vec<_>>();
        let document = |number, text: &str| json!({ "oldest": list(number, text), "latest": list(number, text) });
        let small = |document, keep| small(document, &["/oldest", "/latest"], keep);
        assert_eq!(small(document(9, "a"), Keep::First), document(9, "a"), "what is small enough is left alone");
        let cut = small(document(20, &"é".repeat(900)), Keep::First);
        assert_eq!(cut["oldest"].as_array().expect("a list").len(), 20);
        assert!(cut.to_string().len() < BYTES_MAX);
        let cut = [Keep::First, Keep::Last].map(|keep| small(document(300, &"é".repeat(900)), keep));
        assert!(cut.iter().all(|cut| cut.to_string().len() <= BYTES_MAX));
        assert_eq!((&cut[0]["oldest"][0]["id"], &cut[1]["latest"][0]["id"]), (&json!("0"), &json!("282")));
    }
}
