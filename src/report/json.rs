//! The report for programs: one document, or a line for each part of it. docs/json.md describes every field.

use serde::Serialize;
use serde_json::{Value, json};

/// An object's fields, one line each.
pub(super) fn fields(object: &impl Serialize) -> String {
    let object = json!(object);
    let fields = object.as_object().into_iter().flatten();
    fields.map(|(name, value)| format!("  \"{name}\": {value}")).collect::<Vec<_>>().join(",\n")
}

/// One line of NDJSON: what it is (`heading`, `subject`, `summary`), then its fields.
pub(super) fn line(of: &str, object: &impl Serialize) -> String {
    let mut line = json!({ "type": of });
    if let (Value::Object(line), Value::Object(fields)) = (&mut line, json!(object)) {
        line.extend(fields);
    }
    format!("{line}\n")
}
