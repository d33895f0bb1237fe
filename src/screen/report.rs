//! What agents report of themselves: to their terminal, besides what they draw, by operating system commands (OSC); and
//! by their hooks, as the JSON that they pass to `sweep watch event`.
//!
//! | sequence | whose | what it means |
//! |---|---|---|
//! | `9 ; text` | iTerm2's notification | what the agent's rules make of the text |
//! | `9 ; 4 ; n` | ConEmu's progress | at work (1, 2, 3), or not (0, 4) |
//! | `777 ; notify ; title ; body` | urxvt's notification | a state, or a text as above |
//! | `7501 ; state=…` | program status (Claude Code, Codex) | `working`, `blocked` with `kind=…`, `done`, `error` |
//! | `9999 ; {"state": …}` | program status as JSON | the same |
//! | `133 ; A … D` | shell integration | C: a command runs; A, B, D: none does |

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use serde_json::{Map, Value};

use super::{Statement, StatementSource};
use crate::rules::session::Activity;
use crate::text::redact;

/// The length of a text in characters.
const TEXT_MAX: usize = 500;

/// What a program has sent to its terminal by an operating system command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The state of the program.
    Status(Statement),
    /// A text for people; the agent's rules know what it means.
    Notification(String),
}

/// Parses an operating system command; None if it reports no state.
pub fn parse_osc(parameters: &[&[u8]]) -> Option<Signal> {
    let text = |parameters: &[&[u8]]| {
        let parts: Vec<_> = parameters.iter().map(|part| String::from_utf8_lossy(part)).collect();
        parts.join(";").chars().take(TEXT_MAX).collect::<String>()
    };
    match parameters {
        [b"9", b"4", progress, ..] => {
            status("progress (OSC 9;4)", matches!(*progress, b"1" | b"2" | b"3").then_some("working").unwrap_or("done"))
        }
        [b"9", rest @ ..] => Some(notification(text(rest), "notification (OSC 9)")),
        [b"777", b"notify", _, body @ ..] if !body.is_empty() => {
            Some(notification(text(body), "notification (OSC 777)"))
        }
        [b"7501", rest @ ..] => status("program status (OSC 7501)", &text(rest)),
        [b"9999", rest @ ..] => {
            let json: Value = serde_json::from_str(&text(rest)).ok()?;
            status("program status (OSC 9999)", json["state"].as_str()?)
        }
        [b"133", b"C", ..] => status("shell integration (OSC 133)", "working"),
        [b"133", b"A" | b"B" | b"D", ..] => status("shell integration (OSC 133)", "done"),
        _ => None,
    }
}

/// A notification, or the state that some agents send as one.
fn notification(text: String, sequence: &'static str) -> Signal {
    let state = text.rsplit(':').next().unwrap_or_default();
    status(sequence, state).unwrap_or(Signal::Notification(text))
}

/// Parses `state=blocked:app=codex:kind=permission:msg=…`, where the message is Base64; or the state alone.
fn status(sequence: &'static str, text: &str) -> Option<Signal> {
    let value = |name: &str| text.split([':', ';']).find_map(|part| part.trim().strip_prefix(name));
    let word = value("state=").or_else(|| text.split([':', ';']).next()).unwrap_or_default();
    let activity = match word.trim() {
        "working" | "running" | "busy" => Activity::Working,
        "blocked" | "waiting" | "attention" => Activity::Waiting,
        "done" | "idle" | "finished" | "error" => Activity::Idle,
        _ => return None,
    };
    let kind = value("kind=").map(|kind| if kind == "auth" { "login" } else { kind }.to_owned());
    let message = value("msg=").filter(|_| activity == Activity::Waiting);
    let question = message.and_then(|message| STANDARD.decode(message).ok()).unwrap_or_default();
    let question = String::from_utf8_lossy(&question).into_owned();
    let (source, evidence) = (StatementSource::Sequence, sequence.to_owned());
    Some(Signal::Status(Statement { activity, kind, question, resumes: None, source, evidence }))
}

/// The environment variable that holds the path of the watcher's socket.
pub const VARIABLE: &str = "WATCHED_BY_SWEEP";

/// The length of a question, or of what a tool is used on, in characters.
const QUESTION_MAX: usize = 300;

/// The fields of a tool's input that say what it would do.
const INPUTS: [&str; 4] = ["command", "file_path", "path", "url"];

/// The texts in the events of hooks: of Claude Code, Gemini CLI, Codex's `notify`, and custom ones (`state`, `kind`,
/// `question`).
const TEXTS: [&str; 8] =
    ["hook_event_name", "notification_type", "message", "tool_name", "type", "state", "kind", "question"];

/// What the event of a hook means.
#[derive(Clone, Debug, PartialEq)]
pub struct HookEvent {
    /// What the agent is doing.
    pub statement: Statement,
    /// Whether the agent has made progress.
    pub is_progress: bool,
    /// The tool that the agent uses or has used, and on what: `Bash(cargo test)`.
    pub tool: Option<String>,
}

/// An event reduced to the fields that are read: agents pass all that a tool returned. None if it is no JSON object.
pub fn shortened(json: &str) -> Option<String> {
    let mut event: Map<String, Value> = serde_json::from_str(json).ok()?;
    event.retain(|name, value| match name.as_str() {
        "tool_input" => value.is_string() || value.is_object(),
        name => TEXTS.contains(&name) && value.is_string(),
    });
    let shorten = |value: &mut Value| {
        if let Value::String(text) = value {
            *text = text.chars().take(QUESTION_MAX).collect();
        }
    };
    if let Some(Value::Object(input)) = event.get_mut("tool_input") {
        input.retain(|name, _| INPUTS.contains(&name.as_str()));
        input.values_mut().for_each(shorten);
    }
    event.values_mut().for_each(shorten);
    Some(Value::Object(event).to_string())
}

impl HookEvent {
    /// Parses an event; None if it says nothing of the agent's state, has other than texts where texts stand, or is no
    /// JSON.
    pub fn parse(json: &str) -> Option<HookEvent> {
        let event: Map<String, Value> = serde_json::from_str(json).ok()?;
        let is_no_text = |name: &&str| match event.get(*name) {
            None | Some(Value::String(_)) => false,
            Some(Value::Null) => *name != "kind",
            Some(_) => true,
        };
        if TEXTS.iter().any(is_no_text) {
            return None;
        }
        let text = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
        let name = ["hook_event_name", "type", "state"].into_iter().map(text).find(|name| !name.is_empty())?;
        let kind = event.get("kind").and_then(Value::as_str);
        let (activity, kind) = meaning(name, kind, text("notification_type"), text("message"))?;
        // What the tool would do, or else how the event describes what it asks.
        let input = |name| event.get("tool_input")?.get(name)?.as_str();
        let texts = ["question", "message", "tool_name"].map(text);
        let mut inputs = INPUTS.into_iter().filter_map(input).filter(|text| !text.is_empty());
        let first_input = inputs.next();
        let tool = match (text("tool_name"), first_input) {
            ("", _) => None,
            (name, Some(input)) => Some(format!("{name}({input})")),
            (name, None) => Some(name.to_owned()),
        };
        // One that the agent asks for may never be used.
        let tool = tool.filter(|_| activity == Activity::Working);
        let mut asked = first_input.into_iter().chain(texts).filter(|_| activity == Activity::Waiting);
        let question = asked.find(|text| !text.is_empty()).unwrap_or_default();
        let question = redact(question).chars().take(QUESTION_MAX).collect();
        let (source, evidence) = (StatementSource::Event, format!("its event {}", redact(name)));
        Some(HookEvent {
            statement: Statement { activity, kind: kind.map(redact), question, resumes: None, source, evidence },
            is_progress: matches!(name, "PostToolUse" | "AfterTool" | "UserPromptSubmit" | "BeforeAgent"),
            tool: tool.map(|tool| redact(&tool).chars().take(QUESTION_MAX).collect()),
        })
    }
}

/// The state that an event reports, and the kind of question if it asks one.
type Meaning<'a> = Option<(Activity, Option<&'a str>)>;

fn meaning<'a>(name: &str, kind: Option<&'a str>, notification: &str, message: &str) -> Meaning<'a> {
    let asks = |kind| Some((Activity::Waiting, Some(kind)));
    let is_idle = Some((Activity::Idle, None));
    match name {
        "Notification" => match notification {
            "permission_prompt" | "ToolPermission" => asks("permission"),
            "idle_prompt" => is_idle,
            "auth_required" => asks("login"),
            "" if message.contains("permission") => asks("permission"),
            "" if message.contains("waiting for your input") => is_idle,
            "" if message.contains("needs your ") => asks("question"),
            other if other.contains("permission") => asks("permission"),
            other if other.starts_with("elicitation") || other.contains("needs_input") => asks("question"),
            _ => None,
        },
        "Elicitation" => asks("question"),
        "PermissionRequest" | "approval-requested" => asks("permission"),
        "Stop" | "AfterAgent" | "agent-turn-complete" => is_idle,
        "UserPromptSubmit" | "BeforeAgent" | "PreToolUse" | "BeforeTool" | "PostToolUse" | "AfterTool" => {
            Some((Activity::Working, None))
        }
        state => Activity::parse(state).map(|activity| (activity, kind)),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn said(activity: Activity, kind: Option<&str>) -> Option<(Activity, Option<String>)> {
        Some((activity, kind.map(str::to_owned)))
    }

    #[rstest]
    #[case::at_work("7501;working", said(Activity::Working, None))]
    #[case::blocked("7501;blocked:kind=permission", said(Activity::Waiting, Some("permission")))]
    #[case::a_login("7501;blocked:kind=auth", said(Activity::Waiting, Some("login")))]
    #[case::done("7501;done", said(Activity::Idle, None))]
    #[case::codex_works("7501;state=working:app=codex", said(Activity::Working, None))]
    #[case::codex_asks("7501;state=blocked:app=codex:kind=permission", said(Activity::Waiting, Some("permission")))]
    #[case::codex_is_done("7501;state=done:app=codex", said(Activity::Idle, None))]
    #[case::a_question_to_the_terminal("7501;?", None)]
    #[case::progress("9;4;3;0", said(Activity::Working, None))]
    #[case::no_progress_any_more("9;4;0;", said(Activity::Idle, None))]
    #[case::a_state_as_a_notification("9;jcode:working", said(Activity::Working, None))]
    #[case::another("777;notify;agent;attention", said(Activity::Waiting, None))]
    #[case::json("9999;{\"state\":\"blocked\",\"x\":\"a;b\"}", said(Activity::Waiting, None))]
    #[case::no_json("9999;{\"state\":", None)]
    #[case::a_command_runs("133;C", said(Activity::Working, None))]
    #[case::a_prompt("133;A;cl=m", said(Activity::Idle, None))]
    #[case::a_colour("11;?", None)]
    #[case::a_link("8;;https://example.org", None)]
    fn what_a_sequence_says(#[case] sequence: &str, #[case] expected: Option<(Activity, Option<String>)>) {
        let parts: Vec<&[u8]> = sequence.split(';').map(str::as_bytes).collect();
        let status = match parse_osc(&parts) {
            Some(Signal::Status(Statement { activity, kind, .. })) => Some((activity, kind)),
            Some(Signal::Notification(_)) | None => None,
        };
        assert_eq!(status, expected);
    }

    #[test]
    fn the_question_of_a_status_is_decoded() {
        let asks = b"state=blocked:app=claude-code:kind=permission:msg=YXBwcm92ZSBCYXNoOiBybSAtcmYgLi9pbXBvcnRhbnQ=";
        let Some(Signal::Status(Statement { question, .. })) = parse_osc(&[b"7501", asks]) else { panic!("a status") };
        assert_eq!(question, "approve Bash: rm -rf ./important");
    }

    #[test]
    fn a_notification_for_people_is_handed_on() {
        let expected = Signal::Notification("Claude needs your permission".to_owned());
        assert_eq!(parse_osc(&[b"9", b"Claude needs your permission"]), Some(expected.clone()));
        assert_eq!(parse_osc(&[b"777", b"notify", b"Claude Code", b"Claude needs your permission"]), Some(expected));
    }

    #[rstest]
    #[case::of_claude(
        r#"{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"cargo test"},"x":{}}"#,
        Some("Bash(cargo test)")
    )]
    #[case::of_gemini(
        r#"{"hook_event_name":"BeforeTool","tool_name":"write_file","tool_input":{"file_path":"a.rs","content":"x"}}"#,
        Some("write_file(a.rs)")
    )]
    #[case::anybodys(r#"{"state":"working","tool_name":"Search"}"#, Some("Search"))]
    #[case::with_a_credential(
        r#"{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"TOKEN=hunter2hunter2 x"}}"#,
        Some("Bash(TOKEN=*** x)")
    )]
    #[case::one_that_may_never_be_used(
        r#"{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm -rf /"}}"#,
        None
    )]
    #[case::none(r#"{"hook_event_name":"UserPromptSubmit"}"#, None)]
    fn which_tool_an_event_reports(#[case] json: &str, #[case] expected: Option<&str>) {
        let whole = HookEvent::parse(json).and_then(|event| event.tool);
        let handed_over = shortened(json).and_then(|json| HookEvent::parse(&json)?.tool);
        assert_eq!((whole.as_deref(), handed_over.as_deref()), (expected, expected));
    }

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
    #[case::another_type_beside_an_event(r#"{"hook_event_name":"Stop","message":null}"#, None)]
    fn what_an_event_says(#[case] json: &str, #[case] expected: Option<(Activity, Option<&str>, &str, bool)>) {
        let event = HookEvent::parse(json);
        let found = event.as_ref().map(|HookEvent { statement, is_progress, .. }| {
            (statement.activity, statement.kind.as_deref(), statement.question.as_str(), *is_progress)
        });
        assert_eq!(found, expected);
    }
}
