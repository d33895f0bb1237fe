//! The schemas of what `sweep attention` and `sweep status` print are made from the types: a field and its description
//! are written in one place.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use sweep::doctor::Diagnosis;
use sweep::store::read::overview::{Attention, Overview, Status};
use sweep::store::read::plan::PlanReport;
use sweep::store::read::work_list::WorkList;

use super::comparison::{is_blessing, turn};
use crate::support::json::schema_file;

/// A document whose schema is made, and what stands above its fields.
struct Document {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// As schemars makes it.
    schema: Value,
}

/// The documents in this order: a part that several have stands in the first of them.
fn documents() -> [Document; 5] {
    [
        Document {
            name: "attention",
            title: "What needs attention",
            description: "`sweep attention --output json`: what needs a person, whether sweeps run, what the next one \
                would do, and how the work stands.",
            schema: derived::<Overview<Attention>>(),
        },
        Document {
            name: "status",
            title: "The status",
            description: "`sweep status --output json`. Of each list the oldest 50 are there; the number beside it \
                counts all.",
            schema: derived::<Overview<Status>>(),
        },
        Document {
            name: "plan-status",
            title: "The status of one plan",
            description: "`sweep status --plan ID --output json`.",
            schema: derived::<PlanReport>(),
        },
        Document {
            name: "work-list",
            title: "All work of one kind",
            description: "`sweep status --only sessions --output json`, and so for issues and steps: all that is in \
                progress, healthy or not. The oldest 500 are there; `rows_total` counts all.",
            schema: derived::<WorkList>(),
        },
        Document {
            name: "diagnosis",
            title: "The diagnosis of an installation",
            description: "`sweep doctor --output json`.",
            schema: derived::<Diagnosis>(),
        },
    ]
}

fn derived<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>().to_value()
}

/// The schema of each document, by the name of its file.
fn schemas() -> BTreeMap<String, Value> {
    let documents = documents();
    let mut homes: BTreeMap<String, &str> = BTreeMap::new();
    for document in &documents {
        for part in parts(&document.schema).keys() {
            homes.entry(part.clone()).or_insert(document.name);
        }
    }
    documents.iter().map(|document| (schema_file(document.name), document.whole(&homes))).collect()
}

fn parts(schema: &Value) -> &Map<String, Value> {
    schema["$defs"].as_object().expect("named parts")
}

impl Document {
    /// The fields of the document are a part of it: one of several databases has them and more.
    fn whole(&self, homes: &BTreeMap<String, &str>) -> Value {
        let fields = format!("{}_fields", self.name.replace('-', "_"));
        let own = json!({
            "type": "object", "required": self.schema["required"], "properties": self.schema["properties"],
        });
        let mut defs = Map::from_iter([(fields.clone(), self.plain(own, homes))]);
        for (name, part) in parts(&self.schema).iter().filter(|(name, _)| homes[*name] == self.name) {
            defs.insert(snake_case(name), self.plain(part.clone(), homes));
        }
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": self.title,
            "description": self.description,
            "type": "object",
            "allOf": [{ "$ref": format!("#/$defs/{fields}") }],
            "$defs": defs,
        })
    }

    /// A schema without what is Rust's alone: its references lead to the document that has the part, a number has the
    /// bounds of what it counts, and a value that is one of several is told from the others in the description.
    fn plain(&self, schema: Value, homes: &BTreeMap<String, &str>) -> Value {
        let mut fields = match schema {
            Value::Object(fields) => fields,
            Value::Array(values) => return values.into_iter().map(|value| self.plain(value, homes)).collect(),
            plain => return plain,
        };
        if let Some(name) = fields.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix("#/$defs/")) {
            let home = if homes[name] == self.name { String::new() } else { schema_file(homes[name]) };
            let reference = format!("{home}#/$defs/{}", snake_case(name));
            fields["$ref"] = reference.into();
        }
        if fields.get("type").is_some_and(|of| of == "integer") && fields.get("format").is_some_and(|of| of == "int64")
        {
            fields.insert("minimum".to_owned(), json!(0));
        }
        let is_rusts = |format: &Value| format.as_str().is_some_and(|format| format.contains("int"));
        if fields.get("format").is_some_and(is_rusts) {
            fields.shift_remove("format");
        }
        fields.shift_remove("default");
        if let Some(Value::Array(values)) = fields.shift_remove("oneOf") {
            describe_values(&mut fields, &values);
        }
        fields.into_iter().map(|(name, value)| (name, self.plain(value, homes))).collect()
    }
}

/// `One of: a`, whose values have a description each, as one list of values with one description of all.
fn describe_values(fields: &mut Map<String, Value>, values: &[Value]) {
    let text = |value: &Value, name: &str| value[name].as_str().expect("a text").to_owned();
    let described = values.iter().map(|value| {
        let description = text(value, "description");
        let (first, rest) = description.trim_end_matches('.').split_at(1);
        format!("`{}`: {}{rest}", text(value, "const"), first.to_lowercase())
    });
    let described = described.collect::<Vec<_>>().join("; ");
    let of_field = fields["description"].as_str().expect("a description").trim_end_matches('.').to_owned();
    fields.insert("enum".to_owned(), values.iter().map(|value| value["const"].clone()).collect());
    fields.insert("description".to_owned(), format!("{of_field}: {described}.").into());
}

fn snake_case(name: &str) -> String {
    let words = name.char_indices().map(|(place, c)| match c {
        c if c.is_uppercase() && 0 < place => format!("_{}", c.to_lowercase()),
        c => c.to_lowercase().to_string(),
    });
    words.collect()
}

/// Writes the files anew with `make documents`.
pub fn write() {
    for (name, schema) in schemas() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schemas").join(name);
        std::fs::write(path, format!("{schema:#}\n")).expect("a schema");
    }
}

#[test]
fn the_schemas_of_overviews_are_those_of_the_types() {
    let _turn = turn();
    if is_blessing() {
        write();
    }
    for (name, schema) in schemas() {
        assert_eq!(crate::support::json::schemas()[&name], schema, "`make documents` writes {name} anew");
    }
}
