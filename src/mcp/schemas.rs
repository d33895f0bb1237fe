//! The schemas of the answers: those of docs/schemas, each made whole by what it refers to in others, and without their
//! descriptions, which stand in docs/json.md: a client may give all of it to its model.

use rmcp::model::JsonObject;
use serde_json::Value;

/// The parts of others that documents refer to, by the name of the file that has them.
const OTHERS: [(&str, &str); 4] = [
    ("common.schema.json", include_str!("../../docs/schemas/common.schema.json")),
    ("attention.schema.json", include_str!("../../docs/schemas/attention.schema.json")),
    ("status.schema.json", include_str!("../../docs/schemas/status.schema.json")),
    ("plan-status.schema.json", include_str!("../../docs/schemas/plan-status.schema.json")),
];

/// The schema with this text, as a document of its own.
pub fn whole(text: &str) -> JsonObject {
    let mut parts = JsonObject::new();
    let Value::Object(mut schema) = bundled(read(text), "", &mut parts) else { return JsonObject::new() };
    if let Some(own) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        own.extend(parts);
    } else if !parts.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(parts));
    }
    schema
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// Without descriptions; what `of` refers to, the name of a file, is collected in `parts`.
fn bundled(schema: Value, of: &str, parts: &mut JsonObject) -> Value {
    let fields = match schema {
        Value::Object(fields) => fields,
        Value::Array(values) => return values.into_iter().map(|value| bundled(value, of, parts)).collect(),
        plain => return plain,
    };
    let mut kept = JsonObject::new();
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("description" | "title" | "$schema", Value::String(_)) => {}
            ("$ref", Value::String(reference)) => {
                kept.insert(name, refer(&reference, of, parts).into());
            }
            // What is named here is named by a document, not by the language of schemas.
            ("properties" | "$defs", Value::Object(named)) => {
                let named = named.into_iter().map(|(name, value)| (name, bundled(value, of, parts))).collect();
                kept.insert(name, Value::Object(named));
            }
            (_, value) => {
                kept.insert(name, bundled(value, of, parts));
            }
        }
    }
    Value::Object(kept)
}

/// The reference as it is in the whole; and the part that it is to, if it is another document's.
fn refer(reference: &str, of: &str, parts: &mut JsonObject) -> String {
    let (file, place) = reference.split_once('#').unwrap_or((reference, ""));
    let file = if file.is_empty() { of } else { file };
    let name = place.rsplit('/').next().unwrap_or_default();
    if let Some((_, text)) = OTHERS.iter().find(|(other, _)| *other == file)
        && !parts.contains_key(name)
    {
        parts.insert(name.to_owned(), Value::Null);
        let part = read(text).pointer(place).cloned().unwrap_or_default();
        let part = bundled(part, file, parts);
        parts.insert(name.to_owned(), part);
    }
    format!("#/$defs/{name}")
}
