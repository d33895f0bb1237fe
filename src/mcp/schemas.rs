//! The schemas of the answers: those of docs/schemas, each made whole by what it refers to in others, and without their
//! descriptions, which stand in docs/json.md: a client may give all of it to its model.

use rmcp::model::JsonObject;
use serde_json::{Value, json};

/// The documents that others refer to, by the names of their files.
const REFERRED_TO: [(&str, &str); 4] = [
    ("common.schema.json", include_str!("../../docs/schemas/common.schema.json")),
    ("attention.schema.json", include_str!("../../docs/schemas/attention.schema.json")),
    ("status.schema.json", include_str!("../../docs/schemas/status.schema.json")),
    ("plan-status.schema.json", include_str!("../../docs/schemas/plan-status.schema.json")),
];

/// The schema with this text, as a document of its own.
pub fn whole(text: &str) -> JsonObject {
    let (mut schema, mut parts) = (parsed(text), JsonObject::new());
    bundle(&mut schema, "", &mut parts);
    let Value::Object(mut schema) = schema else { return JsonObject::new() };
    if !parts.is_empty() {
        let own = schema.entry("$defs").or_insert_with(|| json!({}));
        own.as_object_mut().into_iter().for_each(|own| own.extend(parts.clone()));
    }
    schema
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// Drops the descriptions of a schema that stands in `file`, and that counts are not negative, of which there are many;
/// collects in `parts` what it refers to.
fn bundle(schema: &mut Value, file: &str, parts: &mut JsonObject) {
    match schema {
        Value::Array(values) => values.iter_mut().for_each(|value| bundle(value, file, parts)),
        Value::Object(fields) => {
            // A property that is called so has a schema, and no text.
            let is_words = |name: &str| matches!(name, "description" | "title" | "$schema");
            let is_no_limit = |name: &str, value: &Value| name == "minimum" && *value == 0;
            fields.retain(|name, value| !(is_words(name) && value.is_string() || is_no_limit(name, value)));
            if let Some(Value::String(reference)) = fields.get_mut("$ref") {
                *reference = refer(reference, file, parts);
            }
            fields.values_mut().for_each(|value| bundle(value, file, parts));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The reference as it is in the whole; adds the part that it is to, if that is another document's.
fn refer(reference: &str, file: &str, parts: &mut JsonObject) -> String {
    let (other, place) = reference.split_once('#').unwrap_or((reference, ""));
    let file = if other.is_empty() { file } else { other };
    let name = place.rsplit('/').next().unwrap_or_default();
    if let Some((_, text)) = REFERRED_TO.iter().find(|(known, _)| *known == file)
        && !parts.contains_key(name)
    {
        parts.insert(name.to_owned(), Value::Null);
        let mut part = parsed(text).pointer(place).cloned().unwrap_or_default();
        bundle(&mut part, file, parts);
        parts.insert(name.to_owned(), part);
    }
    format!("#/$defs/{name}")
}
