//! Holds every JSON that sweep prints or sends to docs/schemas/, which describes each of its fields.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use jsonschema::{Draft, Registry, Validator};
use serde_json::{Value, json};

/// The fields that tell one document from another, each with its schema. The first field that a document has counts.
pub const DOCUMENTS: [(&str, &str); 24] = [
    ("steps_total", "plan-status-page"),
    ("subjects_total", "dry-run-page"),
    ("counts", "message"),
    ("request", "request"),
    ("type", "report-line"),
    ("databases", "databases"),
    ("checkups", "diagnosis"),
    ("subjects", "report"),
    ("orphans", "status"),
    ("rows_total", "work-list"),
    ("next_sweep", "attention"),
    ("items_total", "attention-page"),
    ("stored", "plan-status"),
    ("clauses", "explanation"),
    ("settings", "settings"),
    ("exemptions", "exemptions"),
    ("quarantine", "quarantine"),
    ("hosts", "hosts"),
    ("holds", "certificate"),
    ("done", "done"),
    ("run", "run"),
    // The counts in a sweep's row of the ledger.
    ("sessions", "counts"),
    ("issues", "counts"),
    ("steps", "counts"),
];

/// The types of the lines of a report, in the order of their schema.
pub const LINES: [&str; 4] = ["heading", "subject", "summary", "database"];

/// Parses a document and holds it to its schema.
pub fn parse_valid(text: &str) -> Value {
    let document: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    if let Some(wrong) = find_violations(&document) {
        panic!("{wrong}: {document:#}");
    }
    document
}

/// Holds what a command printed to its schema: one document, or one in each line. A document that was cut off is passed
/// by.
pub fn check_printed(printed: &str) {
    let whole = std::iter::once(printed).filter(|text| serde_json::from_str::<Value>(text).is_ok());
    let documents: Vec<&str> = whole.chain(printed.lines().filter(|line| line.starts_with("{\""))).collect();
    for document in documents {
        if let Some(wrong) = serde_json::from_str(document).ok().and_then(|document| find_violations(&document)) {
            panic!("{wrong}: {document}");
        }
    }
}

/// The differences between a document and its schema.
pub fn find_violations(document: &Value) -> Option<String> {
    let schema = &schema_of(document)?;
    let errors: Vec<String> = VALIDATORS[schema]
        .iter_errors(document)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    (!errors.is_empty()).then(|| format!("not as docs/schemas/{schema} has it: {}", errors.join("; ")))
}

/// Fields that messages in the form of Slack, Discord, Teams or PagerDuty have, and no document of sweep's.
const FORMS_OF_OTHERS: [&str; 4] = ["text", "content", "attachments", "event_action"];

/// The schema of a document; None if its form is that of others. A line of a report has the schema of its type, or all
/// the others would be reported as well.
fn schema_of(document: &Value) -> Option<String> {
    if FORMS_OF_OTHERS.iter().any(|field| document.get(field).is_some()) {
        return None;
    }
    let found = DOCUMENTS.iter().find(|(field, _)| document.get(field).is_some());
    let (_, name) = found.unwrap_or_else(|| panic!("docs/schemas/ describes no such document: {document}"));
    let line = LINES.iter().position(|of| document["type"] == *of).filter(|_| *name == "report-line");
    Some(line.map_or_else(|| schema_file(name), |line| format!("{}#/oneOf/{line}", schema_file(name))))
}

pub fn schema_file(name: &str) -> String {
    format!("{name}.schema.json")
}

pub fn schemas() -> BTreeMap<String, Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schemas");
    let entries = std::fs::read_dir(folder).expect("docs/schemas").map(|entry| entry.expect("an entry").path());
    let schema = |path: std::path::PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let text = std::fs::read_to_string(&path).expect("a schema");
        (name, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    };
    entries.map(schema).collect()
}

static VALIDATORS: LazyLock<BTreeMap<String, Validator>> = LazyLock::new(|| {
    let at = |reference: &str| format!("file:///{reference}");
    let registry = schemas().into_iter().fold(Registry::new(), |registry, (name, schema)| {
        registry.add(at(&name), strict(schema, "")).expect("a schema")
    });
    let registry = registry.prepare().expect("schemas");
    let lines = (0..LINES.len()).map(|line| format!("{}#/oneOf/{line}", schema_file("report-line")));
    let validator = |reference: String| {
        let options = jsonschema::options().with_draft(Draft::Draft202012).with_registry(&registry);
        let built = options.should_validate_formats(true).build(&json!({ "$ref": at(&reference) }));
        let built = built.unwrap_or_else(|error| panic!("{reference}: {error}"));
        (reference, built)
    };
    DOCUMENTS.iter().map(|(_, name)| schema_file(name)).chain(lines).map(validator).collect()
});

/// Refuses fields that the schema does not describe, which readers must accept. A schema named `…_fields` is part of
/// another.
fn strict(schema: Value, name: &str) -> Value {
    match schema {
        Value::Object(fields) => {
            let is_object = fields.contains_key("properties") || fields.contains_key("allOf");
            let inside = fields.into_iter().map(|(name, value)| {
                let value = strict(value, &name);
                (name, value)
            });
            let mut fields: serde_json::Map<String, Value> = inside.collect();
            if is_object && !name.ends_with("_fields") {
                fields.insert("unevaluatedProperties".to_owned(), json!(false));
            }
            Value::Object(fields)
        }
        Value::Array(values) => Value::Array(values.into_iter().map(|value| strict(value, "")).collect()),
        value => value,
    }
}
