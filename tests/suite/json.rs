//! Every JSON that sweep prints or sends goes through here: it is what docs/schemas/ says, and has no field that is not described.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use jsonschema::{Draft, Registry, Validator};
use serde_json::{Value, json};

/// A field by which a document is known, the first that it has; and its schema.
const DOCUMENTS: [(&str, &str); 12] = [
    ("counts", "message"),
    ("type", "report-line"),
    ("subjects", "report"),
    ("orphans", "status"),
    ("stored", "plan-status"),
    ("clauses", "explanation"),
    ("settings", "settings"),
    ("exemptions", "exemptions"),
    ("quarantine", "quarantine"),
    // Those of a sweep's row in the ledger.
    ("sessions", "counts"),
    ("issues", "counts"),
    ("steps", "counts"),
];

/// Parses a document and holds it to its schema.
pub fn read(text: &str) -> Value {
    let document: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    if let Some(wrong) = wrong(&document) {
        panic!("{wrong}: {document:#}");
    }
    document
}

/// What is not as the document's schema has it.
pub fn wrong(document: &Value) -> Option<String> {
    let schema = schema_of(document)?;
    let errors: Vec<String> = VALIDATORS[schema]
        .iter_errors(document)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    (!errors.is_empty()).then(|| format!("not as docs/schemas/{schema}.schema.json has it: {}", errors.join("; ")))
}

/// Slack's messages are as Slack has them.
fn schema_of(document: &Value) -> Option<&'static str> {
    if document.get("text").is_some() {
        return None;
    }
    let found = DOCUMENTS.iter().find(|(field, _)| document.get(field).is_some());
    Some(found.unwrap_or_else(|| panic!("docs/schemas/ describes no such document: {document}")).1)
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

static VALIDATORS: LazyLock<BTreeMap<&'static str, Validator>> = LazyLock::new(|| {
    let strict: BTreeMap<String, Value> =
        schemas().into_iter().map(|(name, schema)| (name, strict(schema, ""))).collect();
    let file = |name: &str| format!("file:///{name}");
    let registry = strict
        .iter()
        .fold(Registry::new(), |registry, (name, schema)| registry.add(file(name), schema.clone()).expect("a schema"));
    let registry = registry.prepare().expect("schemas");
    let validator = |&(_, of): &(&str, &'static str)| {
        let name = format!("{of}.schema.json");
        let options = jsonschema::options().with_draft(Draft::Draft202012).with_registry(&registry);
        let options = options.with_base_uri(file(&name)).should_validate_formats(true);
        (of, options.build(&strict[&name]).unwrap_or_else(|error| panic!("{name}: {error}")))
    };
    DOCUMENTS.iter().map(validator).collect()
});

/// Readers accept fields that they do not know. The suite does not: each must be described. What is `…_fields` is a part of something.
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

#[test]
fn a_field_that_is_not_described_or_is_missing_or_of_another_type_is_found() {
    let good = json!({ "schema": 1, "quarantine": [{
        "kind": "issue", "id": "1", "identifier": null, "tenant": "acme", "failed_sweeps": 3, "reason": "x",
        "last_failure_at": "2026-11-22T05:16:33Z", "quarantined_at": null,
    }]});
    assert_eq!(wrong(&good), None);
    for (field, value) in [("surprise", json!(1)), ("failed_sweeps", json!("three")), ("last_failure_at", json!("now"))]
    {
        let mut document = good.clone();
        document["quarantine"][0][field] = value;
        assert!(wrong(&document).is_some_and(|wrong| wrong.contains("docs/schemas/quarantine")), "{field}");
    }
    let mut document = good.clone();
    document["quarantine"][0].as_object_mut().expect("an object").remove("tenant");
    assert!(wrong(&document).is_some());
}

#[test]
fn every_schema_is_in_use_and_promises_every_field_that_it_describes() {
    let in_use: BTreeSet<String> = DOCUMENTS.iter().map(|(_, name)| format!("{name}.schema.json")).collect();
    for (name, schema) in schemas() {
        assert!(name == "common.schema.json" || in_use.contains(&name), "{name}");
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
        assert!(schema["title"].is_string() && schema["description"].is_string(), "{name}");
    }
    assert_eq!(schemas().len(), in_use.len() + 1);
}
