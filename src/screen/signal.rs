//! What programs report of themselves to their terminal, besides what they draw: operating system commands (OSC).
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
use serde::Deserialize;

use crate::rules::session::Activity;

/// The length of a text in characters.
const TEXT_MAX: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    Status {
        activity: Activity,
        kind: Option<String>,
        question: String,
        /// The name of the sequence, for people.
        sequence: &'static str,
    },
    /// A text for people; the agent's rules know what it means.
    Notification(String),
}

/// Parses an operating system command; None if it reports no state.
pub fn of_osc(parameters: &[&[u8]]) -> Option<Signal> {
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
            #[derive(Deserialize)]
            struct Json {
                state: String,
            }
            serde_json::from_str::<Json>(&text(rest))
                .ok()
                .and_then(|json| status("program status (OSC 9999)", &json.state))
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
    let of = |name: &str| text.split([':', ';']).find_map(|part| part.trim().strip_prefix(name));
    let word = of("state=").or_else(|| text.split([':', ';']).next()).unwrap_or_default();
    let activity = match word.trim() {
        "working" | "running" | "busy" => Activity::Working,
        "blocked" | "waiting" | "attention" => Activity::Waiting,
        "done" | "idle" | "finished" | "error" => Activity::Idle,
        _ => return None,
    };
    let kind = of("kind=").map(|kind| if kind == "auth" { "login" } else { kind }.to_owned());
    let question = of("msg=").and_then(|message| STANDARD.decode(message).ok());
    let question = question
        .filter(|_| activity == Activity::Waiting)
        .map(|question| String::from_utf8_lossy(&question).into_owned());
    Some(Signal::Status { activity, kind, question: question.unwrap_or_default(), sequence })
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
        let status = match of_osc(&parts) {
            Some(Signal::Status { activity, kind, .. }) => Some((activity, kind)),
            Some(Signal::Notification(_)) | None => None,
        };
        assert_eq!(status, expected);
    }

    #[test]
    fn the_question_of_a_status_is_decoded() {
        let asks = b"state=blocked:app=claude-code:kind=permission:msg=YXBwcm92ZSBCYXNoOiBybSAtcmYgLi9pbXBvcnRhbnQ=";
        let Some(Signal::Status { question, .. }) = of_osc(&[b"7501", asks]) else { panic!("a status") };
        assert_eq!(question, "approve Bash: rm -rf ./important");
    }

    #[test]
    fn a_notification_for_people_is_handed_on() {
        let expected = Signal::Notification("Claude needs your permission".to_owned());
        assert_eq!(of_osc(&[b"9", b"Claude needs your permission"]), Some(expected.clone()));
        assert_eq!(of_osc(&[b"777", b"notify", b"Claude Code", b"Claude needs your permission"]), Some(expected));
    }
}
