//! The schemas in docs/schemas/: each is in use, and nothing passes that it does not describe.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sweep::store::work::outbox::Event;

use super::documents::Page;
use crate::support::json::{DOCUMENTS, LINES, find_violations, parse_valid, schema_file, schemas};
use crate::support::program::sweep;

/// The places of the objects in a document, as JSON pointers.
fn objects(document: &Value, at: &str) -> Vec<String> {
    match document {
        Value::Object(fields) => {
            let inside = fields.iter().flat_map(|(name, value)| objects(value, &format!("{at}/{name}")));
            [at.to_owned()].into_iter().chain(inside).collect()
        }
        Value::Array(values) => {
            values.iter().enumerate().flat_map(|(n, value)| objects(value, &format!("{at}/{n}"))).collect()
        }
        _ => Vec::new(),
    }
}

/// The copies of a document in which `change` was applied to one of its objects.
fn changed(document: &Value, change: impl Fn(&mut serde_json::Map<String, Value>)) -> Vec<(String, Value)> {
    let changed = |at: String| {
        let mut document = document.clone();
        change(document.pointer_mut(&at).and_then(Value::as_object_mut).expect("an object"));
        (at, document)
    };
    objects(document, "").into_iter().map(changed).collect()
}

#[test]
fn a_field_that_is_not_described_is_found_at_every_place_of_every_document() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let url = format!("sqlite://{}", directory.path().join("acme.db").display());
    sweep(["demo", "--database", &url]).run().done();
    let asked = [
        "--dry-run --no-guard --output json",
        "--dry-run --no-guard --output ndjson",
        "status --output json",
        "attention --output json",
        "status --plan b1a00000-0000-4000-8000-000000000003 --output json",
        "status --only sessions --output json",
        "explain session bruno-7 --output json",
        "config --output json",
        "exempt list --output json",
        "quarantine list --output json",
        "host list --output json",
    ];
    sweep(["exempt", "add", "issue", "ACM-13", "--reason", "on purpose", "--database", &url]).run().done();
    for words in asked {
        let printed = sweep(words.split(' ')).env("DATABASE_URL", &url).run().done().out;
        let documents: Vec<&str> = if words.ends_with("ndjson") { printed.lines().collect() } else { vec![&printed] };
        for document in documents.into_iter().map(parse_valid) {
            let with_more = changed(&document, |object| drop(object.insert("surprise".to_owned(), json!(1))));
            let of_another_type =
                changed(&document, |object| object.values_mut().for_each(|value| *value = json!([[]])));
            for (at, document) in with_more.into_iter().chain(of_another_type) {
                assert!(
                    document.pointer(&at) == Some(&json!({})) || find_violations(&document).is_some(),
                    "{words}: {at}"
                );
            }
        }
    }
}

#[test]
fn a_webhooks_message_and_its_page_have_every_event() {
    let message = &schemas()[&schema_file("message")]["properties"];
    let events: Vec<&str> = Event::ALL.iter().map(|event| event.name()).collect();
    assert_eq!(message["counts"]["propertyNames"]["enum"], json!(events));
    assert_eq!(message["notifications"]["items"]["properties"]["event"]["enum"], json!(events));
    let page = Page::load("docs/notifications.md").text;
    for event in events {
        assert!(page.contains(&format!("\n| `{event}` |")), "{event} has no row in the table of events");
    }
}

#[test]
fn every_schema_is_in_use_and_says_what_it_is_of() {
    let in_use: BTreeSet<String> = DOCUMENTS.iter().map(|(_, name)| schema_file(name)).collect();
    for (name, schema) in schemas() {
        assert!(name == "common.schema.json" || in_use.contains(&name), "{name}");
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
        assert!(schema["title"].is_string() && schema["description"].is_string(), "{name}");
    }
    assert_eq!(schemas().len(), in_use.len() + 1);
    let of_lines = &schemas()[&schema_file("report-line")]["oneOf"];
    let titles: Vec<&str> =
        of_lines.as_array().into_iter().flatten().filter_map(|line| line["title"].as_str()).collect();
    assert_eq!(titles, LINES);
}
