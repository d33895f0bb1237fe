//! The tools, in the order in which they are listed: what each is good for (tools.toml), what it takes, and what it
//! answers, by the schemas of docs/schemas.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use anyhow::Result;
use include_dir::{Dir, include_dir};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::call::{Call, checked, schema};
use super::tools::{self, SessionArguments, StepArguments, WakeArguments};
use crate::rules::request::Request;

/// The function of a tool: it checks its arguments itself.
type ToolFunction = Box<dyn Fn(&Call, JsonObject) -> Result<Value> + Send + Sync>;

/// One tool, and the function that it calls.
pub struct Definition {
    pub tool: Tool,
    /// True if the tool changes something; if not, it reads one snapshot.
    pub changes: bool,
    pub call: ToolFunction,
}

/// What a tool says of itself in tools.toml.
#[derive(Deserialize)]
struct Words {
    title: String,
    description: String,
    answer: String,
    #[serde(default)]
    changes: bool,
}

static WORDS: LazyLock<BTreeMap<String, Words>> =
    LazyLock::new(|| toml::from_str(include_str!("tools.toml")).expect("a file that is as it describes itself"));

static SCHEMAS: Dir = include_dir!("$CARGO_MANIFEST_DIR/docs/schemas");

impl Definition {
    fn of<A: JsonSchema + DeserializeOwned + 'static>(
        name: &'static str,
        call: fn(&Call, A) -> Result<Value>,
    ) -> Definition {
        let Words { title, description, answer, changes } = &WORDS[name];
        // Nobody but the database is asked. What changes something has agents work, gives work up, or keeps sweeps, and
        // so people, away from it.
        let hints = ToolAnnotations::new().read_only(!changes);
        let hints = hints.destructive(*changes).idempotent(!changes).open_world(false);
        let tool = Tool::new(name, description.as_str(), schema::<A>()).with_title(title).with_annotations(hints);
        Definition {
            tool: tool.with_raw_output_schema(Arc::new(whole(answer))),
            changes: *changes,
            call: Box::new(move |its_call, arguments| call(its_call, checked(arguments)?)),
        }
    }
}

pub static TOOLS: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    vec![
        Definition::of("list_attention", tools::list_attention),
        Definition::of("get_plan_status", tools::plan_status),
        Definition::of("explain", tools::explain),
        Definition::of("status", tools::status),
        Definition::of("dry_run", tools::dry_run),
        Definition::of("wake", |call, WakeArguments { subject }| tools::ask(call, subject, Request::Wake)),
        Definition::of("fail_step", |call, StepArguments { step }| tools::ask(call, step, Request::FailStep)),
        Definition::of("skip_step", |call, StepArguments { step }| tools::ask(call, step, Request::SkipStep)),
        Definition::of("heartbeat", |call, SessionArguments { session }| tools::ask(call, session, Request::Heartbeat)),
        Definition::of("pause", |call, SessionArguments { session }| tools::ask(call, session, Request::Pause)),
        Definition::of("resume", |call, SessionArguments { session }| tools::ask(call, session, Request::Resume)),
        Definition::of("exempt", tools::exempt),
    ]
});

/// The schema in this file, as a document of its own: made whole by what it refers to in others, and without
/// descriptions, which stand in docs/json.md: a client may give all of it to its model.
fn whole(file: &str) -> JsonObject {
    let (mut schema, mut parts) = (parsed(file), JsonObject::new());
    bundle(&mut schema, "", &mut parts);
    let Value::Object(mut schema) = schema else { return JsonObject::new() };
    if !parts.is_empty() {
        let own = schema.entry("$defs").or_insert_with(|| json!({}));
        own.as_object_mut().into_iter().for_each(|own| own.extend(parts.clone()));
    }
    schema
}

fn parsed(file: &str) -> Value {
    let file = SCHEMAS.get_file(file).map(|file| file.contents());
    file.and_then(|text| serde_json::from_slice(text).ok()).unwrap_or_default()
}

/// Drops the descriptions of a schema that stands in `file`, and that counts are not negative, of which there are many;
/// collects in `parts` what it refers to.
fn bundle(schema: &mut Value, file: &str, parts: &mut JsonObject) {
    match schema {
        Value::Array(values) => values.iter_mut().for_each(|value| bundle(value, file, parts)),
        Value::Object(fields) => {
            // A property that is called so has a schema, and no text. Which ones are times, their names say.
            let is_words = |name: &str| matches!(name, "description" | "title" | "$schema" | "format");
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
    if !file.is_empty() && !parts.contains_key(name) {
        parts.insert(name.to_owned(), Value::Null);
        let mut part = parsed(file).pointer(place).cloned().unwrap_or_default();
        bundle(&mut part, file, parts);
        parts.insert(name.to_owned(), part);
    }
    format!("#/$defs/{name}")
}
