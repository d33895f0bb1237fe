//! What an agent sees: the tools by what they say of themselves, and the texts of others.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::mcp::{Client, mcp};
use crate::support::world::{On, World, on_each_host};

on_each_host! {
    fn texts_of_others_are_shown_on_one_line_and_without_credentials(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.set("issues", &issue, "title = 'Mend \u{1b}[31mthe\u{7}\nfence\u{202e} api_key=hunter2'");
        world.set("agents", &agent, "name = 'A\u{1b}[2Jda password=hunter2'");
        let url = world.url.clone();
        let mut client = Client::start_read_only(&url);
        for answer in [
            client.call("list_attention", json!({})),
            client.call("status", json!({})),
            client.call("explain", json!({ "kind": "issue", "subject": issue.0 })),
            client.call("dry_run", json!({})),
        ] {
            let text = answer.to_string();
            assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']) && !text.contains("\\u00"), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
        let explained = client.call("explain", json!({ "kind": "issue", "subject": issue.0 }));
        assert_eq!(explained["title"], "Mend [31mthe fence api_key=***");
    }
}

#[test]
fn each_tool_says_what_it_is_good_for_and_what_it_may_do() {
    let world = World::new(On::Sqlite);
    let mut client = Client::start_read_only(&world.url);
    let tools = client.tools();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["list_attention", "get_plan_status", "explain", "status", "dry_run"]);
    for tool in &tools {
        let description = tool["description"].as_str().expect("a description");
        assert!((100..600).contains(&description.len()) && description.ends_with('.'), "{tool}");
        assert!(tool["title"].is_string() && tool["outputSchema"]["type"] == "object", "{tool}");
        let hints = &tool["annotations"];
        assert_eq!(
            (&hints["readOnlyHint"], &hints["destructiveHint"], &hints["openWorldHint"]),
            (&json!(true), &json!(false), &json!(false)),
            "{tool}"
        );
        let schema = &tool["inputSchema"];
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)), "{schema}");
        for (name, property) in schema["properties"].as_object().expect("properties") {
            assert!(property["type"].is_string(), "{name}: a model has no use for null: {property}");
            assert!(property["description"].as_str().is_some_and(|text| text.ends_with('.')), "{name}: {property}");
        }
        references(tool["outputSchema"].clone()).iter().for_each(|reference| {
            assert!(tool["outputSchema"].pointer(&reference[1..]).is_some(), "{reference}");
        });
    }
    let bytes = json!(tools).to_string().len();
    assert!(bytes < 25_000, "{bytes} bytes, which some clients give to their models whole");
}

/// What a schema refers to.
fn references(schema: Value) -> BTreeSet<String> {
    match schema {
        Value::Object(fields) => fields
            .into_iter()
            .flat_map(|(name, value)| match value {
                Value::String(reference) if name == "$ref" => [reference].into(),
                value => references(value),
            })
            .collect(),
        Value::Array(values) => values.into_iter().flat_map(references).collect(),
        _ => BTreeSet::new(),
    }
}

#[test]
fn the_log_has_nothing_to_say_of_what_goes_well() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    world.orphans(&agent, 0..3);
    let mut client = Client::start_read_only(&world.url);
    client.call("dry_run", json!({}));
    client.refusal("explain", json!({ "kind": "issue", "subject": "hunter2" }));
    client.hang_up();
    assert_eq!(client.ended(), (0, String::new()));
    let mut client = Client::start(mcp(&world.url, []).env("SWEEP_LOG", "debug"));
    client.refusal("explain", json!({ "kind": "issue", "subject": "hunter2" }));
    client.hang_up();
    let (_, log) = client.ended();
    assert!(!log.contains("hunter2"), "the messages are not logged: {log}");
}
