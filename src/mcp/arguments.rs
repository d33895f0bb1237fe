//! The arguments of a tool: what its schema says is what is held against them, so that both are one.

use anyhow::Result;
use rmcp::handler::server::tool::schema_for_input;
use rmcp::model::JsonObject;
use rmcp::schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::conclusion::{Failure, usage};
use crate::rules::Kind;
use crate::text::{cut, misread, redact};

/// Characters of a value in an error.
const SHOWN_MAX: usize = 100;

/// The schema of a tool's arguments: an object of plain values. What need not be given is not required, and has no
/// null beside its type: a model has one thing less to choose from.
pub fn schema<T: JsonSchema + 'static>() -> JsonObject {
    let mut schema = schema_for_input::<T>().map(|schema| schema.as_ref().clone()).unwrap_or_default();
    for property in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        let Some(property) = property.1.as_object_mut() else { continue };
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
