//! What agents report of themselves by their hooks: the JSON that they pass to `sweep watch event`.

use serde::Deserialize;
use serde_json::Value;

use super::statement::{Evidence, Source, Statement};
use crate::rules::session::Activity;
use crate::text::redact;

/// The environment variable that holds the path of the watcher's socket.
pub const VARIABLE: &str = "WATCHED_BY_SWEEP";

/// The length of a question in characters.
const QUESTION_MAX: usize = 300;

/// The fields of a tool's input that say what it would do.
const INPUTS: [&str; 4] = ["command", "file_path", "path", "url"];

/// The fields of hooks: of Claude Code, Gemini CLI, Codex's `notify`, and custom ones (`state`, `kind`, `question`).
#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields {
    hook_event_name: String,
    notification_type: String,
    message: String,
    tool_name: String,
    tool_input: Value,
    r#type: String,
    state: String,
    kind: Option<String>,
    question: String,
}

/// What an event means.
#[derive(Clone, Debug, PartialEq)]
pub struct HookEvent {
    /// What the agent is doing.
    pub statement: Statement,
    /// Whether the agent has made progress.
    pub is_progress: bool,
}

/// An event reduced to the fields that are read: agents pass all that a tool returned. None if it is no JSON object.
pub fn shortened(json: &str) -> Option<String> {
    const TEXTS: [&str; 8] =
        ["hook_event_name", "notification_type", "message", "tool_name", "type", "state", "kind", "question"];
    let mut event: serde_json::Map<String, Value> = serde_json::from_str(json).ok()?;
    event.retain(|name, value| match name.as_str() {
        "tool_input" => value.is_string() || value.is_object(),
        name => TEXTS.contains(&name) && value.is_string(),
    });
    if let Some(Value::Object(input)) = event.get_mut("tool_input") {
        input.retain(|name, _| INPUTS.contains(&name.as_str()));
        input.values_mut().for_each(shorten);
    }
    event.values_mut().for_each(shorten);
    Some(Value::Object(event).to_string())
}

fn shorten(value: &mut Value) {
    if let Value::String(text) = value {
        *text = text.chars().take(QUESTION_MAX).collect();
    }
}

impl HookEvent {
    /// None if the event says nothing of the agent's state, or is no JSON.
    pub fn parse(json: &str) -> Option<HookEvent> {
        let fields: Fields = serde_json::from_str(json).ok()?;
        let name =
            [&fields.hook_event_name, &fields.r#type, &fields.state].into_iter().find(|name| !name.is_empty())?;
        let (activity, kind) = meaning(&fields, name)?;
        let question = match activity {
            Activity::Waiting => question(&fields),
            Activity::Working | Activity::Idle | Activity::Exhausted => String::new(),
        };
        let evidence = Evidence { source: Source::Event, what: format!("its event {}", redact(name)) };
        Some(HookEvent {
            statement: Statement { activity, kind: kind.map(redact), question, resumes: None, evidence },
            is_progress: matches!(name.as_str(), "PostToolUse" | "AfterTool" | "UserPromptSubmit" | "BeforeAgent"),
        })
    }
}

fn meaning<'a>(fields: &'a Fields, name: &str) -> Option<(Activity, Option<&'a str>)> {
    let of_notification = match fields.notification_type.as_str() {
        "permission_prompt" | "ToolPermission" => Some((Activity::Waiting, Some("permission"))),
        "idle_prompt" => Some((Activity::Idle, None)),
        "auth_required" => Some((Activity::Waiting, Some("login"))),
        "" if fields.message.contains("permission") => Some((Activity::Waiting, Some("permission"))),
        "" if fields.message.contains("waiting for your input") => Some((Activity::Idle, None)),
        "" if fields.message.contains("needs your ") => Some((Activity::Waiting, Some("question"))),
        of if of.contains("permission") => Some((Activity::Waiting, Some("permission"))),
        of if of.starts_with("elicitation") || of.contains("needs_input") => {
            Some((Activity::Waiting, Some("question")))
        }
        _ => None,
    };
    match name {
        "Notification" => of_notification,
        "Elicitation" => Some((Activity::Waiting, Some("question"))),
        "PermissionRequest" | "approval-requested" => Some((Activity::Waiting, Some("permission"))),
        "Stop" | "AfterAgent" | "agent-turn-complete" => Some((Activity::Idle, None)),
        "UserPromptSubmit" | "BeforeAgent" | "PreToolUse" | "BeforeTool" | "PostToolUse" | "AfterTool" => {
            Some((Activity::Working, None))
        }
        state => Activity::parse(state).map(|activity| (activity, fields.kind.as_deref())),
    }
}

/// What the tool would do, or else how the event describes it.
fn question(fields: &Fields) -> String {
    let input = |name: &str| fields.tool_input.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let tool = INPUTS.into_iter().find_map(input);
    let texts = [tool.unwrap_or_default(), &fields.question, &fields.message, &fields.tool_name];
    let question = texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
    redact(question).chars().take(QUESTION_MAX).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::a_permission(
        r#"{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm -rf ./important"}}"#,
        Some((Activity::Waiting, Some("permission"), "rm -rf ./important", false)))]
    #[case::a_notification(
        r#"{"hook_event_name":"Notification","message":"Claude needs your permission to use Bash"}"#,
        Some((Activity::Waiting, Some("permission"), "Claude needs your permission to use Bash", false)))]
    #[case::of_its_type(
        r#"{"hook_event_name":"Notification","notification_type":"idle_prompt","message":"Claude is waiting for your input"}"#,
        Some((Activity::Idle, None, "", false)))]
    #[case::of_a_worker(
        r#"{"hook_event_name":"Notification","notification_type":"worker_permission_prompt","message":"for Bash"}"#,
        Some((Activity::Waiting, Some("permission"), "for Bash", false)))]
    #[case::of_any_agent(
        r#"{"hook_event_name":"Notification","notification_type":"agent_needs_input","message":"red or blue?"}"#,
        Some((Activity::Waiting, Some("question"), "red or blue?", false)))]
    #[case::without_a_type(
        r#"{"hook_event_name":"Notification","message":"Claude Code needs your attention"}"#,
        Some((Activity::Waiting, Some("question"), "Claude Code needs your attention", false)))]
    #[case::a_tool_was_used(r#"{"hook_event_name":"PostToolUse","tool_name":"Bash"}"#,
        Some((Activity::Working, None, "", true)))]
    #[case::a_turn_is_over(r#"{"hook_event_name":"Stop"}"#, Some((Activity::Idle, None, "", false)))]
    #[case::a_turn_of_codex(r#"{"type":"agent-turn-complete","turn-id":"1"}"#, Some((Activity::Idle, None, "", false)))]
    #[case::anybodys(
        r#"{"state":"waiting","kind":"choice","question":"red or blue?"}"#,
        Some((Activity::Waiting, Some("choice"), "red or blue?", false)))]
    #[case::of_no_kind_that_a_database_takes(
        r#"{"state":"waiting","kind":"a\u0000b","question":"a\u0000b"}"#,
        Some((Activity::Waiting, Some("ab"), "ab", false)))]
    #[case::another_event(r#"{"hook_event_name":"SessionStart"}"#, None)]
    #[case::no_event("{}", None)]
    #[case::no_json("rm -rf /", None)]
    #[case::other_types(r#"{"hook_event_name":7}"#, None)]
    fn what_an_event_says(#[case] json: &str, #[case] expected: Option<(Activity, Option<&str>, &str, bool)>) {
        let event = HookEvent::parse(json);
        let found = event.as_ref().map(|HookEvent { statement, is_progress }| {
            (statement.activity, statement.kind.as_deref(), statement.question.as_str(), *is_progress)
        });
        assert_eq!(found, expected);
    }
}
